/*  runtime/timing/counter.h - a number in shared memory that one thread changes.
 *
 *  Threads: one writer, any readers. */
#ifndef TND_RUNTIME_TIMING_COUNTER_H
#define TND_RUNTIME_TIMING_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

/*  Adds to a counter of the calling thread: a plain load and store. */
static inline void tnd_count(_Atomic uint64_t *counter, uint64_t more)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
                          memory_order_relaxed);
}

#endif
