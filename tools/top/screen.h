/*  tools/top/screen.h - a rectangle of characters, each with an ink.
 *
 *  What is drawn beyond its edges is cut.  The painter of a terminal maps inks to colours and
 *  attributes; texts are complete without them.
 *
 *  Ownership: tnd_screen_free frees the cells.  Threads: one. */
#ifndef TND_TOOLS_TOP_SCREEN_H
#define TND_TOOLS_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    TND_INK_PLAIN,
    TND_INK_BOLD,    /* titles and headings */
    TND_INK_BUSY,    /* computing */
    TND_INK_IDLE,    /* input is missing */
    TND_INK_BLOCKED, /* the next actor has no room, or the order waits */
    TND_INK_READY,   /* no processor is free */
    TND_INK_FAULT,
    TND_INK_SELECTED
} tnd_ink_t;

enum { TND_INKS = 8 };

typedef struct {
    uint32_t character; /* a code point of one column; 0: blank */
    uint8_t ink;        /* tnd_ink_t */
} tnd_cell_t;

typedef struct {
    unsigned rows, columns;
    tnd_cell_t *cells;
} tnd_screen_t;

/*  Sets the size and clears all cells. */
void tnd_screen_clear(tnd_screen_t *self, unsigned rows, unsigned columns);
void tnd_screen_free(tnd_screen_t *self);

/*  Draws a text and returns the column after it.  Characters that are not one column wide are
 *  replaced by `?`. */
unsigned tnd_screen_put(tnd_screen_t *self, unsigned row, unsigned column, tnd_ink_t ink,
                        const char *format, ...) __attribute__((format(printf, 5, 6)));
/*  Draws a text of at most `width` columns, and blanks after it; to the right: before it. */
void tnd_screen_field(tnd_screen_t *self, unsigned row, unsigned column, unsigned width, bool right,
                      tnd_ink_t ink, const char *text);
/*  The text of a row in UTF-8 without trailing blanks; the caller frees it. */
char *tnd_screen_text(const tnd_screen_t *self, unsigned row);

#endif
