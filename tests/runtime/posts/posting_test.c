/*  tests/runtime/posts/posting_test.c - shares of replicas, and what may follow in one tensor. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#include "runtime/posts/posting.h"

Test(posting, shares_of_replicas_follow_one_another_and_divide_no_unit)
{
    static const size_t counts[] = {0, 1, 7, 8, 1001};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
        for (uint32_t unit = 1; unit <= 8; unit *= 2)
            for (uint32_t replicas = 1; replicas <= 16; replicas++) {
                const tnd_posting_t posting = {.count = counts[c] * unit, .unit = unit};
                size_t at = 0, begin, end;
                for (uint32_t r = 0; r < replicas; r++) {
                    tnd_posting_share(&posting, replicas, r, &begin, &end);
                    cr_assert(eq(sz, begin, at));
                    cr_assert(eq(sz, begin, counts[c] * r / replicas * unit));
                    at = end;
                }
                cr_assert(eq(sz, at, posting.count));
            }
}

Test(posting, arrays_of_shares_fit_and_follow_only_their_like)
{
    const tnd_posting_t sum = {.reduce = TND_SUM, .dtype = TND_U8, .count = 8};
    tnd_posting_t out = sum, in = sum, words = sum;
    out.sharing = TND_SHARE_OUT;
    out.unit = 1;
    in.sharing = words.sharing = TND_SHARE_IN;
    in.unit = 1;
    words.unit = 4;
    cr_assert(tnd_posting_fits(&sum, &out) == false);
    cr_assert(tnd_posting_fits(&out, &in) == false);
    cr_assert(tnd_posting_fits(&in, &in) && !tnd_posting_fits(&in, &words));
    cr_assert(tnd_posting_follows(&out, &out) && !tnd_posting_follows(&out, &sum));
    cr_assert(tnd_posting_follows(&in, &in) == false, "each has the shares of all replicas");
}

Test(posting, operations_are_named_as_users_write_them)
{
    char text[TND_OPERATION_TEXT];
    cr_assert(strcmp(tnd_operation_text(TND_MEAN, 0, TND_SHARE_NONE, text), "mean") == 0);
    cr_assert(strcmp(tnd_operation_text(TND_SUM, 3, TND_SHARE_NONE, text),
                     "broadcast from replica 2") == 0);
    cr_assert(strcmp(tnd_operation_text(TND_MEAN, 0, TND_SHARE_OUT, text), "scatter of the mean") ==
              0);
    cr_assert(strcmp(tnd_operation_text(TND_SUM, 0, TND_SHARE_IN, text), "gather into") == 0);
}
