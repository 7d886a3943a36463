/*  actors/adapt/chain_rows.h - the rows of a reader before a run, as they come out of operations of its chain.
 *
 *  A pass reads them as they are stored, once, through the operations before some stops, in as many threads
 *  as the preprocessor has workers, and gives the blocks to its owner in their order.
 *
 *  Ownership: everything in the arguments remains the caller's.
 *  Threads: one at a time for each reader. */
#ifndef TND_ACTORS_ADAPT_CHAIN_ROWS_H
#define TND_ACTORS_ADAPT_CHAIN_ROWS_H

#include "actors/adapt/training_rows.h"
#include "actors/chain/chain_adapt.h"
#include "runtime/interface/kind.h"

/*  The operations of all preprocessors after a reader. */
typedef struct {
    const tnd_plan_t *plan;
    const tnd_instance_t *reader;
    const void *shared;
    tnd_stream_t *stream;
    tnd_guarded_call_t *call;
    tnd_guarded_work_t *work;
    tnd_part_t *ops;
    const tnd_instance_t **owners; /* whose each is */
    size_t count, room[2];
    size_t workers;     /* threads that apply them */
    bool skip_bad, any; /* some have `auto` options */
    bool whole;         /* passes have all rows as they are stored, not only those that train */
    tnd_op_scope_t scope;
    const tnd_instance_t *culprit; /* that an error is about */
} tnd_chain_rows_t;

/*  The first reader of a chain. */
const tnd_instance_t *tnd_chain_rows_reader(const tnd_plan_t *plan, uint32_t chain);
void tnd_chain_rows_begin(tnd_chain_rows_t *self, const tnd_plan_t *plan, tnd_stream_t *stream);
void tnd_chain_rows_end(tnd_chain_rows_t *self);
/*  The first `count` operations, to look at them. */
tnd_status_t tnd_chain_rows_open(tnd_chain_rows_t *self, size_t count, tnd_chain_t **chain_p,
                                 tnd_error_t *error) TND_CHECKED;
/*  Whether what an earlier pass over a part of the data has stored may be used. */
bool tnd_chain_rows_stored(const tnd_chain_rows_t *self, const tnd_shared_part_t *part);

/*  The operations before each stop, and the rows that are under way there. */
typedef struct {
    tnd_chain_t *chains[TND_CHAIN_STOPS_MAX];
    size_t count;
    tnd_block_pool_t *block_pool;
    tnd_pool_t *pool;
    uint64_t seed;
    tnd_block_t *in, *out[TND_CHAIN_STOPS_MAX]; /* out NULL: a row was bad */
} tnd_chain_strand_t;

/*  The rows of one part of the data. */
typedef struct tnd_chain_pass {
    tnd_training_rows_t *rows;
    tnd_chain_t *learners; /* all operations; NULL: nothing learns */
    const char *column;    /* whose values are wanted; NULL: operations learn */
    tnd_chain_stops_t stops;
    tnd_chain_strand_t *strands;
    size_t strand_count;
} tnd_chain_pass_t;

/*  Opens the rows; the caller sets the stops. */
tnd_status_t tnd_chain_pass_begin(tnd_chain_pass_t *self, const tnd_chain_rows_t *chain,
                                  const tnd_shared_part_t *part, tnd_error_t *error) TND_CHECKED;
void tnd_chain_pass_end(tnd_chain_pass_t *self);
/*  A hash of the rows, and of what is done to them before the last stop. */
tnd_status_t tnd_chain_pass_hash(tnd_chain_rows_t *self, const tnd_chain_pass_t *pass,
                                 uint64_t *hash_p, tnd_error_t *error) TND_CHECKED;

/*  Takes the rows of a block at one stop; they are strand->out[stop]. */
typedef tnd_status_t tnd_chain_pass_fn(void *context, tnd_chain_pass_t *pass,
                                       const tnd_chain_strand_t *strand, size_t stop,
                                       tnd_error_t *error);
/*  Gives all rows to `take`. */
tnd_status_t tnd_chain_pass_run(tnd_chain_rows_t *self, tnd_chain_pass_t *pass,
                                tnd_chain_pass_fn *take, void *context,
                                tnd_error_t *error) TND_CHECKED;
/*  Fails with the place of a row.  `bad`: the row is, of an operation that refuses rows; else a limit is
 *  reached there. */
tnd_status_t tnd_chain_pass_fail(tnd_chain_rows_t *self, tnd_chain_pass_t *pass, uint64_t position,
                                 size_t operation, bool bad, const char *why, tnd_error_t *error);

/*  Bytes of the blocks of a pass, at most. */
size_t tnd_chain_pass_bytes(const tnd_chain_rows_t *self);

#endif
