/*  tests/runtime/posts/reduction_share_test.c - shares cover every element once. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "runtime/posts/reduction_share.h"

Test(reduction_share, shares_follow_one_another_and_begin_on_cache_lines)
{
    static const size_t counts[] = {0, 1, 15, 16, 17, 1000, 101770};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
        for (uint32_t parts = 1; parts <= 5; parts++) {
            size_t at = 0, begin, end;
            for (uint32_t part = 0; part < parts; part++) {
                tnd_reduction_share(counts[c], 4, part, parts, &begin, &end);
                cr_assert(eq(sz, begin, at));
                cr_assert(begin % 16 == 0 || begin == counts[c]);
                at = end;
            }
            cr_assert(eq(sz, at, counts[c]));
        }
}

Test(reduction_share, leaves_the_sum_in_every_replica)
{
    enum { COUNT = 5000 };
    static int32_t values[3][COUNT];
    tnd_reduction_tree_input_t inputs[3];
    void *outs[3];
    for (uint32_t r = 0; r < 3; r++) {
        for (int32_t i = 0; i < COUNT; i++)
            values[r][i] = i * (int32_t)(r + 1);
        inputs[r] = (tnd_reduction_tree_input_t){{r, 1}, values[r], 1, false, 0};
        outs[r] = values[r];
    }
    tnd_posting_t posting = {
        .reduce = TND_SUM, .dtype = TND_I32, .count = COUNT, .data = values[0], .rows = 1};
    tnd_reduction_parts_t parts = {
        .replicas = 3, .inputs = inputs, .input_count = 3, .outs = outs, .out_count = 3};
    tnd_reduction_compute(&posting, &parts, 0, COUNT);
    for (uint32_t r = 0; r < 3; r++)
        for (int32_t i = 0; i < COUNT; i++)
            cr_assert(eq(i32, values[r][i], 6 * i));
}
