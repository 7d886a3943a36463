/*  runtime/base/round_up.h - sizes that are multiples of an alignment.  Threads: any. */
#ifndef TND_RUNTIME_BASE_ROUND_UP_H
#define TND_RUNTIME_BASE_ROUND_UP_H

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

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
