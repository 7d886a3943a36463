/*  tools/bench/jpeg_loop.h - a plain loop over libjpeg-turbo: decodes a random part of each picture,
 *  resizes it, and puts it in a batch.
 *
 *  It skips what a part does not need, as far as the library offers this.  Parts and resizing are
 *  those of the operations that are measured, so that both do the same work. */
#ifndef TND_TOOLS_BENCH_JPEG_LOOP_H
#define TND_TOOLS_BENCH_JPEG_LOOP_H

#include "tools/bench/bench.h"

enum { JPEG_HEIGHT = 375, JPEG_WIDTH = 500, JPEG_SIDE = 224, JPEG_BATCH = 64 };

typedef struct {
    uint8_t *bytes;
    unsigned long size;
} bench_jpeg_t;

/*  So many pictures, smooth with noise, of quality 90; after the first 64 they repeat. */
bench_jpeg_t *bench_jpeg_all(uint32_t count);
void bench_jpeg_free(bench_jpeg_t *pictures, uint32_t count);
/*  Writes a TFRecord file of them. */
void bench_jpeg_write(const char *path, const bench_jpeg_t *pictures, uint32_t count);

/*  So many passes over the pictures on two threads, to u8 with channels last or, if `planes`,
 *  normalised f32 with channels first. */
bench_took_t bench_jpeg_loop(const bench_jpeg_t *pictures, uint32_t count, uint32_t passes,
                             bool planes);

#endif
