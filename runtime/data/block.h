/*  runtime/data/block.h - rows of a stream in columns: the unit of exchange.
 *
 *  A block names its rows by a note (runtime/core/protocol/message.h) and stores them in one of two
 *  forms.  Packed: row i of a column is at base + i * stride.  Gathered: it is at base + index[i] *
 *  stride, where the index lists rows of a mapped file, or, with a stride of 1, byte offsets in
 *  several files.  So a shuffled read copies nothing.  Readers of a block ask for rows and need not
 *  know the form.  A row of a ragged column has the bytes that its length implies.
 *
 *  Rows of a file may have a checksum that is looked at where they are copied, while they are in the
 *  cache, and not when they are read.
 *
 *  A slice is what a batcher sends to a feeder: runs of rows of some blocks, in order.
 *
 *  Ownership: reference-counted.  After tnd_block_seal only hold, drop and the accessors are
 *  allowed.  A block pool is the producer's free list, so a running pipeline allocates no blocks.
 *
 *  Threads: those of a block pool on its owner's thread; hold, drop and the accessors on any. */
#ifndef TND_RUNTIME_DATA_BLOCK_H
#define TND_RUNTIME_DATA_BLOCK_H

#include "runtime/core/protocol/message_notes.h"
#include "runtime/data/buffer.h"
#include "runtime/data/schema.h"

typedef struct tnd_piece tnd_piece_t; /* runtime/core/protocol/effect.h */

/*  How the rows of a column are checked that were not when they were read. */
typedef struct {
    /*  Errors: TND_FAILED; the text names the row's file and place, and what is wrong.  Any thread. */
    tnd_status_t (*row)(const void *context, const void *data, size_t bytes, tnd_error_t *error);
    const void *context;
} tnd_row_check_t;

typedef struct {
    const uint8_t *base;
    size_t stride;           /* bytes from row to row, or of one unit of `index` */
    const uint64_t *index;   /* NULL: packed */
    tnd_buffer_t *buffer;    /* holds base; NULL only in a block of no rows */
    const uint64_t *lengths; /* of a ragged column: of each row, along its first axis; else NULL */
    const tnd_row_check_t *check; /* of the source, while it is open; NULL: its rows are checked */
} tnd_block_column_t;

typedef struct tnd_block {
    tnd_block_note_t note;      /* note.origin and note.bad point into `marks` */
    const tnd_schema_t *schema; /* the stream's, or held by `about`; drop does not need it */
    uint32_t column_count;      /* the schema's */
    tnd_buffer_t *index;        /* holds the lists of indices and lengths; NULL: none */
    tnd_buffer_t *lists; /* holds those of columns that were added to the block; NULL: none */
    tnd_buffer_t *marks; /* holds origin and bad; NULL: none */
    tnd_buffer_t
        *about; /* holds the schema of a producer that its blocks may outlive; NULL: none */
    tnd_block_column_t columns[TND_COLUMNS_MAX]; /* only the first column_count are used */
} tnd_block_t;

typedef struct tnd_block_pool tnd_block_pool_t;

/*  A block pool makes blocks and slices, and lives until the last of them is dropped. */
tnd_block_pool_t *tnd_block_pool_new(void);
void tnd_block_pool_destroy(tnd_block_pool_t **self_p);
/*  An empty block, zero but for the schema; the caller holds it. */
tnd_block_t *tnd_block_pool_take(tnd_block_pool_t *self, const tnd_schema_t *schema);

/*  A sealed block of the rows that a sealed one has from its first `positions` positions; it holds
 *  the same buffers. */
tnd_block_t *tnd_block_pool_prefix(tnd_block_pool_t *self, const tnd_block_t *block,
                                   uint32_t positions);

/*  Lets `note`, which describes the block, carry the lengths of a ragged column. */
void tnd_block_measure(const tnd_block_t *self, uint32_t column, tnd_block_note_t *note);

void tnd_block_seal(tnd_block_t *self);
/*  Whether the block is sealed. A thread that receives a block calls this first, so that it sees
 *  what was written before the seal. */
bool tnd_block_sealed(const tnd_block_t *self);
tnd_block_t *tnd_block_hold(tnd_block_t *self);
void tnd_block_drop(tnd_block_t **self_p); /* drops its buffers with the last reference */

/*  The address of row `row` of column `column`. */
static inline const void *tnd_block_row(const tnd_block_t *self, uint32_t column, uint32_t row)
{
    const tnd_block_column_t *from = &self->columns[column];
    uint64_t at = from->index == NULL ? row : from->index[row];
    return from->base + at * from->stride;
}

/*  Bytes of one row of a column, of some rows of a column, of all rows of all columns. */
size_t tnd_block_row_bytes(const tnd_block_t *self, uint32_t column, uint32_t row);
size_t tnd_block_rows_bytes(const tnd_block_t *self, uint32_t column, uint32_t first,
                            uint32_t rows);
size_t tnd_block_bytes(const tnd_block_t *self);
/*  Of one row, or all rows, of the ragged columns. */
uint64_t tnd_block_row_ragged(const tnd_block_t *self, uint32_t row);
uint64_t tnd_block_ragged(const tnd_block_t *self);

/*  The address of rows [first, first + rows) of one column if they are contiguous; else NULL. rows
 *  > 0. */
const void *tnd_block_run(const tnd_block_t *self, uint32_t column, uint32_t first, uint32_t rows);

/*  Copies rows [first, first + rows) of one column to `target`, contiguously. Prefetches gathered
 *  rows. Returns the bytes copied. */
size_t tnd_block_copy(const tnd_block_t *self, uint32_t column, uint32_t first, uint32_t rows,
                      void *target);

/*  Call it after rows were read. Errors: TND_FAILED if rows of mapped files were lost (mapped.h).
 */
tnd_status_t tnd_block_intact(const tnd_block_t *self, uint32_t first, uint32_t rows,
                              tnd_error_t *error) TND_CHECKED;

/*  Checks the rows of columns that have a check, again if they were checked before. */
tnd_status_t tnd_block_check_rows(const tnd_block_t *self, uint32_t first, uint32_t rows,
                                  tnd_error_t *error) TND_CHECKED;

typedef struct tnd_slice {
    tnd_slice_note_t note;
    const tnd_schema_t *schema;
    uint32_t piece_count;
    struct {
        tnd_block_t *block; /* held */
        uint32_t first, rows;
    } pieces[];
} tnd_slice_t;

/*  A sealed slice over `pieces`, whose payloads are sealed blocks; it holds each of them. */
tnd_slice_t *tnd_block_pool_slice(tnd_block_pool_t *self, const tnd_schema_t *schema,
                                  const tnd_slice_note_t *note, const tnd_piece_t *pieces,
                                  uint32_t piece_count);
/*  Bytes of its rows. */
size_t tnd_slice_bytes(const tnd_slice_t *self);
/*  As tnd_block_intact and tnd_block_check_rows. */
tnd_status_t tnd_slice_intact(const tnd_slice_t *self, tnd_error_t *error) TND_CHECKED;
tnd_status_t tnd_slice_check_rows(const tnd_slice_t *self, tnd_error_t *error) TND_CHECKED;
bool tnd_slice_sealed(const tnd_slice_t *self);
void tnd_slice_drop(tnd_slice_t **self_p);

#endif
