/*  tools/command/chaos.c - `tundish chaos`: runs a graph under faults and compares the results. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actors/plan/reduction_through.h"
#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "tools/cli/json.h"
#include "tools/faults/fault_run.h"

static const uint64_t second = 1000000000;

enum { SECONDS = 60, ROWS_MAX = 64, TEXT = 256 };

/*  The parts of a report that are compared. */
static const struct {
    const char *key, *begin, *end;
    bool shown;
} parts[] = {
    {"steps", "\"steps\":", ",", true},
    {"stream", "\"stream_digest\":", ",", true},
    {"ledger", "\"rows\":{", "}", true},
    {"model", "\"model_digest\":", ",", true},
    {"results", "\"results\":", ",\"chains\"", false},
    {"chains", "\"chains\":", ",\"versions\"", false},
};

enum { PARTS = sizeof parts / sizeof parts[0] };

/*  Runs of the same length, with and without faults, whose results must be equal. */
typedef struct {
    uint64_t steps; /* UINT64_MAX: to the end of the stream */
    char *report;   /* of the first run with faults */
    uint64_t count;
    char *quiet;  /* the report of the run without faults */
    bool drained; /* later chains did not run */
    char *odd;    /* the first that differs from it; NULL: none */
    bool equal[PARTS];
} measure_t;

static bool is_compared(const measure_t *measure, int part)
{
    return parts[part].shown || !measure->drained;
}

/*  The gaps after faults of one kind with the same target. */
typedef struct {
    char name[TEXT];
    tnd_fault_schedule_kind_t kind;
    uint64_t count;
    uint64_t mixed; /* of them: another fault was injected at the same time */
    tnd_step_gaps_t gaps;
} row_t;

typedef struct {
    const tnd_chaos_options_t *options;
    tnd_sandbox_t sandbox;
    tnd_fault_run_t runs;
    uint64_t seed, steps, faulty_ns;
    measure_t whole, part; /* runs to the end; the one that was drained */
    tnd_spread_t calm, quiet;
    row_t rows[ROWS_MAX];
    uint32_t row_count;
} chaos_t;

/* --- comparing -------------------------------------------------------------------------------- */

/*  Finds one part in a report. */
static bool find_part(const char *report, int part, const char **begin_p, size_t *size_p)
{
    const char *begin = report != NULL ? strstr(report, parts[part].begin) : NULL;
    if (begin == NULL)
        return false;
    begin += strlen(parts[part].begin);
    const char *end = strstr(begin, parts[part].end);
    *begin_p = begin;
    *size_p = end != NULL ? (size_t)(end - begin) : strlen(begin);
    return true;
}

static bool part_equal(const char *a, const char *b, int part)
{
    const char *begin_a, *begin_b;
    size_t size_a, size_b;
    return find_part(a, part, &begin_a, &size_a) && find_part(b, part, &begin_b, &size_b) &&
           size_a == size_b && memcmp(begin_a, begin_b, size_a) == 0;
}

/*  Compares a report with the first one; takes ownership. */
static void take_report(measure_t *measure, char *report)
{
    if (measure->count++ == 0) {
        measure->report = report;
        for (int p = 0; p < PARTS; p++)
            measure->equal[p] = true;
        return;
    }
    bool odd = false;
    for (int p = 0; p < PARTS; p++) {
        bool equal = part_equal(measure->report, report, p);
        odd = odd || !equal;
        measure->equal[p] = measure->equal[p] && equal;
    }
    if (odd && measure->odd == NULL)
        measure->odd = report;
    else
        free(report);
}

/*  Prints the last lines of the output of the runs. */
static void show_log(const chaos_t *chaos, const char *name)
{
    enum { LINES = 25, BYTES = 8192 };
    char *path = tnd_sandbox_path(&chaos->sandbox, name), text[BYTES + 1];
    FILE *in = fopen(path, "re");
    size_t size = 0;
    if (in != NULL) {
        if (fseek(in, -BYTES, SEEK_END) != 0)
            rewind(in);
        size = fread(text, 1, BYTES, in);
        fclose(in);
    }
    text[size] = '\0';
    const char *at = text + size;
    for (int lines = 0; at > text && lines <= LINES; at--)
        lines += at[-1] == '\n';
    fprintf(stderr, "%s%sthe output is in %s\n", at, size > 0 ? "..." : "", path);
    free(path);
}

/*  Runs the same steps without faults.  False: the run failed, or the user interrupted it. */
static bool run_quiet(chaos_t *chaos, measure_t *measure)
{
    tnd_run_t run = {.quiet = true, .until_ns = UINT64_MAX, .steps = measure->steps};
    if (measure->count == 0)
        return true;
    if (!chaos->options->quiet && !chaos->options->json)
        fprintf(stderr, "%scompared with a quiet run of the same steps\n",
                isatty(STDERR_FILENO) ? "\r\033[K" : "");
    tnd_fault_run_end_t end = tnd_fault_run_run(&chaos->runs, &run);
    measure->quiet = run.report;
    if (end == TND_FAULT_RUN_BROKEN || run.report == NULL) {
        show_log(chaos, "quiet.log");
        tnd_complain("chaos", "the run fails without faults too: %s", chaos->runs.why);
        return false;
    }
    for (int p = 0; p < PARTS; p++)
        measure->equal[p] = measure->equal[p] && part_equal(measure->report, run.report, p);
    return chaos->runs.signals == 0;
}

static bool is_equal(const measure_t *measure)
{
    for (int p = 0; p < PARTS && measure->count > 0; p++)
        if (is_compared(measure, p) && !measure->equal[p])
            return false;
    return true;
}

/* --- the account ------------------------------------------------------------------------------ */

static row_t *row_of(chaos_t *chaos, const tnd_injected_t *injected)
{
    char name[TEXT];
    tnd_fault_run_describe(&chaos->runs, &injected->fault, name, sizeof name);
    uint32_t r = 0;
    while (r < chaos->row_count && strcmp(chaos->rows[r].name, name) != 0)
        r++;
    if (r == ROWS_MAX)
        return NULL;
    if (r == chaos->row_count) {
        chaos->rows[r] = (row_t){.kind = injected->fault.kind};
        snprintf(chaos->rows[r].name, sizeof chaos->rows[r].name, "%s", name);
        chaos->row_count++;
    }
    return &chaos->rows[r];
}

static int compare_rows(const void *a, const void *b)
{
    const row_t *x = a, *y = b;
    return x->kind != y->kind ? (x->kind > y->kind) - (x->kind < y->kind)
                              : strcmp(x->name, y->name);
}

static void count_injected(chaos_t *chaos)
{
    for (size_t d = 0; d < chaos->runs.injected_count; d++) {
        const tnd_injected_t *injected = &chaos->runs.injected[d];
        row_t *row = row_of(chaos, injected);
        if (row == NULL)
            continue;
        row->count++;
        if (injected->mixed)
            row->mixed++;
        else if (injected->measured)
            tnd_step_gaps_add(&row->gaps, injected->gap_ns);
    }
    qsort(chaos->rows, chaos->row_count, sizeof *chaos->rows, compare_rows);
}

static const char *time_text(char text[32], uint64_t ns)
{
    if (ns >= 10 * second)
        snprintf(text, 32, "%.0f s", (double)ns * 1e-9);
    else if (ns >= second)
        snprintf(text, 32, "%.2f s", (double)ns * 1e-9);
    else
        snprintf(text, 32, "%.0f ms", (double)ns * 1e-6);
    return text;
}

static void print_spread(const char *name, uint64_t count, const tnd_spread_t *spread)
{
    char half[32], most_of[32], most[32];
    printf("  %-46.46s %6" PRIu64, name, count);
    if (spread->count > 0)
        printf("  %8s %8s %8s", time_text(half, spread->half), time_text(most_of, spread->most_of),
               time_text(most, spread->most));
    putchar('\n');
}

static void print_measure(const measure_t *measure, const char *what)
{
    if (measure->count == 0)
        return;
    printf("%s\n", what);
    for (int p = 0; p < PARTS; p++) {
        const char *text = "", *other = "";
        size_t size = 0, other_size = 0;
        (void)find_part(measure->report, p, &text, &size);
        bool quiet = part_equal(measure->report, measure->quiet, p);
        (void)find_part(quiet ? measure->odd : measure->quiet, p, &other, &other_size);
        if (!is_compared(measure, p) || (!parts[p].shown && measure->equal[p]))
            continue; /* too long to print without need */
        printf("  %-8s %.*s%s", parts[p].key, (int)size, text,
               measure->equal[p] ? "  as in the quiet run\n" : "  DIFFERS");
        if (!measure->equal[p])
            printf(" from %.*s\n", (int)other_size, other);
    }
}

static void print_text(chaos_t *chaos, bool equal)
{
    const tnd_fault_run_t *runs = &chaos->runs;
    char what[TEXT];
    printf("%.1f s under faults, %" PRIu64 " steps in %" PRIu64 " run%s; seed %" PRIu64 "\n",
           (double)chaos->faulty_ns * 1e-9, chaos->steps, runs->runs, runs->runs == 1 ? "" : "s",
           chaos->seed);
    printf("  %-46s %6s  %8s %8s %8s\n", "time without a step", "", "p50", "p99", "longest");
    print_spread("in the quiet run", chaos->quiet.count, &chaos->quiet);
    print_spread("between the faults", chaos->calm.count, &chaos->calm);
    for (uint32_t r = 0; r < chaos->row_count; r++) {
        tnd_spread_t spread = tnd_step_gaps_spread(&chaos->rows[r].gaps);
        print_spread(chaos->rows[r].name, chaos->rows[r].count, &spread);
    }
    printf("repeated: %" PRIu64 " processes restarted, %" PRIu64 " rewinds, %" PRIu64
           " tickets issued again",
           runs->restarts, runs->rewinds, runs->tickets);
    if (runs->resumes > 0)
        printf(", %" PRIu64 " resumes (%" PRIu64 " steps repeated)", runs->resumes,
               runs->steps_again);
    if (runs->unwritten > 0)
        printf("; %" PRIu64 " checkpoints could not be written", runs->unwritten);
    putchar('\n');
    snprintf(what, sizeof what, "%" PRIu64 " run%s to the end", chaos->whole.count,
             chaos->whole.count == 1 ? "" : "s");
    print_measure(&chaos->whole, what);
    print_measure(&chaos->part, "the run that was drained when the time was over");
    puts(equal ? "the graph survives: no row lost or repeated, the same order, the same bits"
               : "the graph does NOT survive: see the differences");
}

static void json_spread(const tnd_spread_t *spread)
{
    printf("\"gaps\":%zu,\"p50\":%.6f,\"p99\":%.6f,\"max\":%.6f", spread->count,
           (double)spread->half * 1e-9, (double)spread->most_of * 1e-9,
           (double)spread->most * 1e-9);
}

static void json_report(const char *name, const char *report)
{
    printf(",\"%s\":%.*s", name, (int)strcspn(report, "\n"), report);
}

static void json_measure(const char *name, const measure_t *measure)
{
    printf(",\"%s\":{\"runs\":%" PRIu64 ",\"equal\":{", name, measure->count);
    for (int p = 0; p < PARTS && measure->count > 0 && is_compared(measure, p); p++)
        printf("%s\"%s\":%s", p > 0 ? "," : "", parts[p].key, measure->equal[p] ? "true" : "false");
    putchar('}');
    if (measure->report != NULL)
        json_report("report", measure->report);
    if (measure->quiet != NULL)
        json_report("quiet", measure->quiet);
    putchar('}');
}

static void print_json(chaos_t *chaos, bool equal)
{
    const tnd_fault_run_t *runs = &chaos->runs;
    printf("{\"survives\":%s,\"seed\":%" PRIu64 ",\"seconds\":%.3f,\"runs\":%" PRIu64
           ",\"steps\":%" PRIu64 ",\"faults\":[",
           equal ? "true" : "false", chaos->seed, (double)chaos->faulty_ns * 1e-9, runs->runs,
           chaos->steps);
    for (uint32_t r = 0; r < chaos->row_count; r++) {
        tnd_spread_t spread = tnd_step_gaps_spread(&chaos->rows[r].gaps);
        tnd_json_begin(stdout, r > 0, "fault", chaos->rows[r].name);
        printf(",\"count\":%" PRIu64 ",\"mixed\":%" PRIu64 ",", chaos->rows[r].count,
               chaos->rows[r].mixed);
        json_spread(&spread);
        putchar('}');
    }
    printf("],\"between\":{");
    json_spread(&chaos->calm);
    printf("},\"quiet\":{");
    json_spread(&chaos->quiet);
    printf("},\"restarts\":%" PRIu64 ",\"rewinds\":%" PRIu64 ",\"tickets_again\":%" PRIu64
           ",\"resumes\":%" PRIu64 ",\"steps_again\":%" PRIu64
           ",\"checkpoints_unwritten\":%" PRIu64,
           runs->restarts, runs->rewinds, runs->tickets, runs->resumes, runs->steps_again,
           runs->unwritten);
    json_measure("whole", &chaos->whole);
    json_measure("drained", &chaos->part);
    puts("}");
}

/* --- the command ------------------------------------------------------------------------------ */

/*  Runs until the time is over, a run breaks or the user interrupts. */
static tnd_fault_run_end_t run_faulty(chaos_t *chaos, uint64_t until)
{
    tnd_fault_run_end_t end;
    do {
        tnd_run_t run = {.until_ns = until, .steps = chaos->options->steps};
        end = tnd_fault_run_run(&chaos->runs, &run);
        chaos->steps += run.seen;
        measure_t *measure = end == TND_FAULT_RUN_DRAINED ? &chaos->part : &chaos->whole;
        const char *begin;
        size_t size;
        if (end == TND_FAULT_RUN_DRAINED && find_part(run.report, 0, &begin, &size))
            measure->steps = strtoull(begin, NULL, 10);
        if (end == TND_FAULT_RUN_ENDED || end == TND_FAULT_RUN_DRAINED) {
            if (run.report == NULL) {
                snprintf(chaos->runs.why, sizeof chaos->runs.why,
                         "the run succeeded but wrote no report");
                return TND_FAULT_RUN_BROKEN;
            }
            take_report(measure, run.report);
        } else {
            free(run.report);
        }
    } while (end == TND_FAULT_RUN_ENDED && chaos->runs.signals == 0 && tnd_clock_now() < until);
    return end;
}

/*  Scripts that run many seeds read this line to tell a signal from a fault. */
static int report_signal(const chaos_t *chaos)
{
    char sender[64] = "";
    if (chaos->runs.sender > 0)
        snprintf(sender, sizeof sender, " from process %d", (int)chaos->runs.sender);
    tnd_complain("chaos",
                 "stopped by signal %d (%s)%s before the runs were compared (seed %" PRIu64 ")",
                 chaos->runs.signal, strsignal(chaos->runs.signal), sender, chaos->seed);
    return TND_EXIT_DRAINED;
}

static int judge(chaos_t *chaos)
{
    bool done = run_quiet(chaos, &chaos->part) && run_quiet(chaos, &chaos->whole);
    if (!done)
        return chaos->runs.signals > 0 ? report_signal(chaos) : TND_EXIT_FAILED;
    chaos->quiet = tnd_step_gaps_spread(&chaos->runs.calm);
    bool equal = is_equal(&chaos->whole) && is_equal(&chaos->part);
    count_injected(chaos);
    if (chaos->options->json)
        print_json(chaos, equal);
    else
        print_text(chaos, equal);
    return equal ? TND_EXIT_OK : TND_EXIT_FAILED;
}

static int perform(chaos_t *chaos)
{
    const tnd_chaos_options_t *options = chaos->options;
    uint64_t seconds = options->seconds + 60 * options->minutes;
    seconds = seconds == 0 ? SECONDS : seconds;
    chaos->seed = options->seed != 0 ? options->seed : tnd_clock_now() % 1000000 + 1;
    chaos->whole.steps = options->steps;
    tnd_fault_run_begin(&chaos->runs, &chaos->sandbox, chaos->seed);
    bool prints = !options->quiet && !options->json;
    if (prints) {
        const tnd_plan_t *plan = chaos->sandbox.plan;
        fprintf(stderr, "seed %" PRIu64 ", %" PRIu64 " s, %" PRIu32 " processes:", chaos->seed,
                seconds, plan->host_count);
        for (uint32_t h = 0; h < plan->host_count; h++)
            fprintf(stderr, " %s%s", plan->hosts[h].name,
                    (chaos->runs.hosts[h] & TND_FAULT_SOFT) != 0 ? "" : "*");
        fputs(options->all ? "\n" : " (* is not killed)\n", stderr);
    }
    uint64_t begun = tnd_clock_now();
    tnd_fault_run_end_t end = run_faulty(chaos, begun + seconds * second);
    chaos->faulty_ns = tnd_clock_now() - begun;
    chaos->calm = tnd_step_gaps_spread(&chaos->runs.calm);
    tnd_step_gaps_free(&chaos->runs.calm);
    if (prints && isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
    if (end == TND_FAULT_RUN_LEFT)
        return report_signal(chaos);
    if (end == TND_FAULT_RUN_BROKEN) {
        show_log(chaos, "log");
        tnd_complain("chaos", "the graph does NOT survive: %s (seed %" PRIu64 ", fault %zu)",
                     chaos->runs.why, chaos->seed, chaos->runs.injected_count);
        return TND_EXIT_FAILED;
    }
    chaos->runs.signals = 0;
    return judge(chaos);
}

static int check_order(const chaos_t *chaos)
{
    const tnd_plan_t *plan = chaos->sandbox.plan;
    if (tnd_reduction_is_reproducible(plan))
        return TND_EXIT_OK;
    bool dealt = tnd_plan_is_dealt(plan, 0);
    tnd_complain("chaos",
                 "%s, which gives other bits in each run, and models are compared here: write "
                 "`order: %s`",
                 dealt ? "`parameters` has `order: arrival`" : "a reducer has `order: any`",
                 dealt ? "steps" : "tree");
    return TND_EXIT_TOPOLOGY;
}

static int chaos_graph(const tnd_request_t *request)
{
    const tnd_chaos_options_t *options = request->options;
    chaos_t *chaos = tnd_allocate_zeroed(1, sizeof *chaos);
    *chaos = (chaos_t){.options = options, .part = {.steps = UINT64_MAX, .drained = true}};
    tnd_fault_run_init(&chaos->runs, options);
    int code = tnd_sandbox_open(&chaos->sandbox, request, &options->load, options->all);
    if (code == TND_EXIT_OK)
        code = check_order(chaos);
    if (code == TND_EXIT_OK)
        code = perform(chaos);
    tnd_sandbox_close(&chaos->sandbox, code != TND_EXIT_FAILED);
    tnd_fault_run_fini(&chaos->runs);
    measure_t *measures[] = {&chaos->whole, &chaos->part};
    for (int m = 0; m < 2; m++) {
        free(measures[m]->report);
        free(measures[m]->quiet);
        free(measures[m]->odd);
    }
    for (uint32_t r = 0; r < chaos->row_count; r++)
        tnd_step_gaps_free(&chaos->rows[r].gaps);
    free(chaos);
    return code;
}

static const tnd_argument_t arguments[] = {
    {TND_ARGUMENT("--minutes", NUMBER, tnd_chaos_options_t, minutes, "M",
                  "the time of the faults, in minutes")},
    {TND_ARGUMENT("--seconds", NUMBER, tnd_chaos_options_t, seconds, "S",
                  "the time of the faults, in seconds")},
    {TND_ARGUMENT("--seed", NUMBER, tnd_chaos_options_t, seed, "SEED",
                  "draws the same faults as an earlier run")},
    {TND_ARGUMENT("--all", FLAG, tnd_chaos_options_t, all, NULL,
                  "also kills hosts that no run survives, and continues with --resume")},
    {TND_COMMON("--steps", tnd_chaos_options_t, steps)},
    {TND_COMMON("--set", tnd_chaos_options_t, load.settings)},
    {TND_COMMON("--data", tnd_chaos_options_t, load.data)},
    {TND_COMMON("--quiet", tnd_chaos_options_t, quiet)},
    {TND_COMMON("--json", tnd_chaos_options_t, json)},
};

const tnd_command_t tnd_command_chaos = {
    .name = "chaos",
    .operands = "FILE...",
    .summary = "runs a graph under kill -9, stops and cut connections, and compares the result",
    TND_ARGUMENTS(arguments, tnd_chaos_options_t),
    .details =
        "Checks whether a graph survives faults, with its plugins.  Every host of the files "
        "becomes\n"
        "a process of this machine, as under `tundish up`.  Files without hosts get some: one "
        "with\n"
        "the feeders, which is the leader, one each with readers, batchers and reducers, and two\n"
        "with workers.  All their connections pass a relay.  Then faults are injected, one after "
        "the\n"
        "other, for a minute or the time of --seconds or --minutes:\n"
        "\n"
        "  kill -9           a host that is restarted: any but the leader and those with replicas\n"
        "  stopped           for a moment: any host; until it counts as lost (`dead_after`): one\n"
        "                    that may be killed\n"
        "  slow              a reader or a worker gets a sixth of its time, as with a slow disk\n"
        "  connections       of control or of data: cut, closed on one side only, silent, shut "
        "off\n"
        "  disk full         checkpoints cannot be written, if the files ask for them\n"
        "  devices           simulated ones (`sim:0`): slow, or no copy ends for a while\n"
        "\n"
        "--all also kills the other hosts, and all hosts at once, and simulated devices are lost; "
        "the\n"
        "run then continues with --resume from checkpoints in a temporary folder, so the step "
        "must\n"
        "have `save` and `load`.\n"
        "\n"
        "A stream that ends earlier is run again.  Then the same steps run without faults; "
        "stream,\n"
        "ledger, model and results of both must be equal, which `order: any` of a reducer rules\n"
        "out.  The report lists the faults, the time\n"
        "without a step after each, and what was repeated.  The same seed draws the same faults;\n"
        "their times depend on how fast the run recovers.\n"
        "\n"
        "The files' own folders are not written: checkpoints go to a temporary folder.  Ctrl-C "
        "ends\n"
        "the faults early and compares; a second one ends the command.\n",
    .codes = "  0    the graph survives: all results are equal\n"
             "  1    something differs, or the run ended or hung; its output is kept\n"
             "  2    usage\n"
             "  78   the topology is wrong\n"
             "  130  interrupted\n",
    .operands_min = 1,
    .run = chaos_graph,
};
