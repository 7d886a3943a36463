/*  tools/command/why.c - `tundish why`: names the bottleneck of a run in one sentence. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "runtime/looks/failed_run.h"
#include "tools/choice/absent_run.h"
#include "tools/choice/run_choices.h"
#include "tools/cli/command.h"
#include "tools/cli/json.h"
#include "tools/events/event_text.h"
#include "tools/events/last_events.h"
#include "tools/remote/remote_hosts.h"
#include "tools/report/bottleneck.h"
#include "tools/report/evidence.h"
#include "tools/report/run_view.h"

typedef struct {
    bool json;
    const char *leader, *via;
} why_options_t;

/*  The time between the two inspections, longer than a short step. */
static const struct timespec pause_between = {.tv_nsec = 500000000};
/*  Of a dead process, what it did in its last seconds is shown: so many events. */
static const size_t last_count = 16;
static const uint64_t last_span_ns = UINT64_C(5000000000);

/*  Whether other runs are shown too, so that the sentence must name its run. */
static bool has_others(const tnd_run_choices_t *runs, const tnd_inspection_t *made,
                       const tnd_inspected_t *process)
{
    for (uint32_t p = 0; p < made->count; p++)
        if (tnd_run_choices_fit(runs, &made->processes[p]) &&
            !tnd_inspected_same(&made->processes[p], process))
            return true;
    return false;
}

/*  The first process of a run of `after` that is to be judged; NULL: none is left after `last`. */
static const tnd_inspected_t *next_run(const tnd_run_choices_t *runs, const tnd_inspection_t *after,
                                       uint32_t *at_p, const tnd_inspected_t *last)
{
    while (*at_p < after->count) {
        const tnd_inspected_t *process = &after->processes[(*at_p)++];
        if (!tnd_run_choices_fit(runs, process) ||
            (last != NULL && tnd_inspected_same(last, process)))
            continue;
        if (tnd_run_is_superseded(after, process))
            continue;
        return process;
    }
    return NULL;
}

static void print_text(const tnd_verdict_t *verdict, const tnd_inspected_t *process, bool several)
{
    if (several)
        printf("%s (process %d): ", verdict->run, process->process);
    tnd_verdict_print(verdict, stdout);
}

/*  Whether the verdict is about the death of this process, the last one of its host. */
static bool is_dead(const tnd_verdict_t *verdict, const tnd_inspection_t *made,
                    const tnd_inspected_t *run, const tnd_inspected_t *process)
{
    if (!process->killed || process->machine[0] != '\0' || !tnd_inspected_same(run, process))
        return false;
    for (uint32_t p = 0; p < made->count; p++) {
        const tnd_inspected_t *other = &made->processes[p];
        if (tnd_inspected_same(other, process) && strcmp(other->host, process->host) == 0 &&
            (!other->killed || other->last_ns > process->last_ns))
            return false;
    }
    bool dead = verdict->state == TND_RUN_KILLED;
    for (uint32_t f = 0; f < verdict->fault_count; f++)
        dead = dead || (verdict->faults[f].cause == TND_CAUSE_KILLED &&
                        strcmp(verdict->faults[f].host, process->host) == 0);
    return dead;
}

static void print_last(const tnd_last_events_t *last, const tnd_inspected_t *process)
{
    if (last->count > 0)
        printf(
            "  the last events of process %d, host %s, in seconds before its last sign of life:\n",
            process->process, process->host);
    for (size_t e = 0; e < last->count; e++)
        tnd_event_print(stdout, &last->entries[e], process->last_ns);
}

/*  What the dead processes of a run did last. */
static void show_last(const tnd_verdict_t *verdict, const tnd_inspection_t *made,
                      const tnd_inspected_t *run, bool json)
{
    bool any = false;
    if (json)
        fputs(",\"last_events\":[", stdout);
    for (uint32_t p = 0; p < made->count; p++) {
        tnd_last_events_t last;
        if (!is_dead(verdict, made, run, &made->processes[p]))
            continue;
        tnd_last_events_read(&last, &made->processes[p], last_count, last_span_ns);
        if (!json)
            print_last(&last, &made->processes[p]);
        for (size_t e = 0; json && e < last.count; e++) {
            fputs(any ? "," : "", stdout);
            tnd_event_begin_json(stdout, &last.entries[e]);
            fputs("}", stdout);
            any = true;
        }
        tnd_last_events_free(&last);
    }
    if (json)
        fputs("]}", stdout);
}

enum { FAILED_MAX = 32 };

/*  Runs of this machine that failed and were not started again. */
static size_t read_failed(const tnd_request_t *request, const tnd_inspection_t *made,
                          tnd_failed_run_t failed[FAILED_MAX])
{
    const why_options_t *options = request->options;
    if (options->leader != NULL)
        return 0;
    size_t kept = 0, count = tnd_failed_runs_read(NULL, failed, FAILED_MAX);
    for (size_t i = 0; i < count; i++)
        if (tnd_request_names(request, failed[i].run) &&
            !tnd_inspection_has(made, failed[i].run, false))
            failed[kept++] = failed[i];
    return kept;
}

/*  Several runs that failed, none of which was asked for by name: one line. */
static void sum_up_failed(const tnd_failed_run_t *failed, size_t count)
{
    printf("%zu runs failed in the last 10 minutes:", count);
    for (size_t i = 0; i < count; i++)
        printf("%s %s %.0f s ago (exit code %d)", i > 0 ? "," : "", failed[i].run,
               (double)failed[i].ago_ns * 1e-9, failed[i].code);
    puts("; `tundish why RUN` shows the reason");
}

static void show_failed(const tnd_failed_run_t *failed, size_t count, bool json)
{
    if (json)
        fputs(",\"failed\":[", stdout);
    for (size_t i = 0; i < count; i++) {
        const tnd_failed_run_t *one = &failed[i];
        double ago = (double)one->ago_ns * 1e-9;
        if (!json) {
            printf("%s (process %d on host %s) failed %.0f s ago with exit code %d: %s\n", one->run,
                   one->process, one->host, ago, one->code, one->why);
            continue;
        }
        tnd_json_begin(stdout, i > 0, "run", one->run);
        tnd_json_member(stdout, "host", one->host);
        printf(",\"pid\":%d,\"code\":%d,\"seconds_ago\":%.1f", one->process, one->code, ago);
        tnd_json_member(stdout, "message", one->why);
        fputc('}', stdout);
    }
    if (json)
        fputc(']', stdout);
}

static bool has_failed(const tnd_failed_run_t *failed, size_t count, const char *run)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(failed[i].run, run) == 0)
            return true;
    return false;
}

static int why(const tnd_request_t *request)
{
    const why_options_t *options = request->options;
    tnd_remote_hosts_t *hosts;
    tnd_error_t error = {.text = ""};
    char absent[600];
    if (tnd_remote_hosts_new(&hosts, options->via, options->leader, &error) != TND_OK)
        return tnd_usage_error("why", "%s", error.text);
    tnd_run_choices_t runs;
    tnd_run_choices_read(&runs, request->files, request->file_count);
    const char *run = tnd_run_choices_name(&runs);
    tnd_inspection_t *before =
        tnd_remote_hosts_look(hosts, run, TND_LOOK_HISTORIES, TND_REMOTE_PATIENCE_NS);
    nanosleep(&pause_between, NULL);
    tnd_inspection_t *after =
        tnd_remote_hosts_look(hosts, run, TND_LOOK_DETAILS, TND_REMOTE_PATIENCE_NS);
    const tnd_inspected_t *last = NULL, *process;
    bool first = true;
    int code = TND_EXIT_OK;
    if (options->json)
        fputs("{\"schema\":2,\"runs\":[", stdout);
    if (!options->json || options->via != NULL || options->leader != NULL)
        fputs(after->unread, stderr);
    for (uint32_t at = 0; (process = next_run(&runs, after, &at, last)) != NULL;) {
        tnd_verdict_t verdict;
        last = process;
        tnd_bottleneck_judge(before, after, process, &verdict);
        tnd_evidence_add(&verdict);
        code = (int)verdict.state > code ? (int)verdict.state : code;
        if (options->json)
            tnd_verdict_json(&verdict, first, stdout);
        else
            print_text(&verdict, process, has_others(&runs, after, process));
        show_last(&verdict, after, process, options->json);
        first = false;
    }
    tnd_failed_run_t failed[FAILED_MAX];
    size_t failures = read_failed(request, after, failed);
    code = failures > 0 && code < TND_EXIT_FAILED ? TND_EXIT_FAILED : code;
    if (options->json)
        fputs("]", stdout);
    if (failures > 1 && !options->json && request->file_count == 0)
        sum_up_failed(failed, failures);
    else
        show_failed(failed, failures, options->json);
    if (options->json)
        fputs("}\n", stdout);
    else if (first && failures == 0 && request->file_count == 0)
        fprintf(stderr, "%s\n",
                tnd_absent_run_text(NULL, options->leader, after, absent, sizeof absent));
    if (first && options->leader != NULL)
        code = TND_EXIT_FAILED;
    for (size_t i = 0; i < request->file_count; i++) {
        if (tnd_run_choices_found(&runs, i, after) ||
            has_failed(failed, failures, request->files[i]))
            continue;
        tnd_complain(
            "why", "%s",
            tnd_absent_run_text(request->files[i], options->leader, after, absent, sizeof absent));
        code = code > TND_EXIT_FAILED ? code : TND_EXIT_FAILED;
    }
    tnd_run_choices_free(&runs);
    tnd_remote_hosts_destroy(&hosts);
    tnd_inspection_destroy(&before);
    tnd_inspection_destroy(&after);
    return code;
}

/*  A reason, its code and its metric. */
#define CAUSE(NAME, name, code, traits, meaning, sentence, action, metric, test)                   \
    "  " #name " (" #code ", " #metric "): " meaning "\n"
static const char details[] =
    "Reads the pages of `tundish ps` twice, half a second apart; the run need not answer.  If\n"
    "rows are fed, it names the actor that limits the rate.  If not, it follows the waits\n"
    "from the feeder to the actor that does not wait:\n"
    "\n"
    "  feed waits for mean, which waits for replica 3 on host c (cpu:1), whose step 57 has\n"
    "  been running for 12 s\n"
    "\n"
    "The limit is the actor that is at work, or ready to be, for most of the time: between the\n"
    "two looks if they have three steps and show it clearly, or else in up to the last minute.\n"
    "An actor that makes fewer rows than are fed is the limit although buffers still feed.  The\n"
    "rate that a change should give is computed from the times of all actors.\n"
    "Of an actor with several operations, the one that takes longest is named too.  Time\n"
    "without a processor counts as work as far as other threads explain it.\n"
    "\n"
    "Below that, a line for each fault, the most serious first: its reason, what is wrong,\n"
    "what shows it, and what to do.  The reasons, with the highest exit code that each explains,\n"
    "and the family of `tundish watch` that shows it as a number, without \"tundish_\":\n"
    "\n"
#include "tools/report/causes.def"
    "\n"
    "The pages of killed processes are kept for 10 minutes, so that a killed run is shown\n"
    "with what its actors did last, and with its last events: of each thread the last one of\n"
    "each kind, at most 16 of the 5 s before the last of them.\n"
    "\n"
    "A run that failed is shown for 10 minutes after its end, on the machine of its leader, with\n"
    "its exit code and message, until a run of its name is started again.\n"
    "\n"
    "Processes of hosts on other machines are judged too with --via 'ssh {address}'; see\n"
    "`tundish ps --help`.  A host that does not answer is named on stderr.  --leader looks at\n"
    "the hosts of one run by its leader.\n"
    "\n"
    "With RUN, the `name:` of a topology or the number of a process, only such runs are judged.\n"
    "If there are several, each sentence starts with the name and a process of its run.\n"
    "\n"
    "--json prints {\"schema\":2,\"runs\":[{\"run\",\"code\",\"flows\",\"rows_per_second\",\n"
    "\"sentence\",\"actor\",\"host\",\"device\",\"pid\",\"limit\",\"faults\",\"chain\"}]}.  "
    "`limit` is null\n"
    "or has reason (work, step, program, depth, link, transfer, save), share of the time, advice, "
    "and the\n"
    "rate that it should give.  `chain` is the way of the waits.  Beside `runs`, `failed` has\n"
    "[{\"run\",\"host\",\"pid\",\"code\",\"seconds_ago\",\"message\"}].\n";
#undef CAUSE

static const tnd_argument_t arguments[] = {
    {TND_COMMON("--json", why_options_t, json)},
    {TND_COMMON("--leader", why_options_t, leader)},
    {TND_COMMON("--via", why_options_t, via)},
};

const tnd_command_t tnd_command_why = {
    .name = "why",
    .operands = "[RUN...]",
    .summary = "names what limits each run on this machine, and what is wrong with it",
    TND_ARGUMENTS(arguments, why_options_t),
    .details = details,
    .codes = "  0   rows flow in every run, or nothing runs and no RUN was given\n"
             "  1   a RUN does not exist here, or a run was killed or failed; --leader shows\n"
             "      no run\n"
             "  2   usage\n"
             "  10  rows flow, but something is wrong\n"
             "  11  no row is fed in a run, or a user paused it\n"
             "  12  actors of a run wait for each other\n"
             "The highest of all runs counts.\n",
    .run = why,
};
