/*  tools/top/draw.h - draws a snapshot of a run, or its absence, as text.
 *
 *  Pure: the same view and snapshot give the same screen.  draw.c has the header, the pages and how
 *  rows are divided among boxes; draw_actors.c and draw_boxes.c have the boxes.
 *
 *  Threads: one. */
#ifndef TND_TOOLS_TOP_DRAW_H
#define TND_TOOLS_TOP_DRAW_H

#include <stdio.h>

#include "tools/top/screen.h"
#include "tools/top/view.h"

/*  Draws on a screen of the view's size.  `snapshot` NULL: no run; `asked` is the name of the run
 *  that was asked for, or NULL. */
void tnd_top_draw(const tnd_top_view_t *view, const tnd_top_snapshot_t *snapshot, const char *asked,
                  tnd_screen_t *screen);
/*  A line for a file or a pipe. */
void tnd_top_print_line(const tnd_top_snapshot_t *snapshot, FILE *out);

#endif
