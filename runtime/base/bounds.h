/*  runtime/base/bounds.h - the least and the most of two numbers, and places in a sorted array.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_BASE_BOUNDS_H
#define TND_RUNTIME_BASE_BOUNDS_H

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

#endif
