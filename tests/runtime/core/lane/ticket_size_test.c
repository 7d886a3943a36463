/*  tests/runtime/core/lane/ticket_size_test.c - how tickets follow the time that blocks take. */
#include <criterion/criterion.h>

#include "runtime/core/lane/ticket_size.h"

static const uint64_t ms = 1000000;

/*  The rows of a ticket once so many blocks have arrived, each of which takes `block_ns` and
 *  `row_ns` for each row. */
static uint32_t settle(tnd_ticket_size_t *self, uint64_t block_ns, uint64_t row_ns, int blocks)
{
    uint32_t rows = 0;
    for (int i = 0; i < blocks; i++) {
        rows = tnd_ticket_size_rows(self, 0);
        tnd_ticket_size_learn(
            self, &(tnd_block_note_t){.count = rows, .work_ns = block_ns + rows * row_ns});
    }
    return rows;
}

static tnd_ticket_size_t new_size(void)
{
    return (tnd_ticket_size_t){.rows_max = 1024, .rows_now = 16, .block_ns = 20 * ms};
}

Test(ticket_size, rows_that_cost_the_same_each_fill_the_time)
{
    tnd_ticket_size_t self = new_size();
    cr_expect_eq(settle(&self, 0, ms / 10, 40), 200);
    self = new_size();
    cr_expect_eq(settle(&self, 0, 50 * ms, 40), 1);
    self = new_size();
    cr_expect_eq(settle(&self, 0, 10, 40), 1024);
}

Test(ticket_size, a_call_with_a_fixed_cost_is_not_made_for_fewer_and_fewer_rows)
{
    tnd_ticket_size_t self = new_size();
    cr_expect_eq(settle(&self, 50 * ms, 0, 200), 1024);
    cr_expect_eq(settle(&self, 50 * ms, 0, 9), 512); /* one of sixteen is a try */
    /* 50 ms by itself and 1 ms for each row: 200 ms, of which 150 are of rows. */
    self = new_size();
    uint32_t rows = settle(&self, 50 * ms, ms, 200);
    cr_expect(rows >= 140 && rows <= 160, "%u rows", rows);
    /* A fixed cost below half of the time is as part of the rows'. */
    self = new_size();
    rows = settle(&self, 9 * ms, ms / 10, 200);
    cr_expect(rows >= 100 && rows <= 115, "%u rows", rows);
}

Test(ticket_size, what_has_become_cheap_is_no_longer_costly)
{
    tnd_ticket_size_t self = new_size();
    (void)settle(&self, 50 * ms, 0, 100);
    uint32_t rows = settle(&self, 0, ms / 10, 100);
    cr_expect(rows >= 190 && rows <= 210, "%u rows", rows);
}

static void learn(tnd_ticket_size_t *size, uint32_t count, uint64_t bytes, uint64_t ns)
{
    tnd_block_note_t block = {.count = count, .asked = 10, .ragged = bytes, .work_ns = ns};
    tnd_ticket_size_learn(size, &block);
}

Test(ticket_size, asks_for_as_many_positions_as_usually_fit)
{
    tnd_ticket_size_t size = {.rows_max = 1000, .budget = 8000};
    cr_assert_eq(tnd_ticket_size_rows(&size, 0), 1000, "nothing is known yet");
    cr_assert_eq(tnd_ticket_size_rows(&size, 2016), 984, "to the next multiple");
    for (int i = 0; i < 50; i++)
        learn(&size, 100, 100 * 70, 0);
    cr_assert_eq(tnd_ticket_size_rows(&size, 0), 100, "an eighth of the budget is left");
    learn(&size, 0, 1 << 30, 0);
    cr_assert_geq(tnd_ticket_size_rows(&size, 0), 3, "a row above the budget counts as the budget");
    for (int i = 0; i < 40; i++)
        learn(&size, 10, 10 * 70, 0);
    cr_assert_geq(tnd_ticket_size_rows(&size, 0), 90, "and is forgotten");
    for (int i = 0; i < 50; i++)
        learn(&size, 0, 1 << 30, 0);
    cr_assert_eq(tnd_ticket_size_rows(&size, 0), 1);
}

Test(ticket_size, asks_for_as_many_positions_as_take_the_time_of_a_block)
{
    tnd_ticket_size_t size = {.rows_max = 1000, .block_ns = 5000};
    learn(&size, 10, 0, 1000);
    cr_assert_eq(tnd_ticket_size_rows(&size, 0), 50);
    learn(&size, 1, 0, 1000000);
    cr_assert_eq(tnd_ticket_size_rows(&size, 0), 1);
}

Test(ticket_size, grows_from_small_blocks_to_large_ones)
{
    tnd_ticket_size_t size = {.rows_max = 1000, .rows_now = 16};
    static const uint32_t expected[] = {16, 64, 256, 1000, 1000};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        cr_assert_eq(tnd_ticket_size_rows(&size, 0), expected[i], "block %zu", i);
        learn(&size, expected[i], 0, 0);
        learn(&size, 3, 0, 0); /* the last one of an epoch */
    }
}
