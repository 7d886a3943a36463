/*  Covers actors/cache/mixed_block.h: rows of two blocks in the order of their positions, with bad
 *  positions, budgets, and rows that both have. */
#include "actors/cache/mixed_block.h"

#include "tests/actors/cache/sample_rows.h"

typedef struct {
    tnd_schema_t schema;
    tnd_block_pool_t *blocks;
    tnd_pool_t *lists;
    tnd_mixed_parts_t parts;
} bench_t;

/*  Stored are rows from 100 on, one of each position in `held`; made are rows from 200 on. */
static void begin(bench_t *self, bool ragged, const uint32_t *held, uint32_t held_count,
                  uint32_t made_rows)
{
    *self = (bench_t){.schema = schema_of_rows(ragged), .blocks = tnd_block_pool_new()};
    self->parts =
        (tnd_mixed_parts_t){.stored = make_rows(self->blocks, &self->schema, 100, held_count),
                            .made = make_rows(self->blocks, &self->schema, 200, made_rows),
                            .held = held,
                            .held_count = held_count};
}

static tnd_block_t *mix(bench_t *self, uint64_t *stored_p)
{
    tnd_block_t *block = tnd_mixed_block(self->blocks, &self->lists, &self->parts, stored_p);
    tnd_block_seal(block);
    /* The block needs neither of the two any more. */
    tnd_block_drop(&self->parts.stored);
    tnd_block_drop(&self->parts.made);
    return block;
}

static void end(bench_t *self, tnd_block_t *block)
{
    tnd_block_drop(&block);
    tnd_pool_destroy(&self->lists);
    tnd_block_pool_destroy(&self->blocks);
}

static void rows_come_in_order(bool ragged)
{
    static const uint32_t held[] = {0, 3, 5}, origin[] = {1, 2, 4};
    static const uint64_t numbers[] = {100, 200, 201, 101, 202, 102};
    bench_t bench;
    uint64_t stored;
    begin(&bench, ragged, held, 3, 3);
    bench.parts.made->note.count = 6;
    bench.parts.made->note.origin = origin;
    tnd_block_t *block = mix(&bench, &stored);
    cr_assert_eq(stored, 3);
    cr_assert(block->note.rows == 6 && block->note.count == 6);
    cr_assert_null(block->note.origin);
    for (uint32_t row = 0; row < 6; row++)
        is_row(block, row, numbers[row]);
    cr_assert_eq(block->note.bytes, tnd_block_bytes(block));
    end(&bench, block);
}

Test(mixed_block, rows_come_in_the_order_of_their_positions)
{
    rows_come_in_order(false);
}

Test(mixed_block, ragged_rows_come_in_the_order_of_their_positions)
{
    rows_come_in_order(true);
}

Test(mixed_block, bad_positions_and_several_rows_of_one_are_told)
{
    static const uint32_t held[] = {2}, origin[] = {1, 1, 3}, bad[] = {0};
    static const uint32_t expected[] = {1, 1, 2, 3};
    static const char why[] = "1prep\tnot a picture";
    bench_t bench;
    uint64_t stored;
    begin(&bench, false, held, 1, 3);
    tnd_block_note_t *note = &bench.parts.made->note;
    note->count = 4;
    note->origin = origin;
    note->bad = bad;
    note->bad_count = 1;
    note->why = why;
    note->why_bytes = sizeof why;
    tnd_block_t *block = mix(&bench, &stored);
    cr_assert_eq(block->note.rows, 4);
    cr_assert_eq(memcmp(block->note.origin, expected, sizeof expected), 0);
    cr_assert(block->note.bad_count == 1 && block->note.bad[0] == 0);
    cr_assert_eq(block->note.why_bytes, sizeof why);
    cr_assert_str_eq(block->note.why, why);
    end(&bench, block);
}

/*  The block was asked for when nothing was stored yet. */
Test(mixed_block, a_position_that_both_have_comes_once)
{
    static const uint32_t held[] = {1};
    static const uint64_t numbers[] = {200, 100, 202};
    bench_t bench;
    uint64_t stored;
    begin(&bench, true, held, 1, 3);
    bench.parts.made->note.count = 3;
    tnd_block_t *block = mix(&bench, &stored);
    cr_assert_eq(block->note.rows, 3);
    cr_assert_eq(stored, 1);
    for (uint32_t row = 0; row < 3; row++)
        is_row(block, row, numbers[row]);
    end(&bench, block);
}

/*  A row has length_of(number) words of 6 bytes: rows 100, 200 and 101 have 4, 0 and 1. */
static void ends_at_the_budget(uint64_t budget, uint32_t positions, uint64_t ragged)
{
    static const uint32_t held[] = {0, 2}, origin[] = {1};
    bench_t bench;
    uint64_t stored;
    begin(&bench, true, held, 2, 1);
    bench.parts.made->note.count = 3;
    bench.parts.made->note.origin = origin;
    bench.parts.budget = budget;
    tnd_block_t *block = mix(&bench, &stored);
    cr_expect_eq(block->note.count, positions);
    cr_expect_eq(block->note.rows, positions);
    cr_expect_eq(block->note.ragged, ragged);
    end(&bench, block);
}

Test(mixed_block, it_ends_before_the_position_that_does_not_fit_the_budget)
{
    ends_at_the_budget(30, 3, 30);
    ends_at_the_budget(29, 2, 24);
    ends_at_the_budget(24, 2, 24);
    ends_at_the_budget(23, 0, 24); /* what the first one takes */
}
