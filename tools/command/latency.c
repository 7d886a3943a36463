/*  tools/command/latency.c - `tundish latency`: how long rows take from one actor to another. */
#include <stdio.h>
#include <string.h>

#include "tools/cli/command.h"
#include "tools/cli/json.h"
#include "tools/events/delays.h"
#include "tools/events/event_watch.h"

typedef struct {
    tnd_event_options_t events;
    bool json;
} latency_options_t;

typedef struct {
    char from[64], to[64];
    tnd_delays_t delays;
    uint64_t left; /* samples to take; 0: no limit */
} latency_t;

static bool take(void *context, const tnd_event_entry_t *entry)
{
    latency_t *latency = context;
    tnd_delays_cut(&latency->delays, &entry->event);
    if (tnd_event_names(latency->from, entry->actor, entry->family))
        tnd_delays_begin(&latency->delays, &entry->event);
    if (tnd_event_names(latency->to, entry->actor, entry->family))
        tnd_delays_end(&latency->delays, &entry->event, strcmp(entry->kind, "feeder") == 0);
    return latency->left == 0 || latency->delays.count < latency->left;
}

static int begin(void *context, const tnd_event_stream_t *stream)
{
    const latency_t *latency = context;
    bool known = tnd_event_check_name("latency", stream, latency->from) &&
                 tnd_event_check_name("latency", stream, latency->to);
    return known ? -1 : TND_EXIT_FAILED;
}

static const struct {
    const char *name;
    double share;
} marks[] = {{"min", 0}, {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"max", 1}};

enum { MARKS = sizeof marks / sizeof marks[0] };

static void print_text(const latency_t *self)
{
    printf("%s..%s: %zu samples", self->from, self->to, self->delays.count);
    for (size_t m = 0; m < MARKS; m++)
        printf(", %s %.3f ms", marks[m].name,
               (double)tnd_delays_at(&self->delays, marks[m].share) * 1e-6);
    putchar('\n');
}

static void print_json(const latency_t *self)
{
    tnd_json_begin(stdout, false, "from", self->from);
    tnd_json_member(stdout, "to", self->to);
    printf(",\"samples\":%zu", self->delays.count);
    for (size_t m = 0; m < MARKS; m++)
        printf(",\"%s_seconds\":%.9f", marks[m].name,
               (double)tnd_delays_at(&self->delays, marks[m].share) * 1e-9);
    puts("}");
}

static int latency(const tnd_request_t *request)
{
    const latency_options_t *options = request->options;
    latency_t self = {.left = options->events.count};
    if (!tnd_event_edge(request->files[0], self.from, self.to) || self.from[0] == '\0' ||
        self.to[0] == '\0')
        return tnd_usage_error("latency", "`%s` is not a pair such as read..feed",
                               request->files[0]);
    tnd_event_watch_t watch = {
        .command = "latency",
        .request = request,
        .options = &options->events,
        .run = request->file_count > 1 ? request->files[1] : NULL,
        .take = take,
        .begin = begin,
        .context = &self,
    };
    int code = tnd_event_watch(&watch);
    tnd_delays_sort(&self.delays);
    if (code == TND_EXIT_OK && self.delays.count == 0) {
        tnd_complain("latency", "nothing passed from %s to %s", self.from, self.to);
        code = TND_EXIT_FAILED;
    }
    if (code == TND_EXIT_OK)
        (options->json ? print_json : print_text)(&self);
    tnd_delays_free(&self.delays);
    return code;
}

static const tnd_argument_t arguments[] = {
    {TND_COMMON("--count", latency_options_t, events.count)},
    {TND_COMMON("--duration", latency_options_t, events.duration)},
    {TND_COMMON("--last", latency_options_t, events.last)},
    {TND_COMMON("--json", latency_options_t, json)},
};

const tnd_command_t tnd_command_latency = {
    .name = "latency",
    .operands = "A..B [RUN]",
    .summary = "measures how long rows take from one actor to another",
    TND_ARGUMENTS(arguments, latency_options_t),
    .details =
        "Begins when A sends a block, or a batcher its rows of a step, and ends when B receives\n"
        "it.  If B is a feeder, it ends when the step is committed that the rows belong to:\n"
        "`read..feed` is the time from the reader to the end of the step.  Prints the number of\n"
        "samples, minimum, median, 90th and 99th percentile, maximum.  It watches for 10 s\n"
        "(--duration), or until --count samples.  Between actors that are not linked directly,\n"
        "only B as a feeder gives samples.  With buckets, the step may be another one.\n",
    .codes = "  0   measured\n"
             "  1   the run or an actor does not exist here, or nothing passed\n"
             "  2   usage\n",
    .operands_min = 1,
    .operands_max = 2,
    .missing = "name two actors, such as read..feed",
    .run = latency,
};
