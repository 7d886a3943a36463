/*  transport/device/sim_reduction.c - reductions on a simulated device: work in its streams. */
#include "transport/device/sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"
#include "transport/device/cpu_reduction.h"

enum { ALIGN = 64 };

/*  `own` of a queue. */
typedef struct {
    uint64_t marks[TND_QUEUE_MARKS]; /* the work before each */
} sim_queue_t;

typedef struct {
    void *to;
    const void *from;
    size_t bytes;
} copy_t;

typedef struct {
    tnd_reduction_tree_job_t job;
    bool root;
    size_t begin, count;
    void *out;
    tnd_reduction_tree_input_t inputs[];
} sum_t;

static tnd_status_t sim_open(tnd_device_t *device, size_t scratch, tnd_device_queue_t *queue,
                             tnd_error_t *error)
{
    (void)scratch, (void)error;
    *queue = (tnd_device_queue_t){.stream = tnd_sim_stream_open(device),
                                  .own = tnd_allocate_zeroed(1, sizeof(sim_queue_t))};
    return TND_OK;
}

static void sim_close(tnd_device_t *device, tnd_device_queue_t *queue)
{
    tnd_sim_drain(device, queue->stream);
    tnd_sim_stream_close(device, queue->stream);
    free(queue->own);
    *queue = (tnd_device_queue_t){.own = NULL};
}

static tnd_status_t sim_allocate(tnd_device_t *device, size_t host_bytes, size_t device_bytes,
                                 tnd_device_area_t *area, tnd_error_t *error)
{
    TND_TRY(tnd_sim_take(device, device_bytes, "a reduction", error));
    *area = (tnd_device_area_t){
        .host = tnd_allocate_aligned(ALIGN, tnd_round_up(host_bytes + 1, ALIGN)),
        .device = tnd_allocate_aligned(ALIGN, tnd_round_up(device_bytes + 1, ALIGN)),
        .host_bytes = host_bytes,
        .device_bytes = device_bytes};
    return TND_OK;
}

static void sim_release(tnd_device_t *device, tnd_device_area_t *area)
{
    tnd_sim_give(device, area->device_bytes);
    free(area->host);
    free(area->device);
    *area = (tnd_device_area_t){.host = NULL};
}

static tnd_status_t sim_follow(tnd_device_t *device, const tnd_device_queue_t *queue,
                               tnd_stream_handle_t stream, tnd_error_t *error)
{
    (void)error;
    tnd_sim_follow(device, queue->stream, stream);
    return TND_OK;
}

static tnd_status_t sim_precede(tnd_device_t *device, const tnd_device_queue_t *queue,
                                tnd_stream_handle_t stream, tnd_error_t *error)
{
    (void)error;
    tnd_sim_follow(device, stream, queue->stream);
    return TND_OK;
}

static void copy_now(void *context)
{
    const copy_t *copy = context;
    memcpy(copy->to, copy->from, copy->bytes);
}

static tnd_status_t sim_copy(tnd_device_t *device, const tnd_device_queue_t *queue, void *to,
                             const void *from, size_t bytes, tnd_error_t *error)
{
    copy_t *copy = tnd_allocate(1, sizeof *copy);
    (void)error;
    *copy = (copy_t){to, from, bytes};
    tnd_sim_call(device, queue->stream, tnd_sim_link_ns(device, bytes), copy_now, copy);
    return TND_OK;
}

static void sum_now(void *context)
{
    const sum_t *sum = context;
    (void)tnd_cpu_reduce(NULL, NULL, &sum->job, sum->root, sum->begin, sum->count, sum->out, NULL);
}

static tnd_status_t sim_reduce(tnd_device_t *device, const tnd_device_queue_t *queue,
                               const tnd_reduction_tree_job_t *job, bool root, size_t begin,
                               size_t count, void *out, tnd_error_t *error)
{
    size_t inputs = job->input_count * sizeof *job->inputs;
    sum_t *sum = tnd_allocate(1, sizeof *sum + inputs);
    (void)error;
    *sum = (sum_t){.job = *job, .root = root, .begin = begin, .count = count, .out = out};
    sum->job.inputs = memcpy(sum->inputs, job->inputs, inputs);
    tnd_sim_call(device, queue->stream, 0, sum_now, sum);
    return TND_OK;
}

static tnd_status_t sim_mark(tnd_device_t *device, const tnd_device_queue_t *queue, uint32_t number,
                             tnd_error_t *error)
{
    (void)error;
    ((sim_queue_t *)queue->own)->marks[number] = tnd_sim_put(device, queue->stream);
    return TND_OK;
}

static tnd_status_t sim_reached(tnd_device_t *device, const tnd_device_queue_t *queue,
                                uint32_t number, tnd_error_t *error)
{
    return tnd_sim_done(device, queue->stream, ((const sim_queue_t *)queue->own)->marks[number],
                        error);
}

/*  Its memory is the host's, so it cannot tell. */
static tnd_status_t sim_holds(tnd_device_t *device, const void *memory, size_t bytes,
                              tnd_error_t *error)
{
    (void)device, (void)memory, (void)bytes, (void)error;
    return TND_OK;
}

const tnd_device_reduction_t tnd_sim_reduction = {
    .open = sim_open,
    .close = sim_close,
    .allocate = sim_allocate,
    .release = sim_release,
    .holds = sim_holds,
    .follow = sim_follow,
    .precede = sim_precede,
    .copy_out = sim_copy,
    .copy_in = sim_copy,
    .reduce = sim_reduce,
    .mark = sim_mark,
    .reached = sim_reached,
};
