/*  tools/bench/gather_loop.h - a loop in plain C that gathers rows of mapped files into batches.
 *
 *  It uses a permutation made beforehand, a memcpy per row and column, and one batch per thread. */
#ifndef TND_TOOLS_BENCH_GATHER_LOOP_H
#define TND_TOOLS_BENCH_GATHER_LOOP_H

#include "tools/bench/bench.h"
#include "tools/bench/sample_file.h"

enum { BENCH_COLUMNS_MAX = 4 };

typedef struct {
    const bench_file_t *columns; /* of equal counts */
    uint32_t column_count;
    uint32_t batch;   /* rows, of all threads together */
    uint32_t threads; /* each takes its part of every batch */
    uint32_t epochs;
} bench_gather_t;

typedef enum {
    BENCH_LOOP_STORED, /* in the order of the file, a batch of a column at once */
    BENCH_LOOP_PLAIN,  /* shuffled, row by row */
    BENCH_LOOP_AHEAD   /* shuffled, with a prefetch of the row after the next */
} bench_loop_t;

/*  The numbers below `count` in a random order, by Fisher and Yates; the caller frees them. */
uint32_t *bench_shuffled(size_t count);

bench_took_t bench_gather(const bench_gather_t *gather, bench_loop_t loop);
/*  Rows per second of the faster of both shuffled loops. */
double bench_gather_best(const bench_gather_t *gather);

#endif
