/*  tools/top/painter.h - shows a screen in a terminal, by ncursesw.
 *
 *  The only file that knows the terminal.  It is restored by close, by SIGTERM, SIGHUP and SIGINT
 *  (the caller closes and exits), and by a crash.
 *
 *  Threads: the main one; one painter at a time, because signals belong to the process. */
#ifndef TND_TOOLS_TOP_PAINTER_H
#define TND_TOOLS_TOP_PAINTER_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/top/screen.h"

/*  What tnd_painter_key returns beside characters and TND_KEY_* of view.h. */
enum { TND_PAINTER_NONE = 0, TND_PAINTER_RESIZED = 0x120000, TND_PAINTER_ENDED };

typedef struct tnd_painter tnd_painter_t;

/*  Takes the terminal of stdin and stdout; NULL if it cannot place the cursor. */
tnd_painter_t *tnd_painter_open(bool colour);
void tnd_painter_size(const tnd_painter_t *self, unsigned *rows_p, unsigned *columns_p);
void tnd_painter_show(tnd_painter_t *self, const tnd_screen_t *screen);
/*  Waits for a key, but not longer than `wait_ns`.  TND_PAINTER_ENDED: a signal asks to end, or
 *  stdin is closed. */
uint32_t tnd_painter_key(tnd_painter_t *self, uint64_t wait_ns);
/*  Restores the terminal; returns the signal that asked to end, or 0. */
int tnd_painter_close(tnd_painter_t **self_p);

#endif
