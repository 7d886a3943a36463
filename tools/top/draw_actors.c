/*  tools/top/draw_actors.c - the box of the actors: a row for each, its time as letters or parts. */
#include "tools/top/draw_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "tools/cli/number_text.h"

enum { BAR = 20, WIDE_FROM = 112, BYTES = 8, WAITS = 14 };

/*  Where the columns are. */
typedef struct {
    bool wide;
    unsigned name, name_width, host, host_width, state, time, bar, rows, bytes_width, queue, credit,
        since, waits;
} columns_t;

/*  The parts of the wide table: titles, and indices into TND_TIMES. */
static const struct {
    const char *title;
    unsigned part;
} parts[] = {{"CPU", 0}, {"DISK", 6}, {"IN", 1},  {"CRED", 2},
             {"ORD", 3}, {"STEP", 4}, {"RED", 5}, {"RUNQ", 7}};

enum { PARTS = sizeof parts / sizeof parts[0], PART_WIDTH = 5 };

/*  Where columns begin, by their widths. */
static void place(columns_t *at)
{
    at->host = at->name + at->name_width + 1;
    at->state = at->host + at->host_width + (at->host_width > 0);
    at->time = at->state + 2;
    at->rows = at->time + (at->wide ? PARTS * PART_WIDTH : at->bar) + 1;
    at->queue = at->rows + 9 + at->bytes_width;
    at->credit = at->queue + 6;
    at->since = at->credit + 7;
    at->waits = at->since + 8;
}

static columns_t columns_of(const tnd_canvas_t *canvas)
{
    const tnd_top_snapshot_t *snapshot = canvas->snapshot;
    size_t name = 0, host = 0, whole = 0;
    for (uint32_t a = 0; a < snapshot->actor_count; a++) {
        if (snapshot->actors[a].chain != snapshot->running_chain)
            continue;
        size_t length = strlen(snapshot->actors[a].name);
        name = length > name ? length : name;
        whole = tnd_top_is_limiting(snapshot, &snapshot->actors[a]) ? length : whole;
        length = strlen(snapshot->actors[a].host);
        host = length > host ? length : host;
    }
    columns_t at = {.wide = canvas->screen->columns >= WIDE_FROM, .name = 3};
    at.name_width = tnd_top_limited(name, 8, at.wide ? 20 : 12);
    at.name_width = whole > at.name_width ? (unsigned)whole : at.name_width;
    /* Of a long name, the host and parts of the bars make room. */
    bool crowded = !at.wide && at.name_width > 12;
    at.host_width =
        crowded && snapshot->host_count <= 1 ? 0 : tnd_top_limited(host, 4, at.wide ? 10 : 6);
    at.bar = crowded ? tnd_top_limited(BAR + 12 - (at.name_width < 30 ? at.name_width : 30), 8, BAR)
                     : BAR;
    at.bytes_width = at.wide ? BYTES : 0;
    place(&at);
    /* In the wide table, the host makes room for what actors wait for, and then the bytes do. */
    if (at.wide && at.waits + WAITS > canvas->screen->columns && snapshot->host_count <= 1)
        at.host_width = 0;
    place(&at);
    if (at.wide && at.waits + WAITS > canvas->screen->columns)
        at.bytes_width = 0;
    place(&at);
    return at;
}

/*  What does not fit is left out: a part of a number would be another one. */
static void print_field(const tnd_canvas_t *canvas, unsigned row, unsigned begin, unsigned width,
                        bool right, tnd_ink_t ink, const char *text)
{
    if (begin + width <= canvas->screen->columns)
        tnd_screen_field(canvas->screen, row, begin, width, right, ink, text);
}

static void print_heading(const tnd_canvas_t *canvas, unsigned row, const columns_t *at)
{
    static const char *const titles[TND_SORTS] = {"ACTOR",  "HOST",  "TIME",
                                                  "ROWS/S", "QUEUE", "SINCE"};
    static const char *const windows[] = {"", "10 s", "60 s"};
    const tnd_top_view_t *view = canvas->view;
    tnd_screen_t *screen = canvas->screen;
    unsigned window = view->window / 10 == 0 ? 0 : view->window == 10 ? 1 : 2;
    unsigned begins[TND_SORTS] = {at->name, at->host, at->time, at->rows, at->queue, at->since};
    unsigned widths[TND_SORTS] = {5, at->host_width, 4, 9, 6, 7};
    tnd_screen_put(screen, row, 1, TND_INK_BOLD, "%u", TND_BOX_ACTORS);
    for (unsigned s = 0; s < TND_SORTS; s++) {
        bool right = s >= TND_SORT_ROWS;
        tnd_ink_t ink = s == view->column ? TND_INK_SELECTED : TND_INK_BOLD;
        if (s != TND_SORT_BUSY || !at->wide)
            print_field(canvas, row, begins[s], widths[s], right, ink, titles[s]);
    }
    if (at->wide) {
        for (unsigned p = 0; p < PARTS; p++)
            tnd_screen_field(screen, row, at->time + p * PART_WIDTH, PART_WIDTH - 1, true,
                             p == 0 && view->column == TND_SORT_BUSY ? TND_INK_SELECTED
                                                                     : TND_INK_BOLD,
                             parts[p].title);
        if (at->bytes_width > 0)
            tnd_screen_field(screen, row, at->rows + 9, BYTES, true, TND_INK_BOLD, "MB/S");
    } else {
        tnd_screen_put(screen, row, at->time + 5, TND_INK_PLAIN, "%.*s", (int)at->bar - 5,
                       windows[window]);
    }
    print_field(canvas, row, at->credit, 7, true, TND_INK_BOLD, "CREDIT");
    tnd_screen_put(screen, row, at->waits, TND_INK_BOLD, "WAITS FOR");
    if (!view->sorted)
        return;
    /* The mark is after a title at the left of its column, and before one at the right. */
    unsigned length = (unsigned)strlen(titles[view->sort]), column = begins[view->sort];
    column += view->sort >= TND_SORT_ROWS ? widths[view->sort] - length - 1 : length;
    tnd_screen_put(screen, row, column, TND_INK_BOLD, view->reverse ? "^" : "v");
}

static void print_time(const tnd_canvas_t *canvas, unsigned row, const columns_t *at,
                       const double *times, tnd_ink_t ink)
{
    char text[BAR + 1];
    if (!at->wide) {
        /* `R d i c o s n q .`: what it does itself first. */
        static const unsigned order[TND_TOP_SHARES] = {0, 6, 1, 2, 3, 4, 5, 7, 8};
        double sorted[TND_TOP_SHARES];
        char letters[TND_TOP_SHARES];
        for (unsigned i = 0; i < TND_TOP_SHARES; i++) {
            sorted[i] = times[order[i]];
            letters[i] = tnd_top_letters[order[i]];
        }
        tnd_top_bar(sorted, letters, TND_TOP_SHARES, at->bar, text);
        tnd_screen_put(canvas->screen, row, at->time, ink, "%s", text);
        return;
    }
    for (unsigned p = 0; p < PARTS; p++) {
        snprintf(text, sizeof text, "%.0f", 100 * times[parts[p].part]);
        tnd_screen_field(canvas->screen, row, at->time + p * PART_WIDTH, PART_WIDTH - 1, true,
                         times[parts[p].part] >= 0.5 ? ink : TND_INK_PLAIN, text);
    }
}

static void print_numbers(const tnd_canvas_t *canvas, unsigned row, const columns_t *at,
                          const tnd_top_actor_t *actor)
{
    char text[TND_NUMBER_TEXT];
    double rows = canvas->view->window == 60 && actor->minute_seconds > 0 ? actor->rows_minute
                                                                          : actor->rows_per_second;
    print_field(canvas, row, at->rows, 9, true, TND_INK_PLAIN, tnd_grouped(rows, text));
    if (at->bytes_width > 0) {
        snprintf(text, sizeof text, "%.1f", actor->bytes_per_second * 1e-6);
        print_field(canvas, row, at->rows + 9, BYTES, true, TND_INK_PLAIN,
                    actor->bytes_per_second > 0 ? text : "-");
    }
    snprintf(text, sizeof text, "%" PRIu64, actor->queue);
    print_field(canvas, row, at->queue, 6, true, TND_INK_PLAIN, text);
    snprintf(text, sizeof text, "%" PRIu64, actor->credit);
    print_field(canvas, row, at->credit, 7, true, TND_INK_PLAIN,
                actor->credit == TND_UNKNOWN ? "-" : text);
    print_field(canvas, row, at->since, 7, true, TND_INK_PLAIN,
                tnd_top_age(actor->since_seconds, text));
}

static const char *reason_of(const tnd_top_actor_t *actor)
{
    return actor->killed             ? "killed"
           : actor->stopped          ? "stopped"
           : actor->failed           ? "failed"
           : actor->ended            ? "has ended"
           : actor->silent           ? "silent"
           : actor->asleep           ? "asleep"
           : actor->opens            ? "opening"
           : actor->waits[0] != '\0' ? actor->waits
                                     : "at work";
}

static void print_actor(const tnd_canvas_t *canvas, unsigned row, const columns_t *at,
                        const tnd_top_actor_t *actor)
{
    tnd_screen_t *screen = canvas->screen;
    const double *times = tnd_top_view_times(canvas->view, actor);
    char letter[2] = {tnd_top_letter(actor), '\0'};
    bool limits = tnd_top_is_limiting(canvas->snapshot, actor);
    tnd_ink_t named = !limits                           ? TND_INK_PLAIN
                      : canvas->snapshot->verdict.flows ? TND_INK_BOLD
                                                        : TND_INK_FAULT;
    if (limits)
        tnd_screen_put(screen, row, 0, named, "*");
    tnd_screen_field(screen, row, at->name, at->name_width, false, named, actor->name);
    tnd_screen_field(screen, row, at->host, at->host_width, false, TND_INK_PLAIN, actor->host);
    tnd_screen_put(screen, row, at->state, TND_INK_BOLD, "%s", letter);
    if (!actor->here) {
        tnd_screen_put(screen, row, at->time, TND_INK_PLAIN, "not on this machine, or not started");
        return;
    }
    tnd_ink_t ink = tnd_top_ink(canvas, actor, times);
    print_time(canvas, row, at, times, ink);
    print_numbers(canvas, row, at, actor);
    tnd_screen_put(screen, row, at->waits, ink == TND_INK_FAULT ? ink : TND_INK_PLAIN, "%s",
                   reason_of(actor));
}

static void print_device(const tnd_canvas_t *canvas, unsigned row, const columns_t *at,
                         const tnd_top_actor_t *actor, const tnd_top_device_t *device)
{
    static const char letters[] = ".SnAk";
    static const char *const names[] = {"idle", "step", "reduce", "apply", "save"};
    tnd_screen_t *screen = canvas->screen;
    char text[64];
    tnd_screen_field(screen, row, at->name + 2, at->name_width - 2, false, TND_INK_PLAIN,
                     device->name);
    tnd_screen_field(screen, row, at->host, at->host_width, false, TND_INK_PLAIN, actor->host);
    tnd_screen_put(screen, row, at->state, TND_INK_BOLD, "%c", letters[device->state]);
    if (at->wide) {
        unsigned column = at->time + 1;
        for (unsigned s = 0; s < TND_DEVICE_STATES; s++)
            column = tnd_screen_put(screen, row, column, TND_INK_PLAIN, "%s %.0f  ", names[s],
                                    100 * device->shares[s]);
    } else {
        tnd_top_bar(device->shares, letters, TND_DEVICE_STATES, at->bar, text);
        tnd_screen_put(screen, row, at->time, TND_INK_PLAIN, "%s", text);
    }
    print_field(canvas, row, at->since, 7, true, TND_INK_PLAIN,
                tnd_top_age(device->since_seconds, text));
    if (device->state != TND_DEVICE_IDLE)
        tnd_screen_put(screen, row, at->waits, TND_INK_PLAIN, "r%" PRIu64 " step %s",
                       device->replica, tnd_grouped((double)device->step, text));
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/*  More workers than have lines of their own: least, median and most rows per second. */
static void print_group(const tnd_canvas_t *canvas, unsigned row, const columns_t *at,
                        const tnd_top_row_t *group)
{
    const tnd_top_snapshot_t *snapshot = canvas->snapshot;
    const tnd_top_actor_t *first = &snapshot->actors[group->actor];
    double *rates = tnd_allocate_zeroed(group->count + (size_t)1, sizeof *rates);
    double times[TND_TOP_SHARES] = {0};
    uint32_t count = 0, awake = 0;
    for (uint32_t a = 0; a < snapshot->actor_count && count < group->count; a++) {
        const tnd_top_actor_t *actor = &snapshot->actors[a];
        if (actor->chain != first->chain || strcmp(actor->actor, first->actor) != 0)
            continue;
        rates[count++] = actor->rows_per_second;
        if (actor->asleep || !actor->here)
            continue;
        awake++;
        for (unsigned i = 0; i < TND_TOP_SHARES; i++)
            times[i] += tnd_top_view_times(canvas->view, actor)[i];
    }
    for (unsigned i = 0; i < TND_TOP_SHARES && awake > 0; i++)
        times[i] /= awake;
    qsort(rates, count, sizeof *rates, by_value);
    char name[64], least[TND_NUMBER_TEXT], median[TND_NUMBER_TEXT], most[TND_NUMBER_TEXT];
    /* It has no host, whose column it may use.  The number is not cut. */
    unsigned width = at->state - at->name - 1;
    int digits = snprintf(name, sizeof name, " x%" PRIu32, group->count);
    snprintf(name, sizeof name, "%.*s x%" PRIu32, (int)width - digits, first->actor, group->count);
    tnd_screen_put(canvas->screen, row, 1, TND_INK_PLAIN, "+");
    tnd_screen_field(canvas->screen, row, at->name, width, false, TND_INK_BOLD, name);
    print_time(canvas, row, at, times, TND_INK_PLAIN);
    tnd_screen_put(canvas->screen, row, at->rows + 1, TND_INK_PLAIN, "%s / %s / %s rows/s each",
                   tnd_grouped(count > 0 ? rates[0] : 0, least),
                   tnd_grouped(count > 0 ? rates[count / 2] : 0, median),
                   tnd_grouped(count > 0 ? rates[count - 1] : 0, most));
    free(rates);
}

unsigned tnd_top_box_actors(const tnd_canvas_t *canvas, unsigned top, unsigned height)
{
    const tnd_top_snapshot_t *snapshot = canvas->snapshot;
    columns_t at = columns_of(canvas);
    size_t count;
    tnd_top_row_t *rows = tnd_top_view_rows(canvas->view, snapshot, &count);
    size_t selected = tnd_top_view_selected(canvas->view, snapshot, rows, count);
    size_t shown = height > 0 ? height - 1 : 0;
    size_t first = count > shown && selected + 1 > shown ? selected + 1 - shown : 0;
    print_heading(canvas, tnd_box_row(top, height, 0), &at);
    for (size_t n = 0; n < shown && first + n < count; n++) {
        const tnd_top_row_t *item = &rows[first + n];
        const tnd_top_actor_t *actor = &snapshot->actors[item->actor];
        unsigned row = top + 1 + (unsigned)n;
        if (item->kind == TND_ROW_ACTOR)
            print_actor(canvas, row, &at, actor);
        else if (item->kind == TND_ROW_DEVICE)
            print_device(canvas, row, &at, actor, &actor->devices[item->device]);
        else if (item->kind == TND_ROW_GROUP)
            print_group(canvas, row, &at, item);
        else
            tnd_screen_put(canvas->screen, row, 1, TND_INK_PLAIN,
                           "+ %" PRIu32 " actors of other chains wait for their turn", item->count);
        if (first + n == selected && item->kind != TND_ROW_LATER)
            tnd_screen_put(canvas->screen, row, 1, TND_INK_SELECTED, ">");
    }
    free(rows);
    return (unsigned)count + 1;
}
