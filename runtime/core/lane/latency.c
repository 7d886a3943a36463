/*  runtime/core/lane/latency.c - how long answers take: a histogram that forgets.  */
#include "runtime/core/lane/latency.h"

#include <assert.h>

enum { LEAST_BIT = 16, PARTS = 8, PART_BITS = 3, REMEMBERED = 2048 };

static uint32_t class_of(uint64_t ns)
{
    if (ns < 1u << LEAST_BIT)
        return 0;
    uint32_t bit = 63u - (uint32_t)__builtin_clzll(ns);
    uint32_t part = (uint32_t)(ns >> (bit - PART_BITS)) & (PARTS - 1);
    uint32_t found = (bit - LEAST_BIT) * PARTS + part;
    return found < TND_LATENCY_CLASSES ? found : TND_LATENCY_CLASSES - 1;
}

/*  Where the class ends. */
static uint64_t end_of(uint32_t number)
{
    return (uint64_t)(PARTS + number % PARTS + 1) << (LEAST_BIT - PART_BITS + number / PARTS);
}

void tnd_latency_add(tnd_latency_t *self, uint64_t ns)
{
    self->count[class_of(ns)]++;
    if (++self->all < REMEMBERED)
        return;
    self->all = 0;
    for (uint32_t i = 0; i < TND_LATENCY_CLASSES; i++)
        self->all += self->count[i] /= 2;
}

uint64_t tnd_latency_quantile(const tnd_latency_t *self, uint32_t percent)
{
    assert(percent <= 100);
    uint64_t below = 0;
    for (uint32_t i = 0; i < TND_LATENCY_CLASSES; i++) {
        below += self->count[i];
        if (self->count[i] > 0 && below * 100 >= (uint64_t)self->all * percent)
            return end_of(i);
    }
    return 0;
}
