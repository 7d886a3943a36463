/*  Covers runtime/notes/fed_streams.h: the second time of a stream is told of, once. */
#include "runtime/notes/fed_streams.h"

#include <criterion/criterion.h>

static bool repeats(uint64_t low, uint64_t high)
{
    return tnd_fed_streams_repeat(&(tnd_digest_t){low, high});
}

Test(fed_streams, the_second_time_is_a_repetition_and_the_third_is_known)
{
    cr_assert_not(repeats(1, 2));
    cr_assert_not(repeats(2, 1));
    cr_assert(repeats(1, 2));
    cr_assert_not(repeats(1, 2));
    cr_assert(repeats(2, 1));
}

Test(fed_streams, the_last_ones_are_kept)
{
    for (uint64_t i = 0; i <= TND_FED_STREAMS_KEPT; i++)
        cr_assert_not(repeats(i, 7));
    cr_assert(repeats(1, 7));
    cr_assert(repeats(TND_FED_STREAMS_KEPT, 7));
    cr_assert_not(repeats(0, 7), "the first one was forgotten");
}
