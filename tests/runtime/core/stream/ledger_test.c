/*  Covers runtime/core/stream/ledger.h. */
#include "runtime/core/stream/ledger.h"

#include "runtime/core/stream/position.h"

#include <criterion/criterion.h>

Test(ledger, every_row_read_or_added_went_somewhere_once)
{
    tnd_ledger_t ledger = {
        .read = 100, .added = 20, .fed = 90, .filtered = 15, .bad = 5, .dropped = 10};
    cr_assert(tnd_ledger_balances(&ledger));

    uint64_t *const members[] = {&ledger.read,     &ledger.added, &ledger.fed,
                                 &ledger.filtered, &ledger.bad,   &ledger.dropped};
    for (int i = 0; i < 6; i++) {
        ++*members[i];
        cr_assert_not(tnd_ledger_balances(&ledger), "member %d", i);
        --*members[i];
    }
    ledger.padded++;
    cr_assert(tnd_ledger_balances(&ledger), "padding is not a row");
}

Test(ledger, a_sum_adds_every_member)
{
    tnd_ledger_t sum = {1, 2, 3, 4, 5, 6, 7}, more = {10, 20, 30, 40, 50, 60, 70};

    tnd_ledger_add(&sum, &more);

    cr_assert(sum.read == 11 && sum.added == 22 && sum.fed == 33 && sum.filtered == 44);
    cr_assert(sum.bad == 55 && sum.dropped == 66 && sum.padded == 77);
}

Test(ledger, a_part_that_is_bad_is_one_of_an_epoch_at_least)
{
    tnd_bad_limit_t none = {0}, count = {.set = true, .count = 3};
    tnd_bad_limit_t part = {.set = true, .is_part = true, .part = 0.01};
    tnd_ledger_t ledger = {.read = 10, .fed = 6, .bad = 4};

    cr_assert_not(tnd_ledger_exceeds(&ledger, &none, 100));
    cr_assert(tnd_ledger_exceeds(&ledger, &count, 100));
    count.count = 4;
    cr_assert_not(tnd_ledger_exceeds(&ledger, &count, 100));
    cr_assert(tnd_ledger_exceeds(&ledger, &part, 100));
    cr_assert_not(tnd_ledger_exceeds(&ledger, &part, 400));
    cr_assert(tnd_ledger_exceeds(&ledger, &part, 399));
    cr_assert_not(tnd_ledger_exceeds(&ledger, &part, TND_UNKNOWN));
    ledger.read = 400;
    cr_assert_not(tnd_ledger_exceeds(&ledger, &part, 100));
}
