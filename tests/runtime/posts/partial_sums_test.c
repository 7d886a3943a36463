/*  tests/runtime/posts/partial_sums_test.c - postings that are added as they come give the bits of the whole
 *  tree over leaves that all have memory of their own. */
#include "runtime/posts/partial_sums.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "runtime/base/allocation.h"
#include "runtime/core/numeric/numeric.h"

enum { MOST = 24, COUNT = 70 };

/*  Numbers whose sum depends on the order. */
static void draw(uint32_t replica, tnd_dtype_t dtype, void *out)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t mixed = (replica * 7919 + i + 1) * 2654435761u;
        double value = ((double)mixed / 4294967296.0 - 0.4) * (double)(1u << (mixed % 12));
        tnd_cast(dtype, TND_F64, 1, (char *)out + i * tnd_dtype_size(dtype), &value);
    }
}

typedef struct {
    tnd_reduce_t reduce;
    tnd_dtype_t dtype;
    bool weighted;
} what_t;

static const what_t whats[] = {{TND_SUM, TND_F32, false},  {TND_MEAN, TND_F32, false},
                               {TND_MEAN, TND_F64, true},  {TND_SUM, TND_F16, false},
                               {TND_MEAN, TND_BF16, true}, {TND_MAX, TND_F64, false},
                               {TND_MIN, TND_I64, false},  {TND_SUM, TND_I32, false}};
enum { WHATS = sizeof whats / sizeof whats[0] };

static uint64_t rows_of(uint32_t replica)
{
    return replica % 5 == 3 ? 0 : replica % 7 + 1;
}

static tnd_posting_t posting_of(const what_t *what, uint32_t replica, void *data)
{
    uint64_t rows = rows_of(replica);
    return (tnd_posting_t){.reduce = what->reduce,
                           .dtype = what->dtype,
                           .count = COUNT,
                           .from = data,
                           .data = data,
                           .rows = rows,
                           .weighted = what->weighted,
                           .weight = what->weighted ? (double)rows / 3 : 0};
}

/*  What all replicas post gives, with memory for each. */
static void reduce_apart(const what_t *what, uint32_t replicas, void *result)
{
    tnd_reduction_tree_input_t inputs[MOST];
    double values[MOST][COUNT];
    for (uint32_t r = 0; r < replicas; r++) {
        tnd_posting_t posting = posting_of(what, r, values[r]);
        draw(r, what->dtype, values[r]);
        inputs[r] = (tnd_reduction_tree_input_t){
            .node = {r, 1}, .data = values[r], .rows = posting.rows, .weight = posting.weight};
    }
    tnd_reduction_tree_job_t job = {.reduce = what->reduce,
                                    .dtype = what->dtype,
                                    .node = {0, replicas},
                                    .inputs = inputs,
                                    .input_count = replicas,
                                    .weighted = what->weighted};
    tnd_reduction_tree_root(&job, 0, COUNT, result);
}

/*  The same where `share` replicas have one memory, which each overwrites. */
static void reduce_shared(uint32_t replicas, uint32_t share, double results[WHATS][COUNT])
{
    static double values[MOST][WHATS][COUNT];
    tnd_partial_sums_t sums[MOST];
    tnd_postings_t posts[MOST] = {{0}};
    for (uint32_t r = 0; r < replicas; r++) {
        if (r % share == 0)
            tnd_partial_sums_init(&sums[r / share], replicas, r, share);
        for (uint32_t w = 0; w < WHATS; w++) {
            tnd_posting_t posting = posting_of(&whats[w], r, values[r / share][w]);
            draw(r, whats[w].dtype, values[r / share][w]);
            tnd_postings_add(&posts[r], &posting);
        }
        if (r % share < share - 1)
            tnd_partial_sums_add(&sums[r / share], &posts[r]);
    }
    for (uint32_t w = 0; w < WHATS; w++) {
        tnd_reduction_tree_input_t inputs[MOST];
        uint32_t count = 0;
        for (uint32_t r = share - 1; r < replicas; r += share) {
            const tnd_posting_t *last = &posts[r].items[w];
            count += tnd_partial_sums_inputs(&sums[r / share], last, w, 0, &inputs[count]);
            inputs[count++] = (tnd_reduction_tree_input_t){
                .node = {r, 1}, .data = last->from, .rows = last->rows, .weight = last->weight};
        }
        tnd_reduction_tree_job_t job = {.reduce = whats[w].reduce,
                                        .dtype = whats[w].dtype,
                                        .node = {0, replicas},
                                        .inputs = inputs,
                                        .input_count = count,
                                        .weighted = whats[w].weighted};
        tnd_reduction_tree_root(&job, 0, COUNT, results[w]);
    }
    for (uint32_t r = 0; r < replicas; r++) {
        tnd_postings_free(&posts[r]);
        if (r % share == 0)
            tnd_partial_sums_free(&sums[r / share]);
    }
}

Test(partial_sums, have_the_bits_of_replicas_with_models_of_their_own)
{
    double shared[WHATS][COUNT], apart[COUNT];
    for (uint32_t replicas = 1; replicas <= MOST; replicas++)
        for (uint32_t share = 1; share <= replicas; share++) {
            if (replicas % share != 0)
                continue;
            reduce_shared(replicas, share, shared);
            for (uint32_t w = 0; w < WHATS; w++) {
                reduce_apart(&whats[w], replicas, apart);
                cr_expect(memcmp(shared[w], apart, COUNT * tnd_dtype_size(whats[w].dtype)) == 0,
                          "%u replicas, %u of a model, reduction %u", replicas, share, w);
            }
        }
}

/*  log2(A) of the first A - 1 replicas. */
Test(partial_sums, are_few)
{
    float value = 1;
    for (uint32_t share = 1, most = 0; share <= 1024; share *= 2, most++) {
        tnd_partial_sums_t sums;
        tnd_postings_t posts = {0};
        tnd_posting_t posting = {
            .reduce = TND_SUM, .dtype = TND_F32, .count = 1, .from = &value, .rows = 1};
        uint32_t seen = 0;
        tnd_postings_add(&posts, &posting);
        tnd_partial_sums_init(&sums, 4 * share, 2 * share, share);
        for (uint32_t i = 0; i + 1 < share; i++) {
            tnd_partial_sums_add(&sums, &posts);
            seen = sums.count > seen ? sums.count : seen;
        }
        cr_expect(eq(u32, seen, most), "%u replicas of a model", share);
        tnd_postings_free(&posts);
        tnd_partial_sums_free(&sums);
    }
}

Test(partial_sums, keep_what_is_gathered_and_their_memory)
{
    tnd_partial_sums_t sums;
    uint16_t rows[2][3] = {{1, 2, 3}, {4, 5, 6}}, shared[3];
    const void *before = NULL;
    tnd_partial_sums_init(&sums, 4, 0, 4);
    for (int round = 0; round < 2; round++) {
        tnd_postings_t posts[2] = {{0}};
        for (uint32_t r = 0; r < 2; r++) {
            tnd_posting_t gather = {.reduce = TND_GATHER,
                                    .dtype = TND_F16,
                                    .count = 3 - r,
                                    .from = memcpy(shared, rows[r], sizeof shared)};
            tnd_postings_add(&posts[r], &gather);
            tnd_partial_sums_add(&sums, &posts[r]);
        }
        cr_expect(memcmp(posts[0].items[0].from, rows[0], 6) == 0);
        cr_expect(memcmp(posts[1].items[0].from, rows[1], 4) == 0);
        cr_expect(before == NULL || before == posts[0].items[0].from, "it allocates again");
        before = posts[0].items[0].from;
        tnd_partial_sums_clear(&sums);
        for (uint32_t r = 0; r < 2; r++)
            tnd_postings_free(&posts[r]);
    }
    tnd_partial_sums_free(&sums);
}
