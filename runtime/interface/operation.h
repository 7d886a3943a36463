/*  runtime/interface/operation.h - what a preprocessor does to rows: the interface of an operation.
 *
 *  One file in actors/op/ (a family of operations each) and one line in ops.def make an operation.
 *  Operations are pure: what comes out depends on the row, the options and the random key alone,
 *  never on the block, the worker or the time.  A chain runs over tiles of rows small enough for
 *  the cache, all operations on one tile before the next.
 *
 *  Floating point: fixed order, no contraction, no libm beyond sqrt, denormals kept; the same bits
 *  on every machine and every instruction set.
 *
 *  Threads: open and close anywhere, one thread at a time; apply on the worker's.
 */
#ifndef TND_RUNTIME_INTERFACE_OPERATION_H
#define TND_RUNTIME_INTERFACE_OPERATION_H

#include "runtime/core/numeric/random.h"
#include "runtime/data/block.h"
#include "runtime/option/spec.h"

/*  A tile: rows of some columns, each packed or strided, aligned to their elements; never aliasing
 *  between in and out.  Rows of ragged columns stay where they came in: row r of the tile is row
 *  origin[r] there.
 */
typedef struct {
    uint32_t rows;
    struct {
        uint8_t *base;
        size_t stride;
        const tnd_block_column_t *ragged; /* NULL: the column is fixed */
    } columns[TND_COLUMNS_MAX];
    /*  Per row: which sample it was made from (for random draws), and which row of the chain's
     *  input (for the block's account).
     */
    uint64_t *sample;
    uint32_t *origin;
} tnd_tile_t;

typedef struct {
    tnd_schema_t schema; /* of the rows that come out */
    uint32_t rows_max;   /* that one row may become; 1 unless EXPANDS */
    /*  A bit for each column of `in` whose content `apply` looks at.  The others it passes on by
     *  their place alone, or leaves out, so that rows nobody looks at are never fetched.
     */
    uint32_t reads;
    /*  For each column that comes out: the column of `in` whose bytes it is, or -1 if `apply` makes
     *  it.  A ragged one is always of `in`, of an operation that drops or repeats rows too.
     */
    int8_t passes[TND_COLUMNS_MAX];
    uint64_t content; /* a hash of what was read from files; 0: nothing was */
    size_t loaded;    /* bytes of tables that stay in memory until the operation is closed */
} tnd_op_facts_t;

typedef struct {
    uint64_t seed;
    uint32_t epoch, operation; /* index in the chain */
} tnd_op_key_t;

typedef struct tnd_op {
    const tnd_op_spec_t *spec; /* name, options, help, what it does to rows */
    size_t state_bytes;

    /*  Checks `options` (the struct that spec->options fill) against the columns that come in;
     *  fails with a text that names the column and what would fit.  On failure close is not called.
     *  *facts come in as those of an operation that passes no column.
     */
    tnd_status_t (*open)(void *state, const void *options, const tnd_schema_t *in,
                         tnd_op_facts_t *facts, tnd_error_t *error);
    /*  Columns that pass are shared: out->columns[i] = in->columns[facts.passes[i]].  Others are
     *  written to where out->columns[i].base points (room for in->rows * rows_max rows, packed).
     *  Sets out->rows; fills sample and origin of each row unless neither DROPS nor EXPANDS is
     *  declared (then they are the input's).  A failure, which FAILS declares, says what is wrong
     *  with a row: it is bad.
     */
    tnd_status_t (*apply)(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                          tnd_tile_t *out, tnd_error_t *error);
    void (*close)(void *state);
} tnd_op_t;

#endif
