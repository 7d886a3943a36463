/*  tools/command/ps.c - `tundish ps`: shows every actor of the runs on this machine. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/observe/inspection.h"
#include "runtime/observe/tuning.h"
#include "runtime/text/quantity.h"
#include "tools/choice/absent_run.h"
#include "tools/choice/run_choices.h"
#include "tools/cli/command.h"
#include "tools/cli/json.h"
#include "tools/cli/number_text.h"
#include "tools/machine/machine_use.h"
#include "tools/remote/remote_hosts.h"
#include "tools/remote/remote_look.h"
#include "tools/report/run_json.h"
#include "tools/report/run_notes_report.h"
#include "tools/report/run_view.h"

typedef struct {
    bool bad, json, pages, restarts, stream;
    const char *interval, *leader, *via;
} ps_options_t;

/*  The time between the two inspections from which rates are computed. */
static const struct timespec pause_between = {.tv_nsec = 250000000};
static const uint64_t interval_min_ns = 10000000, interval_max_ns = 3600000000000;

enum { COLUMNS = 11, CELL = 40 };

typedef struct {
    char cells[COLUMNS][CELL];
} row_t;

typedef struct {
    row_t *rows;
    size_t count, room;
} rows_t;

static const char *const titles[COLUMNS] = {"RUN", "HOST",  "PID",    "ACTOR", "KIND",  "STATE",
                                            "FOR", "SINCE", "ROWS/S", "QUEUE", "CREDIT"};
static const bool right[COLUMNS] = {[2] = true, [7] = true, [8] = true, [9] = true, [10] = true};

static const char *const device_names[] = {"idle", "step", "reduce", "apply", "keep"};

/* --- as a table ------------------------------------------------------------------------------- */

static row_t *add_row(rows_t *rows, const tnd_inspected_t *process)
{
    rows->rows = tnd_grow(rows->rows, rows->count, &rows->room, sizeof *rows->rows);
    row_t *row = &rows->rows[rows->count++];
    memset(row, 0, sizeof *row);
    snprintf(row->cells[0], 17, "%s", process->run);
    snprintf(row->cells[1], 17, "%s", process->host);
    snprintf(row->cells[2], CELL, "%d", process->process);
    return row;
}

static void print_seconds(char cell[CELL], double seconds)
{
    if (seconds < 10)
        snprintf(cell, CELL, "%.1f s", seconds);
    else if (seconds < 100)
        snprintf(cell, CELL, "%.0f s", seconds);
    else
        snprintf(cell, CELL, "%.0f:%02.0f", (double)(uint64_t)(seconds / 60),
                 (double)((uint64_t)seconds % 60));
}

static void add_actor(rows_t *rows, const tnd_inspected_t *process, const tnd_statistics_t *page,
                      uint64_t now, double rate)
{
    const char *state = tnd_inspected_state(process);
    row_t *row = add_row(rows, process);
    snprintf(row->cells[3], 17, "%s", page->actor);
    snprintf(row->cells[4], CELL, "%s", page->kind);
    snprintf(row->cells[5], CELL, "%s", state != NULL ? state : tnd_run_json_state(page));
    FILE *out = tnd_require_memory(fmemopen(row->cells[6], 25, "w"));
    tnd_run_json_waits(out, page, "", ",", "");
    fclose(out);
    print_seconds(row->cells[7], tnd_run_json_since(page, now));
    snprintf(row->cells[8], CELL, "%.0f", rate);
    snprintf(row->cells[9], CELL, "%" PRIu64, page->queue);
    snprintf(row->cells[10], CELL, "%" PRIu64, page->credit);
    if (page->credit == TND_UNKNOWN)
        strcpy(row->cells[10], "-");
    for (uint32_t d = 0; d < page->device_count; d++) {
        const tnd_device_page_t *device = &page->devices[d];
        tnd_device_doing_t doing = tnd_device_doing(device);
        char size[TND_QUANTITY_SIZE];
        row = add_row(rows, process);
        snprintf(row->cells[3], 17, "  %s", device->name);
        strcpy(row->cells[4], "device");
        snprintf(row->cells[5], CELL, "%s", state != NULL ? state : device_names[doing.state]);
        if (doing.state != TND_DEVICE_IDLE)
            snprintf(row->cells[6], 25, "replica %" PRIu64 ", step %" PRIu64, doing.replica,
                     doing.step);
        else if (device->bytes_moved > 0)
            snprintf(row->cells[6], 25, "%s copied", tnd_quantity_size(device->bytes_moved, size));
        print_seconds(row->cells[7],
                      now > doing.since_ns ? (double)(now - doing.since_ns) * 1e-9 : 0);
    }
}

static void print_rows(const rows_t *rows)
{
    int widths[COLUMNS];
    for (int c = 0; c < COLUMNS; c++) {
        widths[c] = (int)strlen(titles[c]);
        for (size_t r = 0; r < rows->count; r++)
            if ((int)strlen(rows->rows[r].cells[c]) > widths[c])
                widths[c] = (int)strlen(rows->rows[r].cells[c]);
    }
    for (size_t r = 0; r <= rows->count; r++)
        for (int c = 0; c < COLUMNS; c++) {
            const char *cell = r == 0 ? titles[c] : rows->rows[r - 1].cells[c];
            printf("%*s%s", right[c] ? widths[c] : -widths[c], cell, c + 1 < COLUMNS ? " " : "\n");
        }
}

/*  What was decided about the workers of a process, one line per actor. */
static void print_tuning(const tnd_inspected_t *process)
{
    for (uint32_t a = 0; a < process->count; a++) {
        const tnd_statistics_t *page = &process->actors[a];
        size_t length = strcspn(page->actor, ".");
        char text[256];
        if (page->tuning != 0 && strcmp(page->actor + length, ".0") == 0)
            printf("%s, %.*s: %s\n", process->run, (int)length, page->actor,
                   tnd_tuning_text(page->tuning, text, sizeof text));
    }
}

/*  How far a run is; only its leader knows. */
static void print_place(const tnd_inspection_t *look, const tnd_inspected_t *process)
{
    const tnd_run_page_t *page = process->record.page;
    char steps[TND_NUMBER_TEXT], left[TND_TIME_LEFT_TEXT], word[64];
    if (page->state == 0)
        return;
    (void)tnd_time_left_text(page->epoch_left_ns, page->run_left_ns, left);
    printf("run %s", process->run);
    if (strcmp(tnd_run_word(look, process, word), process->run) != 0)
        printf(" (process %s)", word);
    printf(": epoch %" PRIu64 ", %s step%s%s%s\n", page->epoch,
           tnd_grouped((double)page->step, steps), page->step == 1 ? "" : "s",
           left[0] != '\0' ? "; " : "", left);
}

typedef struct {
    const ps_options_t *options;
    const tnd_request_t *request;
    const tnd_run_choices_t *runs; /* to show */
    bool json, first, any;
    rows_t rows;
} sheet_t;

static void show(sheet_t *sheet, const tnd_inspection_t *before, const tnd_inspection_t *after,
                 const tnd_inspected_t *process)
{
    if (!tnd_run_choices_fit(sheet->runs, process))
        return;
    sheet->any = true;
    if (sheet->json) {
        fputs(sheet->first ? "" : ",", stdout);
        tnd_run_json_process(stdout, before, after, process);
    }
    sheet->first = false;
    for (uint32_t a = 0; !sheet->json && a < process->count; a++) {
        const tnd_statistics_t *page = &process->actors[a];
        add_actor(&sheet->rows, process, page, after->now_ns,
                  tnd_run_json_rate(before, after, process, page));
    }
}

static bool any_live(const tnd_inspection_t *made)
{
    for (uint32_t p = 0; p < made->count; p++)
        if (!made->processes[p].killed)
            return true;
    return false;
}

/*  Whether a user has paused the run of a process. */
static void report_pause(const tnd_inspection_t *look, const tnd_inspected_t *process)
{
    char by[32], word[64];
    if (process->record.page->state != 0 && tnd_run_page_paused(process->record.page, by))
        fprintf(stderr, "tundish ps: %s was paused by %s; `tundish resume %s` continues it\n",
                process->run, by, tnd_run_word(look, process, word));
}

/*  `tundish why` shows a killed process until another takes its place. */
static void report_killed(const tnd_inspection_t *look, const tnd_inspected_t *process)
{
    tnd_run_view_t view = tnd_run_view(look, look, process);
    bool shown = tnd_run_view_has(&view, process) && !tnd_run_is_superseded(look, process);
    fprintf(stderr, "tundish ps: run %s, host %s: process %d was killed; ", process->run,
            process->host, process->process);
    if (shown)
        fprintf(stderr, "`tundish why %s` shows what it did last\n", process->run);
    else
        fputs("another has taken its place\n", stderr);
}

static void show_all(sheet_t *sheet, const tnd_inspection_t *before, const tnd_inspection_t *after)
{
    for (uint32_t p = 0; p < after->count; p++)
        if (!after->processes[p].killed)
            show(sheet, before, after, &after->processes[p]);
    for (uint32_t p = 0; p < after->count; p++) {
        const tnd_inspected_t *process = &after->processes[p];
        if (!process->killed || !tnd_run_choices_fit(sheet->runs, process))
            continue;
        if (sheet->json)
            show(sheet, before, after, process);
        else
            report_killed(after, process);
    }
}

static void print_runs(const sheet_t *sheet, const tnd_inspection_t *look)
{
    bool any = false;
    printf("{\"schema\":%d,\"runs\":[", TND_RUN_JSON_SCHEMA);
    for (uint32_t p = 0; p < look->count; p++) {
        const tnd_inspected_t *process = &look->processes[p];
        bool known = p > 0 && tnd_inspected_same(process, process - 1);
        if (known || !tnd_run_choices_fit(sheet->runs, process))
            continue;
        fputs(any ? "," : "", stdout);
        tnd_run_json_run(stdout, look, process);
        any = true;
    }
    fputs("],\"processes\":[", stdout);
}

static tnd_inspection_t *look(const tnd_request_t *request, const tnd_run_choices_t *runs,
                              tnd_remote_hosts_t *hosts)
{
    const ps_options_t *options = request->options;
    bool all = options->json || options->stream;
    return tnd_remote_hosts_look(hosts, tnd_run_choices_name(runs),
                                 all ? TND_LOOK_DETAILS : TND_LOOK_NOW, TND_REMOTE_PATIENCE_NS);
}

/*  What of two looks could not be read.  The first one removes old files, which the second does not
 *  find.  Lines of a stream, and hosts elsewhere, are shown as of the second. */
static const char *unread(const tnd_request_t *request, const tnd_inspection_t *before,
                          const tnd_inspection_t *after)
{
    const ps_options_t *options = request->options;
    bool second = options->stream || options->via != NULL || options->leader != NULL;
    return (second ? after : before)->unread;
}

static void print_json(sheet_t *sheet, const tnd_inspection_t *before,
                       const tnd_inspection_t *after)
{
    print_runs(sheet, after);
    show_all(sheet, before, after);
    fputs("],\"unread\":[", stdout);
    tnd_json_lines(stdout, unread(sheet->request, before, after));
    fputs("]", stdout);
    const tnd_machine_use_t use = tnd_machine_use(before, after);
    tnd_machine_use_json(&use, stdout);
    fputs("}\n", stdout);
}

static void print_table(sheet_t *sheet, const tnd_inspection_t *before,
                        const tnd_inspection_t *after)
{
    char absent[600];
    show_all(sheet, before, after);
    fputs(unread(sheet->request, before, after), stderr);
    if (sheet->rows.count > 0)
        print_rows(&sheet->rows);
    for (uint32_t p = 0; p < after->count; p++)
        if (!after->processes[p].killed && tnd_run_choices_fit(sheet->runs, &after->processes[p])) {
            print_place(after, &after->processes[p]);
            print_tuning(&after->processes[p]);
            report_pause(after, &after->processes[p]);
        }
    if (sheet->rows.count == 0 && sheet->request->file_count == 0)
        fprintf(stderr, "%s\n",
                tnd_absent_run_text(NULL, sheet->options->leader, after, absent, sizeof absent));
    free(sheet->rows.rows);
}

/* --- what a run keeps ------------------------------------------------------------------------- */

/*  Bad records or restarts of the runs that the operands name. */
static void print_notes(const sheet_t *sheet, const tnd_inspection_t *look)
{
    const ps_options_t *options = sheet->options;
    bool any = false;
    if (options->json)
        printf("{\"schema\":%d,\"runs\":[", TND_RUN_JSON_SCHEMA);
    for (uint32_t p = 0; p < look->count; p++) {
        const tnd_inspected_t *process = &look->processes[p];
        bool leads = tnd_inspection_leader(look, process) == process;
        if (!leads || process->record.notes == NULL || !tnd_run_choices_fit(sheet->runs, process))
            continue;
        if (options->json) {
            tnd_json_begin(stdout, any, "run", process->run);
            printf(",\"session\":\"%" PRIx64 "\",\"pid\":%d", process->session, process->process);
        }
        for (int kind = 0; kind < TND_RUN_NOTES_KINDS; kind++) {
            if (!(kind == TND_RUN_NOTES_BAD ? options->bad : options->restarts))
                continue;
            if (options->json)
                tnd_run_notes_json(stdout, process, (tnd_run_notes_kind_t)kind, look->now_ns);
            else
                tnd_run_notes_print(stdout, process, (tnd_run_notes_kind_t)kind, look->now_ns);
        }
        if (options->json)
            putchar('}');
        any = true;
    }
    if (options->json)
        fputs("]}\n", stdout);
}

/* --- the command ------------------------------------------------------------------------------ */

static void print_once(sheet_t *sheet, const tnd_inspection_t *before,
                       const tnd_inspection_t *after)
{
    for (uint32_t p = 0; p < after->count; p++)
        sheet->any = sheet->any || tnd_run_choices_fit(sheet->runs, &after->processes[p]);
    if (sheet->options->bad || sheet->options->restarts)
        print_notes(sheet, after);
    else if (sheet->json)
        print_json(sheet, before, after);
    else
        print_table(sheet, before, after);
}

static int once(const tnd_request_t *request, const tnd_run_choices_t *runs,
                tnd_remote_hosts_t *hosts)
{
    const ps_options_t *options = request->options;
    sheet_t sheet = {
        .request = request, .runs = runs, .options = options, .json = options->json, .first = true};
    tnd_inspection_t *before = look(request, runs, hosts), *after = before;
    if (any_live(before)) {
        nanosleep(&pause_between, NULL);
        after = look(request, runs, hosts);
    }
    print_once(&sheet, before, after);
    int code = options->leader != NULL && !sheet.any ? TND_EXIT_FAILED : TND_EXIT_OK;
    for (size_t i = 0; i < request->file_count; i++) {
        const char *run = request->files[i];
        char absent[600];
        if (tnd_run_choices_found(runs, i, after))
            continue;
        tnd_complain("ps", "%s",
                     tnd_absent_run_text(run, options->leader, after, absent, sizeof absent));
        code = TND_EXIT_FAILED;
    }
    if (after != before)
        tnd_inspection_destroy(&after);
    tnd_inspection_destroy(&before);
    return code;
}

/* --- again and again -------------------------------------------------------------------------- */

/*  Prints looks until the reader of stdout closes it, which also ends a pause between two looks. */
static int stream(const tnd_request_t *request, const tnd_run_choices_t *runs,
                  tnd_remote_hosts_t *hosts, uint64_t interval_ns)
{
    const ps_options_t *options = request->options;
    struct pollfd reader = {.fd = STDOUT_FILENO};
    tnd_inspection_t *before = NULL;
    bool read = true;
    while (read) {
        sheet_t sheet = {
            .request = request, .runs = runs, .options = options, .json = true, .first = true};
        tnd_inspection_t *after = look(request, runs, hosts);
        print_json(&sheet, before != NULL ? before : after, after);
        read = fflush(stdout) == 0 && poll(&reader, 1, (int)(interval_ns / 1000000)) == 0;
        tnd_inspection_destroy(&before);
        before = after;
    }
    tnd_inspection_destroy(&before);
    return TND_EXIT_OK;
}

/*  Prints the pages of this machine likewise. */
static int stream_pages(uint64_t interval_ns)
{
    struct pollfd reader = {.fd = STDOUT_FILENO};
    bool read = true;
    while (read) {
        tnd_inspection_t *pages = tnd_inspection_new(TND_LOOK_DETAILS);
        tnd_remote_look_print(stdout, pages);
        tnd_inspection_destroy(&pages);
        read = fflush(stdout) == 0 && poll(&reader, 1, (int)(interval_ns / 1000000)) == 0;
    }
    return TND_EXIT_OK;
}

static int ps(const tnd_request_t *request)
{
    const ps_options_t *options = request->options;
    uint64_t interval_ns = 500000000;
    const char *interval = options->interval;
    if (interval != NULL && !options->stream)
        return tnd_usage_error("ps", "--interval needs --stream");
    if (interval != NULL && (tnd_quantity_duration(interval, &interval_ns) != TND_QUANTITY_OK ||
                             interval_ns < interval_min_ns || interval_ns > interval_max_ns))
        return tnd_usage_error("ps", "--interval takes a time from 10ms to 1h, not '%s'", interval);
    if ((options->bad || options->restarts) && (options->stream || options->pages))
        return tnd_usage_error("ps", "--bad and --restarts cannot be combined with --stream");
    if (options->pages && (!options->stream || options->via != NULL || options->leader != NULL ||
                           request->file_count > 0))
        return tnd_usage_error("ps", "--pages needs --stream, without --leader, --via or RUN");
    if (options->pages)
        return stream_pages(interval_ns);
    tnd_remote_hosts_t *hosts;
    tnd_error_t error = {.text = ""};
    if (tnd_remote_hosts_new(&hosts, options->via, options->leader, &error) != TND_OK)
        return tnd_usage_error("ps", "%s", error.text);
    tnd_run_choices_t runs;
    tnd_run_choices_read(&runs, request->files, request->file_count);
    int code =
        options->stream ? stream(request, &runs, hosts, interval_ns) : once(request, &runs, hosts);
    tnd_run_choices_free(&runs);
    tnd_remote_hosts_destroy(&hosts);
    return code;
}

static const tnd_argument_t arguments[] = {
    {TND_ARGUMENT("--bad", FLAG, ps_options_t, bad, NULL, "shows the bad records of the run")},
    {TND_COMMON("--interval", ps_options_t, interval)},
    {TND_COMMON("--json", ps_options_t, json)},
    {TND_COMMON("--leader", ps_options_t, leader)},
    {TND_ARGUMENT("--pages", FLAG, ps_options_t, pages, NULL,
                  "with --stream: prints copies of the statistics, for --via on another machine")},
    {TND_ARGUMENT("--restarts", FLAG, ps_options_t, restarts, NULL,
                  "shows what was started again, and why")},
    {TND_ARGUMENT("--stream", FLAG, ps_options_t, stream, NULL,
                  "prints a line of JSON every --interval")},
    {TND_COMMON("--via", ps_options_t, via)},
};

const tnd_command_t tnd_command_ps = {
    .name = "ps",
    .operands = "[RUN...]",
    .summary = "shows every actor of the runs on this machine, and what it waits for",
    TND_ARGUMENTS(arguments, ps_options_t),
    .details =
        "Reads the statistics in shared memory only, so actors that hang or were stopped are\n"
        "shown too.  A line per actor:\n"
        "\n"
        "  STATE   opening: a model, for example; running;\n"
        "          working: inside its work (a read, an operation, a copy); waiting;\n"
        "          stopped: its process was stopped by a signal; silent: its process, on another\n"
        "          machine, does not answer; asleep: a worker of `workers: auto` that is not\n"
        "          needed now; ended; failed\n"
        "  FOR     what it waits for, most important first: input, credit (of the next actor),\n"
        "          order (later blocks have arrived, earlier ones have not), mark (another lane),\n"
        "          window (a free slot of a feeder), memory, step (the user's), reduce (other\n"
        "          replicas), peer (a connection), leader, ended\n"
        "  SINCE   how long it has been in this state\n"
        "  ROWS/S  rows sent, over a quarter of a second\n"
        "  QUEUE   blocks in its queue, for a feeder whole steps\n"
        "  CREDIT  blocks or steps that it may still send; for a feeder its free slots\n"
        "\n"
        "and one per device thread of a feeder: idle (no step is whole), step, reduce, apply.\n"
        "A line per run has its epoch, its steps, and the time left until the epoch and the run\n"
        "end, at the rate of the last minute.\n"
        "--json prints one object.  Its `schema` is the version of its members.  `runs` has the\n"
        "state of each run, its hosts, the edges of its graph and its last log records.\n"
        "`session` distinguishes runs of the same name.  `processes` has every counter of each\n"
        "actor, and its times in seconds, which add up to its lifetime:\n"
        "cpu, wait_in, wait_credit, wait_order, wait_step, wait_reduce, wait_io (inside its\n"
        "work without computing), run_queue (no processor is free), other.  It also has the\n"
        "histograms, operations, options and file of each actor, and the memory of each process\n"
        "beside the most that `tundish explain` expects.  `machine` is how much of this\n"
        "machine is in use, `where` the kernel stack of a thread.\n"
        "\n"
        "--bad shows, instead of the table, the bad records of each run: how many, for each actor "
        "and\n"
        "operation that found some how many these were and the first with its file, and the "
        "newest\n"
        "16.  --restarts shows likewise which hosts and actors were started again, at which step "
        "and\n"
        "why.  A run keeps them until it ends, also in `look` of its --report.  `bad` and "
        "`restarts` of\n"
        "--json are the same.\n"
        "\n"
        "--stream prints such an object on a line of its own every --interval, by default 500 ms,\n"
        "until the reader closes stdout.  Rates are those since the previous line.  It also waits\n"
        "for a RUN that does not exist yet.\n"
        "\n"
        "--via gives the start of a command that runs `tundish` on another machine: 'ssh "
        "{address}',\n"
        "'kubectl exec {host} --', 'srun -w {host}'.  It is run for each host of a run of this\n"
        "machine whose address is not here, and its actors are shown too.  No shell reads it.  It\n"
        "must not ask for a password.  `machine` is the address of such a process, or null.  A\n"
        "host that does not answer within 2 s is named in `unread`, or on stderr, with the reason\n"
        "and what was last heard.  If it was shown before, it has state `silent` and is shown as "
        "it\n"
        "was.  Both machines need the same version of tundish, and the same user.\n"
        "\n"
        "--leader 10.0.0.1:7100 needs no command there: it shows the one run that listens at this\n"
        "port, which `tundish explain` prints, with all its hosts.  They send what has changed, "
        "at\n"
        "most 1 MB/s in all, while up to 4 inspectors look.  It only reads.  Event histories and\n"
        "threads stay on their machines.  A host that does not answer is shown as by --via.  On "
        "the\n"
        "leader's machine only its user, users listed by `security:` and root may look; from\n"
        "other machines all that can reach the port may, so `insecure: true` is what allows it.\n"
        "With `ssh -L 7100:127.0.0.1:7100`, a run that listens on loopback can be shown\n"
        "elsewhere.\n"
        "\n"
        "The pages of killed processes are kept for 10 minutes.  Runs of other users are not\n"
        "shown.  With RUN, the `name:` of a topology or the number of a process, only that run is "
        "shown.\n",
    .codes = "  0   shown, also if nothing runs\n"
             "  1   a RUN does not exist here, or --leader shows no run\n"
             "  2   usage\n",
    .run = ps,
};
