/*  runtime/host/session_decline.c - a process that others wait for says why it does not take part. */
#include "runtime/host/session.h"
#include "runtime/plan/graph.h"

void tnd_session_decline(tnd_graph_t *graph, const tnd_session_wishes_t *wishes,
                         tnd_outcome_t outcome, const char *why)
{
    static const tnd_observer_t silent = {.log_level = TND_LOG_ERROR};
    const tnd_plan_t *plan = tnd_graph_plan(graph);
    tnd_session_t *session;
    tnd_error_t error;
    tnd_session_wishes_t own = *wishes;
    if (plan == NULL || plan->host_count == 1 || wishes->launch == NULL ||
        wishes->launch->size < 2 || wishes->declines != NULL)
        return;
    own.observer = &silent;
    own.declines = why;
    own.declines_as = outcome;
    if (tnd_session_open_plan(&session, plan, &own, &error) != TND_OK)
        return;
    (void)tnd_session_wait(session);
    (void)tnd_session_destroy(&session);
}
