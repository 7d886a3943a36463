/*  tests/runtime/core/host/wish_test.c - when a leader is told what a host wants. */
#include "runtime/core/host/wish.h"

#include <criterion/criterion.h>

Test(wish, is_told_once_by_each_connection)
{
    tnd_wish_t self = {0};
    cr_assert_not(tnd_wish_is_due(&self, false, true), "nothing is wanted");
    cr_assert_not(tnd_wish_is_due(&self, true, false), "the leader is away");
    cr_assert(tnd_wish_is_due(&self, true, true));
    cr_assert_not(tnd_wish_is_due(&self, true, true));
    tnd_wish_repeat(&self);
    cr_assert_not(tnd_wish_is_due(&self, true, false));
    cr_assert(tnd_wish_is_due(&self, true, true));
}
