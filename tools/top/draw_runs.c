/*  tools/top/draw_runs.c - the list of runs that are seen, of which one can be chosen. */
#include "tools/top/draw_internal.h"

#include <inttypes.h>
#include <string.h>

#include "tools/cli/number_text.h"

/*  Columns beside the name, those of the epoch among them, and of the time that is left. */
enum { NUMBERS = 44, EPOCH = 6, LEFT = 19 };

/*  Of a long name, the epoch makes room for the time that is left. */
static unsigned name_width(const tnd_canvas_t *canvas, bool *crowded_p)
{
    const tnd_top_snapshot_t *snapshot = canvas->snapshot;
    size_t longest = 0;
    for (uint32_t r = 0; r < snapshot->run_count; r++)
        longest = strlen(snapshot->runs[r].run) > longest ? strlen(snapshot->runs[r].run) : longest;
    unsigned columns = canvas->screen->columns;
    *crowded_p = longest + NUMBERS + LEFT > columns;
    unsigned others = NUMBERS + LEFT - (*crowded_p ? EPOCH : 0);
    return tnd_top_limited(longest, 8, columns > others + 8 ? columns - others : 8);
}

static void draw_run(const tnd_canvas_t *canvas, unsigned row, unsigned width, bool crowded,
                     const tnd_top_run_t *run)
{
    char epoch[TND_NUMBER_TEXT] = "", age[TND_NUMBER_TEXT], rows[TND_NUMBER_TEXT],
         left[TND_TIME_LEFT_TEXT];
    /* "run 2:05 left" without its last word, or of a run without a known end "epoch 2:05". */
    (void)tnd_time_left_text(run->run_left_ns != 0 ? 0 : run->epoch_left_ns, run->run_left_ns,
                             left);
    tnd_screen_field(canvas->screen, row, 3, width, false,
                     run->killed  ? TND_INK_FAULT
                     : run->shown ? TND_INK_BOLD
                                  : TND_INK_PLAIN,
                     run->run);
    if (!crowded)
        snprintf(epoch, sizeof epoch, "%5" PRIu64 " ", run->epoch);
    tnd_screen_put(canvas->screen, row, width + 4, TND_INK_PLAIN, "%7d %-8.8s %8s %s%11s  %.*s",
                   run->process, run->state, tnd_time_text(run->age_seconds, age), epoch,
                   tnd_grouped(run->rows_per_second, rows), (int)strcspn(left, "l"), left);
}

void tnd_top_draw_runs(const tnd_canvas_t *canvas, unsigned top)
{
    const tnd_top_snapshot_t *snapshot = canvas->snapshot;
    bool crowded;
    unsigned width = name_width(canvas, &crowded), rows = canvas->screen->rows;
    unsigned room = rows > top + 2 ? rows - top - 2 : 1;
    unsigned chosen = tnd_top_selected_run(canvas->view, snapshot);
    unsigned first = chosen >= room ? chosen - room + 1 : 0;
    tnd_screen_put(canvas->screen, top, 3, TND_INK_BOLD, "%-*s %7s %-8s %8s %s%11s  LEFT",
                   (int)width, "RUN", "PROCESS", "STATE", "AGE", crowded ? "" : "EPOCH ", "ROWS/S");
    for (unsigned r = first; r < snapshot->run_count && r < first + room; r++) {
        draw_run(canvas, top + 1 + r - first, width, crowded, &snapshot->runs[r]);
        if (r == chosen)
            tnd_screen_put(canvas->screen, top + 1 + r - first, 1, TND_INK_SELECTED, ">");
    }
}
