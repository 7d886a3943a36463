/*  actors/plan/plan_queries.c - which instances serve a lane, and what follows from the plan. */
#include "actors/plan/plan_queries.h"

#include <string.h>

#include "actors/plan/kind_options.h"
#include "runtime/base/bounds.h"
#include "runtime/interface/link.h"
#include "runtime/option/option_print.h"
#include "runtime/option/spec.h"

static bool has_role(const tnd_instance_t *instance, tnd_role_t role)
{
    return instance->kind->role == role;
}

uint32_t tnd_plan_batcher(const tnd_plan_t *plan, uint32_t chain, uint32_t lane)
{
    uint32_t i = 0;
    while (i < plan->instance_count &&
           (plan->instances[i].chain != chain || plan->instances[i].lane != lane ||
            !has_role(&plan->instances[i], TND_ROLE_JOIN)))
        i++;
    return i;
}

uint32_t tnd_plan_feeder(const tnd_plan_t *plan, uint32_t chain)
{
    uint32_t i = 0;
    while (i < plan->instance_count &&
           (plan->instances[i].chain != chain || !has_role(&plan->instances[i], TND_ROLE_FEEDER)))
        i++;
    return i;
}

uint32_t tnd_plan_keeper(const tnd_plan_t *plan, uint32_t chain)
{
    return tnd_plan_is_dealt(plan, chain) ? tnd_plan_parameters(plan, chain)
                                          : plan->chains[chain].carriers[0].instance;
}

uint32_t tnd_plan_parameters(const tnd_plan_t *plan, uint32_t chain)
{
    uint32_t i = 0;
    while (i < plan->instance_count && (plan->instances[i].chain != chain ||
                                        !has_role(&plan->instances[i], TND_ROLE_PARAMETERS)))
        i++;
    return i;
}

tnd_apart_t tnd_plan_apart(const tnd_stream_t *stream)
{
    const tnd_stream_batch_t *batch = &stream->batch;
    return (tnd_apart_t){.split = batch->split,
                         .pads = batch->remainder == TND_REMAINDER_PAD,
                         .drops = batch->remainder == TND_REMAINDER_DROP,
                         .size = batch->size,
                         .lanes = stream->lanes,
                         .replicas = batch->replicas};
}

bool tnd_plan_comes_in(const tnd_plan_t *plan, uint32_t instance)
{
    for (uint32_t e = 0; e < plan->edge_count; e++)
        if (plan->edges[e].to == instance && plan->edges[e].transport != TND_TRANSPORT_INPROC)
            return true;
    return false;
}

bool tnd_plan_goes_out(const tnd_plan_t *plan, uint32_t instance)
{
    for (uint32_t e = 0; e < plan->edge_count; e++)
        if (plan->edges[e].from == instance && plan->edges[e].transport != TND_TRANSPORT_INPROC)
            return true;
    return false;
}

uint64_t tnd_plan_packed(const tnd_schema_t *schema, uint64_t rows)
{
    uint64_t bytes = rows * tnd_schema_list_bytes(schema);
    for (uint32_t c = 0; c < schema->count; c++)
        bytes += tnd_link_room(rows * tnd_column_bytes(&schema->columns[c]));
    return bytes;
}

uint64_t tnd_plan_batch_bytes(const tnd_stream_t *stream, uint64_t rows)
{
    const tnd_schema_t *schema = &stream->fed.schema;
    uint64_t longest = tnd_schema_ragged_bytes(schema);
    uint64_t fixed = rows * (tnd_schema_row_bytes(schema) - longest), ragged;
    uint64_t most = stream->batch.ragged;
    bool more = __builtin_mul_overflow(rows, longest, &ragged) || (most > 0 && ragged > most);
    return fixed + (more && most > 0 ? most : rows * longest);
}

static bool serves(const tnd_instance_t *instance, uint32_t lane)
{
    return instance->kind->instances == TND_INSTANCE_LANE
               ? instance->lane == lane
               : lane - instance->lane_first < instance->lane_count;
}

static bool is_alike(const tnd_instance_t *one, const tnd_instance_t *other, uint32_t lane)
{
    return strcmp(one->actor, other->actor) == 0 && serves(other, lane);
}

uint32_t tnd_plan_alike(const tnd_plan_t *plan, uint32_t instance)
{
    const tnd_instance_t *own = &plan->instances[instance];
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->instance_count; i++)
        count += is_alike(own, &plan->instances[i], own->lane);
    return count;
}

static uint32_t home_of(const tnd_plan_t *plan, const tnd_instance_t *instance)
{
    const tnd_plan_host_t *host = &plan->hosts[instance->host];
    return host->isolated ? host->parent : instance->host;
}

bool tnd_plan_first(const tnd_plan_t *plan, uint32_t instance, uint32_t lane)
{
    const tnd_instance_t *own = &plan->instances[instance];
    for (uint32_t i = 0; i < instance; i++)
        if (is_alike(own, &plan->instances[i], lane) &&
            home_of(plan, &plan->instances[i]) == home_of(plan, own))
            return false;
    return true;
}

tnd_plan_work_t tnd_plan_work(const tnd_instance_t *worker)
{
    const tnd_preprocessor_options_t *options = worker->options;
    return (tnd_plan_work_t){.ops = options->ops,
                             .skips_bad = options->on_error != TND_BAD_STOP,
                             .workers = options->workers};
}

void tnd_plan_print_samples(const tnd_instance_t *reader, FILE *out)
{
    tnd_reader_options_t options = *(const tnd_reader_options_t *)reader->options;
    options.epochs = options.repeat = 1;
    options.shuffle = TND_SHUFFLE_NONE;
    tnd_options_print(&reader->kind->table, &options, TND_ROLE_GRAPH, out);
}

static uint64_t limited_steps(const tnd_stream_batch_t *batch, uint64_t batches)
{
    return tnd_least(batches > batch->skip ? batches - batch->skip : 0, batch->take);
}

/*  Until the last of the lanes ends. */
static uint64_t batches_apart(const tnd_stream_t *stream)
{
    tnd_apart_t apart = tnd_plan_apart(stream);
    uint64_t batches = 0;
    for (uint32_t lane = 0; lane < stream->lanes; lane++) {
        uint64_t rows = tnd_stream_lane_count(stream, lane);
        batches = tnd_most(batches, tnd_apart_steps(&apart, lane, rows));
    }
    return batches;
}

uint64_t tnd_plan_steps_of_epoch(const tnd_stream_t *stream, const tnd_plan_t *plan)
{
    const tnd_stream_batch_t *batch = &stream->batch;
    uint64_t count = tnd_stream_positions(stream);
    if (count == TND_UNKNOWN || batch->copied > 0 || batch->spans || stream->work.reshapes)
        return TND_UNKNOWN;
    if (plan->chains[stream->chain].feed == TND_FEED_APART)
        return limited_steps(batch, batches_apart(stream));
    bool short_one = batch->remainder != TND_REMAINDER_DROP && count % batch->size != 0;
    return limited_steps(batch, count / batch->size + short_one);
}
