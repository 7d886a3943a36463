/*  runtime/interface/operation.h - the interface of an operation: what a preprocessor does to rows.
 *
 *  One file in actors/op/ (a family of operations) and one line in ops.def make an operation.
 *  Operations are pure: the result depends only on the row, the options and the random key, never
 *  on the block, the worker or the time.  A chain runs all operations on a tile, which fits the
 *  cache, before the next tile.
 *
 *  Floating point: fixed order, no contraction, no libm beyond sqrt, denormals kept; the same bits
 *  on every machine and instruction set.
 *
 *  Threads: open and close on any, one at a time; apply on the worker's. */
#ifndef TND_RUNTIME_INTERFACE_OPERATION_H
#define TND_RUNTIME_INTERFACE_OPERATION_H

#include "runtime/core/numeric/random.h"
#include "runtime/data/field_names.h"
#include "runtime/data/room.h"
#include "runtime/option/spec.h"
#include "runtime/text/adapted.h"
#include "runtime/tundish/tundish.h"

/*  A tile: rows of some columns, aligned to their elements.  Rows of fixed shape are packed or
 *  strided; a ragged column is an address and a length per row.  The tiles `in` and `out` never
 *  overlap. */
typedef struct {
    uint32_t rows;
    struct {
        uint8_t *base;
        size_t stride;
        tnd_ragged_t *ragged; /* NULL: the column is fixed */
    } columns[TND_COLUMNS_MAX];
    /*  By row: the sample that it was made from, for random draws, and the row of the chain's
     *  input, for the block's account. */
    uint64_t *sample;
    uint32_t *origin;
    tnd_room_t *room; /* of `out`: memory for ragged rows, until the block is dropped */
} tnd_tile_t;

/*  The address of row `row` of a column of fixed shape. */
static inline uint8_t *tnd_tile_row(const tnd_tile_t *tile, uint32_t column, uint32_t row)
{
    return tile->columns[column].base + row * tile->columns[column].stride;
}

/*  Where an operation is opened. */
typedef struct {
    bool runs;                      /* rows follow; false: only the facts are asked for */
    const char *directory;          /* of the topology; NULL: not known */
    const char *python;             /* the interpreter, as the topology says; NULL: it does not */
    const tnd_field_names_t *names; /* of the fields of records; NULL: not known */
    const tnd_adapted_t *adapted;   /* what `auto` options are; NULL: not known */
    bool adapting;                  /* they may be unknown while rows follow */
    uint64_t hung_after_ns;
    /*  What `apply` does from now on is other work than before, of which each has `hung_after`. */
    void (*renew)(void *context);
    void (*log)(void *context, tnd_log_level_t level, const char *text);
    void *context;
} tnd_op_scope_t;

typedef struct {
    const tnd_op_scope_t *scope; /* given, valid until close; NULL: only the facts are asked for */
    tnd_schema_t schema;         /* of the output */
    uint32_t caps;               /* TND_OP_*: those of the spec, or fewer with these options */
    const char *name;            /* for people, if not that of the spec; NULL */
    uint32_t rows_max;           /* the most rows that one row may become; 1 unless EXPANDS */
    /*  A bit for each column of `in` whose content `apply` reads. The others are passed on or left
     *  out unread, so their rows need not be fetched. */
    uint64_t reads;
    /*  By column of the output: the column of `in` that it is, or -1 if `apply` makes it. Where
     *  rows are dropped or repeated, `apply` makes all columns. */
    int8_t passes[TND_COLUMNS_MAX];
    /*  Bytes of the ragged columns of all rows that are made of a row, per byte of its own ragged
     *  columns: at most, and usually. 1 at first. 0: only the schema is a bound. */
    double growth_max, growth_usual;
    uint64_t content; /* a hash of what else `apply` depends on: of files, a library; 0: nothing */
    /*  Of a sample: with TND_OP_RANDOM, these options make the same rows in each epoch; without it,
     *  others, by position. */
    bool steady, numbered;
    /*  The largest tiles that suit it; 0: as others. */
    size_t tile_bytes;
    uint32_t tile_rows;
    /*  Given: what `learn` and `tell` made of the training rows, by lane, to be taken together; none
     *  if that is not known yet.  Then an operation whose `adapts` is set has the same schema, and
     *  learns. */
    const tnd_adapted_item_t *adapted;
    size_t adapted_count;
    bool adapts;      /* one of its options is `auto` */
    uint64_t unknown; /* then a bit for each column of the output that these change */
    size_t loaded;    /* bytes of tables that stay in memory until close */
    size_t decoding;  /* the most bytes that a picture takes while it is decoded (`max_pixels:`) */
} tnd_op_facts_t;

typedef struct {
    uint64_t seed;
    uint32_t epoch, operation; /* index in the chain */
} tnd_op_key_t;

typedef struct tnd_op {
    const tnd_op_spec_t *spec; /* name, options, help, what it does to rows */
    size_t state_bytes;

    /*  Checks `options` (the struct that spec->options fill) against the input columns and fills
     *  *facts, which at first pass no column. On failure close is not called. Errors: TND_FAILED;
     *  the text names the column and what would fit. */
    tnd_status_t (*open)(void *state, const void *options, const tnd_schema_t *in,
                         tnd_op_facts_t *facts, tnd_error_t *error);
    /*  Passed columns are shared: out->columns[i] = in->columns[facts.passes[i]]. Others are
     *  written, packed, to out->columns[i].base, which has room for in->rows * rows_max rows. A
     *  ragged row, out->columns[i].ragged[row], is bytes of a ragged row of `in`, which are not
     *  copied, or memory of tnd_room_take(out->room), which `apply` writes. Sets out->rows; with DROPS or EXPANDS also sample and origin of each row, which are otherwise
     *  those of the input. Errors: TND_FAILED, with FAILS only: a row is bad, and the text is the
     *  reason. */
    tnd_status_t (*apply)(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                          tnd_tile_t *out, tnd_error_t *error);
    void (*close)(void *state); /* NULL: there is nothing to release */
    /*  With `auto` options: takes what it needs of a tile of one row, of the columns that facts.reads has,
     *  in the order of the rows as they are stored.  NULL: it has no such options.  Errors: TND_REFUSED
     *  if the row is bad, so that `on_error` decides; TND_FAILED ends the run. */
    tnd_status_t (*learn)(void *state, const tnd_tile_t *in, tnd_error_t *error);
    /*  Writes what it has learned, or was opened with: words of printable ASCII of at most
     *  TND_ADAPTED_WORD_MAX bytes, with a space between them.  Errors: TND_FAILED if it cannot be used. */
    tnd_status_t (*tell)(const void *state, FILE *out, tnd_error_t *error);
    /*  A decoder makes the shortest valid record that it accepts, in memory of `room` or its own, and
     *  tells of which column: what follows it is probed with the row that is made of it
     *  (chain_probe.h).  NULL: rows of any bits are as good. */
    tnd_ragged_t (*record)(const void *state, tnd_room_t *room, uint32_t *column_p);
} tnd_op_t;

#endif
