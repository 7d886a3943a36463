/*  runtime/host/session.h - a session with an observer, as the command line opens it.
 *
 *  Implements the session functions of <tundish/tundish.h>.  The functions here are for progress,
 *  metrics and reports.
 *
 *  Threads: as in the public header. */
#ifndef TND_RUNTIME_HOST_SESSION_H
#define TND_RUNTIME_HOST_SESSION_H

#include <tundish/tundish.h>

#include "runtime/core/session/resumption.h"
#include "runtime/host/host.h"
#include "runtime/launch/launch.h"

typedef struct {
    const char *host;            /* NULL: the only one */
    const tnd_launch_t *launch;  /* what started it, and without `host` tells it; NULL: nothing */
    uint64_t steps_max;          /* of the first chain; TND_UNKNOWN: all */
    const tnd_position_t *start; /* where each lane of the first chain begins; NULL: at its start */
    const char *save;            /* where to save the first chain's model, or NULL */
    const tnd_observer_t *observer; /* borrowed; may be NULL */
    tnd_resumption_t resumption;    /* which start of the run this is */
    bool may_be_empty;              /* no row of a run may be good */
    bool keeps;                     /* the caller starts the isolated hosts of this one */
    const char *declines;           /* see tnd_session_decline; NULL: it takes part */
    tnd_outcome_t declines_as;
    tnd_graph_t *graph; /* owner of the plan; leaked together with actors that hang; may be NULL */
} tnd_session_wishes_t;

/*  Starts a host of a plan, which must outlive the session. */
tnd_status_t tnd_session_open_plan(tnd_session_t **session_p, const tnd_plan_t *plan,
                                   const tnd_session_wishes_t *wishes,
                                   tnd_error_t *error) TND_CHECKED;
/*  As tnd_session_open. */
tnd_status_t tnd_session_open_with(tnd_session_t **session_p, tnd_graph_t *graph,
                                   const tnd_session_wishes_t *wishes);
/*  Tells the other hosts of a run that a launcher has started that this one cannot take part, instead of
 *  letting them wait for it: the run ends for all with this outcome and reason.  Blocks until they know,
 *  for some seconds at most.  Does nothing in other runs. */
void tnd_session_decline(tnd_graph_t *graph, const tnd_session_wishes_t *wishes,
                         tnd_outcome_t outcome, const char *why);
/*  Why the model could not be saved (wishes.save); "" if it was.  Valid after the run. */
void tnd_session_unsaved(const tnd_session_t *session, char *text, size_t room);
/*  Why it starts again (TND_OUTCOME_AGAIN), as far as this host knows. */
void tnd_session_resumption_end(const tnd_session_t *session, tnd_resumption_end_t *end);
/*  How the run ended; TND_OUTCOME_NONE while it runs. */
tnd_outcome_t tnd_session_outcome(const tnd_session_t *session);
/*  Whether the actors of this host run, or ran. */
bool tnd_session_running(const tnd_session_t *session);
/*  The problems found before the start, with places in the topology.  Valid after the run. */
const tnd_diagnostics_t *tnd_session_diagnostics(const tnd_session_t *session);
/*  The port that the other hosts of the leader connect to. */
uint32_t tnd_session_port(const tnd_session_t *session);
/*  Ends this host only; the run must not need it.  Any thread. */
void tnd_session_leave(tnd_session_t *session);
/*  Drains the run as tnd_session_drain, but not from a signal handler or a forked child; the leader logs the cause
 *  (tnd_host_drain_because). */
void tnd_session_drain_because(tnd_session_t *session, const char *cause, bool preempted);
/*  On the leader, after the run: whether a launcher has preempted a host of it. */
bool tnd_session_is_preempted(const tnd_session_t *session);
/*  Makes the run fail with this reason.  Any thread. */
void tnd_session_break(tnd_session_t *session, const char *why);
/*  The statistics of an instance of this host; NULL for other hosts.  Any thread, signal-safe. */
const tnd_statistics_t *tnd_session_page(const tnd_session_t *session, uint32_t instance);

#endif
