/*  actors/reducer.c - brings together what several feeders post, along the fixed tree.
 *
 *  When a round is complete the machine decides; here its root is computed, on the actor's thread,
 *  from nodes that the feeders have already reduced among themselves. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/plan/kind_options.h"
#include "actors/plan/peers.h"
#include "actors/plan/reduction_memory.h"
#include "actors/plan/reduction_weight.h"
#include "runtime/base/allocation.h"
#include "runtime/core/reducer.h"
#include "runtime/host/actor.h"
#include "runtime/interface/collective.h"
#include "runtime/interface/kind.h"

static const char same_rule[] = "all replicas post the same reductions in the same order";

typedef struct {
    const char *name;
    tnd_peers_t carriers;
    void *machine_memory;
    tnd_reducer_core_t *machine;
    tnd_post_note_t *posts;             /* scratch: by replica */
    tnd_reduction_tree_input_t *inputs; /* likewise */
    const char **names;                 /* by replica: of the feeder that carries it */
    void **aligned;                     /* by replica: copies of values that lay askew */
    size_t *aligned_room;
    tnd_pool_t *roots;
} reducer_t;

static tnd_status_t reducer_fits(const tnd_instance_t *instance, const tnd_stream_t *stream,
                                 tnd_error_t *error)
{
    int column;
    return tnd_reduction_weight_column(instance->options, &stream->fed, &column, error);
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
    reducer->inputs = tnd_allocate_zeroed(replicas, sizeof *reducer->inputs);
    reducer->aligned = tnd_allocate_zeroed(replicas, sizeof *reducer->aligned);
    reducer->aligned_room = tnd_allocate_zeroed(replicas, sizeof *reducer->aligned_room);
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

/*  Values of a node where the tree can read them: received memory may lie askew. */
static const void *aligned_values(reducer_t *reducer, uint32_t at, const void *values,
                                  const tnd_tensor_head_t *head)
{
    tnd_dtype_t dtype = tnd_reduction_tree_partial_dtype((tnd_dtype_t)head->dtype);
    size_t bytes = (size_t)head->count * tnd_dtype_size(dtype);
    if ((uintptr_t)values % tnd_dtype_size(dtype) == 0)
        return values;
    if (bytes > reducer->aligned_room[at]) {
        free(reducer->aligned[at]);
        reducer->aligned[at] = tnd_allocate_zeroed(1, bytes);
        reducer->aligned_room[at] = bytes;
    }
    return memcpy(reducer->aligned[at], values, bytes);
}

static tnd_buffer_t *take_root(reducer_t *reducer, size_t bytes)
{
    if (bytes > TND_PIECE_BYTES)
        return tnd_buffer_new(bytes);
    if (reducer->roots == NULL)
        reducer->roots = tnd_pool_new_shared(TND_PIECE_BYTES, TND_PIECES_OPEN);
    tnd_buffer_t *root = tnd_pool_take(reducer->roots);
    tnd_buffer_trim(root, bytes);
    return root;
}

static bool same_operation(const tnd_tensor_head_t *one, const tnd_tensor_head_t *other)
{
    return one->reduce == other->reduce && one->weighted == other->weighted &&
           one->root == other->root;
}

static bool has_posting(const tnd_tensor_head_t *head, uint32_t number)
{
    return number - head->first < head->segments;
}

/*  The first posting that is not in both tensors, or in both of another size. */
static uint32_t first_other(tnd_buffer_t *one, const tnd_tensor_head_t *head, tnd_buffer_t *other,
                            const tnd_tensor_head_t *own)
{
    uint32_t number = own->first > head->first ? own->first : head->first;
    if (own->dtype != head->dtype || !same_operation(own, head) || own->whole != head->whole)
        return number;
    while (has_posting(own, number) && has_posting(head, number) &&
           tnd_tensor_segment(other, number - own->first).count ==
               tnd_tensor_segment(one, number - head->first).count)
        number++;
    return number;
}

/*  Replica `one` made a posting that replica `other` has not made in its place. */
static tnd_status_t tell_missing(const reducer_t *reducer, uint64_t step, uint32_t number,
                                 uint32_t one, uint32_t other, uint32_t postings,
                                 tnd_error_t *error)
{
    if (postings > number)
        return tnd_fail(error,
                        "%s: in step %" PRIu64 " replica %" PRIu32 " (%s) posted to reduction "
                        "%" PRIu32 " what replica %" PRIu32 " (%s) did not: other elements, or to "
                        "another reducer; %s",
                        reducer->name, step, one, reducer->names[one], number, other,
                        reducer->names[other], same_rule);
    return tnd_fail(error,
                    "%s: in step %" PRIu64 " replica %" PRIu32 " (%s) posted to %" PRIu32
                    " reduction%s at least, replica %" PRIu32 " (%s) to %" PRIu32 ": %s",
                    reducer->name, step, one, reducer->names[one], number + 1,
                    number == 0 ? "" : "s", other, reducer->names[other], postings, same_rule);
}

/*  " (mean)", or "" where both replicas post the same operation. */
static const char *operation(const tnd_tensor_head_t *head, bool named,
                             char text[TND_OPERATION_TEXT + 16])
{
    char name[TND_OPERATION_TEXT];
    if (!named)
        return "";
    snprintf(text, TND_OPERATION_TEXT + 16, " (%s%s)",
             tnd_operation_text((tnd_reduce_t)head->reduce, head->root, name),
             head->weighted != 0 ? " by weights" : "");
    return text;
}

/*  The elements of a posting that a tensor has, or has a part of. */
static uint64_t elements(tnd_buffer_t *tensor, const tnd_tensor_head_t *head, uint32_t number)
{
    return head->whole > 0 ? head->whole : tnd_tensor_segment(tensor, number - head->first).count;
}

/*  Node `at` does not have the postings that the first one has: names the first that differs. */
static tnd_status_t refuse_node(const reducer_t *reducer, uint32_t at,
                                const tnd_tensor_head_t *head, const tnd_tensor_head_t *own,
                                tnd_error_t *error)
{
    const tnd_post_note_t *post = &reducer->posts[at], *first = &reducer->posts[0];
    uint32_t number = first_other(first->payload, head, post->payload, own);
    if (!has_posting(head, number))
        return tell_missing(reducer, post->round, number, post->first, first->first, head->postings,
                            error);
    if (!has_posting(own, number))
        return tell_missing(reducer, post->round, number, first->first, post->first, own->postings,
                            error);
    bool named = !same_operation(own, head);
    char text[2][TND_OPERATION_TEXT + 16];
    return tnd_fail(
        error,
        "%s: in step %" PRIu64 " replica %" PRIu32 " posted %" PRIu64
        " elements of %s%s to reduction %" PRIu32 ", replica %" PRIu32 " %" PRIu64 " of %s%s: %s",
        reducer->name, post->round, post->first, elements(post->payload, own, number),
        tnd_dtype_name((tnd_dtype_t)own->dtype), operation(own, named, text[0]), number,
        first->first, elements(first->payload, head, number),
        tnd_dtype_name((tnd_dtype_t)head->dtype), operation(head, named, text[1]), same_rule);
}

/*  Whether two tensors have the same postings. */
static bool same_postings(tnd_buffer_t *one, const tnd_tensor_head_t *head, tnd_buffer_t *other,
                          const tnd_tensor_head_t *own)
{
    bool same = own->dtype == head->dtype && same_operation(own, head) &&
                own->count == head->count && own->segments == head->segments &&
                own->first == head->first && own->whole == head->whole;
    for (uint32_t s = 0; same && s < head->segments; s++)
        same = tnd_tensor_segment(one, s).count == tnd_tensor_segment(other, s).count;
    return same;
}

/*  Reads the nodes of a round into `inputs`; all must have the same postings; `head` is that of the
 *  first. */
static tnd_status_t read_nodes(reducer_t *reducer, uint32_t count, tnd_tensor_head_t *head,
                               tnd_error_t *error)
{
    for (uint32_t i = 0; i < count; i++) {
        const tnd_post_note_t *post = &reducer->posts[i];
        tnd_tensor_head_t own;
        const void *values = NULL;
        TND_TRY(tnd_tensor_read(post->payload, post->weight == 0, &own, &values, error));
        if (own.partial == 0)
            return tnd_fail(error, "%s: a value to be reduced is a result", reducer->name);
        if (i == 0)
            *head = own;
        else if (!same_postings(reducer->posts[0].payload, head, post->payload, &own))
            return refuse_node(reducer, i, head, &own, error);
        reducer->inputs[i] = (tnd_reduction_tree_input_t){
            .node = {post->first, post->count},
            .data = post->weight == 0 ? NULL : aligned_values(reducer, i, values, &own),
            .rows = post->weight,
            .partial = true,
        };
    }
    return TND_OK;
}

/*  The elements of all replicas: first looks at all nodes, then puts them one after the other. */
static tnd_status_t gather(reducer_t *reducer, const tnd_msg_t *round, uint32_t count,
                           tnd_error_t *error)
{
    tnd_tensor_head_t head = {0}, own;
    const void *node_counts, *values;
    size_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        const tnd_post_note_t *post = &reducer->posts[i];
        TND_TRY(tnd_gather_read(post->payload, post->count, &own, &node_counts, &values, error));
        if (i == 0)
            head = own;
        if (own.dtype != head.dtype || own.partial != 1)
            return tnd_fail(error,
                            "%s: in step %" PRIu64 " replica %" PRIu32 " gathers %s, replica "
                            "%" PRIu32 " %s: %s",
                            reducer->name, post->round, post->first,
                            tnd_dtype_name((tnd_dtype_t)own.dtype), reducer->posts[0].first,
                            tnd_dtype_name((tnd_dtype_t)head.dtype), same_rule);
        sum += (size_t)own.count;
    }
    tnd_dtype_t dtype = (tnd_dtype_t)head.dtype;
    if (sum > TND_TENSOR_BYTES / tnd_dtype_size(dtype))
        return tnd_fail(error,
                        "%s: in step %" PRIu64 " more is gathered than %d MiB, which travel at a "
                        "time: gather it in parts",
                        reducer->name, round->post.round, TND_TENSOR_BYTES >> 20);
    uint32_t replicas = reducer->carriers.count;
    tnd_buffer_t *root = take_root(reducer, tnd_gather_bytes(dtype, replicas, sum));
    uint64_t *counts;
    uint8_t *out = tnd_gather_begin(root, dtype, false, replicas, sum, &counts);
    for (uint32_t i = 0; i < count; i++) {
        const tnd_post_note_t *post = &reducer->posts[i];
        tnd_status_t status =
            tnd_gather_read(post->payload, post->count, &own, &node_counts, &values, error);
        /* The memory may be that of a peer, which can write there again. */
        if (status == TND_OK && (own.dtype != head.dtype || own.count > sum))
            status = tnd_fail(error, "%s: what replica %" PRIu32 " gathers has changed since",
                              reducer->name, post->first);
        if (status != TND_OK) {
            tnd_buffer_drop(&root);
            return status;
        }
        sum -= (size_t)own.count;
        memcpy(counts + post->first, node_counts, post->count * sizeof *counts);
        memcpy(out, values, (size_t)own.count * tnd_dtype_size(dtype));
        out += (size_t)own.count * tnd_dtype_size(dtype);
    }
    tnd_buffer_seal(root);
    tnd_reducer_core_reduced(reducer->machine, round, root);
    return TND_OK;
}

/*  Each posting has weights of its own.  A peer may write its counts again after they were checked. */
static void reduce_weighted(reducer_t *reducer, const tnd_reduction_tree_job_t *job,
                            const tnd_tensor_head_t *head, void *values)
{
    size_t begin = 0, total = (size_t)head->count;
    uint32_t segments = head->segments;
    for (uint32_t s = 0; s < segments; s++) {
        size_t end = begin;
        for (uint32_t i = 0; i < job->input_count; i++) {
            tnd_segment_t segment = tnd_tensor_segment(reducer->posts[i].payload, s);
            end = segment.count < total - begin ? begin + (size_t)segment.count : total;
            reducer->inputs[i].weight = segment.weight;
            reducer->inputs[i].rows = segment.weight > 0;
        }
        tnd_reduction_tree_root(job, begin, end, values);
        begin = end;
    }
}

static tnd_status_t reduce(reducer_t *reducer, const tnd_msg_t *round, tnd_error_t *error)
{
    uint32_t count =
        tnd_reducer_core_nodes(reducer->machine, round->post.round, round->post.reducer_slot,
                               reducer->posts, reducer->carriers.count);
    assert(count > 0 && count <= reducer->carriers.count);
    if (tnd_gather_is(reducer->posts[0].payload))
        return gather(reducer, round, count, error);
    tnd_tensor_head_t head = {0};
    TND_TRY(read_nodes(reducer, count, &head, error));
    tnd_dtype_t dtype = (tnd_dtype_t)head.dtype;
    tnd_buffer_t *root = take_root(reducer, tnd_tensor_bytes(dtype, false, 0, (size_t)head.count));
    tnd_tensor_head_t result = {.reduce = head.reduce, .dtype = head.dtype, .count = head.count};
    tnd_segment_t *none;
    void *values = tnd_tensor_begin(root, &result, &none);
    tnd_reduction_tree_job_t job = {
        .reduce = (tnd_reduce_t)head.reduce,
        .dtype = dtype,
        .node = {0, reducer->carriers.count},
        .inputs = reducer->inputs,
        .input_count = count,
        .weighted = head.weighted != 0,
    };
    if (job.weighted)
        reduce_weighted(reducer, &job, &head, values);
    else
        tnd_reduction_tree_root(&job, 0, (size_t)head.count, values);
    tnd_buffer_seal(root);
    tnd_reducer_core_reduced(reducer->machine, round, root);
    return TND_OK;
}

static void answer(tnd_actor_t *self, const tnd_msg_t *msg)
{
    tnd_statistics_t *statistics = tnd_actor_statistics(self);
    tnd_buffer_t *root = msg->kind == TND_MSG_RESULT ? msg->post.payload : NULL;
    if (root != NULL) {
        tnd_buffer_hold(root);
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
            answer(self, &effect.msg);
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
    for (uint32_t i = 0; i < reducer->carriers.count; i++)
        free(reducer->aligned[i]);
    free(reducer->aligned);
    free(reducer->aligned_room);
    free(reducer->posts);
    free(reducer->names);
    free(reducer->inputs);
    free(reducer->machine_memory);
    tnd_pool_destroy(&reducer->roots);
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
