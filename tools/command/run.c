/*  tools/command/run.c - `tundish run`: runs a graph, or one host of it. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/plan/plan_queries.h"
#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/checkpoint/store.h"
#include "runtime/host/session.h"
#include "runtime/meeting/join_request.h"
#include "runtime/meeting/meeting.h"
#include "runtime/resources/descriptors.h"
#include "runtime/resources/threads.h"
#include "tools/cli/crash.h"
#include "tools/cli/line_writer.h"
#include "tools/cli/load.h"
#include "tools/cli/log.h"
#include "tools/cli/progress.h"
#include "tools/cli/signals.h"
#include "tools/launch/launch_choice.h"
#include "tools/launch/next_start.h"
#include "tools/launch/requeue.h"
#include "tools/launch/sent_run.h"
#include "tools/process/evaluations.h"
#include "tools/process/host_lock.h"
#include "tools/process/process_supervisor.h"
#include "tools/process/run_lines.h"
#include "tools/report/bottleneck.h"
#include "tools/report/metrics.h"
#include "tools/report/report.h"
#include "tools/watch/run_account.h"

typedef struct {
    tnd_run_summary_t summary; /* first: the observer's context is also a summary */
    const tnd_request_t *request;
    const tnd_run_options_t *options;
    tnd_plan_t whole; /* including hosts that may join */
    const tnd_plan_t *plan;
    uint32_t host;
    tnd_launch_t launch;
    tnd_next_start_t start;              /* which one this is */
    tnd_resumption_end_t resumption_end; /* why there is another one */
    tnd_log_t log;
    tnd_metrics_t metrics;
    tnd_run_lines_t lines;
    tnd_run_report_t report;
    tnd_run_account_t account; /* under `lock` until the run is over */
    tnd_progress_t progress;
    tnd_session_t *session;
    pthread_mutex_t lock; /* protects `session`: a signal may arrive while it ends */
    bool over;
    bool preempted;       /* a signal was that of a launcher */
    int code;             /* set when the run is over */
    tnd_report_end_t end; /* how the run ended; the message is `why` */
    char why[512];
    uint64_t drain_ns; /* when to report what a drain waits for; 0: never, or it was reported */
    uint64_t leave_ns; /* 0: no second signal came */
    uint64_t wait_ns;  /* when to report what the start waits for; 0: never */
} run_t;

/*  After a second Ctrl-C, the time for an orderly end; a step or a source may never return. */
static const uint64_t leave_wait_ns = 500000000;

/*  Not all processes of a launcher are connected: those that hear of no drain would wait. */
static const uint64_t join_wait_ns = 5000000000;

/*  A start that takes longer is reported. */
static const uint64_t start_wait_ns = 2000000000;

/*  The time that the end of a run waits for pipes that are not read: for all of them, and for log
 *  and progress after the metrics, whose losses the log reports. */
static const uint64_t observers_wait_ns = 5000000000, log_wait_ns = 1000000000;

/*  That time after a second Ctrl-C. */
static const uint64_t leave_lines_ns = 200000000;

/*  A drain without progress for this time reports what it waits for. */
static const uint64_t drain_wait_ns = 1000000000;

/* --- what the leader tells -------------------------------------------------------------------- */

static void observe_step(void *context, const tnd_step_record_t *record)
{
    run_t *run = context;
    tnd_run_summary_step(&run->summary, record);
    tnd_error_t error;
    if (tnd_metrics_step(&run->metrics, record, &error) != TND_OK)
        tnd_log_complain(&run->log, run->plan->hosts[run->host].name, "run", "%s", error.text);
    if (record->chain == 0)
        tnd_crash_committed(record->step);
}

static void observe_validated(void *context, const tnd_validated_t *validated)
{
    run_t *run = context;
    tnd_run_summary_validated(&run->summary, validated);
    tnd_metrics_validated(&run->metrics, run->plan, validated);
}

static void observe_backlog(void *context, tnd_backlog_t *backlog)
{
    tnd_metrics_backlog(&((const run_t *)context)->metrics, backlog);
}

static void observe_log(void *context, tnd_log_level_t level, const char *host, const char *actor,
                        const char *text)
{
    tnd_log_take(&((run_t *)context)->log, level, host, actor, text);
}

/* --- signals ---------------------------------------------------------------------------------- */

/*  Answers a signal, at every log level. */
static void say_signal(run_t *run, const char *text, const char *cause)
{
    char line[200];
    snprintf(line, sizeof line, "%s%s", text, cause);
    tnd_log_say(&run->log, TND_LOG_INFO, run->plan->hosts[run->host].name, "run", line);
}

/*  From here on, blocked readers of stdout and stderr cannot block the run. */
static tnd_status_t begin_lines(run_t *run, tnd_error_t *error)
{
    TND_TRY(tnd_run_lines_begin(&run->lines, error));
    run->log.writer = run->lines.err;
    run->progress.out = tnd_line_writer_stream(run->lines.out);
    return TND_OK;
}

/*  Writes their queues; false: stdout is a file that is not complete. */
static bool end_lines(run_t *run, uint64_t until_ns)
{
    run->progress.out = stdout;
    run->log.writer = NULL;
    return tnd_run_lines_end(&run->lines, until_ns);
}

/*  Before the start nothing has to be finished, and what is probed may never return. */
static void leave_soon(run_t *run, uint64_t wait_ns)
{
    if (!tnd_session_running(run->session))
        run->leave_ns = tnd_clock_now() + wait_ns;
}

static void drain(run_t *run, const char *cause)
{
    say_signal(run, "draining; Ctrl-C ends the run at once", cause);
    run->progress.draining = true;
    run->drain_ns = tnd_clock_now() + drain_wait_ns;
    leave_soon(run, run->preempted && run->launch.size > 1 ? join_wait_ns : leave_wait_ns);
    tnd_session_drain_because(run->session, cause, run->preempted);
}

static void on_signal(void *context, int number, const char *cause, tnd_ending_step_t step)
{
    run_t *run = context;
    run->preempted = run->preempted || number != SIGINT;
    if (step == TND_ENDING_EXIT)
        _exit(TND_EXIT_DRAINED);
    pthread_mutex_lock(&run->lock);
    if (step == TND_ENDING_STOP)
        run->leave_ns = tnd_clock_now() + leave_wait_ns;
    if (!run->over)
        tnd_progress_clear(&run->progress);
    if (!run->over && step == TND_ENDING_LEAVE) {
        say_signal(run, "leaving; the run continues", cause);
        tnd_session_leave(run->session);
    } else if (!run->over && step == TND_ENDING_DRAIN) {
        drain(run, cause);
    } else if (!run->over) {
        say_signal(run, "leaving", cause);
        tnd_session_stop(run->session);
    }
    pthread_mutex_unlock(&run->lock);
}

static bool is_over(run_t *run)
{
    pthread_mutex_lock(&run->lock);
    bool over = run->over;
    pthread_mutex_unlock(&run->lock);
    return over;
}

/*  The leader queues the job again that a launcher has drained. */
static void queue_again(run_t *run)
{
    tnd_error_t error;
    if (!run->options->requeue || run->host != 0)
        return;
    if (tnd_requeue(&error) != TND_OK)
        tnd_log_complain(&run->log, run->plan->hosts[0].name, "run", "%s", error.text);
    else if (!run->options->log.quiet)
        say_signal(run, "the job is queued again; its next start resumes", "");
}

/*  Ends the process although a hook has not returned. */
static void leave(run_t *run)
{
    pthread_mutex_lock(&run->lock);
    if (!run->over && run->preempted && !tnd_session_running(run->session))
        queue_again(run);
    tnd_report_abandon(&run->report);
    tnd_run_lines_await(&run->lines, tnd_clock_now() + leave_lines_ns);
    _exit(run->over ? run->code : TND_EXIT_DRAINED);
}

/*  Reports what a drain waits for after a time without progress. */
static void say_drain(run_t *run)
{
    uint64_t now = tnd_clock_now();
    if (run->drain_ns == 0 || now < run->drain_ns || is_over(run))
        return;
    pthread_mutex_lock(&run->summary.lock);
    uint64_t last = run->summary.chains[run->summary.chain].last_ns;
    pthread_mutex_unlock(&run->summary.lock);
    if (now < last + drain_wait_ns)
        return;
    run->drain_ns = 0;
    tnd_inspection_t *inspection = tnd_inspection_new(TND_LOOK_NOW);
    for (uint32_t p = 0; p < inspection->count; p++) {
        tnd_verdict_t verdict;
        if (inspection->processes[p].process != getpid() || inspection->processes[p].killed)
            continue;
        tnd_bottleneck_judge(inspection, inspection, &inspection->processes[p], &verdict);
        tnd_progress_clear(&run->progress);
        say_signal(run, verdict.sentence, "");
        break;
    }
    tnd_inspection_destroy(&inspection);
}

/*  The leader shows the hosts that it waits for; another host reports the leader, after a while. */
static void say_wait(run_t *run)
{
    if (run->wait_ns == 0 || tnd_clock_now() < run->wait_ns)
        return;
    run->wait_ns = 0;
    const tnd_plan_host_t *leader = &run->plan->hosts[0];
    char text[400];
    snprintf(text, sizeof text,
             "host %.100s waits for the start, by host %.100s at tcp://%.100s:%" PRIu32,
             run->plan->hosts[run->host].name, leader->name, leader->address, leader->port);
    pthread_mutex_lock(&run->lock);
    if (!run->over && !tnd_session_running(run->session))
        say_signal(run, text, "");
    pthread_mutex_unlock(&run->lock);
}

static bool is_reported(const run_t *run)
{
    return run->host == 0 && (run->options->report != NULL || run->options->json);
}

static void on_tick(void *context)
{
    run_t *run = context;
    tnd_progress_tick(&run->progress);
    tnd_log_tick(&run->log);
    say_wait(run);
    say_drain(run);
    pthread_mutex_lock(&run->lock);
    if (is_reported(run) && !run->over)
        tnd_run_account_tick(&run->account, tnd_clock_now());
    bool late = run->leave_ns != 0 && tnd_clock_now() >= run->leave_ns;
    pthread_mutex_unlock(&run->lock);
    if (late)
        leave(run);
}

/* --- the run ---------------------------------------------------------------------------------- */

static int code_of(tnd_outcome_t outcome)
{
    switch (outcome) {
    case TND_OUTCOME_DONE:
        return TND_EXIT_OK;
    case TND_OUTCOME_DRAINED:
    case TND_OUTCOME_STOPPED:
        return TND_EXIT_DRAINED;
    case TND_OUTCOME_LOST:
    case TND_OUTCOME_AGAIN:
        return TND_EXIT_PEER;
    case TND_OUTCOME_UNUSABLE:
        return TND_EXIT_TOPOLOGY;
    case TND_OUTCOME_NONE:
    case TND_OUTCOME_FAILED:
        break;
    }
    return TND_EXIT_FAILED;
}

static void complain(run_t *run, const char *text)
{
    tnd_log_complain(&run->log, run->plan->hosts[run->host].name, "run", "%s", text);
}

/*  A run that was done has failed after all; says why. */
static void spoil(run_t *run, const char *text)
{
    complain(run, text);
    if (run->end.code != TND_EXIT_OK && run->end.code != TND_EXIT_DRAINED)
        return;
    run->end.code = TND_EXIT_FAILED;
    snprintf(run->why, sizeof run->why, "%s", text);
}

/*  What was done since the last whole checkpoint is done again after a resume. */
static void judge_checkpoints(run_t *run)
{
    char text[512];
    snprintf(text, sizeof text, "the last checkpoint could not be written: %s",
             run->summary.unwritten_why);
    if (run->summary.last_unwritten &&
        (run->end.code == TND_EXIT_OK || run->end.code == TND_EXIT_DRAINED))
        spoil(run, text);
}

/*  Completes the output files; a file that could not be written is an error. */
static void close_files(run_t *run, uint64_t until_ns)
{
    tnd_error_t error;
    uint64_t dropped;
    if (tnd_metrics_close(&run->metrics, until_ns - log_wait_ns, &dropped, &error) != TND_OK)
        spoil(run, error.text);
    if (dropped > 0)
        tnd_log_complain(&run->log, run->plan->hosts[run->host].name, "run",
                         "%s: %" PRIu64 " lines were dropped: %s", run->options->metrics, dropped,
                         tnd_metrics_why_dropped(run->options->metrics));
    if (run->end.outcome == TND_OUTCOME_AGAIN)
        tnd_report_abandon(&run->report);
    else if (tnd_report_close(&run->report, &run->summary, run->account.text, &run->end, &error) !=
             TND_OK)
        spoil(run, error.text);
}

/*  The last output of a run. */
static void end_output(run_t *run, uint64_t until_ns)
{
    if (!end_lines(run, until_ns) && run->end.code == TND_EXIT_OK) {
        tnd_complain("run", "cannot write to stdout: the output is incomplete; is the disk full?");
        run->end.code = TND_EXIT_FAILED;
    }
    if (run->options->json && run->host == 0 && run->end.outcome != TND_OUTCOME_AGAIN)
        tnd_report_print(&run->summary, run->account.text, &run->end, stdout);
}

/*  The lanes that this host reads: "lane 2", "lanes 2, 3". */
static void list_lanes(const run_t *run, char *text, size_t room)
{
    const tnd_plan_t *plan = run->plan;
    char numbers[160] = "";
    size_t used = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->instance_count && used < sizeof numbers; i++)
        if (plan->instances[i].kind->role == TND_ROLE_READER && plan->instances[i].chain == 0 &&
            plan->instances[i].host == run->host)
            used += (size_t)snprintf(numbers + used, sizeof numbers - used, "%s%" PRIu32,
                                     count++ > 0 ? ", " : "", plan->instances[i].lane);
    snprintf(text, room, "lane%s %s", count == 1 ? "" : "s", numbers);
}

/*  After the loss of a host, files that are not here are no mistake: the host that has them may return.
 *  Returns the exit code. */
static int judge_files(run_t *run, tnd_outcome_t outcome)
{
    char lanes[200];
    if (outcome != TND_OUTCOME_UNUSABLE || run->start.resumption.number == 0)
        return code_of(outcome);
    list_lanes(run, lanes, sizeof lanes);
    tnd_log_complain(&run->log, run->plan->hosts[run->host].name, "run",
                     "this host now reads %s, whose files it may lack: start the lost host again, "
                     "and all with --resume, or give every host the files",
                     lanes);
    return TND_EXIT_PEER;
}

static int perform(run_t *run, tnd_graph_t *graph)
{
    tnd_observer_t observer = {
        .context = run,
        .state = tnd_run_summary_state,
        .opening = tnd_run_summary_opening,
        .stream = tnd_run_summary_stream,
        .resume = tnd_run_summary_resume,
        .step = observe_step,
        .bad = tnd_run_summary_bad,
        .backlog = observe_backlog,
        .end = tnd_run_summary_end,
        .validated = observe_validated,
        .best = tnd_run_summary_best,
        .unwritten = tnd_run_summary_unwritten,
        .model = tnd_run_summary_model,
        .label = tnd_run_summary_label,
        .statistics = tnd_run_summary_statistics,
        .log = observe_log,
        .log_level = run->log.level,
    };
    tnd_session_wishes_t wishes = {
        .host = run->plan->hosts[run->host].name,
        .launch = &run->launch,
        .steps_max = run->options->steps,
        .save = run->options->save,
        .observer = &observer,
        .keeps = true,
        .resumption = run->start.resumption,
    };
    tnd_signals_t signals = {.signal = on_signal,
                             .tick = on_tick,
                             .context = run,
                             .ending.spare = run->plan->hosts[run->host].spare};
    tnd_error_t error;
    bool leads = run->host == 0, quiet = run->options->log.quiet || run->options->json || !leads;
    tnd_progress_init(&run->progress, &run->summary, run->options->steps, quiet);
    if (!leads && !run->options->log.quiet && !run->plan->hosts[run->host].isolated)
        run->wait_ns = tnd_clock_now() + start_wait_ns;
    tnd_signals_hold(&signals);
    if (begin_lines(run, &error) != TND_OK) {
        tnd_signals_end(&signals);
        tnd_complain("run", "%s", error.text);
        snprintf(run->why, sizeof run->why, "%s", error.text);
        run->end = (tnd_report_end_t){TND_OUTCOME_FAILED, TND_EXIT_FAILED, run->why};
        close_files(run, tnd_clock_now());
        return run->end.code;
    }
    tnd_crash_arm(run->plan, NULL);
    tnd_status_t status = tnd_session_open_with(&run->session, graph, &wishes);
    if (status != TND_OK) {
        tnd_crash_disarm();
        tnd_signals_end(&signals);
        uint64_t until = tnd_clock_now() + observers_wait_ns;
        fputs(tnd_graph_errors(graph), tnd_line_writer_stream(run->lines.err));
        snprintf(run->why, sizeof run->why, "%s", tnd_graph_errors(graph));
        run->end = (tnd_report_end_t){TND_OUTCOME_FAILED, TND_EXIT_FAILED, run->why};
        close_files(run, until);
        end_output(run, until);
        return run->end.code;
    }
    tnd_crash_arm(run->plan, run->session);
    tnd_process_supervisor_t *supervisor = NULL;
    if (tnd_signals_begin(&signals, &error) != TND_OK ||
        (tnd_process_supervisor_wanted(run->plan, run->host) &&
         tnd_process_supervisor_begin(&supervisor, run->request, run->options, run->plan, run->host,
                                      run->session, &run->log, &error) != TND_OK))
        tnd_session_break(run->session, error.text);
    (void)tnd_session_wait(run->session);
    tnd_process_supervisor_end(&supervisor);
    tnd_outcome_t outcome = tnd_session_outcome(run->session);
    int code = judge_files(run, outcome);
    char unsaved[512];
    snprintf(run->why, sizeof run->why, "%s", tnd_session_error(run->session));
    run->end = (tnd_report_end_t){outcome, code, run->why};
    tnd_session_resumption_end(run->session, &run->resumption_end);
    tnd_session_unsaved(run->session, unsaved, sizeof unsaved);
    run->preempted = run->preempted || tnd_session_is_preempted(run->session);
    if (outcome == TND_OUTCOME_DONE || outcome == TND_OUTCOME_DRAINED)
        tnd_progress_clear(&run->progress);
    else
        tnd_progress_stop(&run->progress);
    bool told = outcome == TND_OUTCOME_UNUSABLE &&
                tnd_load_tell(run->session, tnd_line_writer_stream(run->lines.err));
    pthread_mutex_lock(&run->lock);
    run->over = true;
    run->code = code;
    if (outcome == TND_OUTCOME_DRAINED)
        leave_soon(run, leave_wait_ns);
    pthread_mutex_unlock(&run->lock);
    tnd_crash_arm(run->plan, NULL);
    if (is_reported(run))
        tnd_run_account_end(&run->account); /* the statistics end with the session */
    (void)tnd_session_destroy(&run->session);
    uint64_t until = tnd_clock_now() + observers_wait_ns;
    tnd_signals_end(&signals);
    tnd_crash_disarm();
    tnd_log_end(&run->log);
    tnd_progress_clear(&run->progress);
    if (code != TND_EXIT_OK && run->why[0] != '\0' && !told)
        complain(run, run->why);
    if (outcome == TND_OUTCOME_DONE || outcome == TND_OUTCOME_DRAINED)
        tnd_progress_end(&run->progress, outcome == TND_OUTCOME_DRAINED);
    if (unsaved[0] != '\0')
        spoil(run, unsaved);
    judge_checkpoints(run);
    close_files(run, until);
    end_output(run, until);
    return run->end.code;
}

/*  Whether the model of --save can be written, as far as that is known before the start. */
static int check_save(const run_t *run)
{
    const char *path = run->options->save;
    tnd_output_t output;
    tnd_error_t error;
    struct stat is;
    if (path == NULL)
        return TND_EXIT_OK;
    if (run->plan->chains[0].feeder == NULL || !tnd_load_steps(run->plan, 0))
        return tnd_usage_error("run", "--save: no step of this graph has a model");
    bool dealt = tnd_plan_is_dealt(run->plan, 0);
    uint32_t host = run->plan->instances[tnd_plan_keeper(run->plan, 0)].host;
    if (host != run->host)
        return tnd_usage_error("run", "--save is for host '%s': it %s", run->plan->hosts[host].name,
                               dealt ? "holds the parameters" : "carries the first replica");
    if (lstat(path, &is) == 0 && !S_ISREG(is.st_mode))
        return tnd_usage_error("run", "%s: cannot be written: it is not a regular file", path);
    if (tnd_output_open(&output, path, &error) != TND_OK)
        return tnd_usage_error("run", "%s", error.text);
    tnd_output_abandon(&output);
    return TND_EXIT_OK;
}

/*  Whether this process may open the descriptors of a host of that pool; all hosts need the same
 *  number. */
static bool may_join(const tnd_plan_t *plan, const char *pool)
{
    tnd_error_t error;
    for (uint32_t h = 0; h < plan->host_count; h++) {
        const char *of = plan->hosts[h].pool;
        if (of == NULL || strcmp(of, pool) != 0)
            continue;
        if (tnd_descriptors_check(plan, h, &tnd_network->cost, &error) == TND_OK)
            return true;
        tnd_complain("run", "%s", error.text);
        return false;
    }
    return true;
}

/*  The host of this process: by name, by a launcher, or (`pool+`) assigned by the leader. */
static int find_host(run_t *run)
{
    const char *name = run->options->host;
    size_t length = name != NULL ? strlen(name) : 0;
    tnd_error_t error;
    if (name == NULL)
        return tnd_launch_host(&run->launch, run->plan, &run->log, &run->host);
    if (length < 2 || name[length - 1] != '+')
        return tnd_load_host(run->plan, "run", name, &run->host) ? TND_EXIT_OK : TND_EXIT_USAGE;
    char *pool = tnd_format_string("%.*s", (int)length - 1, name);
    if (!may_join(run->plan, pool)) {
        free(pool);
        return TND_EXIT_TOPOLOGY;
    }
    const tnd_plan_host_t *leader = &run->plan->hosts[0];
    if (!run->options->log.quiet && !run->log.json)
        tnd_complain("run", "asks host %s at tcp://%s:%" PRIu32 " for a place in %s", leader->name,
                     leader->address, leader->port, pool);
    tnd_status_t status = tnd_join_request(tnd_network, run->plan, pool, &run->host, &error);
    free(pool);
    if (status == TND_OK)
        return TND_EXIT_OK;
    tnd_complain("run", "%s", error.text);
    return TND_EXIT_PEER;
}

/*  Whether this process may open the descriptors and start the threads that it needs. */
static bool may_start(const run_t *run)
{
    tnd_error_t error;
    if (tnd_descriptors_check(&run->whole, run->host, &tnd_network->cost, &error) == TND_OK &&
        tnd_threads_check(&run->whole, run->host, &error) == TND_OK)
        return true;
    tnd_complain("run", "%s", error.text);
    return false;
}

/*  All processes of a launcher have the same command line: each writes only its own outputs. */
static void take_own_outputs(const run_t *run, tnd_run_options_t *options)
{
    if (run->launch.launcher == NULL)
        return;
    if (run->host != 0) {
        options->report = options->metrics = NULL;
        options->json = false;
    }
    if (run->plan->chains[0].feeder != NULL &&
        run->plan->instances[tnd_plan_keeper(run->plan, 0)].host != run->host)
        options->save = NULL;
}

/*  A second run of the same files is refused for its checkpoints, as without --metrics. */
static int refuse_metrics(const run_t *run, const char *why)
{
    const tnd_checkpoint_options_t *kept = run->plan->checkpoint;
    if (kept == NULL || kept->evaluate || !tnd_store_is_locked(kept->dir))
        return tnd_usage_error("run", "%s", why);
    tnd_complain("run", "%s: another run writes its checkpoints there: name another folder; %s",
                 kept->dir, why);
    return TND_EXIT_TOPOLOGY;
}

/*  Checks of the command line that need the hosts. */
static int prepare(run_t *run, tnd_run_options_t *options)
{
    tnd_error_t error;
    int found = find_host(run);
    if (found == TND_EXIT_OK && options->requeue)
        found = tnd_requeue_check(run->plan);
    if (found != TND_EXIT_OK)
        return found;
    take_own_outputs(run, options);
    const char *only = options->report != NULL    ? "--report"
                       : options->metrics != NULL ? "--metrics"
                       : options->json            ? "--json"
                                                  : NULL;
    if (only != NULL && run->host != 0)
        return tnd_usage_error("run", "%s is only for the first host, '%s', which is the leader",
                               only, run->plan->hosts[0].name);
    if (!may_start(run))
        return TND_EXIT_TOPOLOGY;
    if (tnd_host_lock(run->plan, run->host, &error) != TND_OK) {
        tnd_complain("run", "%s", error.text);
        return TND_EXIT_PEER;
    }
    int code = check_save(run);
    if (code != TND_EXIT_OK)
        return code;
    if (tnd_report_open(&run->report, options->report, &error) != TND_OK)
        return tnd_usage_error("run", "%s", error.text);
    if (tnd_metrics_open(&run->metrics, options->metrics, run->start.resumption.number > 0,
                         &error) != TND_OK) {
        tnd_report_abandon(&run->report);
        return refuse_metrics(run, error.text);
    }
    return TND_EXIT_OK;
}

/*  What the next start has to know.  A run that began at the start resumes if there is anything to
 *  resume from: a checkpoint may have become whole while the session ended. */
static tnd_next_start_t next_start(const run_t *run)
{
    const tnd_checkpoint_options_t *kept = run->plan->checkpoint;
    return (tnd_next_start_t){
        .resumption = tnd_resumption_next(&run->start.resumption, &run->resumption_end),
        .resumes = kept != NULL && (run->start.resumes || run->resumption_end.saved ||
                                    strcmp(kept->resume, "none") == 0),
        .sent = tnd_sent_run_is(),
    };
}

/*  After a start before this one, the signals have been blocked since its session ended. */
static tnd_status_t begin(run_t *run, tnd_error_t *error)
{
    if (tnd_next_start_read(&run->start))
        tnd_signals_unblock();
    return run->start.sent ? tnd_sent_run_watch(error) : TND_OK;
}

static int run_graph(const tnd_request_t *request)
{
    const tnd_run_options_t *options = request->options;
    if (options->watch && options->load.evaluate == NULL)
        return tnd_usage_error("run", "--watch needs --evaluate");
    if (options->watch) {
        tnd_signals_forget();
        return tnd_evaluations_run(request, run_graph);
    }
    tnd_run_options_t own = *options;
    run_t run = {.request = request, .options = &own, .lock = PTHREAD_MUTEX_INITIALIZER};
    tnd_error_t error;
    if (!tnd_log_init(&run.log, "run", &own.log) || !tnd_launch_choose(&run.launch, &own, "run"))
        return TND_EXIT_USAGE;
    if (run.launch.evaluates) {
        tnd_signals_forget();
        return tnd_evaluations_beside(request, &run.launch, run_graph);
    }
    if (run.launch.launcher != NULL || own.requeue)
        tnd_signals_remember();
    else
        tnd_signals_forget();
    if (begin(&run, &error) != TND_OK) {
        tnd_complain("run", "%s", error.text);
        return TND_EXIT_FAILED;
    }
    own.load.resume = run.start.resumes ? "latest" : options->load.resume;
    if (!tnd_load_resumes(request, &own.load, own.host, "run"))
        return TND_EXIT_USAGE;
    tnd_graph_t *graph = tnd_load_graph(request, &own.load, own.host, false);
    int code = tnd_launch_meet(&run.launch, graph, &own, run.start.resumption.number > 0);
    bool again = false; /* the run starts again */
    if (code == TND_EXIT_DRAINED) {
        run.plan = tnd_graph_plan(graph);
        run.host = run.launch.rank;
        if (own.requeue && tnd_requeue_check(run.plan) == TND_EXIT_OK)
            queue_again(&run);
    } else if (code == TND_EXIT_OK) {
        run.whole = tnd_placement_whole(tnd_graph_plan(graph));
        run.plan = tnd_graph_plan(graph);
        if (options->host != NULL)
            run.plan = &run.whole;
        tnd_run_summary_init(&run.summary, run.plan);
        code = prepare(&run, &own);
        if (code == TND_EXIT_OK)
            code = perform(&run, graph);
        else
            tnd_launch_decline(&run.launch, graph, code);
        if (code == TND_EXIT_DRAINED && run.preempted && run.end.outcome == TND_OUTCOME_DRAINED)
            queue_again(&run);
        again = run.end.outcome == TND_OUTCOME_AGAIN && !run.plan->hosts[run.host].isolated;
        run.start = again ? next_start(&run) : run.start;
        tnd_run_account_free(&run.account);
        tnd_run_summary_fini(&run.summary);
    }
    tnd_graph_destroy(&graph);
    if (again) {
        tnd_next_start_run(&run.start, request);
        tnd_complain("run", "cannot start again: %s", strerror(errno));
    }
    return code;
}

static const tnd_argument_t arguments[] = {
    {TND_ARGUMENT(
        "--host", TEXT, tnd_run_options_t, host, "HOST",
        "this process is HOST of the overlay; RANGE+ joins a run as another host of that range")},
    {TND_COMMON("--launch", tnd_run_options_t, launch)},
    TND_RUN_ARGUMENTS,
    {TND_ARGUMENT(
        "--watch", FLAG, tnd_run_options_t, watch, NULL,
        "with --evaluate: evaluates each new checkpoint until the run that writes them has ended")},
    {TND_COMMON("--trust-data", tnd_run_options_t, load.trust_data)},
    {TND_ARGUMENT(
        "--requeue", FLAG, tnd_run_options_t, requeue, NULL,
        "after a drain that SIGTERM, SIGUSR1 or SIGUSR2 asked for, queues the job of Slurm again")},
    {TND_COMMON("--save", tnd_run_options_t, save)},
    {TND_COMMON("--quiet", tnd_run_options_t, log.quiet)},
    {TND_COMMON("--json", tnd_run_options_t, json)},
    {TND_COMMON("--log-level", tnd_run_options_t, log.level)},
    {TND_COMMON("--log-json", tnd_run_options_t, log.json)},
};

const tnd_command_t tnd_command_run = {
    .name = "run",
    .operands = "FILE...",
    .summary = "runs a graph, or one host of it",
    TND_ARGUMENTS(arguments, tnd_run_options_t),
    .details =
        "Loads a topology and its overlays and runs the graph.  If the overlays name several\n"
        "hosts, each is a process of its own, selected by --host.  The first host is the\n"
        "leader: it shows the progress and writes --report, --metrics and --json (the report on\n"
        "stdout).  A second process for the same host is refused on the same machine; from\n"
        "another machine it replaces the first.\n"
        "\n"
        "A launcher such as srun, mpirun or torchrun starts a process for each host, without\n"
        "--host: rank 0 is the first host of the overlay, and a range such as node[*] is as many\n"
        "hosts as it has started (`tundish help launch`).  All have the same options, of which\n"
        "each host takes its own.  --launch none ignores the launcher, and TUNDISH_LAUNCH is the\n"
        "default of --launch, as TUNDISH_LEADER is of --leader and TUNDISH_MEET of --meet.\n"
        "\n"
        "--host NAME+ joins a running graph as one more host of the range NAME[0-9], which must\n"
        "carry only workers.  Ctrl-C ends this process, and the run continues.\n"
        "\n"
        "Ctrl-C, SIGTERM, SIGUSR1 or SIGUSR2 for any host drains the run: every replica finishes\n"
        "the same last step, and a checkpoint is written.  Launchers repeat such signals, which\n"
        "changes nothing, and --requeue has Slurm start the job again.  Ctrl-C while it drains\n"
        "ends the run at once, even during a step or a read.  The report is written however the\n"
        "run ends; `ended` in it has exit code, outcome (done, drained, stopped, failed, lost,\n"
        "unusable) and message; `reproducible` is false with `order: any` and `order: arrival`.\n"
        "\n"
        "--resume accepts other `epochs:`.  --evaluate runs only the feeders with `after:`, on\n"
        "the models of a checkpoint, also while another run writes checkpoints there; --watch\n"
        "evaluates each that it adds, in a process each, until it has ended.  The name of such a\n"
        "run is NAME-evaluate; its output files are those of the last one.\n"
        "\n"
        "--save FILE writes the model of the first chain, as `save` of its step defines, when the\n"
        "run is done or drained; all replicas have the same one.  The file is written whole or "
        "not\n"
        "at all, on the host with the first replica.  Its hash is the model digest.\n"
        "\n"
        "A feeder without `step:` discards its batches: this measures the pipeline's speed.\n"
        "\n"
        "The log goes to stderr, one line per record (HOST ACTOR LEVEL TEXT); warnings and\n"
        "errors of other hosts are included, and repeated lines are counted.\n"
        "\n"
        "${data} is --data, else `data:` of the host or the top level, else $TUNDISH_DATA.\n",
    .codes =
        "  0    done\n"
        "  1    the run failed: data, a step, a port in use, the last checkpoint; no row was good\n"
        "  2    usage; an output file cannot be written\n"
        "  75   another host refused, is absent or was lost; or this run is already running\n"
        "  78   the topology is wrong, a file cannot be used when it is opened, or there is not\n"
        "       enough memory, or too few file descriptors or threads\n"
        "  130  drained, or interrupted\n"
        "  128+n  killed by signal n: 139 is a crash of a step or an operation, which is named\n",
    .operands_min = 1,
    .drains = true,
    .run = run_graph,
};
