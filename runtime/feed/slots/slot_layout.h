/*  runtime/feed/slots/slot_layout.h - where the rows of one replica are in its slot.
 *
 *  Columns of fixed shape come first, packed.  The ragged columns follow in one of three forms:
 *
 *    SPREAD  rows are the longest declared length apart.  A row can be stored before the lengths of
 *            the others are known.
 *    PADDED  rows are the longest length of the step apart.
 *    PACKED  rows follow one another; `splits` tells where each begins.
 *
 *  For the last two, all lengths must be known first.  They are stored as lists of u64: for each
 *  ragged column the lengths of `rows_max` rows, then, if PACKED, rows_max + 1 splits.
 *
 *  Threads: any; plain values. */
#ifndef TND_RUNTIME_FEED_SLOTS_SLOT_LAYOUT_H
#define TND_RUNTIME_FEED_SLOTS_SLOT_LAYOUT_H

#include "runtime/data/schema.h"

typedef enum { TND_SLOT_SPREAD, TND_SLOT_PADDED, TND_SLOT_PACKED } tnd_slot_form_t;

typedef struct {
    const tnd_schema_t *schema;
    uint64_t rows_max; /* padding included */
    tnd_slot_form_t form;
    uint64_t
        ragged_max; /* bytes of ragged rows, at most; 0: of rows_max of the longest; not SPREAD */
    /*  PADDED: rows of these ragged columns, a set of bits by column, are one less apart than the first
     *  of the bounds that is above the longest row of column `deciding`.  0: of none. */
    uint64_t bounded;
    uint32_t deciding, bound_count;
    const uint64_t *bounds;
} tnd_slot_layout_config_t;

typedef struct {
    tnd_slot_layout_config_t config;
    size_t offsets[TND_COLUMNS_MAX]; /* of the first row; of ragged columns only if SPREAD */
    size_t bytes, warm;              /* of all columns; of fixed ones, which every step writes */
    uint64_t ragged_max;             /* bytes of ragged rows that there is room for */
    uint32_t ragged;                 /* how many columns are */
    uint32_t lists[TND_COLUMNS_MAX]; /* the number of a ragged column among them */
    size_t units[TND_COLUMNS_MAX];   /* bytes of what a length counts */
    uint64_t list_room;              /* u64 of the lists of one ragged column */
} tnd_slot_layout_t;

/*  Where the rows of a ragged column are in one step. */
typedef struct {
    size_t offset, stride; /* stride: bytes from row to row; 0 if PACKED */
} tnd_slot_column_t;

/*  The schema must outlive the layout. */
tnd_slot_layout_t tnd_slot_layout_of(const tnd_slot_layout_config_t *config);
/*  All that a replica needs: columns and lists. */
size_t tnd_slot_layout_memory(const tnd_slot_layout_t *self);
/*  Arranges rows whose lengths are in `lists`, `rows` of each ragged column: sets `columns`, by
 *  number among the ragged ones, and the splits.  Returns the bytes that they take; if these are
 *  more than ragged_max, nothing may be stored. */
uint64_t tnd_slot_layout_arrange(const tnd_slot_layout_t *self, uint64_t *lists, uint64_t rows,
                                 tnd_slot_column_t *columns);

/*  The lists of a ragged column. */
static inline uint64_t *tnd_slot_layout_lengths(const tnd_slot_layout_t *self, uint64_t *lists,
                                                uint32_t column)
{
    return lists + self->lists[column] * self->list_room;
}
static inline uint64_t *tnd_slot_layout_splits(const tnd_slot_layout_t *self, uint64_t *lists,
                                               uint32_t column)
{
    return tnd_slot_layout_lengths(self, lists, column) + self->config.rows_max;
}

#endif
