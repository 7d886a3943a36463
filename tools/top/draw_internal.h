/*  tools/top/draw_internal.h - the boxes of the screen, shared by the files that draw it.
 *
 *  A box draws its first `height` lines from row `top` on and returns how many lines it has.  With a
 *  height of 0 it only counts them. */
#ifndef TND_TOOLS_TOP_DRAW_INTERNAL_H
#define TND_TOOLS_TOP_DRAW_INTERNAL_H

#include "tools/top/draw.h"

typedef struct {
    const tnd_top_view_t *view;
    const tnd_top_snapshot_t *snapshot;
    tnd_screen_t *screen;
} tnd_canvas_t;

enum { TND_NO_ROW = 1 << 30 }; /* nothing is drawn there */

/*  So many lines more than it asks for make the time axis taller. */
enum { TND_TOP_AXIS_MORE = 8 };

/*  The row of the n-th line of a box. */
static inline unsigned tnd_box_row(unsigned top, unsigned height, unsigned n)
{
    return n < height ? top + n : TND_NO_ROW;
}

/*  The ink of what limits an actor, and the letters and percentages of its largest parts. */
tnd_ink_t tnd_top_ink(const tnd_canvas_t *canvas, const tnd_top_actor_t *actor,
                      const double *times);
void tnd_top_parts(const double *times, unsigned count, char *text, size_t room);
/*  "0.4 s", "12 s", "2:05"; "-" for less than 0. */
const char *tnd_top_age(double seconds, char text[32]);
/*  What is known of a device and of its link: "simulated device, 131 GiB; 12.3 GiB moved, 1.9 MiB/s,
 *  link busy 99 %"; "" if nothing is.  Returns `text`. */
const char *tnd_top_device_facts(const tnd_top_device_t *device, char *text, size_t room);
/*  What an actor mostly does, as an ink; by TND_TIMES. */
tnd_ink_t tnd_top_time_ink(unsigned time);
/*  The next actor of the graph after `last`, as its first instance: by rank, then by place.  NULL: there
 *  is none. */
const tnd_top_actor_t *tnd_top_next_of(const tnd_top_snapshot_t *snapshot,
                                       const tnd_top_actor_t *last);
/*  The mean parts of the time of all instances of an actor here; returns how many there are. */
unsigned tnd_top_mean_times(const tnd_canvas_t *canvas, const tnd_top_actor_t *actor,
                            double times[TND_TOP_SHARES]);
/*  `width` limited to a range. */
unsigned tnd_top_limited(size_t width, unsigned least, unsigned most);
/*  The title of a box, with a line to the right edge. */
void tnd_top_title(const tnd_canvas_t *canvas, unsigned row, unsigned number, const char *text);

/*  The list of runs, from row `top` on. */
void tnd_top_draw_runs(const tnd_canvas_t *canvas, unsigned top);
/*  The page of the selected actor, from row `top` on. */
void tnd_top_draw_close_up(const tnd_canvas_t *canvas, unsigned top);

unsigned tnd_top_box_graph(const tnd_canvas_t *canvas, unsigned top, unsigned height);
unsigned tnd_top_box_actors(const tnd_canvas_t *canvas, unsigned top, unsigned height);
unsigned tnd_top_box_edges(const tnd_canvas_t *canvas, unsigned top, unsigned height);
unsigned tnd_top_box_memory(const tnd_canvas_t *canvas, unsigned top, unsigned height);
unsigned tnd_top_box_hosts(const tnd_canvas_t *canvas, unsigned top, unsigned height);
unsigned tnd_top_box_devices(const tnd_canvas_t *canvas, unsigned top, unsigned height);
unsigned tnd_top_box_time(const tnd_canvas_t *canvas, unsigned top, unsigned height);
unsigned tnd_top_box_log(const tnd_canvas_t *canvas, unsigned top, unsigned height);

/*  How many of the first `length` bytes of a text fit into a line of `width`: it is broken at a space if
 *  it has one. */
size_t tnd_top_break(const char *text, size_t length, size_t width);

#endif
