/*  tools/command/trace.c - `tundish trace`: writes what a run does for Perfetto. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "runtime/base/clock.h"
#include "tools/cli/command.h"
#include "tools/cli/output.h"
#include "tools/events/event_watch.h"
#include "tools/events/pace.h"
#include "tools/events/trace_file.h"

typedef struct {
    tnd_event_options_t events;
    const char *output;
} trace_options_t;

/*  About 150 MB of memory. */
static const uint64_t default_count = 1000000;
/*  How often counters are read. */
static const uint64_t count_every_ns = 50000000;

typedef struct {
    tnd_trace_t trace;
    const tnd_event_stream_t *stream;
    tnd_pace_t looks; /* for counters */
    uint64_t count;
    uint64_t missed; /* before the trace: what the rings no longer had at its start */
    tnd_output_t *output;
    bool written; /* completely, unless the disk is full */
} tracer_t;

static bool take(void *context, const tnd_event_entry_t *entry)
{
    tracer_t *tracer = context;
    tnd_trace_add(&tracer->trace, entry);
    tracer->count++;
    return true;
}

static void add_counters(tracer_t *self, const tnd_statistics_t *page,
                         const tnd_event_entry_t *entry, uint64_t at_ns)
{
    if (page->begun_ns == 0)
        return;
    tnd_trace_count(&self->trace, entry, TND_TRACE_QUEUE, at_ns, page->queue);
    if (page->credit != TND_UNKNOWN)
        tnd_trace_count(&self->trace, entry, TND_TRACE_CREDIT, at_ns, page->credit);
}

static void add_span(tracer_t *self, const tnd_event_entry_t *entry, tnd_event_t event,
                     uint64_t since_ns, uint64_t until_ns)
{
    tnd_event_entry_t span = *entry;
    if (since_ns == 0 || since_ns >= until_ns)
        return;
    span.event = event;
    span.event.end_ns = until_ns;
    span.event.duration_ns = until_ns - since_ns;
    span.event.peer = TND_EVENT_NO_PEER;
    tnd_trace_add(&self->trace, &span);
}

/*  Adds what an actor and its devices are doing: it is recorded only when it ends. */
static void add_present(tracer_t *self, const tnd_statistics_t *page,
                        const tnd_event_entry_t *entry, uint64_t until_ns)
{
    static const tnd_event_kind_t steps[TND_DEVICE_STATES] = {
        [TND_DEVICE_STEP] = TND_EVENT_STEP_RUN,
        [TND_DEVICE_REDUCE] = TND_EVENT_STEP_REDUCED,
        [TND_DEVICE_APPLY] = TND_EVENT_STEP_APPLIED,
        [TND_DEVICE_KEEP] = TND_EVENT_STEP_SAVED,
    };
    uint64_t state = page->state & 0xff;
    if (state == TND_STATE_WAITING)
        add_span(self, entry, (tnd_event_t){.kind = TND_EVENT_WAIT, .first = page->state >> 8},
                 page->since_ns, until_ns);
    if (state == TND_STATE_WORKING)
        add_span(self, entry, (tnd_event_t){.kind = TND_EVENT_WORK}, page->since_ns, until_ns);
    for (uint32_t d = 0; d < page->device_count; d++) {
        const tnd_device_page_t *device = &page->devices[d];
        tnd_event_entry_t own = *entry;
        own.device = d + 1;
        own.thread = device->thread;
        tnd_event_t event = {.kind = (uint8_t)steps[device->state & 0xff],
                             .first = device->step,
                             .lane = (uint16_t)(device->state >> 8)};
        if (event.kind != TND_EVENT_NONE)
            add_span(self, &own, event, device->since_ns, until_ns);
    }
}

static void add_process(tracer_t *self, const tnd_inspected_t *process, uint64_t now, bool last)
{
    uint64_t until_ns = process->killed ? process->last_ns : now;
    tnd_event_entry_t entry;
    for (uint32_t a = 0; a < process->count; a++) {
        const tnd_statistics_t *page = &process->actors[a];
        if (!tnd_event_stream_name(self->stream, process, page, &entry))
            continue;
        add_counters(self, page, &entry, until_ns);
        if (last)
            add_present(self, page, &entry, until_ns);
    }
}

static void write_trace(tracer_t *self, const char *run)
{
    tnd_trace_finish(&self->trace);
    tnd_trace_write(&self->trace, run, self->output->out);
    self->written = true;
}

static bool look(void *context, const tnd_event_stream_t *stream, bool last)
{
    tracer_t *tracer = context;
    uint64_t now = tnd_clock_now(), before = tnd_clock_read(CLOCK_PROCESS_CPUTIME_ID);
    if (tracer->looks.next_ns == 0)
        tracer->missed = tnd_event_stream_missed(stream);
    if (!last && !tnd_pace_is_due(&tracer->looks, now))
        return true;
    tracer->stream = stream;
    tnd_inspection_t *made = tnd_inspection_new(TND_LOOK_NOW);
    for (uint32_t p = 0; p < made->count; p++)
        if (tnd_event_stream_is_of(stream, &made->processes[p]))
            add_process(tracer, &made->processes[p], made->now_ns, last);
    tnd_inspection_destroy(&made);
    tnd_pace_worked(&tracer->looks, now, tnd_clock_read(CLOCK_PROCESS_CPUTIME_ID) - before);
    if (last)
        write_trace(tracer, tnd_event_stream_run(stream));
    return true;
}

static int begin(void *context, const tnd_event_stream_t *stream)
{
    (void)context, (void)stream;
    return -1;
}

static int close_file(tracer_t *self, const char *path)
{
    tnd_error_t error;
    if (tnd_output_close(self->output, &error) != TND_OK) {
        tnd_complain("trace", "%s", error.text);
        return TND_EXIT_FAILED;
    }
    fprintf(stderr,
            "tundish trace: wrote %" PRIu64 " events of %zu threads to %s; ui.perfetto.dev shows "
            "them\n",
            self->count, self->trace.track_count, path);
    return TND_EXIT_OK;
}

static int trace(const tnd_request_t *request)
{
    const trace_options_t *options = request->options;
    tnd_output_t output;
    tnd_error_t error;
    struct stat is;
    const char *path = options->output;
    if (path == NULL)
        return tnd_usage_error("trace", "--output FILE is missing, such as -o run.pftrace");
    if (lstat(path, &is) == 0 && S_ISREG(is.st_mode)) {
        tnd_complain("trace", "%s exists already and was not changed; choose another name", path);
        return TND_EXIT_FAILED;
    }
    if (tnd_output_open(&output, path, &error) != TND_OK) {
        tnd_complain("trace", "%s", error.text);
        return TND_EXIT_FAILED;
    }
    tracer_t self = {.output = &output, .looks.every_ns = count_every_ns};
    tnd_event_watch_t watch = {
        .command = "trace",
        .request = request,
        .options = &options->events,
        .run = request->file_count > 0 ? request->files[0] : NULL,
        .past = true,
        .limit = options->events.count > 0 ? options->events.count : default_count,
        .take = take,
        .begin = begin,
        .look = look,
        .context = &self,
    };
    int code = tnd_event_watch(&watch);
    if (self.written)
        code = close_file(&self, path);
    if (self.written && watch.missed > self.missed)
        tnd_complain("trace", "%" PRIu64 " events passed too fast to be read",
                     watch.missed - self.missed);
    else
        tnd_output_abandon(&output);
    tnd_trace_free(&self.trace);
    return code;
}

static const tnd_argument_t arguments[] = {
    {TND_COMMON("--output", trace_options_t, output)},
    {TND_COMMON("--duration", trace_options_t, events.duration)},
    {TND_COMMON("--count", trace_options_t, events.count)},
    {TND_COMMON("--last", trace_options_t, events.last)},
};

const tnd_command_t tnd_command_trace = {
    .name = "trace",
    .operands = "[RUN]",
    .summary = "writes what each thread of a run does to a file for Perfetto",
    TND_ARGUMENTS(arguments, trace_options_t),
    .details =
        "Watches a run for 10 s (--duration) and writes --output FILE in the format of Perfetto;\n"
        "https://ui.perfetto.dev opens it in a browser, without sending it anywhere.\n"
        "\n"
        "Each actor and each device has a track: slices for work, for waits by their reason and\n"
        "for steps, instants for tickets and blocks.  Arrows follow a block from its ticket to\n"
        "the batch that takes its first row, and a step from its batch to its commit, across\n"
        "actors and processes.  Counters show the queue and the free credit of each actor.\n"
        "\n"
        "It reads the events that each actor records in shared memory, so the run does not wait\n"
        "for it.  It begins with the last events, so it also shows how a process that hangs, is\n"
        "stopped or was killed came to that; with --last it writes these and ends.  What an actor\n"
        "is doing at the end of the trace is shown up to there.  A trace has at most 1,000,000\n"
        "events; --count changes that.  Only processes of this machine are shown.\n",
    .codes = "  0   written\n"
             "  1   the run does not exist here, or the file exists or cannot be written\n"
             "  2   usage\n",
    .operands_max = 1,
    .run = trace,
};
