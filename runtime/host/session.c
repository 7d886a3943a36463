/*  runtime/host/session.c - the public session functions. */
#include "runtime/host/session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/core/numeric/digest.h"
#include "runtime/data/open_files.h"
#include "runtime/plan/graph.h"
#include "runtime/resources/descriptors.h"
#include "runtime/observe/run_summary.h"

struct tnd_session {
    void *network;
    tnd_graph_t *graph;
    tnd_plan_t plan; /* whole */
    tnd_host_t *host;
    /*  The progress that programs can query on the leader; unused with another observer. */
    tnd_run_summary_t summary;
    tnd_observer_t observer;
    bool tallies;
    uint64_t descriptors; /* reserved */
};

static void watch(tnd_session_t *session, const tnd_plan_t *plan)
{
    session->tallies = true;
    tnd_run_summary_init(&session->summary, plan);
    session->observer = (tnd_observer_t){
        .context = &session->summary, .step = tnd_run_summary_step, .end = tnd_run_summary_end};
}

/*  Finds the host of the plan by its name, or the only one. */
static tnd_status_t find_host(const tnd_plan_t *plan, const char *name, uint32_t *host_p,
                              tnd_error_t *error)
{
    char names[256] = "";
    size_t used = 0;
    uint32_t hosts = 0;
    for (uint32_t h = 0; h < plan->host_count; h++)
        hosts += !plan->hosts[h].isolated && !plan->hosts[h].spare;
    for (uint32_t h = 0; h < plan->host_count; h++) {
        if (name != NULL ? strcmp(plan->hosts[h].name, name) == 0 : hosts == 1) {
            *host_p = h;
            return TND_OK;
        }
        if (used < sizeof names && !plan->hosts[h].isolated && !plan->hosts[h].spare)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", h > 0 ? ", " : "",
                                     plan->hosts[h].name);
    }
    if (name == NULL)
        return tnd_fail(error,
                        "this graph has %" PRIu32 " hosts (%s): name the host of this process",
                        hosts, names);
    return tnd_fail(error, "no host is named '%s'; the hosts are: %s", name, names);
}

static tnd_status_t reserve_descriptors(const tnd_plan_t *plan, uint32_t host, uint64_t *count_p,
                                        tnd_error_t *error)
{
    tnd_descriptors_t needed;
    tnd_error_t why;
    tnd_descriptors_count(&needed, plan, host, &tnd_network->cost);
    *count_p = needed.total;
    if (tnd_open_files_reserve(needed.total, &why) == TND_OK)
        return TND_OK;
    return tnd_fail(error, "host %s cannot start: %s", plan->hosts[host].name, why.text);
}

tnd_status_t tnd_session_open_plan(tnd_session_t **session_p, const tnd_plan_t *counted,
                                   const tnd_session_wishes_t *wishes, tnd_error_t *error)
{
    *session_p = NULL;
    tnd_plan_t whole = tnd_placement_whole(counted), *plan = &whole;
    tnd_host_config_t config = {
        .steps_max = wishes->steps_max,
        .start = wishes->start,
        .save = wishes->save,
        .observer = wishes->observer,
        .review = wishes->review,
        .transport = tnd_network->hub,
    };
    TND_TRY(find_host(plan, wishes->host, &config.host, error));
    for (uint32_t h = 0; h < plan->host_count && !wishes->keeps; h++)
        if (plan->hosts[h].isolated && plan->hosts[h].parent == config.host)
            return tnd_fail(error,
                            "%s is to be a process of its own (`isolate: process`), which the "
                            "command `tundish run` starts and a program does not",
                            plan->hosts[h].name);
    uint64_t descriptors;
    TND_TRY(reserve_descriptors(plan, config.host, &descriptors, error));
    tnd_session_t *session = tnd_allocate_zeroed(1, sizeof *session);
    session->plan = whole;
    session->descriptors = descriptors;
    session->graph = wishes->graph;
    config.plan = &session->plan;
    if (config.observer == NULL) {
        watch(session, &session->plan);
        config.observer = &session->observer;
    }
    session->network = tnd_network->create();
    config.transport_context = session->network;
    tnd_status_t status = tnd_host_new(&session->host, &config, error);
    if (status != TND_OK) {
        tnd_network->destroy(&session->network);
        if (session->tallies)
            tnd_run_summary_fini(&session->summary);
        tnd_open_files_release(descriptors);
        free(session);
        return status;
    }
    *session_p = session;
    return TND_OK;
}

tnd_status_t tnd_session_open_with(tnd_session_t **session_p, tnd_graph_t *graph,
                                   const tnd_session_wishes_t *wishes)
{
    tnd_error_t error;
    tnd_session_wishes_t own = *wishes;
    *session_p = NULL;
    own.graph = graph;
    if (tnd_graph_plan(graph) == NULL)
        TND_TRY(tnd_graph_check(graph));
    tnd_status_t status = tnd_session_open_plan(session_p, tnd_graph_plan(graph), &own, &error);
    if (status != TND_OK)
        tnd_graph_fail(graph, error.text);
    return status;
}

tnd_status_t tnd_session_open(tnd_session_t **session_p, tnd_graph_t *graph, const char *host)
{
    tnd_session_wishes_t wishes = {.host = host, .steps_max = TND_UNKNOWN};
    return tnd_session_open_with(session_p, graph, &wishes);
}

void tnd_session_unsaved(const tnd_session_t *session, char *text, size_t room)
{
    tnd_host_unsaved_why(session->host, text, room);
}

tnd_outcome_t tnd_session_outcome(const tnd_session_t *session)
{
    return tnd_host_wait(session->host, 0);
}

bool tnd_session_running(const tnd_session_t *session)
{
    return tnd_host_running(session->host);
}

const tnd_diagnostics_t *tnd_session_diagnostics(const tnd_session_t *session)
{
    return tnd_host_diagnostics(session->host);
}

const tnd_statistics_t *tnd_session_page(const tnd_session_t *session, uint32_t instance)
{
    const tnd_host_config_t *config = tnd_host_config(session->host);
    if (config->plan->instances[instance].host != config->host)
        return NULL;
    return tnd_host_page(session->host, instance);
}

uint32_t tnd_session_port(const tnd_session_t *session)
{
    return tnd_host_port(session->host);
}

void tnd_session_break(tnd_session_t *session, const char *why)
{
    tnd_host_break(session->host, why);
}

static tnd_status_t status_of(tnd_outcome_t outcome)
{
    switch (outcome) {
    case TND_OUTCOME_NONE:
        return TND_AGAIN;
    case TND_OUTCOME_DONE:
        return TND_OK;
    case TND_OUTCOME_DRAINED:
    case TND_OUTCOME_STOPPED:
        return TND_STOPPED;
    case TND_OUTCOME_FAILED:
    case TND_OUTCOME_LOST:
    case TND_OUTCOME_UNUSABLE:
        return TND_FAILED;
    }
    return TND_FAILED;
}

tnd_status_t tnd_session_wait(tnd_session_t *session)
{
    /* No program will pull: feeders without a step discard their rows. */
    (void)tnd_host_wait_running(session->host);
    tnd_host_discard(session->host);
    return status_of(tnd_host_wait(session->host, TND_NEVER));
}

void tnd_session_drain(tnd_session_t *session)
{
    tnd_host_drain(session->host);
}

void tnd_session_leave(tnd_session_t *session)
{
    tnd_host_leave(session->host);
}

void tnd_session_stop(tnd_session_t *session)
{
    tnd_host_stop(session->host);
}

const char *tnd_session_error(const tnd_session_t *session)
{
    return tnd_host_why(session->host);
}

tnd_feed_t *tnd_session_feed(tnd_session_t *session, const char *actor)
{
    (void)tnd_host_wait_running(session->host);
    if (actor != NULL)
        return tnd_host_handle(session->host, actor);
    const tnd_plan_t *plan = tnd_host_config(session->host)->plan;
    tnd_feed_t *feed = NULL;
    for (uint32_t c = 0; c < plan->chain_count && feed == NULL; c++)
        if (plan->chains[c].feeder != NULL)
            feed = tnd_host_handle(session->host, plan->chains[c].feeder);
    return feed;
}

/*  The locked summary of the chain that ends at feeder `actor`; NULL if unknown. */
static tnd_run_summary_chain_t *tally_lock(tnd_session_t *session, const char *actor)
{
    const tnd_plan_t *plan = tnd_host_config(session->host)->plan;
    for (uint32_t c = 0; c < plan->chain_count && session->tallies; c++) {
        if (plan->chains[c].feeder == NULL || strcmp(plan->chains[c].feeder, actor) != 0)
            continue;
        pthread_mutex_lock(&session->summary.lock);
        if (session->summary.chains[c].steps > 0)
            return &session->summary.chains[c];
        pthread_mutex_unlock(&session->summary.lock);
    }
    return NULL;
}

bool tnd_session_digest(tnd_session_t *session, const char *actor, char text[33])
{
    const tnd_run_summary_chain_t *chain = tally_lock(session, actor);
    if (chain == NULL)
        return false;
    tnd_digest_print(&chain->digest, text);
    pthread_mutex_unlock(&session->summary.lock);
    return true;
}

bool tnd_session_metric(tnd_session_t *session, const char *actor, const char *metric,
                        double *mean_p)
{
    const tnd_run_summary_chain_t *chain = tally_lock(session, actor);
    bool found = false;
    if (chain == NULL)
        return false;
    for (uint32_t m = 0; m < chain->ended_count && !found; m++) {
        found = strcmp(chain->ended[m].name, metric) == 0;
        if (found)
            *mean_p = tnd_run_summary_mean(&chain->ended[m]);
    }
    pthread_mutex_unlock(&session->summary.lock);
    return found;
}

tnd_status_t tnd_session_destroy(tnd_session_t **session_p)
{
    if (*session_p == NULL)
        return TND_OK;
    tnd_session_t *session = *session_p;
    /* A program that pulled to the end waits until the leader has booked it; else the run stops. */
    if (!tnd_host_over(session->host))
        tnd_host_stop(session->host);
    tnd_status_t status = status_of(tnd_host_wait(session->host, TND_NEVER));
    *session_p = NULL;
    tnd_host_join(session->host);
    char leaked[256];
    tnd_host_leaked_why(session->host, leaked, sizeof leaked);
    if (leaked[0] != '\0' && session->graph != NULL) {
        tnd_graph_fail(session->graph, leaked);
        status = TND_FAILED;
    }
    /* Memory that a hook may still access is leaked. */
    if (!tnd_host_destroy(&session->host)) {
        if (session->graph != NULL)
            tnd_graph_keep(session->graph);
        return status;
    }
    tnd_network->destroy(&session->network);
    if (session->tallies)
        tnd_run_summary_fini(&session->summary);
    tnd_open_files_release(session->descriptors);
    free(session);
    return status;
}
