/*  runtime/data/block.h - rows of a stream in columns: the unit of exchange.
 *
 *  A block names its rows by a note (runtime/core/protocol/message.h) and holds them in one of two
 * forms: packed, row i of a column at base + i * stride; or gathered, at base + index[i] * stride,
 * an index list over a mapped file, or with a stride of 1 a list of byte offsets over several, so
 * that a shuffled read copies nothing.  Readers of a block ask for rows and never see the form.
 *  Rows of a ragged column lie in one of these forms too, each as many bytes as its length says.
 *
 *  A slice is what a join sends a feeder: runs of rows of some blocks, in order.
 *
 *  Both are reference-counted and sealed: after tnd_block_seal only hold, drop and the accessors
 *  are allowed, on any thread.  Both come from a rack (their producer's free list), so that a
 *  running pipeline allocates none.
 *
 *  Threads: a rack belongs to its owner's; the last drop may happen anywhere.
 */
#ifndef TND_RUNTIME_DATA_BLOCK_H
#define TND_RUNTIME_DATA_BLOCK_H

#include "runtime/core/protocol/effect.h"
#include "runtime/data/buffer.h"
#include "runtime/data/schema.h"

typedef struct {
    const uint8_t *base;
    size_t stride;           /* bytes from row to row, or of one unit of `index` */
    const uint64_t *index;   /* NULL: packed */
    tnd_buffer_t *buffer;    /* holds base; NULL only in a block of no rows */
    const uint64_t *lengths; /* of a ragged column: of each row, along its first axis; else NULL */
} tnd_block_column_t;

typedef struct tnd_block {
    tnd_block_note_t note;      /* note.origin and note.bad point into `marks` */
    const tnd_schema_t *schema; /* the stream's, or held by `about`; not needed to drop */
    tnd_block_column_t columns[TND_COLUMNS_MAX];
    tnd_buffer_t *index; /* holds the lists, of indices and lengths; NULL: there are none */
    tnd_buffer_t *marks; /* holds origin and bad, else NULL */
    tnd_buffer_t
        *about; /* holds the schema of a producer that may go before its blocks, else NULL */
} tnd_block_t;

typedef struct tnd_rack tnd_rack_t;

/*  Racks make blocks and slices.  A rack lives until the last of them is dropped. */
tnd_rack_t *tnd_rack_new(void);
void tnd_rack_destroy(tnd_rack_t **self_p);
/*  An empty block, all zero but the schema; the caller holds it. */
tnd_block_t *tnd_rack_take(tnd_rack_t *self, const tnd_schema_t *schema);

void tnd_block_seal(tnd_block_t *self);
/*  Whether it is; who gets a block from another thread asks this before anything else, so that what
 *  was written before the seal is seen.
 */
bool tnd_block_sealed(const tnd_block_t *self);
tnd_block_t *tnd_block_hold(tnd_block_t *self);
void tnd_block_drop(tnd_block_t **self_p); /* drops its buffers with the last reference */

/*  Where row `row` of column `column` begins. */
static inline const void *tnd_block_row(const tnd_block_t *self, uint32_t column, uint32_t row)
{
    const tnd_block_column_t *from = &self->columns[column];
    uint64_t at = from->index == NULL ? row : from->index[row];
    return from->base + at * from->stride;
}

/*  Bytes of rows: of one of a column, of some of a column, of all of all columns. */
size_t tnd_block_row_bytes(const tnd_block_t *self, uint32_t column, uint32_t row);
size_t tnd_block_rows_bytes(const tnd_block_t *self, uint32_t column, uint32_t first,
                            uint32_t rows);
size_t tnd_block_bytes(const tnd_block_t *self);

/*  Where rows [first, first + rows) of one column begin, if they lie one behind the other without a
 *  gap; else NULL.  rows > 0.
 */
const void *tnd_block_run(const tnd_block_t *self, uint32_t column, uint32_t first, uint32_t rows);

/*  Copies rows [first, first + rows) of one column to `target`, one behind the other.  Gathered
 *  rows are prefetched.  Returns the bytes copied.
 */
size_t tnd_block_copy(const tnd_block_t *self, uint32_t column, uint32_t first, uint32_t rows,
                      void *target);

/*  Whether the rows that lie in mapped files could all be read (mapped.h): to be called after they
 *  were read.
 */
tnd_status_t tnd_block_intact(const tnd_block_t *self, uint32_t first, uint32_t rows,
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
tnd_slice_t *tnd_rack_slice(tnd_rack_t *self, const tnd_schema_t *schema,
                            const tnd_slice_note_t *note, const tnd_piece_t *pieces,
                            uint32_t piece_count);
/*  Bytes of its rows. */
size_t tnd_slice_bytes(const tnd_slice_t *self);
/*  As tnd_block_intact. */
tnd_status_t tnd_slice_intact(const tnd_slice_t *self, tnd_error_t *error) TND_CHECKED;
bool tnd_slice_sealed(const tnd_slice_t *self);
tnd_slice_t *tnd_slice_hold(tnd_slice_t *self);
void tnd_slice_drop(tnd_slice_t **self_p);

#endif
