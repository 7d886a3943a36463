/*  tools/events/event_watch.c - what the commands that watch events have in common. */
#include "tools/events/event_watch.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "runtime/base/clock.h"
#include "runtime/text/quantity.h"
#include "tools/choice/run_choice.h"

static const uint64_t default_ns = UINT64_C(10000000000);
/*  A busy actor fills its ring in about 10 ms.  Where rings fill more slowly, the pauses are longer,
 *  because each wake-up takes a processor from the run. */
static const long pause_least_ns = 2000000, pause_most_ns = 5000000;

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

bool tnd_event_edge(const char *text, char from[64], char to[64])
{
    const char *dots = strstr(text, ".."), *arrow = strstr(text, "->");
    const char *at = dots != NULL ? dots : arrow;
    snprintf(from, 64, "%.*s", at != NULL ? (int)(at - text) : 63, text);
    snprintf(to, 64, "%.63s", at != NULL ? at + 2 : "");
    return at != NULL;
}

void tnd_event_check_stopped(const char *command, const tnd_event_stream_t *stream,
                             const char *name)
{
    int process = 0;
    const char *instance = tnd_event_stream_stopped(stream, name, &process);
    if (instance != NULL)
        tnd_complain(
            command,
            "%s records nothing now: its process %d is stopped; kill -CONT %d continues it",
            instance, process, process);
}

bool tnd_event_check_name(const char *command, const tnd_event_stream_t *stream, const char *name)
{
    const char *host = "";
    if (!tnd_event_stream_has(stream, name)) {
        tnd_complain(command, "the run has no actor `%s`; `tundish ps` shows them", name);
        return false;
    }
    const char *instance = tnd_event_stream_elsewhere(stream, name, &host);
    if (instance != NULL)
        tnd_complain(command,
                     "%s is on host %s, which has no process here: its events are shown "
                     "on that machine",
                     instance, host);
    tnd_event_check_stopped(command, stream, name);
    return true;
}

static bool is_wanted(const tnd_event_watch_t *self, const tnd_event_entry_t *entry)
{
    return self->wants == NULL || self->wants(self->context, entry);
}

/*  The number of events to leave out, so that the last ones are taken. */
static uint64_t count_skipped(const tnd_event_watch_t *self, const tnd_event_entry_t *entries,
                              size_t count)
{
    uint64_t wanted = 0;
    if (!self->options->last || self->limit == 0)
        return 0;
    for (size_t e = 0; e < count; e++)
        wanted += is_wanted(self, &entries[e]);
    return wanted > self->limit ? wanted - self->limit : 0;
}

static size_t read_events(const tnd_event_watch_t *self, tnd_event_stream_t *stream, bool last,
                          const tnd_event_entry_t **entries_p)
{
    if (self->take != NULL)
        return tnd_event_stream_poll(stream, last, entries_p);
    tnd_event_stream_look(stream);
    *entries_p = NULL;
    return 0;
}

static void pause_after(const tnd_event_stream_t *stream)
{
    bool full = tnd_event_stream_fullest(stream) > TND_RING_EVENTS / 4;
    nanosleep(&(struct timespec){.tv_nsec = full ? pause_least_ns : pause_most_ns}, NULL);
}

static int watch(tnd_event_watch_t *self, tnd_event_stream_t *stream, uint64_t until_ns)
{
    const tnd_event_entry_t *entries;
    int code = self->begin(self->context, stream);
    bool goes_on = code < 0;
    self->taken = 0;
    while (goes_on) {
        bool last = self->options->last || interrupted || tnd_clock_now() >= until_ns ||
                    !tnd_event_stream_lives(stream);
        size_t count = read_events(self, stream, last, &entries);
        uint64_t skipped = count_skipped(self, entries, count);
        for (size_t e = 0; e < count && goes_on; e++) {
            if (!is_wanted(self, &entries[e]) || (skipped > 0 && skipped-- > 0))
                continue;
            goes_on = self->take(self->context, &entries[e]) && ++self->taken != self->limit;
        }
        goes_on = goes_on && !last && fflush(stdout) == 0;
        if (self->look != NULL && !self->look(self->context, stream, !goes_on))
            goes_on = false;
        if (goes_on)
            pause_after(stream);
    }
    self->missed = tnd_event_stream_missed(stream);
    if (code < 0 && self->missed > 0 && !self->past && !self->options->last)
        tnd_complain(self->command, "%" PRIu64 " events passed too fast to be read", self->missed);
    return code < 0 ? TND_EXIT_OK : code;
}

/*  A user may have named the run alone, and not what passes in it. */
static const char *hint_operands(const tnd_event_watch_t *self)
{
    const tnd_request_t *request = self->request;
    bool alone = self->run == NULL && request->file_count == 1;
    return alone && tnd_run_choice_exists(request->files[0])
               ? "; the run is the last operand, after what is watched in it"
               : "";
}

int tnd_event_watch(tnd_event_watch_t *self)
{
    uint64_t duration_ns = default_ns;
    const char *duration = self->options->duration;
    if (duration != NULL &&
        (tnd_quantity_duration(duration, &duration_ns) != TND_QUANTITY_OK || duration_ns == 0))
        return tnd_usage_error(self->command,
                               "--duration takes a time such as 10s or 500ms, "
                               "not '%s'",
                               duration);
    tnd_error_t error;
    bool past = self->past || self->options->last;
    tnd_event_stream_t *stream = tnd_event_stream_new(self->run, past, &error);
    if (stream == NULL) {
        tnd_complain(self->command, "%s%s", error.text, hint_operands(self));
        return TND_EXIT_FAILED;
    }
    if (!past && !tnd_event_stream_lives(stream)) {
        tnd_complain(self->command,
                     "the run `%s` was killed, so nothing passes; --last shows what passed before",
                     tnd_event_stream_run(stream));
        tnd_event_stream_destroy(&stream);
        return TND_EXIT_FAILED;
    }
    struct sigaction interrupt = {.sa_handler = on_interrupt}, before;
    sigaction(SIGINT, &interrupt, &before);
    int code = watch(self, stream, tnd_clock_now() + duration_ns);
    sigaction(SIGINT, &before, NULL);
    tnd_event_stream_destroy(&stream);
    return code;
}
