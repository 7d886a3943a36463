/*  actors/reader/row_shape.h - the rows of positions, where they are not the rows as stored.
 *
 *  With `unbatch` a position is a row inside a stored row; nothing is copied.  With `window` it is
 *  several rows one after the other, which are copied; windows may be short, so their columns are
 *  ragged, unless short ones are left out.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_READER_ROW_SHAPE_H
#define TND_ACTORS_READER_ROW_SHAPE_H

#include "runtime/core/places.h"
#include "runtime/data/block.h"

typedef struct {
    uint64_t unit;  /* rows inside a stored row */
    uint64_t width; /* the most rows of a window; 1 also without windows */
    bool windows, ragged;
} tnd_row_shape_t;

tnd_row_shape_t tnd_row_shape_of(const tnd_place_list_t *order);
/*  Whether rows are those that are stored. */
static inline bool tnd_row_shape_is_plain(const tnd_row_shape_t *self)
{
    return self->unit == 1 && !self->windows;
}

/*  The columns of positions of rows with the columns `stored`.  Errors: TND_FAILED if their shapes
 *  are not what the maps need; *map_p is the name of the map. */
tnd_status_t tnd_row_shape_schema(const tnd_row_shape_t *self, const tnd_schema_t *stored,
                                  tnd_schema_t *made, const char **map_p,
                                  tnd_error_t *error) TND_CHECKED;

/*  Gives `block` the rows of `count` positions.  `stored` has the stored rows of their places, one
 *  after the other; `places` are these, pieces[i] of position i (NULL: one each).  What `stored`
 *  holds passes to `block` or is dropped.  Errors: TND_FAILED if pages of a file were lost. */
tnd_status_t tnd_row_shape_make(const tnd_row_shape_t *self, tnd_block_t *stored,
                                const uint64_t *places, const uint32_t *pieces, uint32_t count,
                                tnd_block_t *block, tnd_error_t *error) TND_CHECKED;

#endif
