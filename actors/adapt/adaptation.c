/*  actors/adapt/adaptation.c - the values of `auto` options, and the parts of rows by a column. */
#include "actors/adapt/adaptation.h"

#include <string.h>

#include "actors/adapt/learning.h"
#include "actors/adapt/partition.h"

/*  `learns`: the chain trains models. */
static tnd_status_t adapt(const tnd_plan_t *plan, const tnd_instance_t *reader,
                          tnd_guarded_call_t *call, const void *shared, tnd_stream_t *stream,
                          bool learns, const tnd_instance_t **culprit_p, tnd_error_t *error)
{
    tnd_chain_rows_t self;
    tnd_chain_rows_begin(&self, plan, stream);
    self.reader = reader;
    self.shared = shared;
    self.call = call;
    self.culprit = reader;
    tnd_status_t status = tnd_partition_run(&self, error);
    if (status == TND_OK && learns)
        status = tnd_learning_run(&self, error);
    *culprit_p = self.culprit;
    tnd_chain_rows_end(&self);
    return status;
}

/*  The chain of the whole plan that trains what a reader of a part of it is for. */
static uint32_t trained_by(const tnd_plan_t *plan, const tnd_instance_t *reader, uint32_t *chain_p)
{
    uint32_t i = 0;
    while (strcmp(plan->instances[i].actor, reader->actor) != 0)
        i++;
    *chain_p = plan->instances[i].chain;
    return tnd_plan_trains(plan, *chain_p);
}

/*  A part of a plan that only evaluates: the rows that train are opened as well. */
static tnd_status_t adapt_elsewhere(const tnd_plan_t *plan, uint32_t chain,
                                    tnd_guarded_call_t *call, tnd_adapted_t **adapted_p,
                                    tnd_error_t *error)
{
    const tnd_instance_t *reader = tnd_chain_rows_reader(plan, chain), *culprit = reader;
    tnd_stream_t stream = {.chain = chain};
    void *shared;
    TND_TRY(tnd_shared_source_open(plan, reader, call, &stream, &shared, error));
    tnd_status_t status = adapt(plan, reader, call, shared, &stream, true, &culprit, error);
    tnd_shared_source_close(reader, shared);
    tnd_adapted_merge(adapted_p, stream.adapted);
    tnd_adapted_free(&stream.adapted);
    return status;
}

tnd_status_t tnd_adaptation_run(const tnd_plan_t *plan, const tnd_instance_t *reader,
                                tnd_guarded_call_t *call, const void *shared, tnd_stream_t *stream,
                                const tnd_instance_t **culprit_p, tnd_error_t *error)
{
    uint32_t chain = stream->chain, trains = tnd_plan_trains(plan, chain);
    if (plan->whole != NULL)
        trains = trained_by(plan->whole, reader, &chain);
    TND_TRY(adapt(plan, reader, call, shared, stream, trains == chain, culprit_p, error));
    return plan->whole != NULL && trains != chain
               ? adapt_elsewhere(plan->whole, trains, call, &stream->adapted, error)
               : TND_OK;
}

void tnd_adaptation_memory(const tnd_plan_t *plan, const tnd_instance_t *reader,
                           const tnd_stream_t *stream, tnd_memory_estimate_t *estimate)
{
    tnd_chain_rows_t self;
    tnd_stream_t own = *stream;
    tnd_chain_rows_begin(&self, plan, &own);
    self.reader = reader;
    bool divides = tnd_partition_divides(reader);
    if (self.any || divides)
        tnd_memory_estimate_add(estimate, reader->name, tnd_chain_pass_bytes(&self),
                                "rows that are read before the start, for `auto` or `part`");
    if (divides)
        tnd_memory_estimate_add(estimate, reader->name, tnd_partition_bytes(reader, stream),
                                "which part each row is of");
    tnd_chain_rows_end(&self);
}

void tnd_adaptation_show(const tnd_plan_t *plan, const tnd_stream_t *stream, const char *indent,
                         FILE *out)
{
    tnd_chain_rows_t self;
    tnd_stream_t own = *stream;
    tnd_chain_t *chain;
    tnd_error_t error;
    tnd_partition_show(plan, stream, indent, out);
    tnd_chain_rows_begin(&self, plan, &own);
    if (self.any && tnd_chain_rows_open(&self, self.count, &chain, &error) == TND_OK) {
        tnd_chain_show_adapted(chain, indent, out);
        tnd_chain_close(&chain);
    }
    tnd_chain_rows_end(&self);
}
