/*  tools/bench/bench.h - shared by the benchmarks: clock, median, and the line that they print. */
#ifndef TND_TOOLS_BENCH_BENCH_H
#define TND_TOOLS_BENCH_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"

static inline int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/*  The command line `[--smoke | RUNS]`. */
typedef struct {
    bool smoke;
    int runs; /* 1 with --smoke, otherwise at most `most` */
} bench_wish_t;

static inline bench_wish_t bench_wish(int argc, char **argv, int most)
{
    bool smoke = argc > 1 && strcmp(argv[1], "--smoke") == 0;
    int runs = smoke ? 1 : argc > 1 ? atoi(argv[1]) : most;
    return (bench_wish_t){smoke, runs < 1 || runs > most ? most : runs};
}

/*  Sorts `values`. */
static inline double bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, bench_compare);
    return values[count / 2];
}

/*  The cost of some rows: wall time, and processor time of all threads of this process. */
typedef struct {
    double seconds, cpu_seconds, rows;
} bench_took_t;

/*  Processor seconds of all threads of this process. */
static inline double bench_cpu_seconds(void)
{
    return (double)tnd_clock_read(CLOCK_PROCESS_CPUTIME_ID) * 1e-9;
}

/*  Seconds of a memcpy of so many bytes, the median of five. */
static inline double bench_copy_seconds(size_t bytes)
{
    double took[5];
    char *from = malloc(bytes), *to = malloc(bytes);
    if (from == NULL || to == NULL)
        exit(1);
    memset(from, 1, bytes);
    memset(to, 2, bytes);
    for (int i = 0; i < 5; i++) {
        uint64_t begin = tnd_clock_now();
        memcpy(to, from, bytes);
        __asm__ volatile("" : : "r"(to) : "memory");
        took[i] = (double)(tnd_clock_now() - begin) * 1e-9;
    }
    free(from);
    free(to);
    return bench_median(took, 5);
}

/*  One line of JSON; `bound` was measured in the same run. */
static inline void bench_print(const char *bench, double value, double bound, double ratio,
                               double goal, bool met)
{
    printf("{\"bench\":\"%s\",\"value\":%.6g,\"bound\":%.6g,\"ratio\":%.4g,\"goal\":%.6g,"
           "\"met\":%s}\n",
           bench, value, bound, ratio, goal, met ? "true" : "false");
}

/*  Prints a figure without a goal of its own. */
static inline void bench_show(const char *bench, double value, double bound, double ratio)
{
    printf("{\"bench\":\"%s\",\"value\":%.6g,\"bound\":%.6g,\"ratio\":%.4g,\"goal\":null,"
           "\"met\":null}\n",
           bench, value, bound, ratio);
}

enum { BENCH_PAIRS_MOST = 16 };

typedef struct {
    double values[BENCH_PAIRS_MOST], bounds[BENCH_PAIRS_MOST];
} bench_pairs_t;

/*  Evaluates both expressions, in an order that changes from pair to pair. */
#define BENCH_PAIR(pairs, i, value, bound)                                                         \
    do {                                                                                           \
        if ((i) % 2 == 0)                                                                          \
            (pairs)->bounds[i] = (bound);                                                          \
        (pairs)->values[i] = (value);                                                              \
        if ((i) % 2 != 0)                                                                          \
            (pairs)->bounds[i] = (bound);                                                          \
    } while (0)

/*  The line of the medians; goal 0: there is none. */
static inline void bench_print_pairs(const char *bench, bench_pairs_t *pairs, int count,
                                     double goal)
{
    double ratios[BENCH_PAIRS_MOST];
    for (int i = 0; i < count; i++)
        ratios[i] = pairs->values[i] / pairs->bounds[i];
    double value = bench_median(pairs->values, (size_t)count);
    double bound = bench_median(pairs->bounds, (size_t)count);
    double ratio = bench_median(ratios, (size_t)count);
    if (goal > 0)
        bench_print(bench, value, bound, ratio, goal, ratio >= goal);
    else
        bench_show(bench, value, bound, ratio);
}

#endif
