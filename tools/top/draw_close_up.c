/*  tools/top/draw_close_up.c - the page of one actor. */
#include "tools/top/draw_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "tools/cli/number_text.h"

/*  From this width on a row of times has its histogram. */
enum { HISTOGRAM_WIDE = 108 };

/*  A line that continues one is indented by so much. */
enum { CONTINUED = 4 };

static const char *span_text(double seconds, char text[16])
{
    if (seconds < 1e-3)
        snprintf(text, 16, "%.1f us", seconds * 1e6);
    else if (seconds < 1)
        snprintf(text, 16, "%.1f ms", seconds * 1e3);
    else
        snprintf(text, 16, "%.1f s", seconds);
    return text;
}

static void print_window(FILE *out, const char *name, const double *times)
{
    char text[96];
    double sum = 0;
    for (unsigned i = 0; i < TND_TOP_SHARES; i++)
        sum += times[i];
    tnd_top_parts(times, 5, text, sizeof text);
    fprintf(out, "  %-10s %s\n", name, sum > 0 ? text : "not known yet");
}

/*  The more durations a doubling has, the heavier is its character. */
static void print_octaves(FILE *out, const uint64_t *octaves)
{
    static const char scale[] = ".:-=+*#";
    uint64_t most = 1;
    for (unsigned o = 0; o < TND_CLOSE_UP_OCTAVES; o++)
        most = octaves[o] > most ? octaves[o] : most;
    for (unsigned o = 0; o < TND_CLOSE_UP_OCTAVES; o++) {
        double part = (double)octaves[o] / (double)most * (double)(sizeof scale - 2);
        fputc(octaves[o] > 0 ? scale[(size_t)part] : ' ', out);
    }
}

static void print_timings(FILE *out, const tnd_top_close_up_t *close_up, bool wide)
{
    fprintf(out, "%-22s%9s%9s%9s%9s%9s%11s%s\n", "times", "p50", "p90", "p99", "p99.9", "max",
            "count", wide ? "   1 us      1 ms      1 s" : "");
    for (uint32_t t = 0; t < close_up->timing_count; t++) {
        const tnd_top_timing_t *timing = &close_up->timings[t];
        const double spans[] = {timing->p50, timing->p90, timing->p99, timing->p999, timing->most};
        if (timing->count == 0)
            continue;
        fprintf(out, "  %-20.20s", timing->name);
        for (size_t s = 0; s < sizeof spans / sizeof spans[0]; s++) {
            char text[16];
            fprintf(out, "%9s", span_text(spans[s], text));
        }
        char count[TND_NUMBER_TEXT];
        fprintf(out, "%11s", tnd_grouped((double)timing->count, count));
        if (wide) {
            fputs("  ", out);
            print_octaves(out, timing->octaves);
        }
        fputc('\n', out);
    }
}

static void print_operations(FILE *out, const tnd_top_close_up_t *close_up)
{
    double sum = 0;
    char text[16];
    for (uint32_t o = 0; o < close_up->operation_count; o++)
        sum += close_up->operations[o].seconds;
    if (close_up->operation_count > 0)
        fprintf(out, "%-22s%9s%9s\n", "operations", "a block", "share");
    for (uint32_t o = 0; o < close_up->operation_count; o++) {
        const tnd_top_operation_t *operation = &close_up->operations[o];
        fprintf(out, "  %-20s%9s%7.0f %%\n", operation->name, span_text(operation->seconds, text),
                sum > 0 ? 100 * operation->seconds / sum : 0.0);
    }
}

/*  A title, and the lines of a text below it. */
static void print_lines(FILE *out, const char *title, const char *text)
{
    if (*text == '\0')
        return;
    fprintf(out, "%s\n", title);
    for (const char *line = text; *line != '\0';) {
        int length = (int)strcspn(line, "\n");
        fprintf(out, "  %.*s\n", length, line);
        line += length + (line[length] == '\n');
    }
}

static void print_close_up(FILE *out, const tnd_canvas_t *canvas, const tnd_top_actor_t *actor)
{
    const tnd_top_close_up_t *close_up = canvas->snapshot->close_up;
    if (close_up == NULL || strcmp(close_up->actor, actor->name) != 0) {
        fprintf(out, "times and options\n  %s\n",
                canvas->view->frozen ? "were not read before the screen was frozen"
                                     : "not known of this actor");
        return;
    }
    if (close_up->file[0] != '\0')
        fprintf(out, "  reads     record %" PRIu64 " of %s, at byte %" PRIu64 "\n",
                close_up->record, close_up->file, close_up->offset);
    print_timings(out, close_up, canvas->screen->columns >= HISTOGRAM_WIDE);
    print_operations(out, close_up);
    print_lines(out, "threads", close_up->threads);
    print_lines(out, "last events", close_up->events);
    print_lines(out, "options", close_up->options);
}

static void print_actor(FILE *out, const tnd_canvas_t *canvas, const tnd_top_actor_t *actor)
{
    char since[32], age[TND_NUMBER_TEXT], rate[TND_NUMBER_TEXT], number[TND_NUMBER_TEXT];
    fprintf(out, "%s   %s on host %s, process %d, thread %" PRIu64 "\n", actor->name, actor->kind,
            actor->host, actor->process, actor->thread);
    fprintf(out, "  %s%s for %s; started %s ago\n",
            actor->waits[0] != '\0' ? "waits for " : "at work", actor->waits,
            tnd_top_age(actor->since_seconds, since), tnd_time_text(actor->age_seconds, age));
    fprintf(out, "  from      %s\n", actor->upstream[0] != '\0' ? actor->upstream : "-");
    fprintf(out, "  to        %s\n", actor->downstream[0] != '\0' ? actor->downstream : "-");
    fprintf(out, "  rows      %s/s; last 60 s %s/s; %s in all\n",
            tnd_grouped(actor->rows_per_second, rate), tnd_grouped(actor->rows_minute, age),
            tnd_grouped((double)actor->rows_out, number));
    fprintf(out, "  queue     %" PRIu64 "\n", actor->queue);
    fprintf(out,
            "  lost %" PRIu64 " connections, issued %" PRIu64 " tickets again, doubled %" PRIu64
            ", dropped %" PRIu64 " late messages\n",
            actor->lost, actor->again, actor->doubled, actor->stale);
    fprintf(out, "time, percent\n");
    print_window(out, "now", actor->times);
    print_window(out, "last 10 s", actor->ten);
    print_window(out, "last 60 s", actor->minute);
    for (uint32_t d = 0; d < actor->device_count; d++) {
        char bar[41], facts[300];
        tnd_top_bar(actor->devices[d].shares, ".SnAk", TND_DEVICE_STATES, 40, bar);
        fprintf(out, "  %-10s %s\n", actor->devices[d].name, bar);
        if (tnd_top_device_facts(&actor->devices[d], facts, sizeof facts)[0] != '\0')
            fprintf(out, "             %s\n", facts);
    }
    print_close_up(out, canvas, actor);
}

/*  Draws the lines from number `first` on, and returns how many there are.  Long lines continue
 *  below, further to the right.  Without a screen it only counts. */
static unsigned put_lines(tnd_screen_t *screen, unsigned top, unsigned first, unsigned room,
                          unsigned width, const char *text)
{
    unsigned line = 0;
    for (const char *at = text; *at != '\0';) {
        size_t length = strcspn(at, "\n");
        tnd_ink_t ink = *at != ' ' ? TND_INK_BOLD : TND_INK_PLAIN;
        size_t used = 0;
        do {
            unsigned right = used > 0 && width > 2 * CONTINUED ? CONTINUED : 0;
            size_t part = tnd_top_break(at + used, length - used, width - right);
            if (screen != NULL && line >= first && line - first < room)
                tnd_screen_put(screen, top + line - first, 1 + right, ink, "%.*s", (int)part,
                               at + used);
            line++;
            used += part + (at[used + part] == ' ');
        } while (used < length);
        at += length + (at[length] == '\n');
    }
    return line;
}

void tnd_top_draw_close_up(const tnd_canvas_t *canvas, unsigned top)
{
    const tnd_top_snapshot_t *snapshot = canvas->snapshot;
    tnd_screen_t *screen = canvas->screen;
    const tnd_top_actor_t *actor = NULL;
    for (uint32_t a = 0; a < snapshot->actor_count; a++)
        if (strcmp(snapshot->actors[a].name, canvas->view->selected) == 0)
            actor = &snapshot->actors[a];
    if (actor == NULL) {
        tnd_screen_put(screen, top, 1, TND_INK_FAULT, "actor %s does not exist any more",
                       canvas->view->selected);
        return;
    }
    char *text = NULL;
    size_t size = 0;
    FILE *out = tnd_memory_stream(&text, &size);
    print_actor(out, canvas, actor);
    fclose(out);
    unsigned room = screen->rows > top + 1 ? screen->rows - top - 1 : 0;
    unsigned width = screen->columns > 2 ? screen->columns - 2 : 1;
    unsigned lines = put_lines(NULL, top, 0, room, width, text);
    unsigned last = lines > room ? lines - room : 0;
    unsigned first = canvas->view->scroll < last ? canvas->view->scroll : last;
    (void)put_lines(screen, top, first, room, width, text);
    free(text);
}
