/*  actors/op/picture.h - a column of pictures, with its channels last, first, or none.
 *
 *  Whichever way they lie, a row is `planes` planes of `height` lines of `width` pixels.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_OP_PICTURE_H
#define TND_ACTORS_OP_PICTURE_H

#include "actors/op/ops.h"

typedef enum { TND_LAYOUT_HWC, TND_LAYOUT_CHW } tnd_layout_t;

/*  The options `column` and `layout` (an int) of a struct of options. */
#define TND_PICTURE_OPTIONS(options_t)                                                             \
    {TND_OPTION(options_t, column, COLUMN, GRAPH),                                                 \
     .help = "pictures: height, width and perhaps channels"},                                      \
    {                                                                                              \
        TND_OPTION(options_t, layout, ENUM, GRAPH),                                                \
            .fallback = "hwc", .choices = "hwc|chw",                                               \
            .help = "where the channels are, if there are any: last or first"                      \
    }

typedef struct {
    uint32_t columns, column; /* how many come in; which it is */
    tnd_layout_t layout;
    tnd_dtype_t dtype;
    uint32_t rank;
    uint64_t channels; /* 1 if there are none */
    size_t planes, height, width;
    size_t pixel_bytes; /* in one plane */
} tnd_picture_t;

/*  Finds the column; TND_FAILED: there is none, or it has not 2 or 3 dimensions. */
tnd_status_t tnd_picture_find(tnd_picture_t *self, const tnd_schema_t *in, const char *column,
                              int layout, tnd_error_t *error) TND_CHECKED;

/*  *facts become those of an operation that gives the pictures this size, and reads them. */
tnd_status_t tnd_picture_replace(const tnd_picture_t *self, const tnd_schema_t *in, uint64_t height,
                                 uint64_t width, tnd_op_facts_t *facts,
                                 tnd_error_t *error) TND_CHECKED;

#endif
