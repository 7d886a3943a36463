/*  runtime/host/session.h - a session as the command line opens it: with an observer.
 *
 *  Programs use the functions of <tundish/tundish.h>, which this implements; only who shows
 *  progress, writes metrics and reports needs more.
 *
 *  Threads: as the public header says.
 */
#ifndef TND_RUNTIME_HOST_SESSION_H
#define TND_RUNTIME_HOST_SESSION_H

#include <tundish/tundish.h>

#include "runtime/host/host.h"

typedef struct {
    const char *host;               /* NULL: the only one */
    uint64_t steps_max;             /* of the first chain; TND_UNKNOWN: all */
    const char *save;               /* where the first chain's model goes; NULL: nowhere */
    const tnd_observer_t *observer; /* kept by the caller; NULL: none */
    const tnd_review_t *review;     /* kept by the caller; NULL: none */
    bool keeps;                     /* the caller starts the isolated hosts of this one */
    tnd_graph_t *graph;             /* whose plan it is: kept with whom it leaves behind, or NULL */
} tnd_session_wishes_t;

/*  Starts a host of a plan, which must outlive the session. */
tnd_status_t tnd_session_open_plan(tnd_session_t **session_p, const tnd_plan_t *plan,
                                   const tnd_session_wishes_t *wishes,
                                   tnd_error_t *error) TND_CHECKED;
/*  As tnd_session_open. */
tnd_status_t tnd_session_open_with(tnd_session_t **session_p, tnd_graph_t *graph,
                                   const tnd_session_wishes_t *wishes);
/*  Why the model could not be saved (wishes.save), once the run has ended; "": it was. */
void tnd_session_unsaved(const tnd_session_t *session, char *text, size_t room);
/*  How the run ended; TND_OUTCOME_NONE while it has not. */
tnd_outcome_t tnd_session_outcome(const tnd_session_t *session);
/*  Whether the actors of this host run, or ran. */
bool tnd_session_running(const tnd_session_t *session);
/*  Once it has ended: what was wrong here before it began, with places in the topology. */
const tnd_diagnostics_t *tnd_session_diagnostics(const tnd_session_t *session);
/*  The port that the other hosts of the leader connect to. */
uint32_t tnd_session_port(const tnd_session_t *session);
/*  This host ends, the run goes on; any thread.  Of a host that nobody waits for. */
void tnd_session_leave(tnd_session_t *session);
/*  The run fails, for this reason; any thread. */
void tnd_session_break(tnd_session_t *session, const char *why);
/*  What an instance of this host counts; any thread, signal-safe.  NULL: it is on another host. */
const tnd_statistics_t *tnd_session_page(const tnd_session_t *session, uint32_t instance);

#endif
