/*  transport/device/cuda.c - NVIDIA's devices, through the driver of the machine.
 *
 *  A device has four streams.  Rows are copied in one and cast in another, so that the next copy does
 *  not wait for a kernel; rows that are cast are first copied to a raw area of their stage.  The
 *  third is that of the steps, the fourth for what happens before the start. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"
#include "runtime/base/clock.h"
#include "transport/cuda/cuda_casts.h"
#include "transport/cuda/cuda_devices.h"
#include "transport/cuda/cuda_reductions.h"
#include "transport/cuda/cuda_stage.h"

extern const tnd_device_ops_t tnd_device_cuda;

typedef struct {
    tnd_device_t base;
    tnd_cuda_context_t context;
    CUstream copies, casts, steps, setup;
    tnd_cuda_memory_t memory;
    tnd_cuda_casts_t ready;
    pthread_mutex_t loading; /* guards the loading of ... */
    tnd_cuda_reductions_t reductions;
    tnd_device_facts_t facts; /* as of the opening */
    tnd_cuda_clock_t clock;
    double worked_ns;  /* by the clock: work is counted until then */
    _Atomic bool lost; /* work did not end: what it may use is not freed */
    _Atomic uint64_t bytes_moved, link_ns, work_ns, worked_until_ns;
} cuda_t;

static cuda_t *of(tnd_device_t *device)
{
    return (cuda_t *)device;
}

/* --- open and close --------------------------------------------------------------------------- */

static uint32_t cuda_count(char *why, size_t room)
{
    tnd_error_t error;
    uint32_t count = 0;
    if (tnd_cuda_devices_count(&count, &error) != TND_OK)
        snprintf(why, room, "%s", error.text);
    return count;
}

/*  Casts are short, and the next step waits for them, so they go before the kernels of this step. */
static const int urgent = -1;

/*  In the context, which takes some of the device's memory itself. */
static tnd_status_t set_up(cuda_t *self, tnd_error_t *error)
{
    size_t unused, all;
    CUstream *const streams[] = {&self->copies, &self->casts, &self->steps, &self->setup};
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++)
        TND_TRY(TND_CUDA(&self->context, error, cuStreamCreateWithPriority, streams[i],
                         CU_STREAM_NON_BLOCKING, streams[i] == &self->casts ? urgent : 0));
    TND_TRY(tnd_cuda_clock_open(&self->clock, &self->context, self->setup, error));
    TND_TRY(TND_CUDA(&self->context, error, cuMemGetInfo_v2, &unused, &all));
    self->facts.memory_free = unused < self->facts.memory ? unused : self->facts.memory;
    return TND_OK;
}

static void free_streams(cuda_t *self)
{
    CUstream const streams[] = {self->copies, self->casts, self->steps, self->setup};
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++)
        if (streams[i] != NULL)
            (void)TND_CUDA(&self->context, NULL, cuStreamDestroy_v2, streams[i]);
}

static void cuda_close(tnd_device_t **self_p)
{
    cuda_t *self = of(*self_p);
    bool lost = atomic_load(&self->lost);
    bool entered =
        !lost && self->context.context != NULL && tnd_cuda_context_enter_to_release(&self->context);
    tnd_cuda_casts_free(&self->ready, &self->context, entered);
    if (entered)
        tnd_cuda_reductions_unload(&self->reductions, &self->context);
    pthread_mutex_destroy(&self->loading);
    tnd_cuda_memory_fini(&self->memory);
    tnd_cuda_clock_close(&self->clock, &self->context, entered);
    if (entered)
        free_streams(self);
    tnd_cuda_context_leave_released(&self->context, entered);
    tnd_cuda_context_close(&self->context, lost);
    free(self);
    *self_p = NULL;
}

static tnd_status_t start(cuda_t *self, tnd_error_t *error)
{
    tnd_error_t why;
    TND_TRY(tnd_cuda_context_open(&self->context, self->base.ordinal, error));
    if (tnd_cuda_devices_describe(self->base.ordinal, &self->facts, &why) != TND_OK)
        return tnd_fail(error, "%s: %s", self->context.name, why.text);
    TND_TRY(tnd_cuda_context_enter(&self->context, error));
    return tnd_cuda_context_leave(&self->context, set_up(self, error), error);
}

static tnd_status_t cuda_open(tnd_device_t **self_p, uint32_t ordinal,
                              const tnd_device_config_t *config, tnd_error_t *error)
{
    (void)config;
    cuda_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->base = (tnd_device_t){.ops = &tnd_device_cuda, .ordinal = ordinal};
    tnd_cuda_memory_init(&self->memory);
    pthread_mutex_init(&self->loading, NULL);
    *self_p = &self->base;
    tnd_status_t status = start(self, error);
    if (status != TND_OK)
        cuda_close(self_p);
    return status;
}

static void cuda_facts(tnd_device_t *device, tnd_device_facts_t *facts)
{
    cuda_t *self = of(device);
    *facts = self->facts;
    facts->bytes_moved = atomic_load_explicit(&self->bytes_moved, memory_order_relaxed);
    facts->link_ns = atomic_load_explicit(&self->link_ns, memory_order_relaxed);
    facts->work_ns = atomic_load_explicit(&self->work_ns, memory_order_relaxed);
    facts->worked_until_ns = atomic_load_explicit(&self->worked_until_ns, memory_order_relaxed);
    for (size_t i = 0; i < TND_DEVICE_CALL_KINDS; i++)
        facts->calls[i] = atomic_load_explicit(&self->context.calls[i], memory_order_relaxed);
}

/* --- before the start ------------------------------------------------------------------------- */

static tnd_status_t cuda_prepare(tnd_device_t *device, const tnd_row_cast_t *cast,
                                 tnd_error_t *error)
{
    cuda_t *self = of(device);
    TND_TRY(tnd_cuda_context_enter(&self->context, error));
    tnd_status_t status =
        tnd_cuda_casts_add(&self->ready, &self->context, self->setup, cast, error);
    return tnd_cuda_context_leave(&self->context, status, error);
}

/*  All pages of the host's side are present, whatever `warm` says: page-locked memory has no others. */
static tnd_status_t cuda_stage(tnd_device_t *device, size_t host_bytes, size_t device_bytes,
                               size_t warm, tnd_stage_t *stage, tnd_error_t *error)
{
    cuda_t *self = of(device);
    (void)warm;
    *stage = (tnd_stage_t){.host_bytes = host_bytes, .device_bytes = device_bytes};
    TND_TRY(tnd_cuda_context_enter(&self->context, error));
    tnd_status_t status =
        tnd_cuda_stage_make(stage, &self->memory, &self->clock, &self->context, self->setup,
                            self->facts.numa_node, self->ready.count > 0, error);
    return tnd_cuda_context_leave(&self->context, status, error);
}

static void cuda_unstage(tnd_device_t *device, tnd_stage_t *stage)
{
    cuda_t *self = of(device);
    bool entered = tnd_cuda_context_enter_to_release(&self->context);
    if (!tnd_cuda_stage_free(stage, &self->context))
        atomic_store(&self->lost, true);
    tnd_cuda_context_leave_released(&self->context, entered);
}

/* --- uploads ---------------------------------------------------------------------------------- */

/*  Copies take turns on the link. */
static void count_link(cuda_t *self, const tnd_cuda_stage_t *own)
{
    tnd_cuda_span_t span;
    if (tnd_cuda_stage_copied(own, &self->context, &span) && span.end_ns > span.begin_ns)
        atomic_fetch_add_explicit(&self->link_ns, (uint64_t)(span.end_ns - span.begin_ns),
                                  memory_order_relaxed);
}

/*  Streams may work on several stages at a time. */
static void count_work(cuda_t *self, tnd_cuda_stage_t *own)
{
    tnd_cuda_span_t span;
    if (!tnd_cuda_stage_worked(own, &self->context, &span))
        return;
    double begin = span.begin_ns > self->worked_ns ? span.begin_ns : self->worked_ns;
    if (span.end_ns > begin) {
        atomic_fetch_add_explicit(&self->work_ns, (uint64_t)(span.end_ns - begin),
                                  memory_order_relaxed);
        self->worked_ns = span.end_ns;
    }
    atomic_store_explicit(&self->worked_until_ns, tnd_clock_now(), memory_order_relaxed);
}

static uint64_t bytes_of(const tnd_stage_piece_t *piece)
{
    return piece->rows * piece->row_bytes;
}

static bool is_in(const tnd_stage_t *stage, const tnd_stage_piece_t *piece)
{
    const char *host = stage->host, *from = piece->from;
    return from >= host && from < host + stage->host_bytes;
}

/*  Whether a piece follows another on both sides, with nothing but the alignment between them. */
static bool follows(const tnd_stage_t *stage, const tnd_stage_piece_t *piece,
                    const tnd_stage_piece_t *next)
{
    size_t end = piece->to + bytes_of(piece);
    return next->cast == NULL && is_in(stage, piece) && is_in(stage, next) && next->to >= end &&
           next->to - end < TND_STAGE_ALIGN &&
           (const char *)next->from - (const char *)piece->from ==
               (ptrdiff_t)(next->to - piece->to);
}

/*  Columns that are beside each other are copied together: a copy costs some microseconds. */
static tnd_status_t copy_plain(cuda_t *self, const tnd_stage_t *stage,
                               const tnd_stage_piece_t *pieces, size_t count, tnd_error_t *error)
{
    for (size_t i = 0; i < count;) {
        const tnd_stage_piece_t *first = &pieces[i++], *last = first;
        if (first->cast != NULL || bytes_of(first) == 0)
            continue;
        while (i < count && follows(stage, last, &pieces[i]))
            last = &pieces[i++];
        size_t bytes = last->to + bytes_of(last) - first->to;
        assert(first->to + bytes <= stage->device_bytes);
        TND_TRY(TND_CUDA(&self->context, error, cuMemcpyHtoDAsync_v2,
                         tnd_cuda_stage_side(stage) + first->to, first->from, bytes, self->copies));
    }
    return TND_OK;
}

typedef tnd_status_t (*visit_t)(cuda_t *self, const tnd_stage_t *stage,
                                const tnd_stage_piece_t *piece, CUdeviceptr raw,
                                tnd_error_t *error);

/*  Visits the pieces that are cast, each with its place in the raw area. */
static tnd_status_t each_cast(cuda_t *self, const tnd_stage_t *stage,
                              const tnd_stage_piece_t *pieces, size_t count, visit_t visit,
                              tnd_error_t *error)
{
    const tnd_cuda_stage_t *own = stage->own;
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (pieces[i].cast == NULL || pieces[i].rows == 0)
            continue;
        assert(own->raw != 0 && at + bytes_of(&pieces[i]) <= own->raw_bytes);
        TND_TRY(visit(self, stage, &pieces[i], own->raw + at, error));
        at = tnd_round_up(at + bytes_of(&pieces[i]), TND_STAGE_ALIGN);
    }
    return TND_OK;
}

static tnd_status_t copy_raw(cuda_t *self, const tnd_stage_t *stage, const tnd_stage_piece_t *piece,
                             CUdeviceptr raw, tnd_error_t *error)
{
    (void)stage;
    return TND_CUDA(&self->context, error, cuMemcpyHtoDAsync_v2, raw, piece->from, bytes_of(piece),
                    self->copies);
}

static tnd_status_t cast_raw(cuda_t *self, const tnd_stage_t *stage, const tnd_stage_piece_t *piece,
                             CUdeviceptr raw, tnd_error_t *error)
{
    const tnd_row_cast_t *cast = piece->cast;
    assert(piece->to + piece->rows * cast->elements * tnd_dtype_size(cast->to) <=
           stage->device_bytes);
    return tnd_cuda_casts_launch(&self->ready, &self->context, self->casts, cast,
                                 tnd_cuda_stage_side(stage) + piece->to, raw, piece->rows, error);
}

static bool casts_any(const tnd_stage_piece_t *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (pieces[i].cast != NULL && pieces[i].rows > 0)
            return true;
    return false;
}

/*  Puts the upload into the streams; `done` of the stage is recorded after it. */
static tnd_status_t put(cuda_t *self, const tnd_stage_t *stage, const tnd_stage_piece_t *pieces,
                        size_t count, tnd_error_t *error)
{
    tnd_cuda_stage_t *own = stage->own;
    tnd_cuda_context_t *context = &self->context;
    own->casts = casts_any(pieces, count);
    TND_TRY(tnd_cuda_stage_wait_for_readers(own, context, self->copies, error));
    TND_TRY(TND_CUDA(context, error, cuEventRecord, own->began, self->copies));
    TND_TRY(copy_plain(self, stage, pieces, count, error));
    if (!own->casts)
        return TND_CUDA(context, error, cuEventRecord, own->done, self->copies);
    TND_TRY(each_cast(self, stage, pieces, count, copy_raw, error));
    TND_TRY(TND_CUDA(context, error, cuEventRecord, own->landed, self->copies));
    TND_TRY(TND_CUDA(context, error, cuStreamWaitEvent, self->casts, own->landed, 0));
    TND_TRY(each_cast(self, stage, pieces, count, cast_raw, error));
    return TND_CUDA(context, error, cuEventRecord, own->done, self->casts);
}

/*  After a failure the caller may free what the copies that were started read. */
static void settle(cuda_t *self)
{
    bool entered = tnd_cuda_context_enter_to_release(&self->context);
    if (!tnd_cuda_context_drain_stream(&self->context, self->copies) ||
        !tnd_cuda_context_drain_stream(&self->context, self->casts))
        atomic_store(&self->lost, true);
    tnd_cuda_context_leave_released(&self->context, entered);
}

static tnd_status_t cuda_upload(tnd_device_t *device, tnd_stage_t *stage,
                                const tnd_stage_piece_t *pieces, size_t count, tnd_error_t *error)
{
    cuda_t *self = of(device);
    tnd_cuda_stage_t *own = stage->own;
    TND_TRY(tnd_cuda_context_enter(&self->context, error));
    tnd_status_t status = put(self, stage, pieces, count, error);
    own->under_way = status == TND_OK;
    for (size_t i = 0; i < count; i++)
        atomic_fetch_add_explicit(&self->bytes_moved, bytes_of(&pieces[i]), memory_order_relaxed);
    status = tnd_cuda_context_leave(&self->context, status, error);
    if (status != TND_OK)
        settle(self);
    return status;
}

/*  Counts the work of readers when all have ended it. */
static tnd_status_t ask_readers(cuda_t *self, tnd_cuda_stage_t *own, tnd_error_t *error)
{
    tnd_status_t status = tnd_cuda_stage_ask_readers(own, &self->context, error);
    if (status == TND_OK)
        count_work(self, own);
    return status;
}

/*  All readers before an upload that is complete have ended their work. */
static tnd_status_t end_readers(cuda_t *self, tnd_cuda_stage_t *own, tnd_error_t *error)
{
    tnd_status_t status = ask_readers(self, own, error);
    tnd_cuda_stage_forget_work(own);
    return status == TND_FAILED ? status : TND_OK;
}

static tnd_status_t cuda_uploaded(tnd_device_t *device, tnd_stage_t *stage, tnd_error_t *error)
{
    cuda_t *self = of(device);
    tnd_cuda_stage_t *own = stage->own;
    if (!own->under_way && !atomic_load(&self->context.failed))
        return TND_OK;
    TND_TRY(tnd_cuda_context_enter(&self->context, error));
    tnd_status_t status = TND_CUDA(&self->context, error, cuEventQuery, own->done);
    if (status == TND_OK) {
        own->under_way = false;
        count_link(self, own);
        status = end_readers(self, own, error);
    }
    return tnd_cuda_context_leave(&self->context, status, error);
}

/* --- streams ---------------------------------------------------------------------------------- */

static CUstream stream_of(tnd_stream_handle_t handle)
{
    return (CUstream)handle; // NOLINT: it was one
}

static tnd_stream_handle_t cuda_stream(tnd_device_t *device)
{
    return (tnd_stream_handle_t)of(device)->steps;
}

static tnd_status_t cuda_await(tnd_device_t *device, tnd_stage_t *stage, tnd_stream_handle_t stream,
                               tnd_error_t *error)
{
    cuda_t *self = of(device);
    TND_TRY(tnd_cuda_context_enter(&self->context, error));
    tnd_status_t status =
        tnd_cuda_stage_await(stage->own, &self->context, stream_of(stream), error);
    return tnd_cuda_context_leave(&self->context, status, error);
}

/*  The handle of a default stream of each thread means that of the calling one, which need not be the
 *  reader's; the legacy stream follows them all. */
static tnd_status_t cuda_mark(tnd_device_t *device, tnd_stage_t *stage, tnd_stream_handle_t stream,
                              tnd_error_t *error)
{
    enum { LEGACY = 1, OF_THE_THREAD = 2 };
    cuda_t *self = of(device);
    CUstream marked = stream_of(stream == OF_THE_THREAD ? LEGACY : stream);
    TND_TRY(tnd_cuda_context_enter(&self->context, error));
    tnd_status_t status = tnd_cuda_stage_mark(stage->own, &self->context, marked, error);
    return tnd_cuda_context_leave(&self->context, status, error);
}

static tnd_status_t cuda_finished(tnd_device_t *device, tnd_stage_t *stage, tnd_error_t *error)
{
    cuda_t *self = of(device);
    TND_TRY(tnd_cuda_context_enter(&self->context, error));
    tnd_status_t status = ask_readers(self, stage->own, error);
    return tnd_cuda_context_leave(&self->context, status, error);
}

/* --- reductions ------------------------------------------------------------------------------- */

static const tnd_cuda_queue_t *queue_of(const tnd_device_queue_t *queue)
{
    return queue->own;
}

static tnd_status_t load_and_open(cuda_t *self, tnd_cuda_queue_t *own, size_t scratch,
                                  tnd_error_t *error)
{
    pthread_mutex_lock(&self->loading);
    tnd_status_t status = tnd_cuda_reductions_load(&self->reductions, &self->context, error);
    pthread_mutex_unlock(&self->loading);
    return status == TND_OK
               ? tnd_cuda_queue_open(own, &self->reductions, &self->context, scratch, error)
               : status;
}

static void queue_close(tnd_device_t *device, tnd_device_queue_t *queue)
{
    cuda_t *self = of(device);
    tnd_cuda_queue_t *own = queue->own;
    bool entered = tnd_cuda_context_enter_to_release(&self->context);
    if (own->context != NULL && !tnd_cuda_queue_close(own))
        atomic_store(&self->lost, true);
    tnd_cuda_context_leave_released(&self->context, entered);
    free(own);
    *queue = (tnd_device_queue_t){.own = NULL};
}

static tnd_status_t queue_open(tnd_device_t *device, size_t scratch, tnd_device_queue_t *queue,
                               tnd_error_t *error)
{
    cuda_t *self = of(device);
    tnd_cuda_queue_t *own = tnd_allocate_zeroed(1, sizeof *own);
    *queue = (tnd_device_queue_t){.own = own};
    tnd_status_t status = tnd_cuda_context_enter(&self->context, error);
    if (status == TND_OK)
        status =
            tnd_cuda_context_leave(&self->context, load_and_open(self, own, scratch, error), error);
    if (status != TND_OK)
        queue_close(device, queue);
    else
        queue->stream = (tnd_stream_handle_t)own->stream;
    return status;
}

/*  Both sides of an area are a part of the memory of stages. */
static tnd_status_t area_allocate(tnd_device_t *device, size_t host_bytes, size_t device_bytes,
                                  tnd_device_area_t *area, tnd_error_t *error)
{
    cuda_t *self = of(device);
    tnd_cuda_memory_part_t *part = tnd_allocate_zeroed(1, sizeof *part);
    const tnd_cuda_memory_size_t size = {host_bytes, device_bytes, 0};
    *area = (tnd_device_area_t){.host_bytes = host_bytes, .device_bytes = device_bytes};
    area->own = part;
    tnd_status_t status = tnd_cuda_context_enter(&self->context, error);
    if (status == TND_OK)
        status =
            tnd_cuda_context_leave(&self->context,
                                   tnd_cuda_memory_take(&self->memory, &self->context, self->setup,
                                                        self->facts.numa_node, &size, part, error),
                                   error);
    area->host = part->host;
    area->device = (void *)(uintptr_t)part->device; // NOLINT: an address of the device
    if (status != TND_OK)
        device->ops->reduction->release(device, area);
    return status;
}

static void area_release(tnd_device_t *device, tnd_device_area_t *area)
{
    cuda_t *self = of(device);
    const tnd_cuda_memory_part_t *part = area->own;
    bool entered = tnd_cuda_context_enter_to_release(&self->context);
    if (part->block != NULL && !atomic_load(&self->lost))
        tnd_cuda_memory_give(&self->memory, &self->context, part);
    tnd_cuda_context_leave_released(&self->context, entered);
    free(area->own);
    *area = (tnd_device_area_t){.own = NULL};
}

/*  Defines a call that works in the context. */
#define IN_CONTEXT(call)                                                                           \
    cuda_t *self = of(device);                                                                     \
    TND_TRY(tnd_cuda_context_enter(&self->context, error));                                        \
    return tnd_cuda_context_leave(&self->context, call, error)

static tnd_status_t memory_holds(tnd_device_t *device, const void *memory, size_t bytes,
                                 tnd_error_t *error)
{
    IN_CONTEXT(bytes == 0 ? TND_OK : tnd_cuda_memory_check(&self->context, memory, bytes, error));
}

static tnd_status_t queue_follow(tnd_device_t *device, const tnd_device_queue_t *queue,
                                 tnd_stream_handle_t stream, tnd_error_t *error)
{
    IN_CONTEXT(tnd_cuda_queue_follow(queue_of(queue), stream_of(stream), error));
}

static tnd_status_t queue_precede(tnd_device_t *device, const tnd_device_queue_t *queue,
                                  tnd_stream_handle_t stream, tnd_error_t *error)
{
    IN_CONTEXT(tnd_cuda_queue_precede(queue_of(queue), stream_of(stream), error));
}

static tnd_status_t queue_copy_out(tnd_device_t *device, const tnd_device_queue_t *queue,
                                   void *host, const void *from, size_t bytes, tnd_error_t *error)
{
    IN_CONTEXT(TND_CUDA(&self->context, error, cuMemcpyDtoHAsync_v2, host,
                        (CUdeviceptr)(uintptr_t)from, bytes, queue_of(queue)->stream));
}

static tnd_status_t queue_copy_in(tnd_device_t *device, const tnd_device_queue_t *queue, void *to,
                                  const void *host, size_t bytes, tnd_error_t *error)
{
    IN_CONTEXT(TND_CUDA(&self->context, error, cuMemcpyHtoDAsync_v2, (CUdeviceptr)(uintptr_t)to,
                        host, bytes, queue_of(queue)->stream));
}

static tnd_status_t queue_reduce(tnd_device_t *device, const tnd_device_queue_t *queue,
                                 const tnd_reduction_tree_job_t *job, bool root, size_t begin,
                                 size_t count, void *out, tnd_error_t *error)
{
    IN_CONTEXT(tnd_cuda_queue_reduce(queue_of(queue), job, root, begin, count, out, error));
}

static tnd_status_t queue_mark(tnd_device_t *device, const tnd_device_queue_t *queue,
                               uint32_t number, tnd_error_t *error)
{
    const tnd_cuda_queue_t *own = queue_of(queue);
    IN_CONTEXT(TND_CUDA(&self->context, error, cuEventRecord, own->marks[number], own->stream));
}

static tnd_status_t queue_reached(tnd_device_t *device, const tnd_device_queue_t *queue,
                                  uint32_t number, tnd_error_t *error)
{
    IN_CONTEXT(TND_CUDA(&self->context, error, cuEventQuery, queue_of(queue)->marks[number]));
}

static const tnd_device_reduction_t cuda_reduction = {
    .open = queue_open,
    .close = queue_close,
    .allocate = area_allocate,
    .release = area_release,
    .holds = memory_holds,
    .follow = queue_follow,
    .precede = queue_precede,
    .copy_out = queue_copy_out,
    .copy_in = queue_copy_in,
    .reduce = queue_reduce,
    .mark = queue_mark,
    .reached = queue_reached,
};

const tnd_device_ops_t tnd_device_cuda = {
    .name = "cuda",
    .meant = "gpu",
    .can = TND_DEVICE_OWN_MEMORY | TND_DEVICE_POINTERS | TND_DEVICE_STREAMS |
           TND_DEVICE_ANY_THREAD | TND_DEVICE_TIMES |
           (TND_CUDA_CASTS ? TND_DEVICE_CASTS | TND_DEVICE_RAW_ROWS | TND_DEVICE_REDUCES : 0),
    .dlpack_type = 2, /* kDLCUDA */
    .preferred = true,
    .count = cuda_count,
    .find = tnd_cuda_devices_find,
    .open = cuda_open,
    .close = cuda_close,
    .prepare = cuda_prepare,
    .stage = cuda_stage,
    .unstage = cuda_unstage,
    .upload = cuda_upload,
    .uploaded = cuda_uploaded,
    .stream = cuda_stream,
    .await = cuda_await,
    .mark = cuda_mark,
    .finished = cuda_finished,
    .facts = cuda_facts,
    .reduction = TND_CUDA_CASTS ? &cuda_reduction : NULL,
};
