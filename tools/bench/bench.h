/*  tools/bench/bench.h - what the benchmarks share: the clock, the median, the line they print. */
#ifndef TND_TOOLS_BENCH_BENCH_H
#define TND_TOOLS_BENCH_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t bench_now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static inline int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/*  Sorts `values`. */
static inline double bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, bench_compare);
    return values[count / 2];
}

/*  One line of JSON; `bound` was measured in the same run. */
static inline void bench_print(const char *bench, double value, double bound, double ratio,
                               double goal, bool met)
{
    printf("{\"bench\":\"%s\",\"value\":%.6g,\"bound\":%.6g,\"ratio\":%.4g,\"goal\":%.6g,"
           "\"met\":%s}\n",
           bench, value, bound, ratio, goal, met ? "true" : "false");
}

#endif
