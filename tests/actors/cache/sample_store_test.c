/*  Covers actors/cache/sample_store.h: the rows that come out are those that went in, for samples
 *  of any number of rows, up to the limit. */
#include "actors/cache/sample_store.h"

#include "tests/actors/cache/sample_rows.h"

typedef struct {
    tnd_schema_t schema;
    tnd_block_pool_t *block_pool;
    tnd_sample_store_t *store;
} bench_t;

static void begin(bench_t *self, bool ragged, uint64_t limit)
{
    *self = (bench_t){.schema = schema_of_rows(ragged), .block_pool = tnd_block_pool_new()};
    self->store = tnd_sample_store_new(&self->schema, SAMPLES, limit);
}

static void end(bench_t *self)
{
    tnd_sample_store_destroy(&self->store);
    tnd_block_pool_destroy(&self->block_pool);
}

static bool put(bench_t *self, uint64_t sample, uint64_t number, uint32_t rows)
{
    /* They are in the middle of a block. */
    tnd_block_t *block = make_rows(self->block_pool, &self->schema, number - 1, rows + 2);
    bool stored = tnd_sample_store_put(self->store, sample, block, 1, rows);
    tnd_block_drop(&block);
    return stored;
}

static tnd_block_t *get(bench_t *self, const uint64_t *samples, uint32_t count)
{
    tnd_block_t *block = tnd_block_pool_take(self->block_pool, &self->schema);
    block->note.count = count;
    tnd_sample_store_fill(self->store, samples, count, block);
    tnd_block_seal(block);
    return block;
}

static void samples_of_any_number_of_rows(bool ragged)
{
    bench_t bench;
    begin(&bench, ragged, 1 << 20);
    cr_assert(put(&bench, 5, 100, 1));
    cr_assert(put(&bench, 9, 200, 0));
    cr_assert(put(&bench, 3, 300, 4));
    cr_assert(put(&bench, 99, 400, 60));
    for (uint64_t sample = 0; sample < SAMPLES + 2; sample++)
        cr_expect_eq(tnd_sample_store_has(bench.store, sample),
                     sample == 3 || sample == 5 || sample == 9 || sample == 99);

    tnd_block_t *block = get(&bench, (uint64_t[]){3, 9, 5, 3, 99}, 5);
    cr_assert_eq(block->note.rows, 4 + 0 + 1 + 4 + 60);
    const uint32_t first[] = {0, 4, 5, 9}, origin[] = {0, 2, 3, 4}, rows[] = {4, 1, 4, 60};
    const uint64_t number[] = {300, 100, 300, 400};
    for (uint32_t s = 0; s < 4; s++)
        for (uint32_t i = 0; i < rows[s]; i++) {
            cr_expect_eq(block->note.origin[first[s] + i], origin[s]);
            is_row(block, first[s] + i, number[s] + i);
        }
    tnd_block_drop(&block);
    end(&bench);
}

Test(sample_store, a_sample_has_any_number_of_rows)
{
    samples_of_any_number_of_rows(false);
}

Test(sample_store, a_sample_has_any_number_of_ragged_rows)
{
    samples_of_any_number_of_rows(true);
}

Test(sample_store, samples_of_one_row_need_no_list_of_origins)
{
    bench_t bench;
    begin(&bench, true, 1 << 20);
    for (uint64_t sample = 0; sample < 10; sample++)
        cr_assert(put(&bench, sample, 1000 + sample, 1));
    tnd_block_t *block = get(&bench, (uint64_t[]){7, 0, 7}, 3);
    cr_assert_null(block->note.origin);
    is_row(block, 0, 1007);
    is_row(block, 1, 1000);
    is_row(block, 2, 1007);
    tnd_block_drop(&block);
    end(&bench);
}

Test(sample_store, samples_without_rows_make_a_block_without_rows)
{
    bench_t bench;
    begin(&bench, true, 1 << 20);
    cr_assert(put(&bench, 0, 100, 0));
    cr_assert(put(&bench, 1, 100, 0));
    tnd_block_t *block = get(&bench, (uint64_t[]){0, 1}, 2);
    cr_assert_eq(block->note.rows, 0);
    cr_assert_eq(tnd_block_bytes(block), 0);
    tnd_block_drop(&block);
    end(&bench);
}

Test(sample_store, the_first_rows_of_a_sample_remain)
{
    bench_t bench;
    begin(&bench, true, 1 << 20);
    cr_assert(put(&bench, 4, 100, 2));
    uint64_t bytes = tnd_sample_store_bytes(bench.store);
    cr_assert(put(&bench, 4, 500, 3));
    cr_assert_eq(tnd_sample_store_bytes(bench.store), bytes);
    tnd_block_t *block = get(&bench, (uint64_t[]){4}, 1);
    cr_assert_eq(block->note.rows, 2);
    is_row(block, 1, 101);
    tnd_block_drop(&block);
    end(&bench);
}

Test(sample_store, what_does_not_fit_is_not_stored_and_what_is_smaller_may_be)
{
    bench_t bench;
    begin(&bench, false, 200);
    cr_assert_not(put(&bench, 0, 100, 60));
    cr_assert_eq(tnd_sample_store_bytes(bench.store), 0);
    uint64_t sample = 1;
    while (put(&bench, sample, 100 + sample, 2))
        sample++;
    cr_assert_gt(sample, 1);
    cr_assert_not(tnd_sample_store_has(bench.store, sample));
    cr_assert_leq(tnd_sample_store_bytes(bench.store), 200);
    cr_assert(put(&bench, 99, 100, 0) || tnd_sample_store_bytes(bench.store) > 190);
    for (uint64_t stored = 1; stored < sample; stored++) {
        tnd_block_t *block = get(&bench, &stored, 1);
        is_row(block, 0, 100 + stored);
        is_row(block, 1, 101 + stored);
        tnd_block_drop(&block);
    }
    end(&bench);
}

Test(sample_store, no_limit_of_bytes_is_too_small_to_work)
{
    bench_t bench;
    begin(&bench, true, 0);
    cr_assert_not(put(&bench, 0, 100, 1));
    cr_assert_not(tnd_sample_store_has(bench.store, 0));
    end(&bench);
}

Test(sample_store, as_many_samples_are_taken_as_a_budget_has_room_for)
{
    bench_t bench;
    uint64_t samples[8], ragged, sum = 0;
    begin(&bench, true, 1 << 20);
    for (uint64_t i = 0; i < 8; i++) {
        cr_assert(put(&bench, i, 100 + i, 1));
        samples[i] = i;
        sum += length_of(100 + i) * 6;
    }
    cr_assert_eq(tnd_sample_store_fit(bench.store, samples, 8, sum, &ragged), 8);
    cr_assert_eq(ragged, sum);
    cr_assert_eq(tnd_sample_store_fit(bench.store, samples, 8, sum - 1, &ragged), 7);
    cr_assert_eq(ragged, sum - length_of(107) * 6);
    /* Not even the first: its size, so that its budget can be raised. */
    cr_assert_gt(length_of(101), 0);
    cr_assert_eq(tnd_sample_store_fit(bench.store, samples + 1, 7, 1, &ragged), 0);
    cr_assert_eq(ragged, length_of(101) * 6);
    end(&bench);
}

Test(sample_store, blocks_outlive_the_store)
{
    bench_t bench;
    begin(&bench, true, 1 << 20);
    cr_assert(put(&bench, 0, 100, 3));
    tnd_block_t *block = get(&bench, (uint64_t[]){0}, 1);
    tnd_sample_store_destroy(&bench.store);
    is_row(block, 2, 102);
    tnd_block_drop(&block);
    end(&bench);
}
