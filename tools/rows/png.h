/*  tools/rows/png.h - writes a picture as PNG of 8 bits, grey or RGB.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_ROWS_PNG_H
#define TND_TOOLS_ROWS_PNG_H

#include <stdint.h>
#include <stdio.h>

#include "runtime/base/status.h"

typedef struct {
    uint32_t width, height;
    uint32_t channels; /* 1: grey; 3: red, green, blue */
    uint8_t *pixels;   /* height lines of width pixels; owned */
} tnd_png_t;

/*  A picture of one shade. */
void tnd_png_init(tnd_png_t *self, uint32_t width, uint32_t height, uint32_t channels,
                  uint8_t shade);
void tnd_png_fini(tnd_png_t *self);

/*  The first channel of a pixel. */
uint8_t *tnd_png_at(const tnd_png_t *self, uint32_t x, uint32_t y);

/*  Writes the picture; `ferror` reports a failure. */
void tnd_png_write(const tnd_png_t *self, FILE *out);

#endif
