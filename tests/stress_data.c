/*  tests/stress_data.c - buffers, blocks and slices handed from thread to thread: nothing is lost,
 *  nothing is changed on the way, and what pools allocate stays bounded.  A plain program, so that
 *  it runs under every sanitizer. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/protocol/effect.h"
#include "runtime/data/block.h"

enum { CONSUMERS = 3, RING = 16, SLICES = 3000, PIECES = 4, ROWS = 32, ROW_BYTES = 24 };

/*  One slot per message; its flag names the owner. */
typedef struct {
    _Atomic(tnd_slice_t *) slots[RING];
} ring_t;

typedef struct {
    ring_t rings[CONSUMERS];
    tnd_schema_t schema;
    atomic_uint bad;
} stress_t;

typedef struct {
    stress_t *stress;
    int consumer;
} job_t;

static uint8_t byte_of(uint64_t block, uint32_t row)
{
    return (uint8_t)(block * 31 + row * 7 + 1);
}

static void push(ring_t *ring, uint64_t at, tnd_slice_t *slice)
{
    while (atomic_load_explicit(&ring->slots[at % RING], memory_order_acquire) != NULL)
        sched_yield();
    /* Relaxed on purpose: the seals alone must make the content visible. */
    atomic_store_explicit(&ring->slots[at % RING], slice, memory_order_relaxed);
}

static tnd_slice_t *pull(ring_t *ring, uint64_t at)
{
    tnd_slice_t *slice;
    while ((slice = atomic_exchange_explicit(&ring->slots[at % RING], NULL,
                                             memory_order_relaxed)) == NULL)
        sched_yield();
    return slice;
}

static tnd_block_t *make_block(stress_t *stress, tnd_block_pool_t *block_pool, tnd_pool_t *pool,
                               uint64_t id)
{
    tnd_block_t *block = tnd_block_pool_take(block_pool, &stress->schema);
    tnd_buffer_t *buffer = tnd_pool_take(pool);
    uint8_t *data = tnd_buffer_data(buffer);
    for (uint32_t row = 0; row < ROWS; row++)
        memset(data + row * ROW_BYTES, byte_of(id, row), ROW_BYTES);
    tnd_buffer_seal(buffer);
    block->note.first = id;
    block->note.rows = ROWS;
    block->columns[0] = (tnd_block_column_t){.base = data, .stride = ROW_BYTES, .buffer = buffer};
    tnd_block_seal(block);
    return block;
}

static void check_slice(stress_t *stress, const tnd_slice_t *slice)
{
    uint8_t rows[ROWS * ROW_BYTES];
    for (uint32_t i = 0; i < slice->piece_count; i++) {
        const tnd_block_t *block = slice->pieces[i].block;
        assert(tnd_block_sealed(block));
        uint32_t first = slice->pieces[i].first, count = slice->pieces[i].rows;
        size_t bytes = tnd_block_copy(block, 0, first, count, rows);
        for (size_t at = 0; at < bytes; at++)
            if (rows[at] != byte_of(block->note.first, first + (uint32_t)(at / ROW_BYTES)))
                atomic_fetch_add(&stress->bad, 1);
    }
}

static void *consume(void *argument)
{
    job_t *job = argument;
    for (uint64_t at = 0; at < SLICES; at++) {
        tnd_slice_t *slice = pull(&job->stress->rings[job->consumer], at);
        if (!tnd_slice_sealed(slice) || slice->note.step != at)
            atomic_fetch_add(&job->stress->bad, 1);
        check_slice(job->stress, slice);
        tnd_slice_drop(&slice);
    }
    return NULL;
}

/*  Every consumer gets slices over the same blocks, so that the last drop races. */
static void produce(stress_t *stress, tnd_block_pool_t *block_pool, tnd_pool_t *pool)
{
    for (uint64_t at = 0; at < SLICES; at++) {
        tnd_piece_t pieces[PIECES];
        for (uint32_t i = 0; i < PIECES; i++)
            pieces[i] =
                (tnd_piece_t){.payload = make_block(stress, block_pool, pool, at * PIECES + i),
                              .first = i,
                              .rows = ROWS - i};
        for (int consumer = 0; consumer < CONSUMERS; consumer++) {
            tnd_slice_note_t note = {.step = at};
            push(&stress->rings[consumer], at,
                 tnd_block_pool_slice(block_pool, &stress->schema, &note, pieces, PIECES));
        }
        for (uint32_t i = 0; i < PIECES; i++) {
            tnd_block_t *block = pieces[i].payload;
            tnd_block_drop(&block);
        }
    }
}

int main(void)
{
    static stress_t stress;
    tnd_error_t error;
    uint64_t shape[] = {ROW_BYTES};
    if (tnd_schema_add(&stress.schema, "x", TND_U8, 1, shape, &error) != TND_OK)
        return fprintf(stderr, "%s\n", error.text), 1;
    tnd_block_pool_t *block_pool = tnd_block_pool_new();
    tnd_pool_t *pool = tnd_pool_new(ROWS * ROW_BYTES);
    pthread_t threads[CONSUMERS];
    job_t jobs[CONSUMERS];
    for (int i = 0; i < CONSUMERS; i++) {
        jobs[i] = (job_t){&stress, i};
        int failed = pthread_create(&threads[i], NULL, consume, &jobs[i]);
        assert(failed == 0);
    }
    produce(&stress, block_pool, pool);
    size_t total = tnd_pool_total(pool), most = (RING + 3) * PIECES;
    tnd_pool_destroy(&pool); /* buffers are still out: the last drops free it */
    tnd_block_pool_destroy(&block_pool);
    for (int i = 0; i < CONSUMERS; i++)
        pthread_join(threads[i], NULL);
    printf("%d slices to %d consumers: %u bad, %zu buffers (at most %zu)\n", SLICES, CONSUMERS,
           atomic_load(&stress.bad), total, most);
    return atomic_load(&stress.bad) == 0 && total <= most ? 0 : 1;
}
