/*  runtime/host/session.c - the public session functions. */
#include "runtime/host/session.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/drain_signals.h"
#include "runtime/base/fork_count.h"
#include "runtime/core/numeric/digest.h"
#include "runtime/data/open_files.h"
#include "runtime/data/program_array.h"
#include "runtime/feed/feed.h"
#include "runtime/launch/launched_host.h"
#include "runtime/log/session_log.h"
#include "runtime/looks/failed_run.h"
#include "runtime/meeting/meeting.h"
#include "runtime/notes/fed_streams.h"
#include "runtime/observe/run_summary.h"
#include "runtime/plan/graph.h"
#include "runtime/resources/descriptors.h"
#include "runtime/resources/threads.h"
#include "runtime/topology/topology.h"

/*  The context of the observer. */
typedef struct {
    tnd_run_summary_t summary; /* first: the functions of run_summary.h get this address */
    tnd_session_log_t *log;
} watch_t;

struct tnd_session {
    void *network;
    tnd_graph_t *graph;
    tnd_plan_t plan; /* whole */
    tnd_host_t *host;
    /*  What programs are told; unused with another observer. */
    watch_t watch;
    tnd_observer_t observer;
    bool watches;
    unsigned forks;        /* of this process when it was opened */
    char refused[400];     /* why the last call of the program was refused; "": it was not */
    _Atomic bool stopping; /* the program has asked for the end */
    bool finishing;        /* by tnd_session_finish */
    bool misnamed;         /* it has asked for a feed that no graph has */
    uint64_t descriptors;  /* reserved */
};

static void pass_record(void *context, tnd_log_level_t level, const char *host, const char *actor,
                        const char *text)
{
    const watch_t *watch = context;
    tnd_session_log_take(watch->log, &(tnd_log_line_t){level, host, actor, text});
}

static const char repeats[] =
    "this feed had the same rows in the same order as one before it, because each begins with "
    "epoch "
    "0: `epochs: 3` of the reader has another order in each of its epochs (in Python: for epoch in "
    "feed.epochs()); so has a feed with another `seed:`";

static void note_end(void *context, uint32_t chain, const tnd_cursor_t *cursor)
{
    watch_t *watch = context;
    tnd_run_summary_end(&watch->summary, chain, cursor);
    const tnd_run_summary_chain_t *of = &watch->summary.chains[chain];
    if (of->before_steps == 0 && !tnd_digest_is_empty(&of->digest) &&
        tnd_topology_reshuffles(watch->summary.plan->topology, chain) &&
        tnd_fed_streams_repeat(&of->digest))
        tnd_session_log_take(watch->log,
                             &(tnd_log_line_t){.level = TND_LOG_WARNING,
                                               .host = watch->summary.plan->hosts[0].name,
                                               .actor = of->plan->feeder,
                                               .text = repeats});
}

static tnd_status_t watch(tnd_session_t *session, const tnd_plan_t *plan, tnd_error_t *error)
{
    TND_TRY(tnd_session_log_new(&session->watch.log, error));
    session->watches = true;
    tnd_run_summary_init(&session->watch.summary, plan);
    session->observer = (tnd_observer_t){.context = &session->watch,
                                         .resume = tnd_run_summary_resume,
                                         .step = tnd_run_summary_step,
                                         .bad = tnd_run_summary_bad,
                                         .end = note_end,
                                         .validated = tnd_run_summary_validated,
                                         .log = pass_record,
                                         .log_level = TND_LOG_DEBUG};
    return TND_OK;
}

/*  The host is destroyed, so no thread of the run calls the observer any more. */
static void end_watch(tnd_session_t *session)
{
    if (!session->watches)
        return;
    tnd_session_log_destroy(&session->watch.log);
    tnd_run_summary_fini(&session->watch.summary);
}

/*  The program has had time to set its function for records. */
static void show_log(const tnd_session_t *session)
{
    if (session->watches)
        tnd_session_log_start(session->watch.log);
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

/*  Finds the host by its name, or the one of which a launcher tells; `line` gets the record for the log. */
static tnd_status_t find_launched(const tnd_launch_t *launch, const tnd_plan_t *plan,
                                  uint32_t *host_p, tnd_log_line_t *line, char *text, size_t room,
                                  tnd_error_t *error)
{
    if (launch->launcher == NULL) {
        snprintf(text, room, "%s", launch->hint);
        *line = (tnd_log_line_t){.level = TND_LOG_WARNING, .actor = "launch", .text = text};
        if (find_host(plan, NULL, host_p, error) == TND_OK)
            return TND_OK;
        size_t used = strlen(error->text);
        snprintf(error->text + used, sizeof error->text - used, "%s%s", *text != '\0' ? "; " : "",
                 text);
        return TND_FAILED;
    }
    TND_TRY(tnd_launched_host(launch, plan, host_p, error));
    *line = (tnd_log_line_t){.level = TND_LOG_INFO,
                             .actor = "launch",
                             .text = tnd_launched_text(launch, plan, *host_p, text, room)};
    return TND_OK;
}

/*  Arrays are of use only where their reader is. */
static tnd_status_t check_arrays(const tnd_plan_t *plan, uint32_t host, tnd_error_t *error)
{
    for (const tnd_program_array_t *array = plan->arrays; array != NULL; array = array->next) {
        const tnd_instance_t *elsewhere = NULL;
        bool here = false;
        for (uint32_t i = 0; i < plan->instance_count && !here; i++) {
            const tnd_instance_t *instance = &plan->instances[i];
            if (strcmp(instance->actor, array->actor) != 0)
                continue;
            here = instance->host == host;
            elsewhere = instance;
        }
        if (!here && elsewhere != NULL)
            return tnd_fail(error,
                            "array `%.63s` is for actor `%.63s`, which does not run on host %s but "
                            "on host %s: pass it in the program of that host",
                            array->column, array->actor, plan->hosts[host].name,
                            plan->hosts[elsewhere->host].name);
    }
    return TND_OK;
}

/*  What this machine must have for the host; *count_p: descriptors. */
static tnd_status_t check_resources(const tnd_plan_t *plan, uint32_t host, uint64_t *count_p,
                                    tnd_error_t *error)
{
    tnd_descriptors_t needed;
    tnd_error_t why;
    TND_TRY(check_arrays(plan, host, error));
    TND_TRY(tnd_threads_check(plan, host, error));
    tnd_descriptors_count(&needed, plan, host, &tnd_network->cost);
    *count_p = needed.total;
    if (tnd_open_files_reserve(needed.total, &why) == TND_OK)
        return TND_OK;
    return tnd_fail(error, "host %s cannot start: %s", plan->hosts[host].name, why.text);
}

/*  A file that reaches the limit of its size is an error of the write, not the end of the program. */
static void ignore_size_limit(void)
{
    struct sigaction action;
    if (sigaction(SIGXFSZ, NULL, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 &&
        action.sa_handler == SIG_DFL)
        (void)signal(SIGXFSZ, SIG_IGN);
}

/*  How this process was started, and what is odd about that. */
static void log_launch(const tnd_session_t *session, const tnd_session_wishes_t *wishes,
                       const tnd_log_line_t *record)
{
    tnd_log_line_t hint = *record;
    if (record->text[0] != '\0')
        tnd_session_log_take(session->watch.log, record);
    if (wishes->launch == NULL || wishes->launch->launcher == NULL ||
        wishes->launch->hint[0] == '\0')
        return;
    hint.level = TND_LOG_WARNING;
    hint.text = wishes->launch->hint;
    tnd_session_log_take(session->watch.log, &hint);
}

tnd_status_t tnd_session_open_plan(tnd_session_t **session_p, const tnd_plan_t *counted,
                                   const tnd_session_wishes_t *wishes, tnd_error_t *error)
{
    *session_p = NULL;
    ignore_size_limit();
    tnd_plan_t whole = tnd_placement_whole(counted), *plan = &whole;
    tnd_host_config_t config = {
        .steps_max = wishes->steps_max,
        .may_be_empty = wishes->may_be_empty,
        .start = wishes->start,
        .resumption = wishes->resumption,
        .save = wishes->save,
        .declines = wishes->declines,
        .declines_as = wishes->declines_as,
        .launched = wishes->launch != NULL && wishes->launch->size > 1,
        .observer = wishes->observer,
        .transport = tnd_network->hub,
    };
    char launched[512] = "";
    tnd_log_line_t record = {.text = launched};
    if (wishes->launch != NULL && wishes->host == NULL)
        TND_TRY(find_launched(wishes->launch, plan, &config.host, &record, launched,
                              sizeof launched, error));
    else
        TND_TRY(find_host(plan, wishes->host, &config.host, error));
    record.host = plan->hosts[config.host].name;
    bool takes_part = wishes->declines == NULL;
    for (uint32_t h = 0; h < plan->host_count && !wishes->keeps && takes_part; h++)
        if (plan->hosts[h].isolated && plan->hosts[h].parent == config.host)
            return tnd_fail(error,
                            "%s is to be a process of its own (`isolate: process`), which the "
                            "command `tundish run` starts and a program does not",
                            plan->hosts[h].name);
    uint64_t descriptors = 0;
    if (takes_part)
        TND_TRY(check_resources(plan, config.host, &descriptors, error));
    tnd_session_t *session = tnd_allocate_zeroed(1, sizeof *session);
    session->plan = whole;
    session->descriptors = descriptors;
    session->graph = wishes->graph;
    session->forks = tnd_fork_count();
    config.plan = &session->plan;
    tnd_status_t status = TND_OK;
    if (config.observer == NULL) {
        status = watch(session, &session->plan, error);
        config.observer = &session->observer;
        config.must_feed = true;
        if (status == TND_OK)
            log_launch(session, wishes, &record);
    }
    session->network = tnd_network->create();
    config.transport_context = session->network;
    if (config.host == 0)
        tnd_failed_run_forget(whole.name);
    if (status == TND_OK)
        status = tnd_host_new(&session->host, &config, error);
    if (status != TND_OK) {
        tnd_network->destroy(&session->network);
        end_watch(session);
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
    if (status == TND_OK)
        return TND_OK;
    tnd_session_decline(graph, &own, TND_OUTCOME_UNUSABLE, error.text);
    tnd_graph_fail(graph, error.text);
    return status;
}

tnd_status_t tnd_session_open(tnd_session_t **session_p, tnd_graph_t *graph, const char *host)
{
    tnd_launch_t launch;
    tnd_session_wishes_t wishes = {.host = host, .steps_max = TND_UNKNOWN};
    *session_p = NULL;
    if (host == NULL) {
        TND_TRY(tnd_meeting_attend(tnd_network, graph, &launch));
        wishes.launch = &launch;
    }
    TND_TRY(tnd_session_open_with(session_p, graph, &wishes));
    if (tnd_drain_signals_are_expected())
        (void)tnd_session_drain_on_signals(*session_p);
    return TND_OK;
}

void tnd_session_unsaved(const tnd_session_t *session, char *text, size_t room)
{
    tnd_host_unsaved_why(session->host, text, room);
}

void tnd_session_resumption_end(const tnd_session_t *session, tnd_resumption_end_t *end)
{
    tnd_host_resumption_end(session->host, end);
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
    case TND_OUTCOME_AGAIN:
        return TND_FAILED;
    }
    return TND_FAILED;
}

static const char forked_text[] =
    "this session belongs to the process that opened it, of which this one is a fork: start "
    "processes before the first session, or open the session in the new process";

/*  A forked child has none of the threads that a session waits for. */
static bool is_forked(const tnd_session_t *session)
{
    return session->forks != tnd_fork_count();
}

/*  The feed of feeder `c` that runs here; NULL: none. */
static tnd_feed_t *feed_of_chain(const tnd_session_t *session, uint32_t c)
{
    const char *feeder = session->plan.chains[c].feeder;
    if (feeder == NULL || !tnd_host_running(session->host))
        return NULL;
    return tnd_host_handle(session->host, feeder);
}

/*  Whether this thread would wait for steps that only it can pull. */
static bool waits_for_itself(tnd_session_t *session)
{
    for (uint32_t c = 0; c < session->plan.chain_count && !session->stopping; c++) {
        const tnd_feed_t *feed = feed_of_chain(session, c);
        if (feed == NULL || !tnd_feed_needs_caller(feed) ||
            tnd_host_wait(session->host, 0) != TND_OUTCOME_NONE)
            continue;
        snprintf(session->refused, sizeof session->refused,
                 "%s: tnd_session_wait was called on the thread that pulls this feed, which alone "
                 "can pull its next step: call tnd_session_finish to end the run after the last "
                 "step, or tnd_feed_next until it does not return TND_OK, also after a drain",
                 session->plan.chains[c].feeder);
        return true;
    }
    return false;
}

tnd_status_t tnd_session_wait(tnd_session_t *session)
{
    if (is_forked(session))
        return TND_FAILED;
    show_log(session);
    if (session->misnamed || waits_for_itself(session))
        return TND_FAILED;
    /* No program will pull: feeders without a step discard their rows. */
    (void)tnd_host_wait_running(session->host);
    tnd_host_discard(session->host);
    return status_of(tnd_host_wait(session->host, TND_NEVER));
}

void tnd_session_drain_because(tnd_session_t *session, const char *cause, bool preempted)
{
    tnd_host_drain_because(session->host, cause, preempted);
}

bool tnd_session_is_preempted(const tnd_session_t *session)
{
    return tnd_host_is_preempted(session->host);
}

void tnd_session_drain(tnd_session_t *session)
{
    if (!is_forked(session))
        tnd_host_drain(session->host);
}

static void drain(void *session)
{
    tnd_session_drain(session);
}

tnd_status_t tnd_session_drain_on_signals(tnd_session_t *session)
{
    if (session == NULL)
        return tnd_drain_signals_expect() ? TND_OK : TND_FAILED;
    if (is_forked(session))
        return TND_FAILED;
    if (tnd_drain_signals_begin(drain, session))
        return TND_OK;
    snprintf(session->refused, sizeof session->refused,
             "another session of this process is drained on signals: destroy it before");
    return TND_FAILED;
}

void tnd_session_leave(tnd_session_t *session)
{
    tnd_host_leave(session->host);
}

void tnd_session_stop(tnd_session_t *session)
{
    if (is_forked(session))
        return;
    session->stopping = true;
    tnd_host_stop(session->host);
}

/*  The run's own reason comes first. */
const char *tnd_session_error(const tnd_session_t *session)
{
    if (is_forked(session))
        return forked_text;
    const char *why = tnd_host_why(session->host);
    if (why[0] != '\0' || session->refused[0] != '\0')
        return why[0] != '\0' ? why : session->refused;
    for (uint32_t c = 0; c < session->plan.chain_count; c++) {
        const tnd_feed_t *feed = feed_of_chain(session, c);
        if (feed != NULL && tnd_feed_refused(feed)[0] != '\0')
            return tnd_feed_refused(feed);
    }
    return "";
}

void tnd_session_log(tnd_session_t *session, tnd_log_level_t least, tnd_log_fn *log, void *user)
{
    if (!session->watches)
        return;
    tnd_session_log_set(session->watch.log, least, log, user);
    tnd_session_log_start(session->watch.log);
}

/*  A name that no feeder has is a mistake; a feeder of another host is not. */
static bool is_misnamed(tnd_session_t *session, const char *actor)
{
    char names[256] = "";
    size_t used = 0;
    for (uint32_t c = 0; c < session->plan.chain_count; c++) {
        const char *feeder = session->plan.chains[c].feeder;
        if (feeder != NULL && strcmp(feeder, actor) == 0)
            return false;
        if (feeder != NULL && used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s`%s`",
                                     used > 0 ? ", " : "", feeder);
    }
    snprintf(session->refused, sizeof session->refused,
             "no feeder of this graph is named `%.64s`; there is %s", actor,
             used > 0 ? names : "none");
    return true;
}

/*  Whether a feeder of this name, or any if that is NULL, is placed on this host. */
static bool feeds_here(const tnd_session_t *session, const char *actor)
{
    const tnd_host_config_t *config = tnd_host_config(session->host);
    for (uint32_t i = 0; i < config->plan->instance_count; i++) {
        const tnd_instance_t *instance = &config->plan->instances[i];
        if (instance->host == config->host && tnd_plan_role(config->plan, i) == TND_ROLE_FEEDER &&
            (actor == NULL || strcmp(instance->actor, actor) == 0))
            return true;
    }
    return false;
}

/*  The feed of chain `c` learns whose end it waits for. */
static void follow(const tnd_session_t *session, uint32_t c)
{
    const char *after = session->plan.chains[c].after;
    tnd_feed_t *feed = feed_of_chain(session, c);
    if (feed != NULL && after != NULL)
        tnd_feed_follow(feed, tnd_host_handle(session->host, after), &session->stopping);
}

tnd_feed_t *tnd_session_feed(tnd_session_t *session, const char *actor)
{
    if (is_forked(session))
        return NULL;
    show_log(session);
    session->misnamed = actor != NULL && is_misnamed(session, actor);
    if (session->misnamed)
        return NULL;
    (void)tnd_host_wait_running(session->host);
    tnd_feed_t *feed = NULL;
    for (uint32_t c = 0; c < session->plan.chain_count && feed == NULL; c++) {
        const char *feeder = session->plan.chains[c].feeder;
        if (feeder != NULL && (actor == NULL || strcmp(feeder, actor) == 0))
            feed = tnd_host_handle(session->host, feeder);
        follow(session, c);
    }
    if (feed == NULL && tnd_plan_is_dealt(tnd_host_config(session->host)->plan, 0))
        snprintf(session->refused, sizeof session->refused,
                 "the graph has `deal: whole`: its plugin runs each step where a replica is free, "
                 "and a program cannot pull steps");
    /* A feeder without a feed has failed, which ends the run: then its reason is known. */
    if (feed == NULL && feeds_here(session, actor) &&
        tnd_host_wait(session->host, TND_NEVER) == TND_OUTCOME_DRAINED)
        snprintf(session->refused, sizeof session->refused, "drained before the start");
    return feed;
}

/*  The chain that ends at feeder `actor`, or the first if that is NULL; NULL if this host does not know it. */
static tnd_run_summary_chain_t *find_chain(tnd_session_t *session, const char *actor)
{
    const tnd_host_config_t *config = tnd_host_config(session->host);
    for (uint32_t c = 0; c < config->plan->chain_count && session->watches && !is_forked(session);
         c++) {
        const char *feeder = config->plan->chains[c].feeder;
        if (config->host == 0 && feeder != NULL && (actor == NULL || strcmp(feeder, actor) == 0))
            return &session->watch.summary.chains[c];
    }
    return NULL;
}

/*  The same, locked, once it has had a step. */
static tnd_run_summary_chain_t *tally_lock(tnd_session_t *session, const char *actor)
{
    tnd_run_summary_chain_t *chain = find_chain(session, actor);
    if (chain == NULL)
        return NULL;
    pthread_mutex_lock(&session->watch.summary.lock);
    if (chain->steps > 0)
        return chain;
    pthread_mutex_unlock(&session->watch.summary.lock);
    return NULL;
}

/*  Waits until the account has what this program has got of the chain. */
static void await_account(tnd_session_t *session, const tnd_run_summary_chain_t *chain)
{
    bool runs = tnd_host_running(session->host);
    const tnd_feed_t *feed = runs ? tnd_host_handle(session->host, chain->plan->feeder) : NULL;
    uint32_t number = (uint32_t)(chain - session->watch.summary.chains);
    if (feed == NULL)
        return;
    if (tnd_chain_repeats(chain->plan))
        tnd_host_wait_chain(session->host, number, tnd_feed_ends(feed));
    else if (tnd_feed_over(feed))
        tnd_host_wait_chain(session->host, number, 1);
    else if (!tnd_feed_failed(feed))
        tnd_run_summary_await(&session->watch.summary, number, tnd_feed_committed(feed));
}

bool tnd_session_summary(tnd_session_t *session, const char *actor, tnd_summary_t *summary)
{
    const tnd_run_summary_chain_t *chain = find_chain(session, actor);
    if (chain == NULL)
        return false;
    await_account(session, chain);
    pthread_mutex_lock(&session->watch.summary.lock);
    const tnd_ledger_t *ledger = &chain->ledger;
    *summary = (tnd_summary_t){.steps = chain->steps,
                               .epochs = chain->epochs,
                               .read = ledger->read,
                               .added = ledger->added,
                               .fed = ledger->fed,
                               .filtered = ledger->filtered,
                               .bad = ledger->bad,
                               .dropped = ledger->dropped,
                               .padded = ledger->padded,
                               .reasons = chain->reason_count,
                               .partial = chain->sums.ended.partial};
    pthread_mutex_unlock(&session->watch.summary.lock);
    return true;
}

bool tnd_session_bad(tnd_session_t *session, const char *actor, uint32_t index, tnd_bad_t *bad)
{
    const tnd_run_summary_chain_t *chain = find_chain(session, actor);
    if (chain == NULL)
        return false;
    pthread_mutex_lock(&session->watch.summary.lock);
    bool found = index < chain->reason_count;
    if (found) {
        const tnd_reason_t *reason = &chain->reasons[index];
        bad->count = reason->count;
        snprintf(bad->where, sizeof bad->where, "%s", reason->who);
        snprintf(bad->first, sizeof bad->first, "%s", reason->first);
    }
    pthread_mutex_unlock(&session->watch.summary.lock);
    return found;
}

bool tnd_session_digest(tnd_session_t *session, const char *actor, char text[33])
{
    const tnd_run_summary_chain_t *chain = tally_lock(session, actor);
    if (chain == NULL)
        return false;
    tnd_digest_print(&chain->digest, text);
    pthread_mutex_unlock(&session->watch.summary.lock);
    return true;
}

bool tnd_session_metric(tnd_session_t *session, const char *actor, const char *metric,
                        double *mean_p)
{
    const tnd_run_summary_chain_t *chain = find_chain(session, actor);
    bool found = false;
    if (chain == NULL)
        return false;
    if (tnd_chain_repeats(chain->plan))
        await_account(session, chain);
    pthread_mutex_lock(&session->watch.summary.lock);
    const tnd_metric_sums_t *sums = &chain->sums.ended;
    for (uint32_t m = 0; m < sums->count && !found; m++) {
        found = strcmp(sums->of[m].name, metric) == 0;
        if (found)
            *mean_p = tnd_run_summary_mean(&sums->of[m]);
    }
    pthread_mutex_unlock(&session->watch.summary.lock);
    return found;
}

/*  Models that a program has saved become a checkpoint before it leaves. */
static tnd_status_t finish_saves(tnd_session_t *session, tnd_error_t *error)
{
    for (uint32_t c = 0; c < session->plan.chain_count; c++) {
        tnd_feed_t *feed = feed_of_chain(session, c);
        if (feed != NULL)
            TND_TRY(tnd_feed_finish_save(feed, session->plan.hung_after_ns, error));
    }
    return TND_OK;
}

/*  Commits the last steps that the program ran, and asks for the end of the run after them. */
static tnd_status_t finish_feeds(tnd_session_t *session)
{
    uint64_t *steps = tnd_allocate_zeroed(session->plan.chain_count, sizeof *steps);
    tnd_status_t status = TND_OK;
    for (uint32_t c = 0; c < session->plan.chain_count && status == TND_OK; c++) {
        tnd_feed_t *feed = feed_of_chain(session, c);
        steps[c] = TND_UNKNOWN;
        if (feed != NULL)
            status = tnd_feed_finish(feed, &steps[c]);
    }
    if (status == TND_OK && !session->finishing)
        tnd_host_finish(session->host, steps);
    session->finishing = session->finishing || status == TND_OK;
    free(steps);
    return status;
}

tnd_status_t tnd_session_finish(tnd_session_t *session)
{
    tnd_error_t why;
    if (is_forked(session))
        return TND_FAILED;
    show_log(session);
    if (session->misnamed)
        return TND_FAILED;
    (void)tnd_host_wait_running(session->host);
    tnd_status_t saved = finish_saves(session, &why);
    if (saved != TND_OK)
        snprintf(session->refused, sizeof session->refused, "%.399s", why.text);
    TND_TRY(finish_feeds(session));
    tnd_status_t status = status_of(tnd_host_wait(session->host, TND_NEVER));
    return saved == TND_OK ? status : TND_FAILED;
}

/*  What inspectors show of a run that failed; its statistics end with the process. */
static void leave_note(tnd_session_t *session)
{
    static const int codes[] = {[TND_OUTCOME_FAILED] = 1,
                                [TND_OUTCOME_LOST] = 75,
                                [TND_OUTCOME_UNUSABLE] = 78,
                                [TND_OUTCOME_AGAIN] = 75}; /* of `tundish run` */
    const tnd_host_config_t *config = tnd_host_config(session->host);
    tnd_outcome_t outcome = tnd_host_wait(session->host, TND_NEVER);
    if (config->host != 0 || status_of(outcome) != TND_FAILED)
        return;
    tnd_failed_run_t note = {.process = (int)getpid(), .code = codes[outcome]};
    snprintf(note.run, sizeof note.run, "%s", config->plan->name);
    snprintf(note.host, sizeof note.host, "%s", config->plan->hosts[0].name);
    snprintf(note.why, sizeof note.why, "%s", tnd_host_why(session->host));
    tnd_failed_run_write(&note);
}

/*  A program that has pulled its feed to the end pulls nothing more of those that follow it. */
static void discard_validations(const tnd_session_t *session)
{
    for (uint32_t c = 1; c < session->plan.chain_count; c++) {
        tnd_feed_t *feed = feed_of_chain(session, c);
        if (feed != NULL && tnd_feed_repeats(feed))
            tnd_feed_discard(feed);
    }
}

tnd_status_t tnd_session_destroy(tnd_session_t **session_p)
{
    if (*session_p == NULL)
        return TND_OK;
    tnd_session_t *session = *session_p;
    *session_p = NULL;
    if (is_forked(session))
        return TND_OK; /* what it has is the parent's */
    tnd_drain_signals_end(session);
    show_log(session);
    /* A program that pulled to the end waits until the leader has booked it; else the run stops. */
    tnd_status_t saved = TND_OK;
    if (tnd_host_over(session->host)) {
        discard_validations(session);
    } else {
        tnd_error_t why;
        saved = finish_saves(session, &why);
        if (saved != TND_OK && session->graph != NULL)
            tnd_graph_fail(session->graph, why.text);
        tnd_host_stop(session->host);
    }
    tnd_status_t status = status_of(tnd_host_wait(session->host, TND_NEVER));
    leave_note(session);
    if (saved != TND_OK || session->misnamed)
        status = TND_FAILED;
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
    end_watch(session);
    tnd_open_files_release(session->descriptors);
    free(session);
    return status;
}
