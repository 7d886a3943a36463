/*  runtime/posts/roots.c - computes roots of the tree from nodes of several processes. */
#include "runtime/posts/roots.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/core/numeric/reduction_tree.h"
#include "runtime/posts/tensor.h"

static const char same_rule[] = "all replicas post the same reductions in the same order",
                  started_rule[] = "all replicas post the same reductions in the same order, and "
                                   "call tnd_replica_begin after the same ones";

void tnd_roots_init(tnd_roots_t *self, const char *name, uint32_t replicas,
                    const char *const *names)
{
    *self = (tnd_roots_t){.name = name, .replicas = replicas, .names = names};
    self->inputs = tnd_allocate_zeroed(replicas, sizeof *self->inputs);
    self->aligned = tnd_allocate_zeroed(replicas, sizeof *self->aligned);
    self->aligned_room = tnd_allocate_zeroed(replicas, sizeof *self->aligned_room);
}

/*  Values of a node where the tree can read them: received memory may lie askew. */
static const void *aligned_values(tnd_roots_t *self, uint32_t at, const void *values,
                                  const tnd_tensor_head_t *head)
{
    tnd_dtype_t dtype = tnd_reduction_tree_partial_dtype((tnd_dtype_t)head->dtype);
    size_t bytes = (size_t)head->count * tnd_dtype_size(dtype);
    if ((uintptr_t)values % tnd_dtype_size(dtype) == 0)
        return values;
    if (bytes > self->aligned_room[at]) {
        free(self->aligned[at]);
        self->aligned[at] = tnd_allocate_zeroed(1, bytes);
        self->aligned_room[at] = bytes;
    }
    return memcpy(self->aligned[at], values, bytes);
}

static tnd_buffer_t *take_root(tnd_roots_t *self, size_t bytes)
{
    if (bytes > TND_PIECE_BYTES)
        return tnd_buffer_new(bytes);
    if (self->pool == NULL)
        self->pool = tnd_pool_new_shared(TND_PIECE_BYTES, TND_PIECES_OPEN);
    tnd_buffer_t *root = tnd_pool_take(self->pool);
    tnd_buffer_trim(root, bytes);
    return root;
}

static bool same_operation(const tnd_tensor_head_t *one, const tnd_tensor_head_t *other)
{
    return one->reduce == other->reduce && one->weighted == other->weighted &&
           one->root == other->root && one->sharing == other->sharing;
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
static tnd_status_t tell_missing(const tnd_roots_t *self, uint64_t step, uint32_t number,
                                 uint32_t one, uint32_t other, uint32_t postings, const char *rule,
                                 tnd_error_t *error)
{
    if (postings > number)
        return tnd_fail(error,
                        "%s: in step %" PRIu64 " replica %" PRIu32 " (%s) posted to reduction "
                        "%" PRIu32 " what replica %" PRIu32 " (%s) did not: other elements, or to "
                        "another reducer; %s",
                        self->name, step, one, self->names[one], number, other, self->names[other],
                        rule);
    return tnd_fail(error,
                    "%s: in step %" PRIu64 " replica %" PRIu32 " (%s) posted to %" PRIu32
                    " reduction%s at least, replica %" PRIu32 " (%s) to %" PRIu32 ": %s",
                    self->name, step, one, self->names[one], number + 1, number == 0 ? "" : "s",
                    other, self->names[other], postings, rule);
}

/*  " (mean)", or "" where both replicas post the same operation. */
static const char *operation(const tnd_tensor_head_t *head, bool named,
                             char text[TND_OPERATION_TEXT + 16])
{
    char name[TND_OPERATION_TEXT];
    if (!named)
        return "";
    snprintf(text, TND_OPERATION_TEXT + 16, " (%s%s)",
             tnd_operation_text((tnd_reduce_t)head->reduce, head->root,
                                (tnd_sharing_t)head->sharing, name),
             head->weighted != 0 ? " by weights" : "");
    return text;
}

/*  The elements of a posting that a tensor has, or has a part of. */
static uint64_t elements(tnd_buffer_t *tensor, const tnd_tensor_head_t *head, uint32_t number)
{
    return head->whole > 0 ? head->whole : tnd_tensor_segment(tensor, number - head->first).count;
}

/*  Node `at` does not have the postings that the first one has: names the first that differs. */
static tnd_status_t refuse_node(const tnd_roots_t *self, uint32_t at, const tnd_tensor_head_t *head,
                                const tnd_tensor_head_t *own, tnd_error_t *error)
{
    const tnd_post_note_t *post = &self->nodes[at], *first = &self->nodes[0];
    uint32_t number = first_other(first->payload, head, post->payload, own);
    const char *rule = head->started == 0 && own->started == 0 ? same_rule : started_rule;
    if (!has_posting(head, number))
        return tell_missing(self, post->round, number, post->first, first->first, head->postings,
                            rule, error);
    if (!has_posting(own, number))
        return tell_missing(self, post->round, number, first->first, post->first, own->postings,
                            rule, error);
    bool named = !same_operation(own, head);
    char text[2][TND_OPERATION_TEXT + 16];
    return tnd_fail(
        error,
        "%s: in step %" PRIu64 " replica %" PRIu32 " posted %" PRIu64
        " elements of %s%s to reduction %" PRIu32 ", replica %" PRIu32 " %" PRIu64 " of %s%s: %s",
        self->name, post->round, post->first, elements(post->payload, own, number),
        tnd_dtype_name((tnd_dtype_t)own->dtype), operation(own, named, text[0]), number,
        first->first, elements(first->payload, head, number),
        tnd_dtype_name((tnd_dtype_t)head->dtype), operation(head, named, text[1]), rule);
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
static tnd_status_t read_nodes(tnd_roots_t *self, uint32_t count, tnd_tensor_head_t *head,
                               tnd_error_t *error)
{
    for (uint32_t i = 0; i < count; i++) {
        const tnd_post_note_t *post = &self->nodes[i];
        tnd_tensor_head_t own;
        const void *values = NULL;
        TND_TRY(tnd_tensor_read(post->payload, post->weight == 0, &own, &values, error));
        if (own.partial == 0)
            return tnd_fail(error, "%s: a value to be reduced is a result", self->name);
        if (i == 0)
            *head = own;
        else if (!same_postings(self->nodes[0].payload, head, post->payload, &own))
            return refuse_node(self, i, head, &own, error);
        self->inputs[i] = (tnd_reduction_tree_input_t){
            .node = {post->first, post->count},
            .data = post->weight == 0 ? NULL : aligned_values(self, i, values, &own),
            .rows = post->weight,
            .partial = true,
        };
    }
    return TND_OK;
}

/*  The elements of all replicas: first looks at all nodes, then puts them one after the other. */
static tnd_status_t gather(tnd_roots_t *self, uint32_t count, tnd_buffer_t **root_p,
                           tnd_error_t *error)
{
    tnd_tensor_head_t head = {0}, own;
    const void *node_counts, *values;
    size_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        const tnd_post_note_t *post = &self->nodes[i];
        TND_TRY(tnd_gather_read(post->payload, post->count, &own, &node_counts, &values, error));
        if (i == 0)
            head = own;
        if (own.dtype != head.dtype || own.partial != 1)
            return tnd_fail(error,
                            "%s: in step %" PRIu64 " replica %" PRIu32 " gathers %s, replica "
                            "%" PRIu32 " %s: %s",
                            self->name, post->round, post->first,
                            tnd_dtype_name((tnd_dtype_t)own.dtype), self->nodes[0].first,
                            tnd_dtype_name((tnd_dtype_t)head.dtype), same_rule);
        sum += (size_t)own.count;
    }
    tnd_dtype_t dtype = (tnd_dtype_t)head.dtype;
    if (sum > TND_TENSOR_BYTES / tnd_dtype_size(dtype))
        return tnd_fail(error,
                        "%s: in step %" PRIu64 " more is gathered than %d MiB, which travel at a "
                        "time: gather it in parts",
                        self->name, self->nodes[0].round, TND_TENSOR_BYTES >> 20);
    uint32_t replicas = self->replicas;
    tnd_buffer_t *root = take_root(self, tnd_gather_bytes(dtype, replicas, sum));
    uint64_t *counts;
    uint8_t *out = tnd_gather_begin(root, dtype, false, replicas, sum, &counts);
    for (uint32_t i = 0; i < count; i++) {
        const tnd_post_note_t *post = &self->nodes[i];
        tnd_status_t status =
            tnd_gather_read(post->payload, post->count, &own, &node_counts, &values, error);
        /* The memory may be that of a peer, which can write there again. */
        if (status == TND_OK && (own.dtype != head.dtype || own.count > sum))
            status = tnd_fail(error, "%s: what replica %" PRIu32 " gathers has changed since",
                              self->name, post->first);
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
    *root_p = root;
    return TND_OK;
}

/*  Each posting has weights of its own.  A peer may write its counts again after they were checked. */
static void reduce_weighted(tnd_roots_t *self, const tnd_reduction_tree_job_t *job,
                            const tnd_tensor_head_t *head, void *values)
{
    size_t begin = 0, total = (size_t)head->count;
    uint32_t segments = head->segments;
    for (uint32_t s = 0; s < segments; s++) {
        size_t end = begin;
        for (uint32_t i = 0; i < job->input_count; i++) {
            tnd_segment_t segment = tnd_tensor_segment(self->nodes[i].payload, s);
            end = segment.count < total - begin ? begin + (size_t)segment.count : total;
            self->inputs[i].weight = segment.weight;
            self->inputs[i].rows = segment.weight > 0;
        }
        tnd_reduction_tree_root(job, begin, end, values);
        begin = end;
    }
}

tnd_status_t tnd_roots_compute(tnd_roots_t *self, const tnd_post_note_t *nodes, uint32_t count,
                               tnd_buffer_t **root_p, tnd_error_t *error)
{
    tnd_tensor_head_t head = {0};
    assert(count > 0);
    self->nodes = nodes;
    if (tnd_gather_is(nodes[0].payload))
        return gather(self, count, root_p, error);
    TND_TRY(read_nodes(self, count, &head, error));
    tnd_dtype_t dtype = (tnd_dtype_t)head.dtype;
    tnd_buffer_t *root = take_root(self, tnd_tensor_bytes(dtype, false, 0, (size_t)head.count));
    tnd_tensor_head_t result = {.reduce = head.reduce,
                                .dtype = head.dtype,
                                .count = head.count,
                                .root = head.root,
                                .sharing = head.sharing};
    tnd_segment_t *none;
    void *values = tnd_tensor_begin(root, &result, &none);
    tnd_reduction_tree_job_t job = {
        .reduce = (tnd_reduce_t)head.reduce,
        .dtype = dtype,
        .node = {0, self->replicas},
        .inputs = self->inputs,
        .input_count = count,
        .weighted = head.weighted != 0,
    };
    if (job.weighted)
        reduce_weighted(self, &job, &head, values);
    else
        tnd_reduction_tree_root(&job, 0, (size_t)head.count, values);
    tnd_buffer_seal(root);
    *root_p = root;
    return TND_OK;
}

tnd_buffer_t *tnd_roots_for(tnd_roots_t *self, tnd_buffer_t *root, const tnd_actor_id_t *carriers,
                            tnd_actor_id_t to)
{
    tnd_tensor_head_t head;
    tnd_segment_t *none;
    memcpy(&head, tnd_buffer_data(root), sizeof head); /* of our own making */
    if (head.sharing == TND_SHARE_NONE || head.root == 0 || head.root > self->replicas ||
        (carriers[head.root - 1] == to) == (head.sharing == TND_SHARE_OUT))
        return tnd_buffer_hold(root);
    tnd_buffer_t *empty = tnd_buffer_new(tnd_tensor_bytes((tnd_dtype_t)head.dtype, false, 0, 0));
    (void)tnd_tensor_begin(empty, &head, &none);
    tnd_buffer_seal(empty);
    return empty;
}

void tnd_roots_free(tnd_roots_t *self)
{
    for (uint32_t i = 0; i < self->replicas; i++)
        free(self->aligned[i]);
    free(self->aligned);
    free(self->aligned_room);
    free(self->inputs);
    tnd_pool_destroy(&self->pool);
}
