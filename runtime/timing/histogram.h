/*  runtime/timing/histogram.h - how long something takes, as counts in shared memory.
 *
 *  Eight classes per doubling, from 1 us to 17 minutes, so a quantile is at most an eighth too
 *  large.  Durations below 1,024 ns share the first class, and longer ones the last.  Counts only
 *  grow: the difference of two copies is the histogram of the time between them.
 *
 *  Each word is a single atomic.  Zeroed memory is empty.
 *
 *  Threads: one writer, any readers.  Units: nanoseconds. */
#ifndef TND_RUNTIME_TIMING_HISTOGRAM_H
#define TND_RUNTIME_TIMING_HISTOGRAM_H

#include <stdbool.h>

#include "runtime/timing/counter.h"

enum { TND_HISTOGRAM_CLASSES = 240, TND_HISTOGRAM_LEAST_BIT = 10, TND_HISTOGRAM_PART_BITS = 3 };

typedef struct {
    _Atomic uint64_t sum_ns, most_ns;
    _Atomic uint64_t counts[TND_HISTOGRAM_CLASSES];
} tnd_histogram_t;

static inline unsigned tnd_histogram_class(uint64_t ns)
{
    if (ns >> TND_HISTOGRAM_LEAST_BIT == 0)
        return 0;
    unsigned bit = 63u - (unsigned)__builtin_clzll(ns);
    unsigned part =
        (unsigned)(ns >> (bit - TND_HISTOGRAM_PART_BITS)) & ((1u << TND_HISTOGRAM_PART_BITS) - 1);
    unsigned found = 1 + ((bit - TND_HISTOGRAM_LEAST_BIT) << TND_HISTOGRAM_PART_BITS) + part;
    return found < TND_HISTOGRAM_CLASSES ? found : TND_HISTOGRAM_CLASSES - 1;
}

/*  Adds a duration. */
static inline void tnd_histogram_add(tnd_histogram_t *self, uint64_t ns)
{
    tnd_count(&self->counts[tnd_histogram_class(ns)], 1);
    tnd_count(&self->sum_ns, ns);
    if (ns > atomic_load_explicit(&self->most_ns, memory_order_relaxed))
        atomic_store_explicit(&self->most_ns, ns, memory_order_relaxed);
}

/*  Where a class ends: its durations are below. */
uint64_t tnd_histogram_end(unsigned number);
/*  How many durations there are. */
uint64_t tnd_histogram_count(const tnd_histogram_t *self);
/*  The duration that `share` (0 to 1) of them do not exceed, at most an eighth too large; 0 if there
 *  are none.  Never more than the longest one. */
uint64_t tnd_histogram_quantile(const tnd_histogram_t *self, double share);

#endif
