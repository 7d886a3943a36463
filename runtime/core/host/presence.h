/*  runtime/core/host/presence.h - whether a host is there, as the leader knows it.
 *
 *  A host is a place of the run, which one process after another may take.  One that is away may
 *  return (absence.h), is lost, or has left on its own.  A process that returns by a later connection
 *  is the same one; only another process counts as a restart.
 *
 *  Threads: one. */
#ifndef TND_RUNTIME_CORE_HOST_PRESENCE_H
#define TND_RUNTIME_CORE_HOST_PRESENCE_H

#include "runtime/core/protocol/absence.h"
#include "runtime/core/protocol/role.h"

/*  Zeroed: it has not come yet. */
typedef struct {
    bool up;
    bool left;                  /* on its own; it may be started again */
    bool replaced;              /* its last connection ended because it opened another */
    tnd_life_t life;            /* of its process; 0: none came yet */
    tnd_absence_t absence;      /* `until_ns` 0: not away, or already lost */
    uint64_t lost_ns;           /* since when it is lost; 0: not lost */
    uint64_t reserved_until_ns; /* for the process that asked for it */
    uint32_t restarts;          /* processes that took the place of another */
} tnd_host_presence_t;

typedef enum {
    TND_HOST_RETURNS, /* the same process */
    TND_HOST_JOINS,   /* the first one, or one after it had left */
    TND_HOST_REPLACES /* another one, so the one before is lost */
} tnd_host_entry_t;

/*  Its control connection is up; `counts`: a restart counts, because the run has begun. */
tnd_host_entry_t tnd_host_presence_up(tnd_host_presence_t *self, tnd_life_t life, bool counts,
                                      uint64_t now);
/*  Its control connection is lost.  Returns false if that was expected, because it had left. */
bool tnd_host_presence_away(tnd_host_presence_t *self, const tnd_absence_limits_t *limits,
                            tnd_loss_t loss, uint64_t now);
/*  The user removes it. */
void tnd_host_presence_leave(tnd_host_presence_t *self);
/*  Whether it has been away for longer than a slow one could be; see tnd_absence_is_over. */
bool tnd_host_presence_is_over(const tnd_host_presence_t *self, tnd_fate_t fate, bool ends_run,
                               uint64_t now);
/*  It is lost. */
void tnd_host_presence_lose(tnd_host_presence_t *self, uint64_t now);
/*  The leader was away until now. */
void tnd_host_presence_excuse(tnd_host_presence_t *self, uint64_t away_ns, uint64_t now);
/*  When it may be lost; TND_NEVER: it is not away. */
uint64_t tnd_host_presence_deadline(const tnd_host_presence_t *self, uint64_t now);
/*  Whether it is there, or may return before it is lost. */
bool tnd_host_presence_is_expected(const tnd_host_presence_t *self);
/*  Whether a process that asks to join may take the place: it is not reserved, and nothing is or
 *  will be there, because a lost host has not returned for `restart_timeout_ns`. */
bool tnd_host_presence_is_free(const tnd_host_presence_t *self, uint64_t restart_timeout_ns,
                               uint64_t now);

#endif
