/*  tools/top/draw.c - draws a snapshot of a run: header, pages, and how rows are divided. */
#include "tools/top/draw_internal.h"

#include <inttypes.h>
#include <string.h>

#include "tools/cli/number_text.h"

/*  Rows of the header: two of numbers, two of the sentence, and if a fault is named one of it, or two on
 *  a tall screen.  On a low one it takes a row of the sentence. */
enum { HEADER = 4, LOW_SCREEN = 20, TALL_SCREEN = 40, FAULT_TEXT = 400 };

/* --- header ----------------------------------------------------------------------------------- */

static const char *state_of(const tnd_top_snapshot_t *snapshot)
{
    if (snapshot->outcome != NULL)
        return snapshot->outcome;
    if (snapshot->stopped)
        return "stopped";
    if (snapshot->paused[0] != '\0')
        return snapshot->paused;
    return *snapshot->state != '\0' ? snapshot->state : "its leader is on another machine";
}

static bool is_bad(const tnd_top_snapshot_t *snapshot)
{
    if (snapshot->outcome == NULL)
        return snapshot->stopped;
    return strcmp(snapshot->outcome, "done") != 0 && strcmp(snapshot->outcome, "drained") != 0;
}

/*  Draws a text over several rows, broken at spaces; returns how many rows it takes. */
static unsigned put_wrapped(tnd_screen_t *screen, unsigned row, unsigned column, unsigned rows,
                            tnd_ink_t ink, const char *text)
{
    unsigned width = screen->columns > column + 2 ? screen->columns - column - 1 : 1, used = 0;
    while (*text != '\0') {
        size_t cut = tnd_top_break(text, strlen(text), width);
        if (used < rows)
            tnd_screen_put(screen, row + used, column, ink, "%.*s", (int)cut, text);
        used++;
        text += cut + (text[cut] == ' ');
    }
    return used;
}

/*  A part of a line of the header; "" is left out. */
typedef struct {
    char text[96];
    tnd_ink_t ink;
    unsigned rank; /* 0: always shown; of the others, the highest is left out first */
} field_t;

/*  Draws what fits between the left edge and `end`; a text that must be there may be cut. */
static void put_fields(const tnd_canvas_t *canvas, unsigned row, unsigned end, field_t *fields,
                       size_t count)
{
    for (bool fits = false; !fits;) {
        size_t width = 1, last = count;
        for (size_t f = 0; f < count; f++) {
            if (fields[f].text[0] == '\0')
                continue;
            width += strlen(fields[f].text);
            if (fields[f].rank > 0 && (last == count || fields[f].rank >= fields[last].rank))
                last = f;
        }
        fits = width <= end || last == count;
        if (!fits)
            fields[last].text[0] = '\0';
    }
    unsigned column = 1;
    for (size_t f = 0; f < count && column < end; f++) {
        unsigned width = (unsigned)strlen(fields[f].text);
        width = width < end - column ? width : end - column;
        tnd_screen_field(canvas->screen, row, column, width, false, fields[f].ink, fields[f].text);
        column += width;
    }
}

/*  The interval at the right edge; returns where it begins. */
static unsigned put_interval(const tnd_canvas_t *canvas)
{
    const tnd_top_view_t *view = canvas->view;
    unsigned columns = canvas->screen->columns;
    char text[32];
    if (view->interval_ns == 0)
        return columns;
    snprintf(text, sizeof text, "%s%.1f s", view->frozen ? "frozen  " : "",
             (double)view->interval_ns * 1e-9);
    unsigned width = (unsigned)strlen(text);
    if (width + 4 >= columns)
        return columns;
    tnd_screen_field(canvas->screen, 0, columns - width - 1, width, false,
                     view->frozen ? TND_INK_SELECTED : TND_INK_PLAIN, text);
    return columns - width - 3;
}

static field_t count_field(const char *name, uint64_t count)
{
    char text[TND_NUMBER_TEXT];
    field_t field = {.ink = count > 0 ? TND_INK_FAULT : TND_INK_PLAIN, .rank = count > 0 ? 2 : 5};
    snprintf(field.text, sizeof field.text, "   %s %s", name,
             count > 0 ? tnd_grouped((double)count, text) : "-");
    return field;
}

static void checkpoint_fields(const tnd_top_snapshot_t *snapshot, field_t fields[3])
{
    char step[TND_NUMBER_TEXT], age[32];
    fields[0] = (field_t){.text = "   checkpoint", .rank = 3};
    fields[1] = (field_t){.rank = 6};
    fields[2] = (field_t){.rank = 3};
    if (snapshot->checkpoint_step == 0) {
        snprintf(fields[2].text, sizeof fields[2].text, " none");
        return;
    }
    snprintf(fields[1].text, sizeof fields[1].text, " after step %s%s",
             tnd_grouped((double)snapshot->checkpoint_step - 1, step),
             snapshot->checkpoint_seconds < 0 ? "" : ",");
    if (snapshot->checkpoint_seconds >= 0)
        snprintf(fields[2].text, sizeof fields[2].text, " %s ago",
                 tnd_top_age(snapshot->checkpoint_seconds, age));
    else
        fields[1].rank = 3;
}

/*  What is wrong with a run; "" if nothing is. */
static const char *fault_of(const tnd_top_snapshot_t *snapshot, char text[FAULT_TEXT])
{
    text[0] = '\0';
    if (snapshot->outcome != NULL)
        return text;
    if (snapshot->waiting_for[0] != '\0')
        snprintf(text, FAULT_TEXT, "! waits for host %s", snapshot->waiting_for);
    else if (snapshot->verdict.fault_count > 0)
        snprintf(text, FAULT_TEXT, "! %s", snapshot->verdict.faults[0].text);
    return text;
}

static unsigned fault_rows(const tnd_canvas_t *canvas)
{
    char text[FAULT_TEXT];
    unsigned most = canvas->screen->rows < TALL_SCREEN ? 1 : 2;
    unsigned rows =
        put_wrapped(canvas->screen, 0, 1, 0, TND_INK_FAULT, fault_of(canvas->snapshot, text));
    return rows < most ? rows : most;
}

static unsigned header_rows(const tnd_canvas_t *canvas)
{
    return HEADER + (canvas->screen->rows < LOW_SCREEN ? 0 : fault_rows(canvas));
}

static void put_verdict(const tnd_canvas_t *canvas)
{
    const tnd_top_snapshot_t *snapshot = canvas->snapshot;
    tnd_screen_t *screen = canvas->screen;
    char text[FAULT_TEXT];
    unsigned row = 2;
    if (snapshot->outcome != NULL) {
        tnd_screen_put(screen, row, 1, TND_INK_BOLD, "why the run has ended: %s",
                       snapshot->outcome);
        return;
    }
    unsigned most = fault_rows(canvas);
    (void)put_wrapped(screen, row, 1, most, TND_INK_FAULT, fault_of(snapshot, text));
    row += most;
    bool halts = most == 0 && !snapshot->verdict.flows && snapshot->verdict.sentence[0] != '\0';
    tnd_screen_put(screen, row, 1, halts ? TND_INK_FAULT : TND_INK_BOLD, "why");
    put_wrapped(screen, row, 5, header_rows(canvas) - row, halts ? TND_INK_FAULT : TND_INK_PLAIN,
                snapshot->verdict.sentence);
}

static void put_first_line(const tnd_canvas_t *canvas)
{
    const tnd_top_snapshot_t *snapshot = canvas->snapshot;
    char age[TND_NUMBER_TEXT], step[TND_NUMBER_TEXT];
    bool ended = snapshot->outcome != NULL;
    field_t fields[] = {{.text = "tundish top   ", .ink = TND_INK_BOLD, .rank = 5},
                        {.ink = TND_INK_BOLD},
                        {.ink = is_bad(snapshot) ? TND_INK_FAULT : TND_INK_PLAIN},
                        {.rank = 6},
                        {.rank = 3},
                        {.rank = 1},
                        {.rank = 4},
                        {.ink = TND_INK_BOLD, .rank = 2}};
    bool same_name;
    uint32_t others = tnd_top_snapshot_others(snapshot, &same_name);
    if (same_name)
        snprintf(fields[1].text, sizeof fields[1].text, "%s (process %d)", snapshot->run,
                 snapshot->process);
    else
        snprintf(fields[1].text, sizeof fields[1].text, "%s", snapshot->run);
    if (others > 0)
        snprintf(fields[7].text, sizeof fields[7].text, "   %" PRIu32 " other run%s: R", others,
                 others == 1 ? "" : "s");
    snprintf(fields[2].text, sizeof fields[2].text, "  %s %s", state_of(snapshot),
             tnd_time_text(snapshot->age_seconds, age));
    snprintf(fields[3].text, sizeof fields[3].text, "   %" PRIu32 " host%s", snapshot->host_count,
             snapshot->host_count == 1 ? "" : "s");
    if (snapshot->running_chain > 0)
        snprintf(fields[4].text, sizeof fields[4].text, "   %s", snapshot->chain);
    /* Numbers count from 0, as everywhere; what has ended is counted. */
    snprintf(fields[5].text, sizeof fields[5].text,
             ended ? "   %" PRIu64 " epoch%s" : "   epoch %" PRIu64, snapshot->epoch,
             snapshot->epoch == 1 ? "" : "s");
    snprintf(fields[6].text, sizeof fields[6].text, "  %s step%s",
             tnd_grouped((double)snapshot->step, step), snapshot->step == 1 ? "" : "s");
    put_fields(canvas, 0, put_interval(canvas), fields, sizeof fields / sizeof *fields);
}

static void put_second_line(const tnd_canvas_t *canvas)
{
    const tnd_top_snapshot_t *snapshot = canvas->snapshot;
    char rows[TND_NUMBER_TEXT];
    char left[TND_TIME_LEFT_TEXT];
    field_t fields[9] = {
        {.ink = TND_INK_BOLD}, {.ink = TND_INK_BOLD, .rank = 4}, {.ink = TND_INK_BOLD, .rank = 1}};
    snprintf(fields[0].text, sizeof fields[0].text, "%s rows/s",
             tnd_grouped(snapshot->rows_per_second, rows));
    snprintf(fields[1].text, sizeof fields[1].text, "   %.1f MB/s",
             snapshot->bytes_per_second * 1e-6);
    if (tnd_time_left_text(snapshot->epoch_left_ns, snapshot->run_left_ns, left)[0] != '\0')
        snprintf(fields[2].text, sizeof fields[2].text, "   %s", left);
    fields[3] = count_field("bad", snapshot->bad);
    fields[4] = count_field("again", snapshot->again);
    fields[5] = count_field("lost", snapshot->lost);
    checkpoint_fields(snapshot, &fields[6]);
    put_fields(canvas, 1, canvas->screen->columns, fields, sizeof fields / sizeof *fields);
}

static void put_header(const tnd_canvas_t *canvas)
{
    put_first_line(canvas);
    put_second_line(canvas);
    put_verdict(canvas);
}

/* --- pages ------------------------------------------------------------------------------------ */

static const char *const help_lines[] = {
    "Letters, also the colour of what limits an actor:",
    "  R computes              red        s waits for the user's step",
    "  d disk, sleep           red        n waits for other replicas",
    "  i input is missing      blue       q ready, no processor is free    yellow",
    "  c no room downstream    dark       . idle, or its part is done",
    "  o waits for the order   dark       T stopped, X killed or failed    magenta",
    "  p waits for a connection           l waits for the leader",
    "  ? not on this machine, silent, or not started",
    "  of a device: S step, n reduce, A apply, k saves the model, . idle",
    "  * is the actor that limits the run, or that all others wait for; it comes first",
    "  time: a bar is as high as the part of a second at work, in the colour of",
    "        what took most of it",
    "",
    "Keys:",
    "  enter       opens an actor, or the workers that share a line",
    "  esc         goes back; at last, clears the filter",
    "  up, down    select an actor (also k, j, page up, page down, home, end)",
    "  w           why: the whole sentence",
    "  R           the runs that are seen: enter shows another one",
    "  g a e m h d l t shows one box alone: graph, actors, edges, memory, hosts,",
    "              devices, log, time",
    "  1 - 8       hide and show boxes",
    "  / TEXT      shows actors whose name, host or kind contains TEXT; !TEXT: not",
    "  < >         choose a column    s  sorts by it, or not    r  reverses",
    "  F           follows the selected actor when rows move",
    "  T           time of this interval, of the last 10 s, of the last 60 s",
    "  M           time axis of the last minute, or of the last ten",
    "  space       freezes the screen, which can still be browsed",
    "  + -         longer and shorter intervals",
    "  :           a command; tab completes it",
    "  q           quits",
    NULL};

static const char *const touch_lines[] = {
    "",
    "Touches, each after a question:",
    "  p           pauses the run between two steps, or continues it",
    "  u           a menu: drain, restart the selected actor, set an option, scale",
    "              workers; also as commands, such as :set feed.depth=4",
    NULL};

static void draw_help(const tnd_canvas_t *canvas)
{
    tnd_screen_put(canvas->screen, 0, 1, TND_INK_BOLD, "tundish top: help");
    const char *const *parts[] = {help_lines, canvas->view->touches.off ? NULL : touch_lines};
    unsigned n = 0;
    for (size_t p = 0; p < 2; p++)
        for (const char *const *line = parts[p]; line != NULL && *line != NULL; line++, n++)
            if (n >= canvas->view->scroll)
                tnd_screen_put(canvas->screen, 1 + n - canvas->view->scroll, 1, TND_INK_PLAIN, "%s",
                               *line);
}

static void draw_why(const tnd_canvas_t *canvas)
{
    const tnd_top_snapshot_t *snapshot = canvas->snapshot;
    unsigned rows = canvas->view->rows, row = header_rows(canvas) + 2;
    tnd_screen_put(canvas->screen, row - 1, 1, TND_INK_BOLD, "why");
    row += put_wrapped(canvas->screen, row, 2, rows, TND_INK_PLAIN,
                       snapshot->verdict.sentence[0] != '\0' ? snapshot->verdict.sentence
                                                             : "no judgement yet");
    for (uint32_t f = 0; f < snapshot->verdict.fault_count; f++) {
        const tnd_fault_t *fault = &snapshot->verdict.faults[f];
        row++;
        row += put_wrapped(canvas->screen, row, 2, rows, TND_INK_FAULT, fault->text);
        row += put_wrapped(canvas->screen, row, 4, rows, TND_INK_PLAIN, fault->evidence);
        row += put_wrapped(canvas->screen, row, 4, rows, TND_INK_BOLD, fault->action);
    }
}

/* --- boxes ------------------------------------------------------------------------------------ */

typedef unsigned box_t(const tnd_canvas_t *canvas, unsigned top, unsigned height);

static box_t *const boxes[TND_BOXES + 1] = {NULL,
                                            tnd_top_box_graph,
                                            tnd_top_box_actors,
                                            tnd_top_box_edges,
                                            tnd_top_box_memory,
                                            tnd_top_box_hosts,
                                            tnd_top_box_devices,
                                            tnd_top_box_log,
                                            tnd_top_box_time};

/*  The lines of the log beside other boxes, its title included, and from which width on the time axis
 *  has 60 columns for its 60 seconds beside names and numbers. */
enum { LOG_LEAST = 4, LOG_MOST = 6, AXIS_WIDE = 120 };

static unsigned take(unsigned *room, unsigned rows)
{
    unsigned taken = rows < *room ? rows : *room;
    *room -= taken;
    return taken;
}

/*  Divides the rows of the screen.  The actors come first, but leave room for the graph and the last
 *  lines of the log, which say what cannot be shown.  The time axis and the other boxes follow if they
 *  fit; what is left shows more of the log, and then a taller axis. */
static void divide(const tnd_canvas_t *canvas, unsigned room, unsigned heights[TND_BOXES + 1])
{
    static const unsigned others[] = {TND_BOX_TIME, TND_BOX_HOSTS, TND_BOX_EDGES, TND_BOX_MEMORY,
                                      TND_BOX_DEVICES};
    unsigned wants[TND_BOXES + 1] = {0};
    for (unsigned b = 1; b <= TND_BOXES; b++) {
        bool shown = canvas->view->alone == 0 ? (canvas->view->hidden >> b & 1) == 0
                                              : canvas->view->alone == b;
        shown = shown && (b != TND_BOX_TIME || canvas->view->alone == b ||
                          canvas->screen->columns >= AXIS_WIDE);
        wants[b] = shown ? boxes[b](canvas, 0, 0) : 0;
        heights[b] = 0;
    }
    if (canvas->view->alone != 0) {
        heights[canvas->view->alone] = room;
        return;
    }
    unsigned last = wants[TND_BOX_LOG] < LOG_LEAST ? wants[TND_BOX_LOG] : LOG_LEAST;
    unsigned least = wants[TND_BOX_GRAPH] + last;
    unsigned actors = room > least + 4 ? room - least : 4;
    heights[TND_BOX_ACTORS] =
        take(&room, wants[TND_BOX_ACTORS] < actors ? wants[TND_BOX_ACTORS] : actors);
    if (room >= wants[TND_BOX_GRAPH])
        heights[TND_BOX_GRAPH] = take(&room, wants[TND_BOX_GRAPH]);
    if (room >= 2 && last > 0)
        heights[TND_BOX_LOG] = take(&room, last);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (wants[others[i]] > 1 && wants[others[i]] <= room)
            heights[others[i]] = take(&room, wants[others[i]]);
    if (heights[TND_BOX_LOG] > 0)
        heights[TND_BOX_LOG] += take(&room, LOG_MOST - heights[TND_BOX_LOG]);
    if (heights[TND_BOX_TIME] > 0)
        heights[TND_BOX_TIME] += take(&room, TND_TOP_AXIS_MORE);
}

/*  From this width on the legend has every letter; the help has them anyway. */
enum { LEGEND_WIDE = 132, TOUCHES_WIDE = 100 };

static void put_keys(const tnd_canvas_t *canvas)
{
    const tnd_top_view_t *view = canvas->view;
    tnd_screen_t *screen = canvas->screen;
    unsigned last = screen->rows - 1;
    if (view->typing != 0) {
        tnd_screen_put(screen, last, 1, TND_INK_BOLD, "%c%s_   %s", view->typing, view->typed,
                       view->message);
        return;
    }
    tnd_touch_target_t target = tnd_top_view_target(view, canvas->snapshot);
    char asked[256];
    tnd_touch_menu_text(&view->touches, &target, asked, sizeof asked);
    if (asked[0] != '\0') {
        tnd_screen_put(screen, last, 1, TND_INK_BOLD, "%s", asked);
        return;
    }
    if (view->message[0] != '\0') {
        tnd_screen_put(screen, last, 1, TND_INK_BOLD, "%s", view->message);
        return;
    }
    if (screen->rows >= 16 && view->page == TND_TOP_MAIN)
        tnd_screen_put(
            screen, last - 1, 1, TND_INK_PLAIN, "%s%s",
            "R cpu d disk i input c credit o order s step n reduce q no processor . idle",
            screen->columns >= LEGEND_WIDE ? " p peer l leader  of a device: S step A apply k save"
                                           : "");
    if (view->filter[0] != '\0')
        tnd_screen_put(screen, last, 1, TND_INK_BOLD, "filter %s   esc clears it", view->filter);
    else if (view->page != TND_TOP_MAIN || view->alone != 0)
        tnd_screen_put(screen, last, 1, TND_INK_PLAIN, "%sesc back   ? help   q quit",
                       view->page == TND_TOP_ACTOR  ? "up, down scroll   "
                       : view->page == TND_TOP_RUNS ? "enter shows the run   "
                                                    : "");
    else
        tnd_screen_put(screen, last, 1, TND_INK_PLAIN,
                       "enter actor  w why  / filter  s sort  r reverse  space freeze  %s? help  "
                       "q quit",
                       screen->columns >= TOUCHES_WIDE && !view->touches.off ? "p pause  u touch  "
                                                                             : "");
}

static void draw_main(const tnd_canvas_t *canvas)
{
    unsigned heights[TND_BOXES + 1], keys = canvas->screen->rows >= 16 ? 2 : 1;
    unsigned header = header_rows(canvas);
    unsigned room = canvas->screen->rows > header + keys ? canvas->screen->rows - header - keys : 0;
    divide(canvas, room, heights);
    static const unsigned order[TND_BOXES] = {TND_BOX_GRAPH,   TND_BOX_ACTORS, TND_BOX_TIME,
                                              TND_BOX_EDGES,   TND_BOX_MEMORY, TND_BOX_HOSTS,
                                              TND_BOX_DEVICES, TND_BOX_LOG};
    unsigned top = header;
    for (unsigned b = 0; b < TND_BOXES; b++) {
        if (heights[order[b]] > 0)
            (void)boxes[order[b]](canvas, top, heights[order[b]]);
        top += heights[order[b]];
    }
}

void tnd_top_draw(const tnd_top_view_t *view, const tnd_top_snapshot_t *snapshot, const char *asked,
                  tnd_screen_t *screen)
{
    tnd_canvas_t canvas = {.view = view, .snapshot = snapshot, .screen = screen};
    tnd_screen_clear(screen, view->rows, view->columns);
    if (view->rows == 0 || view->columns == 0)
        return;
    if (view->page == TND_TOP_HELP) {
        draw_help(&canvas);
    } else if (snapshot == NULL) {
        tnd_screen_put(screen, 0, 1, TND_INK_BOLD, "tundish top");
        unsigned column = tnd_screen_put(screen, 2, 1, TND_INK_PLAIN, "no run");
        if (asked != NULL)
            column = tnd_screen_put(screen, 2, column, TND_INK_PLAIN, " `%s`", asked);
        tnd_screen_put(screen, 2, column, TND_INK_PLAIN, " on this machine; waiting for one");
    } else {
        put_header(&canvas);
        if (view->page == TND_TOP_WHY)
            draw_why(&canvas);
        else if (view->page == TND_TOP_RUNS)
            tnd_top_draw_runs(&canvas, header_rows(&canvas) + 1);
        else if (view->page == TND_TOP_ACTOR)
            tnd_top_draw_close_up(&canvas, header_rows(&canvas) + 1);
        else
            draw_main(&canvas);
    }
    put_keys(&canvas);
}

void tnd_top_print_line(const tnd_top_snapshot_t *snapshot, FILE *out)
{
    char step[TND_NUMBER_TEXT], rows[TND_NUMBER_TEXT], age[TND_NUMBER_TEXT];
    char left[TND_TIME_LEFT_TEXT];
    (void)tnd_time_left_text(snapshot->epoch_left_ns, snapshot->run_left_ns, left);
    fprintf(out, "%s %s %s  %s step%s  %s rows/s  %.1f MB/s  %s%s%s%s\n", snapshot->run,
            state_of(snapshot), tnd_time_text(snapshot->age_seconds, age),
            tnd_grouped((double)snapshot->step, step), snapshot->step == 1 ? "" : "s",
            tnd_grouped(snapshot->rows_per_second, rows), snapshot->bytes_per_second * 1e-6, left,
            left[0] != '\0' ? "  " : "", snapshot->waiting_for[0] != '\0' ? "waits for host " : "",
            snapshot->waiting_for[0] != '\0' ? snapshot->waiting_for : snapshot->verdict.sentence);
}
