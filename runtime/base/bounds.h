/*  runtime/base/bounds.h - the least and the most of two numbers, the next multiple or power of two, and
 *  places in a sorted array.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_BASE_BOUNDS_H
#define TND_RUNTIME_BASE_BOUNDS_H

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

static inline uint64_t tnd_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t tnd_most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/*  Sets `at` to the first of the places [from, to) for which `before`, an expression of `at`, is
 *  false; `to`: there is none, and `from` if that is not less.  It is true for all places before
 *  that one and false from there on. */
#define TND_LOWER_BOUND(at, from, to, before)                                                      \
    do {                                                                                           \
        __typeof__(at) low_ = (from), high_ = (to);                                                \
        while ((at) = low_ < high_ ? low_ + (high_ - low_) / 2 : low_, low_ < high_)               \
            if (before)                                                                            \
                low_ = (at) + 1;                                                                   \
            else                                                                                   \
                high_ = (at);                                                                      \
    } while (0)

/*  The least multiple that is not less. */
static inline size_t tnd_round_up(size_t bytes, size_t multiple)
{
    return (bytes + multiple - 1) / multiple * multiple;
}

/*  Rounds up to the alignment that suits every type. */
static inline size_t tnd_align(size_t bytes)
{
    return tnd_round_up(bytes, alignof(max_align_t));
}

/*  The least power of two that is not less. */
static inline uint64_t tnd_power_of_two(uint64_t at_least)
{
    uint64_t power = 1;
    while (power < at_least)
        power *= 2;
    return power;
}

#endif
