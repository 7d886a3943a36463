/*  actors/chain/chain.h - the operations of a preprocessor, run one after the other over a block.
 *
 *  A chain divides the rows into tiles of about 16 KiB and runs all operations on a tile before the
 *  next one; the last operation writes into the output block, packed.  A column that no operation
 *  reads is passed by reference if no operation drops or repeats rows.  A chain without operations
 *  passes the block itself.
 *
 *  A ragged column is in a tile as an address and a length per row.  Rows that are bytes of the
 *  input are not copied, and the output holds the input's buffer; but heap memory of which less
 *  than half is used is not held: the rows are moved.
 *
 *  Ownership: open, any number of runs, close.  Blocks may outlive the chain that made them.
 *  Threads: one at a time. */
#ifndef TND_ACTORS_CHAIN_CHAIN_H
#define TND_ACTORS_CHAIN_CHAIN_H

#include "runtime/data/block.h"
#include "runtime/interface/operation.h"
#include "runtime/option/option_parse.h"
#include "runtime/resources/guarded_call.h"
#include "runtime/timing/timing.h"

typedef struct tnd_chain tnd_chain_t;

/*  Opens the operations for rows of this schema. `scope`, which may be NULL, is for operations that need it. Options must stay valid until close; the schema is
 *  copied. With `skip_bad`, rows that an operation fails on are left out and counted; otherwise
 *  they fail the run. `call` is told which operation runs, here and in probe and run; NULL: nothing
 *  is. Errors: TND_FAILED if an operation does not fit; the text names it and its place. */
tnd_status_t tnd_chain_open(tnd_chain_t **self_p, const tnd_part_list_t *ops, bool skip_bad,
                            const tnd_schema_t *in, const tnd_op_scope_t *scope,
                            tnd_guarded_call_t *call, tnd_error_t *error) TND_CHECKED;
void tnd_chain_close(tnd_chain_t **self_p);

/*  Of the rows that come out. */
const tnd_schema_t *tnd_chain_schema(const tnd_chain_t *self);
/*  Whether the chain has no operations. */
bool tnd_chain_empty(const tnd_chain_t *self);
/*  What its operations do, together. */
typedef struct {
    uint32_t caps;    /* a set of TND_OP_*, DROPS also if bad rows are skipped */
    uint64_t content; /* a hash of what else they depend on: files, the decoder of pictures */
    /*  Bytes of the ragged columns that come out per byte of those that come in: at most, and usually.
     *  0: only the schema is a bound. */
    double growth_max, growth_usual;
    size_t loaded, decoding; /* bytes that they hold: of tables, and of pictures under way */
    uint64_t copied; /* bytes that the last run copied without changing them: rows gathered for an
                        operation, columns moved into the block */
} tnd_chain_facts_t;

const tnd_chain_facts_t *tnd_chain_facts(const tnd_chain_t *self);
/*  The first operation that makes other rows of a sample in each epoch; -1: none does. */
int tnd_chain_draws(const tnd_chain_t *self);
/*  The most rows that one may become. */
uint32_t tnd_chain_rows_max(const tnd_chain_t *self);
/*  Bytes of the buffer that the chain takes from a pool for a block of so many rows. Ragged rows
 *  that are made or moved have their own. */
size_t tnd_chain_bytes(const tnd_chain_t *self, uint32_t rows);

/*  What random operations draw from, besides the sample. */
typedef struct {
    uint64_t seed;
    uint32_t lanes;          /* sample = position * lanes + lane */
    const uint64_t *samples; /* of the block's positions, which then draw as in epoch 0; or NULL */
    uint32_t operation;      /* number of the first operation: those of preprocessors before it */
    const char *who;         /* the actor, for reports of bad rows; NULL: does not report */
    tnd_bad_way_t way;       /* what is done about them, likewise */
} tnd_chain_key_t;

/*  Lists the operations in `detail`, which must outlive the chain, and counts the time of each in
 *  one run of TND_DETAIL_SAMPLE.  Operations beyond its room are not listed. */
void tnd_chain_time(tnd_chain_t *self, tnd_actor_detail_t *detail);

/*  Runs the chain over a sealed block, which the caller keeps, and returns a sealed block, which
 *  the caller holds. Its note is that of `in` with its own rows, origin, bad, why and bytes. If the
 *  pool's buffers are too small, the block gets its own buffer. Errors: TND_FAILED; the text names
 *  the operation and the sample. */
tnd_status_t tnd_chain_run(tnd_chain_t *self, const tnd_chain_key_t *key, tnd_block_t *in,
                           tnd_block_pool_t *block_pool, tnd_pool_t *pool, tnd_block_t **out_p,
                           tnd_error_t *error) TND_CHECKED;

/*  After a run that failed: the offset of the bad position, and the reason as in the note of a
 *  block, valid until the next run. */
uint32_t tnd_chain_failed(const tnd_chain_t *self, const char **why_p);

#endif
