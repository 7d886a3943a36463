/*  actors/reducer.c - brings together what several feeders post, along the fixed tree.
 *
 *  When a round is complete the machine decides; here its root is computed, on the actor's thread,
 *  from nodes that the feeders have already reduced among themselves. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "actors/plan/kind_options.h"
#include "actors/plan/peers.h"
#include "actors/plan/reduction_memory.h"
#include "actors/plan/reduction_through.h"
#include "actors/plan/reduction_weight.h"
#include "runtime/base/allocation.h"
#include "runtime/core/reducer.h"
#include "runtime/host/actor.h"
#include "runtime/interface/kind.h"
#include "runtime/posts/roots.h"
#include "runtime/posts/tensor.h"

typedef struct {
    const char *name;
    tnd_peers_t carriers;
    void *machine_memory;
    tnd_reducer_core_t *machine;
    tnd_post_note_t *posts; /* scratch: by replica */
    const char **names;     /* by replica: of the feeder that carries it */
    tnd_roots_t roots;
} reducer_t;

static tnd_status_t reducer_fits(const tnd_instance_t *instance, const tnd_stream_t *stream,
                                 tnd_error_t *error)
{
    const tnd_collective_ops_t *ops;
    int column;
    TND_TRY(tnd_reduction_through(instance, &ops, error));
    return tnd_reduction_weight_column(instance, &stream->fed.schema, &column, error);
}

static void reducer_check(const tnd_instance_t *own, const tnd_plan_t *plan,
                          tnd_diagnostics_t *diagnostics)
{
    const tnd_reducer_options_t *options = own->options;
    (void)plan;
    if (options->order == TND_ORDER_ANY && own->written != NULL)
        tnd_diagnostics_add(diagnostics, TND_T081_ANY_ORDER,
                            tnd_topology_option_mark(own->written, "order"),
                            "%s: NCCL chooses the order in which it adds, so the model is not "
                            "reproducible",
                            own->actor);
}

/*  Of each round that is open: the nodes of one feeder, and its word that it has the result. */
static uint32_t reducer_credit(const tnd_plan_t *plan, const tnd_instance_t *instance,
                               const tnd_stream_t *stream)
{
    (void)stream;
    return TND_PIECES_OPEN *
           (tnd_reduction_memory_nodes(plan, (uint32_t)(instance - plan->instances)) + 1);
}

static void reducer_memory(const tnd_plan_t *plan, uint32_t index, const tnd_stream_t *stream,
                           tnd_memory_estimate_t *estimate)
{
    (void)stream;
    tnd_reduction_memory_of_reducer(plan, index, estimate);
}

static tnd_status_t reducer_init(void *state, tnd_actor_t *self, tnd_error_t *error)
{
    reducer_t *reducer = state;
    (void)error;
    reducer->name = tnd_actor_name(self);
    reducer->carriers = tnd_peers_carriers(self);
    uint32_t replicas = reducer->carriers.count;
    const tnd_plan_t *plan = tnd_actor_plan(self);
    reducer->names = tnd_allocate_zeroed(replicas, sizeof *reducer->names);
    for (uint32_t i = 0; i < replicas; i++)
        reducer->names[i] = plan->instances[reducer->carriers.ids[i]].name;
    tnd_reducer_core_config_t config = {
        .self = tnd_actor_id(self),
        .replicas = replicas,
        .feeders = reducer->carriers.ids,
        .names = reducer->names,
        .rounds_max = TND_PIECES_OPEN,
    };
    reducer->machine_memory = tnd_allocate_zeroed(1, tnd_reducer_core_bytes(&config));
    reducer->machine = tnd_reducer_core_init(reducer->machine_memory, &config);
    reducer->posts = tnd_allocate_zeroed(replicas, sizeof *reducer->posts);
    tnd_roots_init(&reducer->roots, reducer->name, replicas, reducer->names);
    return TND_OK;
}

static bool is_feeder(const reducer_t *reducer, tnd_actor_id_t peer)
{
    for (uint32_t i = 0; i < reducer->carriers.count; i++)
        if (reducer->carriers.ids[i] == peer)
            return true;
    return false;
}

static tnd_status_t reducer_arrive(void *state, tnd_actor_t *self, tnd_arrival_t *arrival,
                                   tnd_error_t *error)
{
    reducer_t *reducer = state;
    tnd_statistics_t *statistics = tnd_actor_statistics(self);
    const tnd_msg_t *msg = &arrival->msg;
    switch (arrival->kind) {
    case TND_ARRIVAL_UP:
        if (is_feeder(reducer, arrival->peer))
            tnd_reducer_core_feeder_up(reducer->machine, arrival->peer);
        break;
    case TND_ARRIVAL_LOST:
        if (is_feeder(reducer, arrival->peer))
            tnd_reducer_core_feeder_lost(reducer->machine, arrival->peer);
        break;
    case TND_ARRIVAL_REFUSED:
        break;
    case TND_ARRIVAL_MESSAGE:
        if (msg->kind == TND_MSG_POST) {
            arrival->carry = TND_CARRY_NOTHING;
            if (msg->post.payload == NULL)
                return tnd_fail(error, "%s: a post of round %" PRIu64 " came without its value",
                                reducer->name, msg->post.round);
            tnd_count(&statistics->blocks_in, 1);
            tnd_count(&statistics->bytes_in, tnd_buffer_size(msg->post.payload));
            return tnd_reducer_core_post(reducer->machine, msg, error);
        }
        if (msg->kind == TND_MSG_PASSED)
            return tnd_reducer_core_passed(reducer->machine, msg, error);
        if (msg->kind == TND_MSG_GOT)
            tnd_reducer_core_got(reducer->machine, msg);
        break;
    }
    return TND_OK;
}

static tnd_status_t reduce(reducer_t *reducer, const tnd_msg_t *round, tnd_error_t *error)
{
    tnd_buffer_t *root;
    uint32_t count =
        tnd_reducer_core_nodes(reducer->machine, round->post.round, round->post.reducer_slot,
                               reducer->posts, reducer->carriers.count);
    assert(count > 0 && count <= reducer->carriers.count);
    TND_TRY(tnd_roots_compute(&reducer->roots, reducer->posts, count, &root, error));
    tnd_reducer_core_reduced(reducer->machine, round, root);
    return TND_OK;
}

static void answer(reducer_t *reducer, tnd_actor_t *self, tnd_msg_t *msg)
{
    tnd_statistics_t *statistics = tnd_actor_statistics(self);
    tnd_buffer_t *root = msg->kind == TND_MSG_RESULT ? msg->post.payload : NULL;
    if (root != NULL) {
        msg->post.payload = root =
            tnd_roots_for(&reducer->roots, root, reducer->carriers.ids, msg->to);
        tnd_count(&statistics->blocks_out, 1);
        tnd_count(&statistics->bytes_out, tnd_buffer_size(root));
    }
    atomic_store_explicit(&statistics->step, msg->post.round, memory_order_relaxed);
    /* A feeder that went away just now is LOST in a moment, and gets it when it is back. */
    if (tnd_actor_send(self, msg, root != NULL ? TND_CARRY_BUFFER : TND_CARRY_NOTHING) != TND_OK)
        tnd_buffer_drop(&root);
}

static tnd_status_t reducer_work(void *state, tnd_actor_t *self, bool *more_p, tnd_error_t *error)
{
    reducer_t *reducer = state;
    tnd_effect_t effect;
    while (tnd_reducer_core_next(reducer->machine, tnd_actor_now(self), &effect)) {
        tnd_buffer_t *buffer = effect.payload;
        switch (effect.kind) {
        case TND_EFFECT_REDUCE:
            *more_p = true;
            return reduce(reducer, &effect.msg, error);
        case TND_EFFECT_LINK:
            answer(reducer, self, &effect.msg);
            break;
        case TND_EFFECT_FORGET:
        case TND_EFFECT_DROP:
            tnd_buffer_drop(&buffer);
            break;
        default:
            abort(); /* the machine has no other effects */
        }
    }
    return TND_OK;
}

static uint32_t reducer_blocked_on(const void *state)
{
    return tnd_reducer_core_blocked_on(((const reducer_t *)state)->machine);
}

static void reducer_depth(const void *state, uint64_t *queue_p, uint64_t *credit_p)
{
    *queue_p = tnd_reducer_core_open(((const reducer_t *)state)->machine);
    *credit_p = TND_UNKNOWN;
}

/*  Gives back what feeders posted to rounds that will never close. */
static void drop_rounds(reducer_t *reducer)
{
    tnd_effect_t effect;
    tnd_reducer_core_end(reducer->machine);
    while (tnd_reducer_core_next(reducer->machine, 0, &effect)) {
        tnd_buffer_t *buffer = effect.payload;
        tnd_buffer_drop(&buffer);
    }
}

static void reducer_fini(void *state)
{
    reducer_t *reducer = state;
    if (reducer->machine != NULL)
        drop_rounds(reducer);
    tnd_roots_free(&reducer->roots);
    free(reducer->posts);
    free(reducer->names);
    free(reducer->machine_memory);
    tnd_peers_free(&reducer->carriers);
}

/* --- options and ports ------------------------------------------------------------------------ */

_Static_assert(TND_PIECE_BYTES == 1 << 20, "the range of `bucket` ends there");

static const tnd_option_t options[] = {
    {TND_OPTION(tnd_reducer_options_t, weight, COLUMN, GRAPH), .fallback = "",
     .help = "the column by whose sum a mean weighs each replica, instead of by its rows"},
    {TND_OPTION(tnd_reducer_options_t, bucket, BYTES, TUNE), .range = "0B..1MiB",
     .fallback = "1MiB", .example = "256KiB",
     .help = "between hosts, arrays of one type and operation that are posted one after the other "
             "are reduced together, up to so many bytes; 0B: each by itself.  The bits are the "
             "same"},
    {TND_OPTION(tnd_reducer_options_t, order, ENUM, GRAPH), .fallback = "tree",
     .choices = "tree|any",
     .help =
         "the order in which values are added: along a fixed tree over the replicas, which gives "
         "the same bits on any devices and hosts, or any, which NCCL chooses"},
    {TND_OPTION(tnd_reducer_options_t, through, ENUM, PLACE), .fallback = "auto",
     .choices = "auto|host|nccl",
     .help =
         "what carries and adds the values: the processors of the hosts, or NCCL between devices "
         "of "
         "CUDA, with the same bits if the order is tree; auto: NCCL if the order is any, else the "
         "hosts"},
};

const tnd_kind_t tnd_kind_reducer = {
    .spec =
        {
            .table =
                {.name = "reducer",
                 .help =
                     "reduces what replicas post over a fixed tree: sum, mean, minimum, maximum, "
                     "gather",
                 TND_OPTIONS(options, tnd_reducer_options_t)},
            .role = TND_ROLE_REDUCER,
            .instances = TND_INSTANCE_ONE,
            .accepts = TND_ACCEPT(REWIND) | TND_ACCEPT(POST) | TND_ACCEPT(PASSED) | TND_ACCEPT(GOT),
            .inlets = {{.name = "in",
                        .flow = TND_FLOW_VALUES,
                        .required = true,
                        .several = true,
                        .call = true}},
            .inlet_count = 1,
        },
    .state_bytes = sizeof(reducer_t),
    .check = reducer_check,
    .fits = reducer_fits,
    .estimate_memory = reducer_memory,
    .credit = reducer_credit,
    .init = reducer_init,
    .arrive = reducer_arrive,
    .work = reducer_work,
    .blocked_on = reducer_blocked_on,
    .depth = reducer_depth,
    .fini = reducer_fini,
};
