/*  Covers runtime/core/parameters/deals.h: what a join does with the rows of a step. */
#include "runtime/core/parameters/deals.h"

#include <string.h>

#include <criterion/criterion.h>

enum { WINDOW = 4 };

static tnd_deals_t deals;
static tnd_deal_t memory[WINDOW];

static void begin(void)
{
    memset(memory, 0, sizeof memory);
    tnd_deals_init(&deals, memory, WINDOW);
}

TestSuite(deals, .init = begin);

static void heard(uint32_t generation, uint64_t step, uint32_t replica, tnd_life_t life)
{
    tnd_deals_heard(
        &deals,
        &(tnd_deal_t){.step = step, .generation = generation, .replica = replica, .life = life});
}

/*  The replica that gets the step; -1: none, -2: that is not known. */
static int find(uint64_t step)
{
    tnd_deal_t deal;
    if (!tnd_deals_find(&deals, step, &deal))
        return -2;
    cr_expect_eq(deal.step, step);
    return deal.replica == TND_NOBODY ? -1 : (int)deal.replica;
}

Test(deals, nothing_is_known_before_the_first_rewind)
{
    cr_expect_eq(find(0), -2);
    heard(1, 0, 3, 10);
    cr_expect_eq(find(0), -2);
    tnd_deals_rewind(&deals, 1); /* the holder heard of it first */
    cr_expect_eq(find(0), 3);
    cr_expect_eq(find(1), -2);
    cr_expect_eq(find(WINDOW), -2);
}

Test(deals, a_rewind_waits_for_what_the_holder_says_of_it)
{
    tnd_deals_rewind(&deals, 1);
    heard(1, 0, 3, 10);
    heard(1, 1, TND_NOBODY, 0);
    cr_expect_eq(find(0), 3);
    cr_expect_eq(find(1), -1);
    tnd_deals_rewind(&deals, 2);
    cr_expect_eq(find(0), -2);
    heard(1, 0, 3, 10); /* it was on its way */
    cr_expect_eq(find(0), -2);
    heard(2, 0, 2, 20);
    cr_expect_eq(find(0), 2);
}

/*  The holder deals step 4 only if step 0 is booked. */
Test(deals, a_step_that_is_booked_goes_to_none)
{
    tnd_deals_rewind(&deals, 1);
    for (uint64_t s = 0; s < WINDOW; s++)
        heard(1, s, 0, 10);
    cr_expect_eq(find(0), 0);
    heard(1, WINDOW, 1, 11);
    cr_expect_eq(find(0), -1);
    cr_expect_eq(find(1), 0);
    cr_expect_eq(find(WINDOW), 1);
    cr_expect_eq(find(2 * WINDOW), -2);
}

Test(deals, rows_go_to_the_life_that_the_step_was_dealt_to)
{
    tnd_deal_t deal = {.replica = 1, .life = 10};
    cr_expect_eq(tnd_deals_verdict(&deal, 0, false), TND_DEALS_WAIT);
    cr_expect_eq(tnd_deals_verdict(&deal, 9, true), TND_DEALS_WAIT); /* it will be replaced */
    cr_expect_eq(tnd_deals_verdict(&deal, 10, false), TND_DEALS_WAIT);
    cr_expect_eq(tnd_deals_verdict(&deal, 10, true), TND_DEALS_SEND);
    cr_expect_eq(tnd_deals_verdict(&deal, 11, true), TND_DEALS_PASS);
    cr_expect_eq(tnd_deals_verdict(&deal, 11, false), TND_DEALS_PASS);
    deal.replica = TND_NOBODY;
    cr_expect_eq(tnd_deals_verdict(&deal, 0, false), TND_DEALS_PASS);
}
