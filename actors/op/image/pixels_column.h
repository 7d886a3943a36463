/*  actors/op/image/pixels_column.h - a column of pictures of u8 or f32, channels last.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_OP_IMAGE_PIXELS_COLUMN_H
#define TND_ACTORS_OP_IMAGE_PIXELS_COLUMN_H

#include "actors/image/resize.h"
#include "actors/op/ops.h"

/*  The option `column` of a struct of options. */
#define TND_PIXELS_OPTION(options_t)                                                               \
    {                                                                                              \
        TND_OPTION(options_t, column, COLUMN, GRAPH),                                              \
            .help = "pictures of u8, or of f32 from 0 to 1: height, width, channels"               \
    }

typedef struct {
    uint32_t columns, column; /* how many come in; which it is */
    uint32_t rank;
    tnd_pixels_t in; /* of a row, without data */
} tnd_pixels_column_t;

/*  Finds the column. `channels` is how many it must have; 0: any. Errors: TND_FAILED. */
tnd_status_t tnd_pixels_find(tnd_pixels_column_t *self, const tnd_schema_t *in, const char *name,
                             uint32_t channels, tnd_error_t *error) TND_CHECKED;

/*  *facts become those of an operation that makes such pictures of it. A column of two dimensions
 *  keeps them if there is still one channel. */
tnd_status_t tnd_pixels_replace(const tnd_pixels_column_t *self, const tnd_schema_t *in,
                                const tnd_pixels_t *out, tnd_op_facts_t *facts,
                                tnd_error_t *error) TND_CHECKED;

#endif
