/*  Covers runtime/core/order/account.h. */
#include "runtime/core/order/account.h"

#include <signal.h>

#include <criterion/criterion.h>

Test(account, nothing_is_taken_beyond_the_budget)
{
    tnd_account_t account;
    tnd_account_init(&account, 100);

    cr_assert(tnd_account_reserve(&account, 60));
    cr_assert_not(tnd_account_reserve(&account, 41));
    cr_assert_eq(account.used, 60);
    cr_assert_not(tnd_account_reserve(&account, UINT64_MAX), "the sum must not wrap");
    cr_assert(tnd_account_reserve(&account, 40));
    cr_assert_eq(account.used, 100);
}

Test(account, a_reservation_shrinks_and_ends)
{
    tnd_account_t account;
    tnd_account_init(&account, 100);
    cr_assert(tnd_account_reserve(&account, 80));

    tnd_account_shrink(&account, 80, 30);
    cr_assert_eq(account.used, 30);
    cr_assert(tnd_account_reserve(&account, 70));
    tnd_account_release(&account, 30);
    tnd_account_release(&account, 70);

    cr_assert_eq(account.used, 0);
    cr_assert_eq(account.peak, 100);
}

Test(account, giving_back_more_than_was_taken_is_a_broken_promise, .signal = SIGABRT)
{
    tnd_account_t account;
    tnd_account_init(&account, 100);
    tnd_account_release(&account, 1);
}
