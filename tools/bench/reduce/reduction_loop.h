/*  tools/bench/reduce/reduction_loop.h - the bound of reductions: plain loops that read and write all arrays.
 *
 *  Threads: one calls; the loops run on two of their own. */
#ifndef TND_TOOLS_BENCH_REDUCE_REDUCTION_LOOP_H
#define TND_TOOLS_BENCH_REDUCE_REDUCTION_LOOP_H

#include <stdbool.h>
#include <stddef.h>

/*  Writes the sum or mean of 2, 4 or 8 arrays of f32, or of bf16, to all of them. */
void bench_reduction_loop(void *const *arrays, unsigned count, size_t elements, bool mean,
                          bool bf16);

#endif
