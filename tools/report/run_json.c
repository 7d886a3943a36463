/*  tools/report/run_json.c - an inspection as JSON. */
#include "tools/report/run_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/notes/page_text.h"
#include "runtime/observe/process.h"
#include "runtime/observe/thread_state.h"
#include "runtime/observe/tuning.h"
#include "tools/cli/json.h"
#include "tools/report/run_notes_report.h"

static const char *const state_names[] = {"new",     "running", "working",
                                          "waiting", "ended",   "failed"};
static const char *const device_names[] = {"idle", "step", "reduce", "apply", "keep"};
static const char *const session_names[] = {NULL,      "joining",  "opening", "ready",
                                            "running", "draining", "done",    "failed"};
static const char *const presence_names[] = {NULL, "expected", "up", "away", "lost", "left"};
static const char *const control_names[] = {"none", "waits", "works", "ends"};
static const char *const outcome_names[] = {NULL,     "done", "drained", "stopped",
                                            "failed", "lost", "unusable"};
static const char *const level_names[] = {"debug", "info", "warning", "error"};

static tnd_state_t state_of(const tnd_statistics_t *page)
{
    return (tnd_state_t)(page->state & 0xff);
}

const char *tnd_run_json_state(const tnd_statistics_t *page)
{
    bool asleep = page->asleep != 0 && state_of(page) == TND_STATE_WAITING;
    if (asleep || page->opens != 0)
        return asleep ? "asleep" : "opening";
    return state_names[state_of(page)];
}

void tnd_run_json_waits(FILE *out, const tnd_statistics_t *page, const char *before,
                        const char *between, const char *after)
{
    uint32_t waits = state_of(page) == TND_STATE_WAITING ? (uint32_t)(page->state >> 8) : 0;
    unsigned first = waits != 0 ? tnd_wait_foremost(waits) : 0;
    bool any = false;
    for (unsigned turn = 0; turn < 2; turn++)
        for (unsigned bit = 0; bit < TND_WAIT_REASONS; bit++) {
            if ((waits >> bit & 1) == 0 || (bit == first) != (turn == 0) ||
                tnd_wait_name(bit) == NULL)
                continue;
            fprintf(out, "%s%s%s%s", any ? between : "", before, tnd_wait_name(bit), after);
            any = true;
        }
}

double tnd_run_json_since(const tnd_statistics_t *page, uint64_t now)
{
    uint64_t since = state_of(page) == TND_STATE_WAITING ? page->waiting_ns : page->since_ns;
    return since != 0 && now > since ? (double)(now - since) * 1e-9 : 0;
}

/*  The age of a moment; null if there was none. */
static void print_age(FILE *out, const char *key, uint64_t at_ns, uint64_t now)
{
    if (at_ns == 0)
        fprintf(out, ",\"%s\":null", key);
    else
        fprintf(out, ",\"%s\":%.3f", key, now > at_ns ? (double)(now - at_ns) * 1e-9 : 0);
}

/*  A time until an end; null if it is not known. */
static void print_left(FILE *out, const char *key, uint64_t left_ns)
{
    if (left_ns == 0)
        fprintf(out, ",\"%s\":null", key);
    else
        fprintf(out, ",\"%s\":%.1f", key, (double)left_ns * 1e-9);
}

/* --- a run ------------------------------------------------------------------------------------ */

static void print_waiting_for(FILE *out, const tnd_run_record_t *record)
{
    bool any = false;
    fputs(",\"waiting_for\":[", out);
    for (uint32_t h = 0; h < record->shape.hosts; h++) {
        if (record->hosts[h].waited_for == 0)
            continue;
        fputs(any ? "," : "", out);
        tnd_json_text(out, record->hosts[h].name);
        any = true;
    }
    fputs("]", out);
}

static void print_metrics(FILE *out, const tnd_run_page_t *page)
{
    fputs(",\"metrics\":{", out);
    for (uint64_t m = 0; m < page->metric_count; m++) {
        char name[32];
        uint64_t bits = page->metrics[m];
        double value;
        tnd_run_page_metric_name(page, m, name);
        memcpy(&value, &bits, sizeof value);
        fputs(m > 0 ? "," : "", out);
        tnd_json_text(out, name);
        fputs(":", out);
        tnd_json_number(out, value);
    }
    fputs("}", out);
}

static void print_pause(FILE *out, const tnd_run_page_t *page, uint64_t now)
{
    char by[32];
    if (!tnd_run_page_paused(page, by)) {
        fputs(",\"paused\":null", out);
        return;
    }
    fputs(",\"paused\":{\"by\":", out);
    tnd_json_text(out, by);
    print_age(out, "since_seconds", page->paused_ns, now);
    if (page->paused_step != TND_UNKNOWN)
        fprintf(out, ",\"step\":%" PRIu64 "}", page->paused_step);
    else
        fputs(",\"step\":null}", out);
}

static void print_why(FILE *out, const char *name, bool known, const _Atomic uint64_t *words)
{
    char why[8 * TND_PAGE_WHY_WORDS];
    tnd_page_text_read(words, TND_PAGE_WHY_WORDS, why);
    tnd_json_member(out, name, known && why[0] != '\0' ? why : NULL);
}

static void print_session(FILE *out, const tnd_run_record_t *record, bool killed, uint64_t now)
{
    const tnd_run_page_t *page = record->page;
    tnd_json_member(out, "state", killed ? "killed" : session_names[page->state]);
    print_age(out, "since_seconds", page->state != 0 ? page->since_ns : 0, now);
    print_age(out, "age_seconds", page->started_ns, now);
    uint64_t outcome = page->outcome;
    tnd_json_member(out, "outcome",
                    killed ? "killed"
                    : outcome < sizeof outcome_names / sizeof *outcome_names
                        ? outcome_names[outcome]
                        : NULL);
    print_waiting_for(out, record);
    print_pause(out, page, now);
    tnd_json_member(out, "chain", page->chain_count > 0 ? page->chains[page->chain] : NULL);
    fprintf(out,
            ",\"chains\":%" PRIu32 ",\"lanes\":%" PRIu32 ",\"rewinds\":%" PRIu64
            ",\"epoch\":%" PRIu64 ",\"steps\":%" PRIu64 ",\"rows\":%" PRIu64,
            page->chain_count, page->lanes, page->generation, page->epoch, page->step, page->rows);
    print_left(out, "epoch_left_seconds", killed ? 0 : page->epoch_left_ns);
    print_left(out, "run_left_seconds", killed ? 0 : page->run_left_ns);
    fprintf(out,
            ",\"ledger_rows\":{\"read\":%" PRIu64 ",\"added\":%" PRIu64 ",\"fed\":%" PRIu64
            ",\"filtered\":%" PRIu64 ",\"bad\":%" PRIu64 ",\"dropped\":%" PRIu64
            ",\"padded\":%" PRIu64 "}",
            page->read, page->added, page->fed, page->filtered, page->bad, page->dropped,
            page->padded);
    print_metrics(out, page);
    fprintf(out, ",\"checkpoint_steps\":%" PRIu64, page->checkpoint_step);
    print_age(out, "checkpoint_age_seconds", page->checkpoint_ns, now);
    fprintf(out, ",\"checkpoints_failed\":%" PRIu64, page->unwritten);
    print_why(out, "checkpoint_failure", page->unwritten > 0, page->unwritten_why);
    fprintf(out, ",\"metrics_lines_dropped\":%" PRIu64, page->metrics_dropped);
    print_age(out, "metrics_waiting_seconds", page->metrics_waits_ns, now);
}

static void print_hosts(FILE *out, const tnd_run_record_t *record, uint64_t now)
{
    fputs(",\"hosts\":[", out);
    for (uint32_t h = 0; h < record->shape.hosts; h++) {
        const tnd_host_record_t *host = &record->hosts[h];
        tnd_json_begin(out, h > 0, "name", host->name);
        tnd_json_member(out, "address", host->address);
        tnd_json_member(out, "presence", presence_names[host->presence]);
        print_age(out, "since_seconds", host->presence != TND_PRESENCE_UNKNOWN ? host->since_ns : 0,
                  now);
        fprintf(out, ",\"waited_for\":%s,\"pid\":", host->waited_for != 0 ? "true" : "false");
        if (host->process != 0)
            fprintf(out, "%" PRIu64, host->process);
        else
            fputs("null", out);
        tnd_json_member(out, "started_by",
                        host->parent != UINT32_MAX ? record->hosts[host->parent].name : NULL);
        fprintf(out,
                ",\"restarts\":%" PRIu64 ",\"restarts_max\":%" PRIu32 ",\"memory_bytes\":%" PRIu64
                "}",
                host->restarts, host->restarts_max, host->memory_bytes);
    }
    fputs("]", out);
}

/*  What was used and given on this connection, or null without a limit. */
static void print_credit(FILE *out, const char *unit, uint64_t used, uint64_t given)
{
    if (given == 0)
        fprintf(out, ",\"credit_used_%s\":null,\"credit_given_%s\":null", unit, unit);
    else
        fprintf(out, ",\"credit_used_%s\":%" PRIu64 ",\"credit_given_%s\":%" PRIu64, unit, used,
                unit, given);
}

static void print_end(FILE *out, const char *key, const tnd_edge_end_t *end, uint64_t now)
{
    if (end == NULL) {
        fprintf(out, ",\"%s\":null", key);
        return;
    }
    fprintf(out,
            ",\"%s\":{\"blocks\":%" PRIu64 ",\"rows\":%" PRIu64 ",\"bytes\":%" PRIu64
            ",\"connections_lost\":%" PRIu64,
            key, end->blocks, end->rows, end->bytes, end->lost);
    print_age(out, "up_seconds", end->up_ns, now);
    print_credit(out, "blocks", end->credit_used, end->credit_given);
    print_credit(out, "bytes", end->credit_used_bytes, end->credit_given_bytes);
    if (end->round_trip_ns != 0)
        fprintf(out, ",\"round_trip_seconds\":%.9f", (double)end->round_trip_ns * 1e-9);
    else
        fputs(",\"round_trip_seconds\":null", out);
    fputs("}", out);
}

/*  What the process of an instance wrote about its end of an edge; NULL: it is not here. */
static const tnd_edge_end_t *end_of(const tnd_inspection_t *look, const tnd_inspected_t *process,
                                    uint32_t edge, uint32_t instance, unsigned end)
{
    uint32_t host = process->record.instances[instance].host;
    for (uint32_t p = 0; p < look->count; p++) {
        const tnd_inspected_t *other = &look->processes[p];
        if (tnd_inspected_same(other, process) && !other->killed &&
            other->record.page->host == host && edge < other->record.shape.edges)
            return &other->record.edges[edge].ends[end];
    }
    return NULL;
}

static void print_edges(FILE *out, const tnd_inspection_t *look, const tnd_inspected_t *process)
{
    static const char *const transports[] = {"inproc", "ipc", "tcp"};
    const tnd_run_record_t *record = &process->record;
    bool any = false;
    fputs(",\"edges\":[", out);
    for (uint32_t e = 0; record->shape.hosts > 0 && e < record->shape.edges; e++) {
        const tnd_edge_record_t *edge = &record->edges[e];
        tnd_json_begin(out, any, "from", record->instances[edge->from].name);
        any = true;
        tnd_json_member(out, "to", record->instances[edge->to].name);
        tnd_json_member(out, "transport", transports[edge->transport]);
        print_end(out, "sent", end_of(look, process, e, edge->from, 0), look->now_ns);
        print_end(out, "received", end_of(look, process, e, edge->to, 1), look->now_ns);
        fputs("}", out);
    }
    fputs("]", out);
}

static void print_log(FILE *out, const tnd_run_record_t *record, uint64_t now)
{
    uint64_t next = record->page->log_next;
    uint64_t first = next > TND_LOG_RECORDS ? next - TND_LOG_RECORDS : 0;
    bool any = false;
    fputs(",\"log\":[", out);
    for (uint64_t n = first; n < next; n++) {
        const tnd_log_record_t *line = &record->log[n % TND_LOG_RECORDS];
        char text[sizeof line->text];
        if (line->before != n + 1 || !tnd_run_record_log_text(line, text, sizeof text))
            continue;
        tnd_json_begin(out, any, "text", text);
        tnd_json_member(out, "level", level_names[line->level & 3]);
        print_age(out, "age_seconds", line->at_ns, now);
        fprintf(out, ",\"number\":%" PRIu64 "}", n + 1);
        any = true;
    }
    fputs("]", out);
}

void tnd_run_json_run(FILE *out, const tnd_inspection_t *look, const tnd_inspected_t *process)
{
    const tnd_inspected_t *leader = tnd_inspection_leader(look, process);
    tnd_json_begin(out, false, "run", process->run);
    fprintf(out, ",\"session\":\"%" PRIx64 "\"", process->session);
    tnd_json_member(out, "leader",
                    leader->record.shape.hosts > 0 ? leader->record.hosts[0].name : NULL);
    bool killed = leader->killed && leader->record.page->outcome == 0;
    print_session(out, &leader->record, killed, look->now_ns);
    print_hosts(out, &leader->record, look->now_ns);
    print_edges(out, look, leader);
    print_log(out, &leader->record, look->now_ns);
    tnd_run_notes_json(out, leader, TND_RUN_NOTES_BAD, look->now_ns);
    tnd_run_notes_json(out, leader, TND_RUN_NOTES_RESTARTS, look->now_ns);
    const tnd_run_page_t *page = leader->record.page;
    fprintf(out, ",\"control\":\"%s\"", control_names[page->control]);
    print_age(out, "control_seconds", page->control_ns, look->now_ns);
    fputs("}", out);
}

/* --- times ------------------------------------------------------------------------------------ */

static void print_histogram(FILE *out, const char *name, const tnd_histogram_t *histogram)
{
    static const struct {
        const char *name;
        double share;
    } marks[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}, {"max", 1}};
    bool any = false;
    tnd_json_begin(out, false, "name", name);
    fprintf(out, ",\"count\":%" PRIu64 ",\"sum_seconds\":%.9f", tnd_histogram_count(histogram),
            (double)histogram->sum_ns * 1e-9);
    for (size_t m = 0; m < sizeof marks / sizeof marks[0]; m++)
        fprintf(out, ",\"%s_seconds\":%.9f", marks[m].name,
                (double)tnd_histogram_quantile(histogram, marks[m].share) * 1e-9);
    fputs(",\"classes\":[", out);
    for (unsigned c = 0; c < TND_HISTOGRAM_CLASSES; c++) {
        if (histogram->counts[c] == 0)
            continue;
        fprintf(out, "%s{\"below_seconds\":%.9f,\"count\":%" PRIu64 "}", any ? "," : "",
                (double)tnd_histogram_end(c) * 1e-9, histogram->counts[c]);
        any = true;
    }
    fputs("]}", out);
}

/*  Of an actor (`device` 0) or of one of its devices (from 1). */
static void print_timing(FILE *out, const tnd_run_record_t *record, uint32_t instance,
                         uint32_t device)
{
    static const char *const of_actor[] = {
#define TIMING_NAME(NAME, name, text) name,
        TND_ACTOR_TIMINGS(TIMING_NAME)};
    static const char *const of_device[] = {TND_DEVICE_TIMINGS(TIMING_NAME)};
#undef TIMING_NAME
    unsigned count = device == 0 ? TND_ACTOR_TIMING_COUNT : TND_DEVICE_TIMING_COUNT;
    const tnd_timing_t *timing = tnd_run_record_timing(record, instance, device);
    fputs(",\"timings\":", out);
    if (timing == NULL) {
        fputs("null", out);
        return;
    }
    for (unsigned t = 0; t < count; t++) {
        fputs(t > 0 ? "," : "[", out);
        print_histogram(out, device == 0 ? of_actor[t] : of_device[t], &timing->parts[t]);
    }
    fputs("]", out);
}

static void print_operations(FILE *out, const tnd_actor_detail_t *detail)
{
    fputs(",\"operations\":[", out);
    for (uint64_t o = 0; detail != NULL && o < detail->operation_count; o++) {
        const tnd_operation_time_t *operation = &detail->operations[o];
        tnd_json_begin(out, o > 0, "name", operation->name);
        fprintf(out, ",\"blocks_timed\":%" PRIu64 ",\"seconds\":%.9f}", operation->blocks,
                (double)operation->ns * 1e-9);
    }
    fputs("]", out);
}

static void print_detail(FILE *out, const tnd_run_record_t *record, uint32_t instance)
{
    const tnd_actor_detail_t *detail = tnd_run_record_detail(record, instance);
    char file[8 * TND_DETAIL_FILE_WORDS];
    tnd_json_member(out, "options", detail != NULL ? detail->options : NULL);
    print_operations(out, detail);
    if (detail == NULL || !tnd_actor_detail_file(detail, file, sizeof file)) {
        fputs(",\"reads\":null", out);
        return;
    }
    fputs(",\"reads\":", out);
    tnd_json_begin(out, false, "file", file);
    fprintf(out, ",\"record\":%" PRIu64 ",\"offset_bytes\":%" PRIu64 "}", detail->record,
            detail->offset);
}

/* --- an actor --------------------------------------------------------------------------------- */

static void print_device_facts(FILE *out, const tnd_device_page_t *device, uint64_t now)
{
    static const char *const calls[] = {"allocate", "free",   "synchronize",
                                        "copy",     "launch", "event"};
    tnd_json_member(out, "model", device->model);
    tnd_json_member(out, "bus", device->bus);
    tnd_json_member(out, "uuid", device->uuid);
    fprintf(out,
            ",\"memory\":%" PRIu64 ",\"numa_node\":%d,\"bytes_moved\":%" PRIu64
            ",\"link_seconds\":%.9f,\"link_wait_seconds\":%.9f,\"rows_wait_seconds\":%.9f,"
            "\"host_wait_seconds\":%.9f,\"work_seconds\":",
            device->memory, device->numa_node, device->bytes_moved, (double)device->link_ns * 1e-9,
            (double)tnd_device_waited(device, TND_DEVICE_WAIT_LINK, now) * 1e-9,
            (double)tnd_device_waited(device, TND_DEVICE_WAIT_ROWS, now) * 1e-9,
            (double)tnd_device_waited(device, TND_DEVICE_WAIT_HOST, now) * 1e-9);
    if (device->timed)
        fprintf(out, "%.9f", (double)tnd_device_worked(device, now) * 1e-9);
    else
        fputs("null", out);
    fputs(",\"calls\":{", out);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        fprintf(out, "%s\"%s\":%" PRIu64, i > 0 ? "," : "", calls[i], device->calls[i]);
    fputs("}", out);
}

/*  Where a thread is at this moment; null if it is not on this machine. */
static void print_where(FILE *out, const tnd_inspected_t *process, uint64_t thread)
{
    char where[600];
    bool here =
        process->machine[0] == '\0' && !process->killed && thread != 0 &&
        tnd_thread_state_describe_other(process->process, (pid_t)thread, where, sizeof where);
    tnd_json_member(out, "where", here ? where : NULL);
}

static void print_devices(FILE *out, const tnd_inspected_t *process, const tnd_statistics_t *page,
                          uint64_t now)
{
    fputs(",\"devices\":[", out);
    for (uint32_t d = 0; d < page->device_count; d++) {
        const tnd_device_page_t *device = &page->devices[d];
        unsigned state = device->state & 0xff; /* of its thread */
        tnd_device_doing_t doing = tnd_device_doing(device);
        tnd_json_begin(out, d > 0, "name", device->name);
        fprintf(out,
                ",\"state\":\"%s\",\"replica\":%" PRIu64 ",\"step\":%" PRIu64 ",\"thread\":%" PRIu64
                ",\"since_seconds\":%.3f,\"cpu_seconds\":%.9f,\"run_queue_seconds\":%.9f,"
                "\"seconds\":{",
                device_names[doing.state], doing.replica, doing.step, device->thread,
                now > doing.since_ns ? (double)(now - doing.since_ns) * 1e-9 : 0,
                (double)device->cpu_ns * 1e-9, (double)device->ready_ns * 1e-9);
        for (unsigned s = 0; s < TND_DEVICE_STATES; s++) {
            uint64_t spent = device->spent_ns[s];
            spent += s == state && now > device->since_ns ? now - device->since_ns : 0;
            fprintf(out, "%s\"%s\":%.9f", s > 0 ? "," : "", device_names[s], (double)spent * 1e-9);
        }
        fputs("}", out);
        print_where(out, process, device->thread);
        print_device_facts(out, device, now);
        print_timing(out, &process->record, page->instance, d + 1);
        fputs("}", out);
    }
    fputs("]", out);
}

static void print_peers(FILE *out, const tnd_run_record_t *record, const tnd_statistics_t *page,
                        bool upstream)
{
    bool any = false;
    fprintf(out, ",\"%s\":[", upstream ? "upstream" : "downstream");
    for (uint32_t i = 0; i < page->peer_count; i++) {
        bool known = record->shape.hosts > 0 && page->peers[i] < record->shape.actors;
        if (page->upstream[i] != upstream || !known)
            continue;
        fputs(any ? "," : "", out);
        tnd_json_text(out, record->instances[page->peers[i]].name);
        any = true;
    }
    fputs("]", out);
}

static void print_counters(FILE *out, const tnd_statistics_t *page)
{
    fprintf(out,
            ",\"rows_in\":%" PRIu64 ",\"rows_out\":%" PRIu64 ",\"blocks_in\":%" PRIu64
            ",\"blocks_out\":%" PRIu64 ",\"bytes_in\":%" PRIu64 ",\"bytes_out\":%" PRIu64
            ",\"bytes_copied\":%" PRIu64,
            page->rows_in, page->rows_out, page->blocks_in, page->blocks_out, page->bytes_in,
            page->bytes_out, page->bytes_copied);
    fprintf(out,
            ",\"connections_lost\":%" PRIu64 ",\"messages_stale\":%" PRIu64
            ",\"tickets_again\":%" PRIu64 ",\"tickets_doubled\":%" PRIu64
            ",\"disk_page_faults\":%" PRIu64 ",\"device_cpu_seconds\":%.9f",
            page->lost, page->stale, page->again, page->doubled, page->faults,
            (double)page->device_cpu_ns * 1e-9);
    if (page->role == TND_ROLE_CACHE)
        fprintf(out,
                ",\"rows_from_store\":%" PRIu64 ",\"bytes_stored\":%" PRIu64
                ",\"samples_not_stored\":%" PRIu64,
                page->stored, page->kept, page->unkept);
}

void tnd_run_json_actor(FILE *out, const tnd_inspected_t *process, const tnd_statistics_t *page,
                        uint64_t now, double rate)
{
    tnd_json_begin(out, false, "name", page->actor);
    tnd_json_member(out, "kind", page->kind);
    fprintf(out,
            ",\"instance\":%" PRIu32 ",\"chain\":%" PRIu32 ",\"lane\":%" PRIu32
            ",\"state\":\"%s\",\"waits\":[",
            page->instance, page->chain, page->lane, tnd_run_json_state(page));
    tnd_run_json_waits(out, page, "\"", ",", "\"");
    fprintf(out,
            "],\"since_seconds\":%.3f,\"rows_per_second\":%.1f,\"queue\":%" PRIu64 ",\"credit\":",
            tnd_run_json_since(page, now), rate, page->queue);
    if (page->credit == TND_UNKNOWN)
        fputs("null", out);
    else
        fprintf(out, "%" PRIu64, page->credit);
    print_counters(out, page);
    fprintf(out, ",\"step\":%" PRIu64 ",\"thread\":%" PRIu64 ",\"times\":{", page->step,
            page->thread);
    tnd_times_t times;
    tnd_statistics_times(page, now, &times);
#define PRINT_TIME(name, text)                                                                     \
    fprintf(out, "%s\"" #name "\":%.9f", strcmp(#name, "cpu") != 0 ? "," : "",                     \
            (double)times.name * 1e-9);
    TND_TIMES(PRINT_TIME)
#undef PRINT_TIME
    fputs("}", out);
    print_peers(out, &process->record, page, true);
    print_peers(out, &process->record, page, false);
    print_timing(out, &process->record, page->instance, 0);
    print_detail(out, &process->record, page->instance);
    print_devices(out, process, page, now);
    print_where(out, process, page->thread);
    if (page->tuning != 0) {
        char tuning[256];
        tnd_json_member(out, "tuning", tnd_tuning_text(page->tuning, tuning, sizeof tuning));
    }
    fputs("}", out);
}

double tnd_run_json_rate(const tnd_inspection_t *before, const tnd_inspection_t *after,
                         const tnd_inspected_t *process, const tnd_statistics_t *page)
{
    const tnd_statistics_t *old = tnd_inspection_find(before, process, page->actor);
    if (process->killed || old == NULL || after->now_ns <= before->now_ns ||
        page->rows_out < old->rows_out)
        return 0;
    return (double)(page->rows_out - old->rows_out) * 1e9 /
           (double)(after->now_ns - before->now_ns);
}

/*  What the process uses now, and what it may use at most. */
static void print_memory(FILE *out, const tnd_inspected_t *process)
{
    const tnd_memory_record_t *memory = process->record.memory;
    bool here = !process->killed && process->machine[0] == '\0';
    uint64_t anonymous = here ? tnd_process_anonymous(process->process) : 0;
    fputs(",\"memory\":{\"anonymous_bytes\":", out);
    if (anonymous > 0)
        fprintf(out, "%" PRIu64, anonymous);
    else
        fputs("null", out);
    fputs(",\"most_bytes\":", out);
    if (memory->count > 0)
        fprintf(out, "%" PRIu64, memory->bytes);
    else
        fputs("null", out);
    fputs(",\"terms\":[", out);
    for (uint64_t t = 0; t < memory->count; t++) {
        tnd_json_begin(out, t > 0, "actor", memory->terms[t].actor);
        tnd_json_member(out, "what", memory->terms[t].what);
        fprintf(out, ",\"bytes\":%" PRIu64 "}", memory->terms[t].bytes);
    }
    fputs("]}", out);
}

void tnd_run_json_process(FILE *out, const tnd_inspection_t *before, const tnd_inspection_t *after,
                          const tnd_inspected_t *process)
{
    const char *state = tnd_inspected_state(process);
    tnd_json_begin(out, false, "run", process->run);
    tnd_json_member(out, "host", process->host);
    tnd_json_member(out, "machine", process->machine[0] != '\0' ? process->machine : NULL);
    fprintf(out, ",\"session\":\"%" PRIx64 "\",\"pid\":%d,\"state\":\"%s\"", process->session,
            process->process, state != NULL ? state : "running");
    print_memory(out, process);
    fputs(",\"actors\":[", out);
    for (uint32_t a = 0; a < process->count; a++) {
        const tnd_statistics_t *page = &process->actors[a];
        fputs(a > 0 ? "," : "", out);
        tnd_run_json_actor(out, process, page, after->now_ns,
                           tnd_run_json_rate(before, after, process, page));
    }
    fputs("]}", out);
}
