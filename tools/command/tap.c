/*  tools/command/tap.c - `tundish tap`: shows what passes an edge or an actor. */
#include <stdio.h>

#include "runtime/base/clock.h"
#include "tools/cli/command.h"
#include "tools/events/event_text.h"
#include "tools/events/event_watch.h"
#include "tools/events/row_tap.h"
#include "tools/rows/show.h"
#include "tools/rows/tapped_rows.h"

typedef struct {
    tnd_event_options_t events;
    uint64_t rows;
    bool json;
} tap_options_t;

static const uint64_t default_count = 100, default_blocks = 10;

typedef struct {
    const tap_options_t *options;
    char from[64], to[64];
    bool edge, linked;
    uint64_t zero_ns;
    tnd_row_tap_t *rows; /* NULL: without --rows */
    uint64_t shown;      /* blocks with rows */
    uint64_t limit;
} tap_t;

static bool is_shown(const void *context, const tnd_event_entry_t *entry)
{
    const tap_t *tap = context;
    if (entry->event.kind == TND_EVENT_WORK || entry->event.kind == TND_EVENT_WAIT)
        return false;
    bool from = tnd_event_names(tap->from, entry->actor, entry->family);
    if (!tap->edge)
        return from;
    bool to = tnd_event_names(tap->to, entry->actor, entry->family);
    return (from && tnd_event_names(tap->to, entry->peer, entry->peer_family)) ||
           (to && tnd_event_names(tap->from, entry->peer, entry->peer_family));
}

static bool take(void *context, const tnd_event_entry_t *entry)
{
    const tap_t *tap = context;
    if (tap->options->json)
        tnd_event_print_json(stdout, entry);
    else
        tnd_event_print(stdout, entry, tap->zero_ns);
    return true;
}

static void show_rows(const tap_t *self, const tnd_tap_t *tap, const tnd_event_entry_t *entry)
{
    tnd_capture_t capture;
    tnd_tapped_rows(&capture, tap);
    if (self->options->json) {
        tnd_event_begin_json(stdout, entry);
        fputs(",\"sample\":", stdout);
        tnd_show_passing_json(&capture, tap->note.first);
        puts("}");
    } else {
        tnd_event_print(stdout, entry, self->zero_ns);
        if (tap->note.rows == 0 && tap->note.of_rows > 0)
            puts("  its first row is larger than 240 KiB and was not copied");
        else
            tnd_show_text(&capture, false, false, tap->note.first);
    }
    tnd_capture_fini(&capture);
}

static bool look(void *context, const tnd_event_stream_t *stream, bool last)
{
    tap_t *self = context;
    tnd_event_entry_t entry;
    if (last)
        return true;
    const tnd_tap_t *tap = tnd_row_tap_poll(self->rows, stream, &entry);
    if (tap != NULL)
        show_rows(self, tap, &entry);
    self->shown += tap != NULL;
    return self->shown < self->limit && fflush(stdout) == 0;
}

static int begin(void *context, const tnd_event_stream_t *stream)
{
    tap_t *tap = context;
    tap->linked = !tap->edge || tnd_event_stream_linked(stream, tap->from, tap->to) ||
                  tnd_event_stream_linked(stream, tap->to, tap->from);
    bool known = tnd_event_check_name("tap", stream, tap->from) &&
                 (!tap->edge || tnd_event_check_name("tap", stream, tap->to));
    return known ? -1 : TND_EXIT_FAILED;
}

static int tap(const tnd_request_t *request)
{
    const tap_options_t *options = request->options;
    tap_t self = {
        .options = options,
        .zero_ns = tnd_clock_now(),
    };
    self.edge = tnd_event_edge(request->files[0], self.from, self.to);
    if (self.from[0] == '\0' || (self.edge && self.to[0] == '\0'))
        return tnd_usage_error("tap", "`%s` is neither an edge such as read..prep nor an actor",
                               request->files[0]);
    tnd_event_watch_t watch = {
        .command = "tap",
        .request = request,
        .options = &options->events,
        .run = request->file_count > 1 ? request->files[1] : NULL,
        .wants = is_shown,
        .limit = options->events.count > 0 ? options->events.count : default_count,
        .take = take,
        .begin = begin,
        .context = &self,
    };
    if (options->rows > 0 && options->events.last)
        return tnd_usage_error("tap", "--rows shows rows that pass now, --last what has passed");
    if (options->rows > 0) {
        self.rows = tnd_row_tap_new(self.from, self.edge ? self.to : "", options->rows);
        self.limit = options->events.count > 0 ? options->events.count : default_blocks;
        watch.look = look;
        watch.take = NULL;
    }
    int code = tnd_event_watch(&watch);
    if (self.rows != NULL) {
        if (code == TND_EXIT_OK && tnd_row_tap_error(self.rows)[0] != '\0')
            tnd_complain("tap", "%s", tnd_row_tap_error(self.rows));
        watch.taken = self.shown;
        tnd_row_tap_destroy(&self.rows);
    }
    if (code == TND_EXIT_OK && watch.taken == 0 && !self.linked)
        tnd_complain("tap", "nothing passed: no edge links %s and %s", self.from, self.to);
    else if (code == TND_EXIT_OK && watch.taken == 0)
        tnd_complain("tap", options->events.last ? "no event is recorded" : "nothing passed");
    return code;
}

static const tnd_argument_t arguments[] = {
    {TND_COMMON("--count", tap_options_t, events.count)},
    {TND_COMMON("--duration", tap_options_t, events.duration)},
    {TND_COMMON("--last", tap_options_t, events.last)},
    {TND_ARGUMENT("--rows", NUMBER, tap_options_t, rows, "K",
                  "shows the first rows of one block in K")},
    {TND_COMMON("--json", tap_options_t, json)},
};

const tnd_command_t tnd_command_tap = {
    .name = "tap",
    .operands = "EDGE|ACTOR [RUN]",
    .summary = "shows the blocks, tickets and steps that pass an edge or an actor",
    TND_ARGUMENTS(arguments, tap_options_t),
    .details =
        "Prints a line per event: its time, the actor, what happened, the peer, the first\n"
        "position (or the step) and their number, epoch, lane, and the attempt if a ticket was\n"
        "issued again.  EDGE is `read..prep`, ACTOR is `prep` for all its instances, or `prep.0`.\n"
        "\n"
        "It reads the events that each actor records in shared memory, so the run does not wait\n"
        "for it, and actors that hang are shown too: `--last` prints the last events and exits.\n"
        "It ends after 100 events or 10 s; --count and --duration change that.  Times are\n"
        "seconds since the start of the command; with --json they are those of the monotonic\n"
        "clock, one object per line.  Only processes of this machine are shown.\n"
        "\n"
        "--rows K shows rows instead: of one block in K that ACTOR sends (to the second actor of\n"
        "EDGE), its first rows, at most 32 and 240 KiB.  The actor copies them to shared memory\n"
        "and never waits: a block is skipped if the one before was not taken, at most 10 a\n"
        "second are.  It ends after 10 blocks or 10 s.  When the command ends or hangs, the actor\n"
        "stops copying within 2 s.  `tundish head --at ACTOR --position P` shows them again.\n",
    .codes =
        "  0   shown, also if nothing passed\n"
        "  1   the run or the actor does not exist here, or it was killed and --last is not given\n"
        "  2   usage\n",
    .operands_min = 1,
    .operands_max = 2,
    .missing = "name an edge such as read..prep, or an actor",
    .run = tap,
};
