/*  transport/device/cpu_reduction.c - reductions on a processor: at once, where the values are. */
#include "transport/device/cpu_reduction.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/bounds.h"
#include "runtime/interface/device.h"

enum { ALIGN = 64 };

static tnd_status_t cpu_queue(tnd_device_t *self, size_t scratch, tnd_device_queue_t *queue,
                              tnd_error_t *error)
{
    (void)self, (void)scratch, (void)error;
    *queue = (tnd_device_queue_t){.stream = 0};
    return TND_OK;
}

static void cpu_close(tnd_device_t *self, tnd_device_queue_t *queue)
{
    (void)self, (void)queue;
}

static tnd_status_t cpu_allocate(tnd_device_t *self, size_t host_bytes, size_t device_bytes,
                                 tnd_device_area_t *area, tnd_error_t *error)
{
    size_t bytes = host_bytes > device_bytes ? host_bytes : device_bytes;
    void *memory = aligned_alloc(ALIGN, tnd_round_up(bytes > 0 ? bytes : 1, ALIGN));
    if (memory == NULL)
        return tnd_fail(error, "cpu:%" PRIu32 ": cannot allocate %zu bytes for a reduction",
                        self->ordinal, bytes);
    *area = (tnd_device_area_t){memory, memory, bytes, bytes, NULL};
    return TND_OK;
}

static void cpu_release(tnd_device_t *self, tnd_device_area_t *area)
{
    (void)self;
    free(area->host);
    *area = (tnd_device_area_t){.host = NULL};
}

/*  It cannot be told: all memory is the host's. */
static tnd_status_t cpu_holds(tnd_device_t *self, const void *memory, size_t bytes,
                              tnd_error_t *error)
{
    (void)self, (void)memory, (void)bytes, (void)error;
    return TND_OK;
}

static tnd_status_t cpu_order(tnd_device_t *self, const tnd_device_queue_t *queue, uintptr_t stream,
                              tnd_error_t *error)
{
    (void)self, (void)queue, (void)stream, (void)error;
    return TND_OK;
}

static tnd_status_t cpu_copy(tnd_device_t *self, const tnd_device_queue_t *queue, void *to,
                             const void *from, size_t bytes, tnd_error_t *error)
{
    (void)self, (void)queue, (void)error;
    if (bytes > 0 && to != from)
        memcpy(to, from, bytes);
    return TND_OK;
}

tnd_status_t tnd_cpu_reduce(tnd_device_t *self, const tnd_device_queue_t *queue,
                            const tnd_reduction_tree_job_t *job, bool root, size_t begin,
                            size_t count, void *out, tnd_error_t *error)
{
    tnd_dtype_t dtype = root ? job->dtype : tnd_reduction_tree_partial_dtype(job->dtype);
    char *first = (char *)out - begin * tnd_dtype_size(dtype);
    (void)self, (void)queue, (void)error;
    if (root)
        tnd_reduction_tree_root(job, begin, begin + count, first);
    else
        tnd_reduction_tree_partial(job, begin, begin + count, first);
    return TND_OK;
}

static tnd_status_t cpu_mark(tnd_device_t *self, const tnd_device_queue_t *queue, uint32_t number,
                             tnd_error_t *error)
{
    (void)self, (void)queue, (void)number, (void)error;
    return TND_OK;
}

const tnd_device_reduction_t tnd_cpu_reduction = {
    .open = cpu_queue,
    .close = cpu_close,
    .allocate = cpu_allocate,
    .release = cpu_release,
    .holds = cpu_holds,
    .follow = cpu_order,
    .precede = cpu_order,
    .copy_out = cpu_copy,
    .copy_in = cpu_copy,
    .reduce = tnd_cpu_reduce,
    .mark = cpu_mark,
    .reached = cpu_mark,
};
