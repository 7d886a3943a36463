/*  tools/watch/prometheus.c - an inspection in the text format of Prometheus. */
#include "tools/watch/prometheus.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/observe/process.h"

/*  The processes that are shown.  A series must occur once: of processes of one host the newest is
 *  shown, and of runs of one name all but the newest have a label with the process of their leader. */
typedef struct {
    const tnd_prometheus_t *of;
    bool *shown, *older; /* by process of the look */
    FILE *out;
} page_t;

static bool is_newer(const tnd_inspected_t *process, const tnd_inspected_t *than)
{
    return process->record.page->started_ns > than->record.page->started_ns;
}

static bool is_live(const page_t *self, uint32_t p)
{
    const tnd_inspected_t *process = &self->of->look->processes[p];
    return !process->killed && !process->foreign &&
           (self->of->run == NULL || strcmp(self->of->run, process->run) == 0);
}

/*  Whether a newer process of the same host is shown instead / there is a newer run of the name. */
static void compare(const page_t *self, uint32_t p)
{
    const tnd_inspection_t *look = self->of->look;
    const tnd_inspected_t *process = &look->processes[p];
    const tnd_inspected_t *leader = tnd_inspection_leader(look, process);
    for (uint32_t q = 0; q < look->count; q++) {
        const tnd_inspected_t *other = &look->processes[q];
        if (q == p || !is_live(self, q) || strcmp(other->run, process->run) != 0)
            continue;
        bool same_run = tnd_inspected_same(other, process);
        if (!same_run && is_newer(tnd_inspection_leader(look, other), leader))
            self->older[p] = true;
        if (same_run && strcmp(other->host, process->host) == 0 && is_newer(other, process))
            self->shown[p] = false;
    }
}

/*  The next process that is shown, from *at_p on; NULL: there is none. */
static const tnd_inspected_t *next(const page_t *self, uint32_t *at_p)
{
    while (*at_p < self->of->look->count) {
        uint32_t p = (*at_p)++;
        if (self->shown[p])
            return &self->of->look->processes[p];
    }
    return NULL;
}

/*  The same for runs: the process that knows most about it. */
static const tnd_inspected_t *next_run(const page_t *self, uint32_t *at_p)
{
    for (const tnd_inspected_t *process; (process = next(self, at_p)) != NULL;) {
        bool known = false;
        for (uint32_t p = 0; p + 1 < *at_p; p++)
            known = known ||
                    (self->shown[p] && tnd_inspected_same(&self->of->look->processes[p], process));
        if (!known)
            return tnd_inspection_leader(self->of->look, process);
    }
    return NULL;
}

/* --- samples ---------------------------------------------------------------------------------- */

static void family(const page_t *self, const char *name, const char *type, const char *help)
{
    fprintf(self->out, "# HELP tundish_%s %s\n# TYPE tundish_%s %s\n", name, help, name, type);
}

static void label(const page_t *self, char before, const char *name, const char *value)
{
    fprintf(self->out, "%c%s=\"", before, name);
    for (const char *at = value; *at != '\0'; at++)
        switch (*at) {
        case '\\':
            fputs("\\\\", self->out);
            break;
        case '"':
            fputs("\\\"", self->out);
            break;
        case '\n':
            fputs("\\n", self->out);
            break;
        default:
            fputc(*at, self->out);
        }
    fputc('"', self->out);
}

static void begin_run(const page_t *self, const char *name, const char *run)
{
    fprintf(self->out, "tundish_%s", name);
    label(self, '{', "run", run);
}

static void begin(const page_t *self, const char *name, const tnd_inspected_t *process)
{
    char number[16];
    begin_run(self, name, process->run);
    if (!self->older[process - self->of->look->processes])
        return;
    snprintf(number, sizeof number, "%d", tnd_inspection_leader(self->of->look, process)->process);
    label(self, ',', "process", number);
}

static void begin_actor(const page_t *self, const char *name, const char *suffix,
                        const tnd_inspected_t *process, const tnd_statistics_t *page)
{
    char lane[16], whole[80];
    snprintf(lane, sizeof lane, "%" PRIu32, page->lane);
    snprintf(whole, sizeof whole, "%s%s", name, suffix);
    begin(self, whole, process);
    label(self, ',', "host", process->host);
    label(self, ',', "actor", page->actor);
    label(self, ',', "kind", page->kind);
    label(self, ',', "lane", lane);
}

static void count(const page_t *self, uint64_t value)
{
    fprintf(self->out, "} %" PRIu64 "\n", value);
}

static void seconds(const page_t *self, uint64_t ns)
{
    fprintf(self->out, "} %.9f\n", (double)ns * 1e-9);
}

static void number(const page_t *self, double value)
{
    fprintf(self->out, "} %.17g\n", value);
}

/* --- runs ------------------------------------------------------------------------------------- */

static const char *chain_of(const tnd_run_page_t *page)
{
    return page->chain_count > 0 ? page->chains[page->chain] : "";
}

static void write_states(const page_t *self)
{
    static const char *const states[] = {"joining",  "opening", "ready", "running",
                                         "draining", "done",    "failed"};
    const tnd_inspected_t *run;
    family(self, "run_state", "gauge", "Whether a run is in a state.");
    for (uint32_t at = 0; (run = next_run(self, &at)) != NULL;)
        for (uint64_t s = 0; s < sizeof states / sizeof states[0]; s++) {
            begin(self, "run_state", run);
            label(self, ',', "state", states[s]);
            count(self, run->record.page->state == s + 1);
        }
}

/*  X(name, type, field, help) of tnd_run_page_t. */
#define RUN_FAMILIES(X)                                                                            \
    X("run_steps_total", "counter", step, "Global steps that are booked.")                         \
    X("run_epoch", "gauge", epoch, "The current epoch, from 0.")                                   \
    X("run_rewinds_total", "counter", generation, "Times that the run went back to a cursor.")     \
    X("run_checkpoint_steps", "gauge", checkpoint_step, "Steps done at the last checkpoint.")      \
    X("run_checkpoints_failed", "gauge", unwritten,                                                \
      "Checkpoints that could not be written since the last that was.")                            \
    X("run_metrics_lines_dropped_total", "counter", metrics_dropped,                               \
      "Lines that could not be written to the metrics file in time.")

static void write_run_words(const page_t *self)
{
    const tnd_inspected_t *run;
#define WRITE_FAMILY(name, type, field, help)                                                      \
    family(self, name, type, help);                                                                \
    for (uint32_t at = 0; (run = next_run(self, &at)) != NULL;) {                                  \
        begin(self, name, run);                                                                    \
        label(self, ',', "chain", chain_of(run->record.page));                                     \
        count(self, run->record.page->field);                                                      \
    }
    RUN_FAMILIES(WRITE_FAMILY)
#undef WRITE_FAMILY
    family(self, "run_rows_total", "counter", "Rows of the ledger by what became of them.");
    for (uint32_t at = 0; (run = next_run(self, &at)) != NULL;) {
        const tnd_run_page_t *page = run->record.page;
        const struct {
            const char *name;
            uint64_t rows;
        } accounts[] = {{"read", page->read},    {"added", page->added},
                        {"fed", page->fed},      {"filtered", page->filtered},
                        {"bad", page->bad},      {"dropped", page->dropped},
                        {"padded", page->padded}};
        for (size_t a = 0; a < sizeof accounts / sizeof accounts[0]; a++) {
            begin(self, "run_rows_total", run);
            label(self, ',', "chain", chain_of(page));
            label(self, ',', "account", accounts[a].name);
            count(self, accounts[a].rows);
        }
    }
}

static void write_ages(const page_t *self)
{
    const tnd_inspected_t *run;
    uint64_t now = self->of->look->now_ns;
    family(self, "run_age_seconds", "gauge", "Time since the leader started.");
    for (uint32_t at = 0; (run = next_run(self, &at)) != NULL;) {
        begin(self, "run_age_seconds", run);
        seconds(self, now > run->record.page->started_ns ? now - run->record.page->started_ns : 0);
    }
    family(self, "run_left_seconds", "gauge", "Time until the epoch, and the run, ends.");
    for (uint32_t at = 0; (run = next_run(self, &at)) != NULL;)
        for (unsigned whole = 0; whole < 2; whole++) {
            const tnd_run_page_t *page = run->record.page;
            uint64_t left = whole ? page->run_left_ns : page->epoch_left_ns;
            if (left == 0)
                continue;
            begin(self, "run_left_seconds", run);
            label(self, ',', "until", whole ? "run" : "epoch");
            seconds(self, left);
        }
    family(self, "run_checkpoint_age_seconds", "gauge", "Time since the last checkpoint.");
    for (uint32_t at = 0; (run = next_run(self, &at)) != NULL;) {
        uint64_t made = run->record.page->checkpoint_ns;
        if (made == 0)
            continue;
        begin(self, "run_checkpoint_age_seconds", run);
        seconds(self, now > made ? now - made : 0);
    }
}

static void write_metrics(const page_t *self)
{
    const tnd_inspected_t *run;
    family(self, "run_metric", "gauge", "A metric of the step, such as the loss.");
    for (uint32_t at = 0; (run = next_run(self, &at)) != NULL;) {
        const tnd_run_page_t *page = run->record.page;
        for (uint64_t m = 0; m < page->metric_count; m++) {
            char name[32];
            double value;
            uint64_t bits = page->metrics[m];
            memcpy(&value, &bits, sizeof value);
            tnd_run_page_metric_name(page, m, name);
            begin(self, "run_metric", run);
            label(self, ',', "chain", chain_of(page));
            label(self, ',', "name", name);
            number(self, value);
        }
    }
}

/*  How many faults have a cause, also for causes of which there is none. */
static void write_causes(const page_t *self, const tnd_verdict_t *verdict)
{
    family(self, "run_faults", "gauge", "The number of faults of tundish why by their reason.");
    for (unsigned cause = 0; cause < TND_CAUSES; cause++) {
        uint64_t faults = 0;
        for (uint32_t f = 0; f < verdict->fault_count; f++)
            faults += verdict->faults[f].cause == cause;
        begin_run(self, "run_faults", verdict->run);
        label(self, ',', "reason", tnd_cause((tnd_cause_t)cause)->name);
        count(self, faults);
    }
}

/*  What `tundish why` says of the newest run. */
static void write_verdict(const page_t *self)
{
    const tnd_verdict_t *verdict = self->of->verdict;
    if (verdict == NULL || verdict->run[0] == '\0')
        return;
    family(self, "run_why", "gauge", "The exit code of tundish why: 0 flows, 10 slow, 11 stalled.");
    begin_run(self, "run_why", verdict->run);
    count(self, verdict->state);
    family(self, "run_fault", "gauge", "What is wrong with the run: the faults of tundish why.");
    for (uint32_t f = 0; f < verdict->fault_count; f++) {
        const tnd_fault_t *fault = &verdict->faults[f];
        begin_run(self, "run_fault", verdict->run);
        label(self, ',', "host", fault->host);
        label(self, ',', "actor", fault->actor);
        label(self, ',', "device", fault->device);
        label(self, ',', "reason", tnd_cause(fault->cause)->name);
        count(self, 1);
    }
    write_causes(self, verdict);
    if (verdict->limit.bound == TND_BOUND_NONE)
        return;
    family(self, "run_limit_ratio", "gauge", "The part of the time that the limit is at work.");
    begin_run(self, "run_limit_ratio", verdict->run);
    label(self, ',', "host", verdict->limit.host);
    label(self, ',', "actor", verdict->limit.actor);
    label(self, ',', "reason", tnd_bound_name(verdict->limit.bound));
    fprintf(self->out, "} %.4f\n", verdict->limit.share);
}

/* --- hosts and edges -------------------------------------------------------------------------- */

static void write_hosts(const page_t *self)
{
    const tnd_inspected_t *run, *process;
    family(self, "host_up", "gauge", "Whether a host takes part in the run.");
    for (uint32_t at = 0; (run = next_run(self, &at)) != NULL;)
        for (uint32_t h = 0; h < run->record.shape.hosts; h++) {
            begin(self, "host_up", run);
            label(self, ',', "host", run->record.hosts[h].name);
            count(self, run->record.hosts[h].presence == TND_PRESENCE_UP);
        }
    family(self, "host_restarts_total", "counter", "Processes that took the place of a dead one.");
    for (uint32_t at = 0; (run = next_run(self, &at)) != NULL;)
        for (uint32_t h = 0; h < run->record.shape.hosts; h++) {
            begin(self, "host_restarts_total", run);
            label(self, ',', "host", run->record.hosts[h].name);
            count(self, run->record.hosts[h].restarts);
        }
    family(self, "host_anonymous_bytes", "gauge", "Anonymous memory of the process of a host.");
    for (uint32_t at = 0; (process = next(self, &at)) != NULL;) {
        if (process->machine[0] != '\0')
            continue;
        begin(self, "host_anonymous_bytes", process);
        label(self, ',', "host", process->host);
        count(self, tnd_process_anonymous(process->process));
    }
    family(self, "host_expected_bytes", "gauge", "The most memory that tundish explain expects.");
    for (uint32_t at = 0; (process = next(self, &at)) != NULL;) {
        if (process->record.memory->count == 0)
            continue;
        begin(self, "host_expected_bytes", process);
        label(self, ',', "host", process->host);
        count(self, process->record.memory->bytes);
    }
}

static void begin_edge(const page_t *self, const char *name, const tnd_inspected_t *process,
                       const tnd_edge_record_t *edge)
{
    static const char *const transports[] = {"inproc", "ipc", "tcp"};
    begin(self, name, process);
    label(self, ',', "from", process->record.instances[edge->from].name);
    label(self, ',', "to", process->record.instances[edge->to].name);
    label(self, ',', "transport", transports[edge->transport]);
}

/*  Whether an end of an edge is in this process. */
static bool has_end(const tnd_inspected_t *process, const tnd_edge_record_t *edge, unsigned end)
{
    uint32_t instance = end == 1 ? edge->to : edge->from;
    return process->record.instances[instance].host == process->record.page->host;
}

/*  X(name, field, help) of the receiving end. */
#define EDGE_FAMILIES(X)                                                                           \
    X("edge_rows_total", rows, "Rows received.")                                                   \
    X("edge_blocks_total", blocks, "Blocks received.")                                             \
    X("edge_bytes_total", bytes, "Payload bytes received.")

static void write_edges(const page_t *self)
{
    static const char *const ends[] = {"from", "to"};
    const tnd_inspected_t *process;
#define WRITE_FAMILY(name, field, help)                                                            \
    family(self, name, "counter", help);                                                           \
    for (uint32_t at = 0; (process = next(self, &at)) != NULL;)                                    \
        for (uint32_t e = 0; e < process->record.shape.edges; e++) {                               \
            const tnd_edge_record_t *edge = &process->record.edges[e];                             \
            if (!has_end(process, edge, 1))                                                        \
                continue;                                                                          \
            begin_edge(self, name, process, edge);                                                 \
            count(self, edge->ends[1].field);                                                      \
        }
    EDGE_FAMILIES(WRITE_FAMILY)
#undef WRITE_FAMILY
    family(self, "edge_connections_lost_total", "counter", "Connections that an end has lost.");
    for (uint32_t at = 0; (process = next(self, &at)) != NULL;)
        for (uint32_t e = 0; e < 2 * process->record.shape.edges; e++) {
            const tnd_edge_record_t *edge = &process->record.edges[e / 2];
            if (!has_end(process, edge, e % 2))
                continue;
            begin_edge(self, "edge_connections_lost_total", process, edge);
            label(self, ',', "end", ends[e % 2]);
            count(self, edge->ends[e % 2].lost);
        }
    family(self, "edge_round_trip_seconds", "gauge", "What a round trip takes at most, on tcp.");
    for (uint32_t at = 0; (process = next(self, &at)) != NULL;)
        for (uint32_t e = 0; e < 2 * process->record.shape.edges; e++) {
            const tnd_edge_record_t *edge = &process->record.edges[e / 2];
            if (!has_end(process, edge, e % 2) || edge->ends[e % 2].round_trip_ns == 0)
                continue;
            begin_edge(self, "edge_round_trip_seconds", process, edge);
            label(self, ',', "end", ends[e % 2]);
            seconds(self, edge->ends[e % 2].round_trip_ns);
        }
}

/* --- actors and devices ----------------------------------------------------------------------- */

/*  Visits the actors of the processes that are shown. */
#define EACH_ACTOR(process, page)                                                                  \
    for (uint32_t at_ = 0; ((process) = next(self, &at_)) != NULL;)                                \
        for (uint32_t a_ = 0; a_ < (process)->count && ((page) = &(process)->actors[a_], true);    \
             a_++)

/*  X(name, field, help) of tnd_statistics_t. */
#define ACTOR_COUNTERS(X)                                                                          \
    X("actor_rows_in_total", rows_in, "Rows taken in.")                                            \
    X("actor_rows_out_total", rows_out, "Rows handed on.")                                         \
    X("actor_blocks_in_total", blocks_in, "Blocks or slices taken in.")                            \
    X("actor_blocks_out_total", blocks_out, "Blocks or slices handed on.")                         \
    X("actor_bytes_in_total", bytes_in, "Payload bytes taken in.")                                 \
    X("actor_bytes_out_total", bytes_out, "Payload bytes handed on.")                              \
    X("actor_bytes_copied_total", bytes_copied, "Payload bytes copied by it and its links.")       \
    X("actor_messages_stale_total", stale, "Messages dropped because they were late or double.")   \
    X("actor_tickets_again_total", again, "Tickets issued again.")                                 \
    X("actor_tickets_doubled_total", doubled, "Overdue tickets given to a second worker as well.") \
    X("actor_disk_page_faults_total", faults,                                                      \
      "Pages of mapped rows that had to be read from disk.")                                       \
    X("cache_rows_from_store_total", stored, "Rows that a cache handed on from its store.")        \
    X("cache_samples_not_stored_total", unkept, "Samples that did not fit, in each epoch.")

static void write_actor_words(const page_t *self)
{
    const tnd_inspected_t *process;
    const tnd_statistics_t *page;
#define WRITE_COUNTER(name, field, help)                                                           \
    family(self, name, "counter", help);                                                           \
    EACH_ACTOR(process, page)                                                                      \
    {                                                                                              \
        begin_actor(self, name, "", process, page);                                                \
        count(self, page->field);                                                                  \
    }
    ACTOR_COUNTERS(WRITE_COUNTER)
#undef WRITE_COUNTER
    family(self, "actor_queue_blocks", "gauge", "Blocks in its queue, for a feeder whole steps.");
    EACH_ACTOR(process, page)
    {
        begin_actor(self, "actor_queue_blocks", "", process, page);
        count(self, page->queue);
    }
    family(self, "actor_credit_blocks", "gauge", "Blocks that it may send, or free slots.");
    EACH_ACTOR(process, page)
    {
        if (page->credit == TND_UNKNOWN)
            continue;
        begin_actor(self, "actor_credit_blocks", "", process, page);
        count(self, page->credit);
    }
}

static void write_actor_times(const page_t *self)
{
    static const char *const names[] = {
#define TIME_NAME(name, text) #name,
        TND_TIMES(TIME_NAME)
#undef TIME_NAME
    };
    family(self, "actor_time_seconds_total", "counter", "How an actor has spent its time.");
    for (uint32_t p = 0; p < self->of->look->count; p++) {
        const tnd_inspected_t *process = &self->of->look->processes[p];
        for (uint32_t a = 0; self->shown[p] && a < process->count; a++) {
            uint64_t parts[sizeof names / sizeof names[0]];
            memcpy(parts, &self->of->totals->processes[p].actors[a].total, sizeof parts);
            for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
                begin_actor(self, "actor_time_seconds_total", "", process, &process->actors[a]);
                label(self, ',', "activity", names[n]);
                seconds(self, parts[n]);
            }
        }
    }
}

/*  The bounds of histograms: every second octave from 1,024 ns, and infinity. */
enum { BUCKETS = 15, BUCKET_CLASSES = 2 << TND_HISTOGRAM_PART_BITS };

static void write_histogram(const page_t *self, const char *name, const tnd_inspected_t *process,
                            const tnd_statistics_t *page, const char *device, const char *part,
                            const tnd_histogram_t *histogram)
{
    uint64_t below = 0;
    unsigned class = 0;
    for (unsigned b = 0; b <= BUCKETS; b++) {
        char bound[40] = "+Inf";
        unsigned end = b == BUCKETS ? TND_HISTOGRAM_CLASSES : 1 + b * BUCKET_CLASSES;
        for (; class < end; class ++)
            below += histogram->counts[class];
        if (b < BUCKETS)
            snprintf(bound, sizeof bound, "%.9f", (double)tnd_histogram_end(end - 1) * 1e-9);
        begin_actor(self, name, "_bucket", process, page);
        if (device != NULL)
            label(self, ',', "device", device);
        label(self, ',', "part", part);
        label(self, ',', "le", bound);
        count(self, below);
    }
    for (unsigned turn = 0; turn < 2; turn++) {
        begin_actor(self, name, turn == 0 ? "_sum" : "_count", process, page);
        if (device != NULL)
            label(self, ',', "device", device);
        label(self, ',', "part", part);
        if (turn == 0)
            seconds(self, histogram->sum_ns);
        else
            count(self, below);
    }
}

static void write_histograms(const page_t *self)
{
#define TIMING_NAME(NAME, name, text) name,
    static const char *const of_actor[] = {TND_ACTOR_TIMINGS(TIMING_NAME)};
    static const char *const of_device[] = {TND_DEVICE_TIMINGS(TIMING_NAME)};
#undef TIMING_NAME
    const tnd_inspected_t *process;
    const tnd_statistics_t *page;
    family(self, "actor_duration_seconds", "histogram", "How long parts of the work take.");
    EACH_ACTOR(process, page)
    {
        const tnd_timing_t *timing = tnd_run_record_timing(&process->record, page->instance, 0);
        for (unsigned t = 0; timing != NULL && t < TND_ACTOR_TIMING_COUNT; t++)
            write_histogram(self, "actor_duration_seconds", process, page, NULL, of_actor[t],
                            &timing->parts[t]);
    }
    family(self, "device_duration_seconds", "histogram", "How long parts of a step take.");
    EACH_ACTOR(process, page)
    for (uint32_t d = 0; d < page->device_count; d++) {
        const tnd_timing_t *timing = tnd_run_record_timing(&process->record, page->instance, d + 1);
        for (unsigned t = 0; timing != NULL && t < TND_DEVICE_TIMING_COUNT; t++)
            write_histogram(self, "device_duration_seconds", process, page, page->devices[d].name,
                            of_device[t], &timing->parts[t]);
    }
}

/*  X(name, write, field, help) of tnd_device_page_t. */
#define DEVICE_COUNTERS(X)                                                                         \
    X("device_cpu_seconds_total", seconds, cpu_ns, "Processor time of its thread.")                \
    X("device_moved_bytes_total", count, bytes_moved, "Bytes that were copied to it.")             \
    X("device_link_seconds_total", seconds, link_ns, "Time of copies on its link.")                \
    X("device_work_seconds_total", seconds, work_ns, "Time of steps on it, if it is timed.")       \
    X("device_rows_wait_seconds_total", seconds, wait_ns[TND_DEVICE_WAIT_ROWS],                    \
      "Time that it had no work and waited for rows.")                                             \
    X("device_link_wait_seconds_total", seconds, wait_ns[TND_DEVICE_WAIT_LINK],                    \
      "Time that it had no work and waited for its link.")

static void write_devices(const page_t *self)
{
    static const char *const states[TND_DEVICE_STATES] = {"idle", "step", "reduce", "apply",
                                                          "keep"};
    const tnd_inspected_t *process;
    const tnd_statistics_t *page;
    family(self, "device_time_seconds_total", "counter", "Time of a device in states that ended.");
    EACH_ACTOR(process, page)
    for (uint32_t s = 0; s < TND_DEVICE_STATES * page->device_count; s++) {
        const tnd_device_page_t *device = &page->devices[s / TND_DEVICE_STATES];
        begin_actor(self, "device_time_seconds_total", "", process, page);
        label(self, ',', "device", device->name);
        label(self, ',', "activity", states[s % TND_DEVICE_STATES]);
        seconds(self, device->spent_ns[s % TND_DEVICE_STATES]);
    }
#define WRITE_COUNTER(metric, write, field, help)                                                  \
    family(self, metric, "counter", help);                                                         \
    EACH_ACTOR(process, page)                                                                      \
    for (uint32_t d = 0; d < page->device_count; d++) {                                            \
        begin_actor(self, metric, "", process, page);                                              \
        label(self, ',', "device", page->devices[d].name);                                         \
        write(self, page->devices[d].field);                                                       \
    }
    DEVICE_COUNTERS(WRITE_COUNTER)
#undef WRITE_COUNTER
}

/* --- the whole -------------------------------------------------------------------------------- */

void tnd_prometheus_write(const tnd_prometheus_t *of, FILE *out)
{
    page_t page = {.of = of, .out = out};
    const page_t *self = &page;
    page.shown = tnd_allocate_zeroed(of->look->count + (size_t)1, sizeof *page.shown);
    page.older = tnd_allocate_zeroed(of->look->count + (size_t)1, sizeof *page.older);
    for (uint32_t p = 0; p < of->look->count; p++) {
        page.shown[p] = is_live(self, p);
        compare(self, p);
    }
    fprintf(out,
            "# HELP tundish_watch_clients Clients of this server.\n"
            "# TYPE tundish_watch_clients gauge\ntundish_watch_clients %" PRIu32 "\n"
            "# HELP tundish_watch_look_seconds How long the last look took.\n"
            "# TYPE tundish_watch_look_seconds gauge\ntundish_watch_look_seconds %.9f\n",
            of->clients, of->look_seconds);
    write_states(self);
    write_run_words(self);
    write_ages(self);
    write_metrics(self);
    write_verdict(self);
    write_hosts(self);
    write_edges(self);
    write_actor_words(self);
    write_actor_times(self);
    write_histograms(self);
    write_devices(self);
    free(page.shown);
    free(page.older);
}
