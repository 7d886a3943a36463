/*  runtime/posts/partial_sums.c - what the replicas of one model have posted, added as it comes. */
#include "runtime/posts/partial_sums.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"

enum { LINE = 64 };

void tnd_partial_sums_init(tnd_partial_sums_t *self, uint32_t replicas, uint32_t first,
                           uint32_t share)
{
    *self = (tnd_partial_sums_t){.replicas = replicas, .first = first, .share = share};
    self->copies = tnd_allocate_zeroed(share, sizeof *self->copies);
}

static size_t values_of(const tnd_posting_t *posting)
{
    size_t size = tnd_dtype_size(tnd_reduction_tree_partial_dtype(posting->dtype));
    return posting->reduce != TND_GATHER ? tnd_round_up(posting->count * size, LINE) : 0;
}

/*  Where each posting is in a sum. */
static void place(tnd_partial_sums_t *self, const tnd_postings_t *posts)
{
    if (self->offset_room < posts->count) {
        self->offsets = tnd_resize(self->offsets, posts->room, sizeof *self->offsets);
        self->offset_room = posts->room;
    }
    self->bytes = 0;
    for (uint32_t p = 0; p < posts->count; p++) {
        self->offsets[p] = self->bytes;
        self->bytes += values_of(&posts->items[p]);
    }
}

/*  The largest node that ends with this leaf and does not begin before `first`. */
static tnd_reduction_tree_node_t node_ending(const tnd_partial_sums_t *self, uint32_t leaf)
{
    tnd_reduction_tree_node_t at = {0, self->replicas};
    while (at.first < self->first || at.first + at.count - 1 != leaf) {
        uint32_t left = tnd_reduction_tree_left(at.count);
        at = leaf < at.first + left ? (tnd_reduction_tree_node_t){at.first, left}
                                    : (tnd_reduction_tree_node_t){at.first + left, at.count - left};
    }
    return at;
}

/*  Makes room for one more sum. */
static void make_room(tnd_partial_sums_t *self, const tnd_postings_t *posts)
{
    assert(self->count < TND_REDUCTION_TREE_COVER_MOST);
    tnd_partial_sum_t *sum = &self->items[self->count];
    if (sum->room < self->bytes) {
        free(sum->values);
        sum->values = tnd_allocate_aligned(LINE, self->bytes);
        sum->room = self->bytes;
    }
    if (sum->weight_room < posts->count) {
        free(sum->weights);
        sum->weights = tnd_allocate(posts->room, sizeof *sum->weights);
        sum->weight_room = posts->room;
    }
}

static tnd_reduction_tree_input_t input_of(const tnd_partial_sum_t *sum, uint32_t number,
                                           size_t offset)
{
    return (tnd_reduction_tree_input_t){.node = sum->node,
                                        .data = sum->values + offset,
                                        .rows = sum->weights[number].rows,
                                        .partial = true,
                                        .weight = sum->weights[number].weight};
}

/*  Adds one posting of replica `leaf` to sums from number `at` on, into that one. */
static void add_posting(tnd_partial_sums_t *self, const tnd_posting_t *posting, uint32_t number,
                        uint32_t at, tnd_reduction_tree_node_t node, uint32_t leaf)
{
    tnd_reduction_tree_input_t inputs[TND_REDUCTION_TREE_COVER_MOST + 1];
    uint32_t count = 0;
    for (uint32_t s = at; s < self->count; s++)
        inputs[count++] = input_of(&self->items[s], number, self->offsets[number]);
    inputs[count++] = (tnd_reduction_tree_input_t){
        .node = {leaf, 1}, .data = posting->from, .rows = posting->rows, .weight = posting->weight};
    tnd_reduction_tree_job_t job = {.reduce = posting->reduce,
                                    .dtype = posting->dtype,
                                    .node = node,
                                    .inputs = inputs,
                                    .input_count = count,
                                    .weighted = posting->weighted};
    tnd_partial_sum_t *sum = &self->items[at];
    uint64_t rows = tnd_reduction_tree_rows(&job);
    double weight = posting->weighted ? tnd_reduction_tree_weight(&job) : 0;
    if (rows > 0)
        tnd_reduction_tree_partial(&job, 0, posting->count, sum->values + self->offsets[number]);
    sum->weights[number] = (tnd_partial_weight_t){.rows = rows, .weight = weight};
}

/*  Hashes are in the posting itself. */
static void copy_gathers(tnd_gather_copy_t *copy, tnd_postings_t *posts)
{
    size_t bytes = 0, at = 0;
    for (uint32_t p = 0; p < posts->count; p++)
        if (posts->items[p].reduce == TND_GATHER && posts->items[p].same == NULL)
            bytes += posts->items[p].count * tnd_dtype_size(posts->items[p].dtype);
    if (copy->room < bytes) {
        free(copy->values);
        copy->values = tnd_allocate(bytes, 1);
        copy->room = bytes;
    }
    for (uint32_t p = 0; p < posts->count && bytes > 0; p++) {
        tnd_posting_t *posting = &posts->items[p];
        size_t size = posting->count * tnd_dtype_size(posting->dtype);
        if (posting->reduce != TND_GATHER || posting->same != NULL || size == 0)
            continue;
        posting->from = memcpy(copy->values + at, posting->from, size);
        at += size;
    }
}

void tnd_partial_sums_add(tnd_partial_sums_t *self, tnd_postings_t *posts)
{
    uint32_t leaf = self->first + self->added, at = self->count;
    tnd_reduction_tree_node_t node = node_ending(self, leaf);
    if (self->added == 0)
        place(self, posts);
    while (at > 0 && self->items[at - 1].node.first >= node.first)
        at--;
    if (at == self->count)
        make_room(self, posts);
    for (uint32_t p = 0; p < posts->count; p++)
        if (posts->items[p].reduce != TND_GATHER)
            add_posting(self, &posts->items[p], p, at, node, leaf);
    copy_gathers(&self->copies[self->added], posts);
    self->items[at].node = node;
    self->count = at + 1;
    self->added++;
}

uint32_t tnd_partial_sums_inputs(const tnd_partial_sums_t *self, const tnd_posting_t *posting,
                                 uint32_t number, size_t begin, tnd_reduction_tree_input_t *inputs)
{
    size_t size = tnd_dtype_size(tnd_reduction_tree_partial_dtype(posting->dtype));
    for (uint32_t s = 0; s < self->count; s++)
        inputs[s] = input_of(&self->items[s], number, self->offsets[number] + begin * size);
    return self->count;
}

void tnd_partial_sums_clear(tnd_partial_sums_t *self)
{
    self->count = self->added = 0;
}

void tnd_partial_sums_free(tnd_partial_sums_t *self)
{
    for (uint32_t s = 0; s < TND_REDUCTION_TREE_COVER_MOST; s++) {
        free(self->items[s].values);
        free(self->items[s].weights);
    }
    for (uint32_t i = 0; i < self->share; i++)
        free(self->copies[i].values);
    free(self->copies);
    free(self->offsets);
}
