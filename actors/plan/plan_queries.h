/*  actors/plan/plan_queries.h - which instances serve a lane, and what follows from the plan.
 *
 *  Threads: any; pure. */
#ifndef TND_ACTORS_PLAN_PLAN_QUERIES_H
#define TND_ACTORS_PLAN_PLAN_QUERIES_H

#include <stdio.h>

#include "runtime/core/stream/apart.h"
#include "runtime/data/stream.h"
#include "runtime/plan/placement.h"

/*  The batcher at the end of a lane, and the first feeder of a chain; instance_count: none. */
uint32_t tnd_plan_batcher(const tnd_plan_t *plan, uint32_t chain, uint32_t lane);
uint32_t tnd_plan_parameters(const tnd_plan_t *plan, uint32_t chain);
uint32_t tnd_plan_feeder(const tnd_plan_t *plan, uint32_t chain);
/*  Who writes the model of a chain with a feeder: what holds its parameters, or its first feeder. */
uint32_t tnd_plan_keeper(const tnd_plan_t *plan, uint32_t chain);

/*  What lanes give that feed replicas of their own. */
tnd_apart_t tnd_plan_apart(const tnd_stream_t *stream);

/*  Whether messages reach an instance from another process, or go from it to one. */
bool tnd_plan_comes_in(const tnd_plan_t *plan, uint32_t instance);
bool tnd_plan_goes_out(const tnd_plan_t *plan, uint32_t instance);

/*  Bytes that so many rows take while they are sent, if they have to be packed for that. */
uint64_t tnd_plan_packed(const tnd_schema_t *schema, uint64_t rows);
/*  Bytes of so many rows of one batch, at most. */
uint64_t tnd_plan_batch_bytes(const tnd_stream_t *stream, uint64_t rows);

/*  How many instances of its actor serve an instance's lane. */
uint32_t tnd_plan_alike(const tnd_plan_t *plan, uint32_t instance);
/*  Whether an instance is the first of its actor that serves `lane` on its host. The processes of
 *  isolated actors are parts of their host. */
bool tnd_plan_first(const tnd_plan_t *plan, uint32_t instance, uint32_t lane);

/*  What a preprocessor does. */
typedef struct {
    tnd_part_list_t ops;
    bool skips_bad;   /* records that an operation refuses are left out */
    uint64_t workers; /* 0: auto */
} tnd_plan_work_t;

tnd_plan_work_t tnd_plan_work(const tnd_instance_t *worker);
/*  Writes the options of a reader, without those that only change the order of rows. */
void tnd_plan_print_samples(const tnd_instance_t *reader, FILE *out);

/*  Steps of an epoch of a chain with a batcher; TND_UNKNOWN if operations may change the number of
 *  rows, if steps span epochs, or if the number of rows is unknown. */
uint64_t tnd_plan_steps_of_epoch(const tnd_stream_t *stream, const tnd_plan_t *plan);

#endif
