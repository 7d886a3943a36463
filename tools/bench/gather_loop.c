/*  tools/bench/gather_loop.c - a loop in plain C that gathers rows of mapped files into batches. */
#include "tools/bench/gather_loop.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

enum { AHEAD = 2, LINE_BYTES = 64, THREADS_MAX = 16 };

typedef struct {
    const bench_gather_t *gather;
    const uint32_t *order;
    uint32_t first, count; /* its rows per batch */
    bench_loop_t loop;
    pthread_t thread;
} worker_t;

static void prefetch_row(const uint8_t *row, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += LINE_BYTES)
        __builtin_prefetch(row + at);
}

typedef void gather_fn(const bench_file_t *column, const uint32_t *order, uint32_t count,
                       uint8_t *to);

static void copy_stored(const bench_file_t *column, const uint32_t *order, uint32_t count,
                        uint8_t *to)
{
    memcpy(to, column->rows + order[0] * column->row_bytes, count * column->row_bytes);
}

static void gather_plain(const bench_file_t *column, const uint32_t *order, uint32_t count,
                         uint8_t *to)
{
    for (uint32_t i = 0; i < count; i++)
        memcpy(to + i * column->row_bytes, column->rows + order[i] * column->row_bytes,
               column->row_bytes);
}

static void gather_ahead(const bench_file_t *column, const uint32_t *order, uint32_t count,
                         uint8_t *to)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            prefetch_row(column->rows + order[i + AHEAD] * column->row_bytes, column->row_bytes);
        memcpy(to + i * column->row_bytes, column->rows + order[i] * column->row_bytes,
               column->row_bytes);
    }
}

static gather_fn *const loops[] = {
    [BENCH_LOOP_STORED] = copy_stored,
    [BENCH_LOOP_PLAIN] = gather_plain,
    [BENCH_LOOP_AHEAD] = gather_ahead,
};

static void *work(void *context)
{
    worker_t *self = context;
    const bench_gather_t *gather = self->gather;
    size_t rows = gather->columns[0].count / gather->batch * gather->batch;
    uint8_t *batch[BENCH_COLUMNS_MAX];
    for (uint32_t c = 0; c < gather->column_count; c++) {
        batch[c] = tnd_allocate_aligned(
            LINE_BYTES, (self->count * gather->columns[c].row_bytes / LINE_BYTES + 1) * LINE_BYTES);
    }
    for (uint32_t epoch = 0; epoch < gather->epochs; epoch++)
        for (size_t at = self->first; at < rows; at += gather->batch)
            for (uint32_t c = 0; c < gather->column_count; c++) {
                loops[self->loop](&gather->columns[c], self->order + at, self->count, batch[c]);
                __asm__ volatile("" : : "r"(batch[c]) : "memory"); /* as if it were read */
            }
    for (uint32_t c = 0; c < gather->column_count; c++)
        free(batch[c]);
    return NULL;
}

uint32_t *bench_shuffled(size_t count)
{
    uint64_t state = 1;
    uint32_t *order = tnd_allocate(count, sizeof *order);
    for (size_t i = 0; i < count; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        size_t other = (size_t)((state >> 32) * (i + 1) >> 32);
        order[i] = order[other];
        order[other] = (uint32_t)i;
    }
    return order;
}

bench_took_t bench_gather(const bench_gather_t *gather, bench_loop_t loop)
{
    worker_t workers[THREADS_MAX];
    size_t count = gather->columns[0].count, rows = count / gather->batch * gather->batch;
    uint32_t *order = bench_shuffled(count), share = gather->batch / gather->threads;
    for (size_t i = 0; loop == BENCH_LOOP_STORED && i < count; i++)
        order[i] = (uint32_t)i;
    uint64_t begun_ns = tnd_clock_now();
    double used = bench_cpu_seconds();
    for (uint32_t t = 0; t < gather->threads; t++) {
        workers[t] = (worker_t){gather, order, t * share, share, loop, 0};
        if (pthread_create(&workers[t].thread, NULL, work, &workers[t]) != 0)
            abort();
    }
    for (uint32_t t = 0; t < gather->threads; t++)
        pthread_join(workers[t].thread, NULL);
    bench_took_t took = {.seconds = (double)(tnd_clock_now() - begun_ns) * 1e-9,
                         .cpu_seconds = bench_cpu_seconds() - used,
                         .rows = (double)rows * gather->epochs};
    free(order);
    return took;
}

double bench_gather_best(const bench_gather_t *gather)
{
    bench_took_t plain = bench_gather(gather, BENCH_LOOP_PLAIN);
    bench_took_t ahead = bench_gather(gather, BENCH_LOOP_AHEAD);
    double rates[] = {plain.rows / plain.seconds, ahead.rows / ahead.seconds};
    return rates[rates[1] > rates[0]];
}
