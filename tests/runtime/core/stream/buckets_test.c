/*  Covers runtime/core/stream/buckets.h: the rules of bucket_by_sequence_length, written out. */
#include "runtime/core/stream/buckets.h"

#include <stdlib.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static const uint64_t bounds[] = {3, 5}, sizes[] = {2, 3, 1};

static tnd_buckets_t *open_buckets(const tnd_bucket_rule_t *rule)
{
    return tnd_buckets_init(calloc(1, tnd_buckets_bytes(rule)), rule);
}

static void expect_batch(tnd_buckets_t *self, uint32_t bucket, uint64_t rows, uint64_t added)
{
    cr_assert(gt(u32, tnd_buckets_batches(self), 0));
    tnd_bucket_batch_t batch = tnd_buckets_batch(self, 0);
    cr_assert(eq(u32, batch.bucket, bucket));
    cr_assert(eq(u64, batch.rows, rows));
    cr_assert(eq(u64, batch.added, added));
}

Test(buckets, a_bucket_has_the_lengths_from_its_bound_to_before_the_next)
{
    const tnd_bucket_rule_t rule = {.bounds = bounds, .sizes = sizes, .count = 3};
    const uint32_t expected[] = {0, 0, 0, 1, 1, 2, 2, 2};
    for (uint64_t length = 0; length < 8; length++)
        cr_assert(eq(u32, tnd_bucket_of(&rule, length), expected[length]));
    cr_assert(eq(u32, tnd_bucket_of(&rule, UINT64_MAX), 2));
}

Test(buckets, a_bucket_that_is_full_becomes_a_batch_in_one_place)
{
    const tnd_bucket_rule_t rule = {.bounds = bounds, .sizes = sizes, .count = 3};
    tnd_buckets_t *self = open_buckets(&rule);
    tnd_bucket_rows_t first = tnd_buckets_put(self, 4, false);
    tnd_bucket_rows_t other = tnd_buckets_put(self, 0, false);
    tnd_bucket_rows_t second = tnd_buckets_put(self, 3, true);
    cr_assert(eq(u32, first.bucket, 1));
    cr_assert(eq(u32, first.first, 0));
    cr_assert(eq(u32, second.first, 1));
    cr_assert(eq(u32, second.place, first.place));
    cr_assert(ne(u32, other.place, first.place));
    cr_assert(eq(u64, tnd_buckets_waiting(self), 3));
    cr_assert(eq(u32, tnd_buckets_batches(self), 0));
    (void)tnd_buckets_put(self, 4, true);
    expect_batch(self, 1, 3, 2);
    cr_assert(eq(u64, tnd_buckets_waiting(self), 1));
    tnd_bucket_rows_t taken = tnd_buckets_take(self, 2);
    cr_assert(eq(u32, taken.place, first.place));
    cr_assert(eq(u32, taken.first, 0));
    taken = tnd_buckets_take(self, 1);
    cr_assert(eq(u32, taken.first, 2));
    cr_assert(eq(u32, tnd_buckets_batches(self), 0));
    free(self);
}

Test(buckets, what_is_left_comes_out_by_the_number_of_its_bucket)
{
    const tnd_bucket_rule_t rule = {.bounds = bounds, .sizes = sizes, .count = 3};
    tnd_buckets_t *self = open_buckets(&rule);
    (void)tnd_buckets_put(self, 4, false);
    (void)tnd_buckets_put(self, 4, false);
    (void)tnd_buckets_put(self, 1, true);
    tnd_buckets_flush(self);
    cr_assert(eq(u32, tnd_buckets_batches(self), 2));
    expect_batch(self, 0, 1, 1);
    (void)tnd_buckets_take(self, 1);
    expect_batch(self, 1, 2, 0);
    free(self);
}

Test(buckets, what_is_left_may_be_dropped)
{
    const tnd_bucket_rule_t rule = {
        .bounds = bounds, .sizes = sizes, .count = 3, .drop_remainder = true};
    tnd_buckets_t *self = open_buckets(&rule);
    uint64_t added;
    cr_assert(eq(u32, tnd_buckets_ahead(self), 2));
    (void)tnd_buckets_put(self, 4, true);
    (void)tnd_buckets_put(self, 1, false);
    (void)tnd_buckets_put(self, 4, true);
    cr_assert(eq(u64, tnd_buckets_drop(self, &added), 3));
    cr_assert(eq(u64, added, 2));
    cr_assert(eq(u64, tnd_buckets_waiting(self), 0));
    cr_assert(eq(u64, tnd_buckets_drop(self, &added), 0));
    free(self);
}

/*  Rows of every order of lengths up to seven rows, with a flush after each number of them: no two
 *  batches share a place, and there are as many places as are needed. */
Test(buckets, batches_never_share_a_place)
{
    const tnd_bucket_rule_t rule = {.bounds = bounds, .sizes = sizes, .count = 3};
    const uint64_t lengths[] = {0, 3, 5};
    void *memory = calloc(1, tnd_buckets_bytes(&rule));
    for (uint32_t order = 0; order < 2187; order++)
        for (uint32_t rows = 1; rows <= 7; rows++) {
            tnd_buckets_t *self = tnd_buckets_init(memory, &rule);
            uint32_t in_place[8] = {0}, rest = order, left = 0;
            for (uint32_t i = 0; i < rows; i++, rest /= 3) {
                while (tnd_buckets_batches(self) == tnd_buckets_ahead(self)) {
                    tnd_bucket_rows_t taken = tnd_buckets_take(self, 1);
                    in_place[taken.place]--;
                    left--;
                }
                tnd_bucket_rows_t put = tnd_buckets_put(self, lengths[rest % 3], false);
                cr_assert(lt(u32, put.place, tnd_buckets_places(&rule)));
                cr_assert(eq(u32, in_place[put.place], put.first));
                in_place[put.place]++;
                left++;
            }
            tnd_buckets_flush(self);
            for (; left > 0; left--)
                in_place[tnd_buckets_take(self, 1).place]--;
            cr_assert(eq(u32, tnd_buckets_batches(self), 0));
            for (uint32_t place = 0; place < 8; place++)
                cr_assert(eq(u32, in_place[place], 0));
        }
    free(memory);
}
