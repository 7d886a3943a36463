/*  runtime/core/host/leader_presence.h - whether the leader is there, as a host sees it.
 *
 *  A host waits for its leader for at most `start_timeout`.  A leader that was there and is away may
 *  return (absence.h); if it does not, the run ends for this host.  One that has led the meeting of the
 *  processes is expected to listen again soon.  The host that leads sees itself.
 *
 *  Threads: one.  Units: nanoseconds of the caller's clock. */
#ifndef TND_RUNTIME_CORE_HOST_LEADER_PRESENCE_H
#define TND_RUNTIME_CORE_HOST_LEADER_PRESENCE_H

#include "runtime/core/protocol/absence.h"

/*  Zeroed: it has not come yet. */
typedef struct {
    bool leads;             /* this host */
    bool up, came;          /* its connection; it was up once */
    uint64_t join_until_ns; /* it must have come by then; 0: it has */
    uint64_t met_ns; /* how long nothing may listen at its address; 0: it may come any time */
    uint64_t
        refused_ns; /* since when nothing has listened there, before it came; 0: something does */
    tnd_absence_t absence;
} tnd_leader_presence_t;

/*  What a host does that is told to leave at once. */
typedef enum {
    TND_LEAVE_END_RUN,  /* it leads: the run ends */
    TND_LEAVE_TELL,     /* it tells the leader */
    TND_LEAVE_AS_LOST,  /* the leader is away: it ends as if that were lost */
    TND_LEAVE_UNNOTICED /* the leader has not come: it ends */
} tnd_leave_t;

/*  The host begins; `leads`: it is the leader's. */
void tnd_leader_presence_begin(tnd_leader_presence_t *self, bool leads, uint64_t start_timeout_ns,
                               uint64_t now);
/*  The leader has led a meeting just now: after `within_ns` without a listener it has ended. */
void tnd_leader_presence_met(tnd_leader_presence_t *self, uint64_t within_ns);
/*  The connection to the leader is up / is lost. */
void tnd_leader_presence_up(tnd_leader_presence_t *self, uint64_t now);
void tnd_leader_presence_away(tnd_leader_presence_t *self, const tnd_absence_limits_t *limits,
                              tnd_loss_t loss, uint64_t now);
/*  The host itself was away until now. */
void tnd_leader_presence_excuse(tnd_leader_presence_t *self, uint64_t away_ns, uint64_t now);

/*  Whether the leader can be told something now. */
bool tnd_leader_presence_reaches(const tnd_leader_presence_t *self);
/*  Whether the host waits no longer to tell why it has failed, at `failed_ns`: the leader is there, or
 *  was away for the grace since then. */
bool tnd_leader_presence_hears(const tnd_leader_presence_t *self,
                               const tnd_absence_limits_t *limits, uint64_t failed_ns,
                               uint64_t now);
/*  Whether a host that has told why it has failed, at `told_ns`, waits for the leader to end the run: meanwhile its
 *  actors report what was done before. */
bool tnd_leader_presence_answers(const tnd_leader_presence_t *self, uint64_t told_ns, uint64_t now);
/*  Whether the leader did not come, or counts as lost; `refused`: nothing listens at its address. */
bool tnd_leader_presence_is_over(tnd_leader_presence_t *self, bool refused, uint64_t now);
/*  Whether that is because it has ended after the meeting. */
bool tnd_leader_presence_has_ended(const tnd_leader_presence_t *self, uint64_t now);
/*  When to ask that again; TND_NEVER: it is there. */
uint64_t tnd_leader_presence_deadline(const tnd_leader_presence_t *self, uint64_t now);
tnd_leave_t tnd_leader_presence_leave(const tnd_leader_presence_t *self);

#endif
