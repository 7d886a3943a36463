/*  tests/gpu/plain_gather.c - copies rows with memcpy(), and batches with the driver. */
#include "tests/gpu/plain_gather.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"

enum { DEPTH_MOST = 8, THREADS_MOST = 16, WARM_UP = 20 };

typedef struct {
    const gpu_gather_t *chosen;
    uint32_t *order; /* of the rows */
    uint8_t *stages[DEPTH_MOST];
    size_t batches;
    pthread_barrier_t begin, end; /* of a batch */
} work_t;

typedef struct {
    work_t *work;
    unsigned number;
    pthread_t thread;
} helper_t;

static uint32_t *order_of(const gpu_gather_t *chosen)
{
    uint64_t random = 1;
    uint32_t *order = malloc(chosen->count * sizeof *order);
    for (uint32_t i = 0; i < chosen->count; i++)
        order[i] = i;
    for (uint32_t i = (uint32_t)chosen->count - 1; i > 0 && chosen->shuffled; i--) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint32_t other = (uint32_t)((random >> 33) % (i + 1)), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    return order;
}

/*  The share of one thread. */
static void copy_rows(const work_t *work, size_t batch, unsigned number)
{
    const gpu_gather_t *chosen = work->chosen;
    size_t first = chosen->size * number / chosen->threads;
    size_t end = chosen->size * (number + 1) / chosen->threads, bytes = chosen->row_bytes;
    uint8_t *stage = work->stages[batch % chosen->depth];
    for (size_t i = first; i < end; i++)
        memcpy(stage + i * bytes,
               chosen->rows + work->order[(batch * chosen->size + i) % chosen->count] * bytes,
               bytes);
}

static void *help(void *context)
{
    const helper_t *helper = context;
    work_t *work = helper->work;
    for (size_t batch = 0; batch < work->batches; batch++) {
        pthread_barrier_wait(&work->begin);
        copy_rows(work, batch, helper->number);
        pthread_barrier_wait(&work->end);
    }
    return NULL;
}

/*  Nanoseconds after WARM_UP batches. */
static uint64_t run(const gpu_t *self, work_t *work)
{
    const gpu_gather_t *chosen = work->chosen;
    size_t bytes = chosen->size * chosen->row_bytes;
    CUdeviceptr there = gpu_allocate(self, bytes);
    CUevent copied[DEPTH_MOST];
    uint64_t begun = 0;
    for (unsigned i = 0; i < chosen->depth; i++)
        GPU_CALL(self, cuEventCreate, &copied[i], CU_EVENT_DISABLE_TIMING);
    for (size_t batch = 0; batch < work->batches; batch++) {
        unsigned stage = batch % chosen->depth;
        if (batch == WARM_UP)
            begun = tnd_clock_now();
        while (self->driver->cuEventQuery(copied[stage]) != CUDA_SUCCESS)
            sched_yield();
        pthread_barrier_wait(&work->begin);
        copy_rows(work, batch, 0);
        pthread_barrier_wait(&work->end);
        GPU_CALL(self, cuMemcpyHtoDAsync_v2, there, work->stages[stage], bytes, self->stream);
        GPU_CALL(self, cuEventRecord, copied[stage], self->stream);
    }
    gpu_wait(self);
    uint64_t took = tnd_clock_now() - begun;
    for (unsigned i = 0; i < chosen->depth; i++)
        GPU_CALL(self, cuEventDestroy_v2, copied[i]);
    GPU_CALL(self, cuMemFree_v2, there);
    return took;
}

double gpu_gather_rate(const gpu_t *self, const gpu_gather_t *chosen, size_t batches)
{
    helper_t helpers[THREADS_MOST];
    size_t bytes = chosen->size * chosen->row_bytes;
    work_t work = {.chosen = chosen, .order = order_of(chosen), .batches = batches + WARM_UP};
    gpu_must_do(chosen->depth <= DEPTH_MOST && chosen->threads <= THREADS_MOST, "too many");
    for (unsigned i = 0; i < chosen->depth; i++)
        work.stages[i] = gpu_allocate_host(self, bytes, 0);
    pthread_barrier_init(&work.begin, NULL, chosen->threads);
    pthread_barrier_init(&work.end, NULL, chosen->threads);
    for (unsigned i = 1; i < chosen->threads; i++) {
        helpers[i] = (helper_t){.work = &work, .number = i};
        gpu_must_do(pthread_create(&helpers[i].thread, NULL, help, &helpers[i]) == 0, "no thread");
    }
    uint64_t took = run(self, &work);
    for (unsigned i = 1; i < chosen->threads; i++)
        pthread_join(helpers[i].thread, NULL);
    pthread_barrier_destroy(&work.begin);
    pthread_barrier_destroy(&work.end);
    for (unsigned i = 0; i < chosen->depth; i++)
        GPU_CALL(self, cuMemFreeHost, work.stages[i]);
    free(work.order);
    return (double)bytes * (double)batches / (double)took;
}
