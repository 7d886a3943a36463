/*  tests/support/cuda/copies.c - copies and fills. */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tests/support/cuda/calls.h"
#include "tests/support/cuda/contexts.h"
#include "tests/support/cuda/memory.h"
#include "tests/support/cuda/streams.h"
#include "tests/support/cuda/violation.h"

typedef struct {
    work_t work;
    void *to; /* where the driver writes */
    const void *from;
    size_t bytes;
    XXH64_hash_t hash; /* of what `from` had when the copy was requested */
    void *own;         /* `from`, if it was not page-locked; else NULL */
    unsigned char value;
} copy_t;

/* --- to the device ---------------------------------------------------------------------------- */

static void poison(work_t *work)
{
    const copy_t *self = (const copy_t *)work;
    memset(self->to, POISON, self->bytes);
}

static bool copy_in(work_t *work, bool demanded)
{
    const copy_t *self = (const copy_t *)work;
    (void)demanded;
    if (XXH3_64bits(self->from, self->bytes) != self->hash)
        hostile_violation(
            "the source of a copy of %zu bytes to device %d changed before the copy ran",
            self->bytes, hostile_stream_context(work->stream)->device);
    memcpy(self->to, self->from, self->bytes);
    return true;
}

static void end(work_t *work)
{
    free(((copy_t *)work)->own);
}

/*  Memory that is not page-locked is copied aside at once: the caller waits for that. */
static void copy_aside(copy_t *self)
{
    hostile_unsteady("a copy of memory that is not page-locked");
    self->own = malloc(self->bytes);
    memcpy(self->own, self->from, self->bytes);
    self->from = self->own;
}

static void count_copy(CUcontext context)
{
    context->copies++;
    if (context->unsteady != NULL)
        hostile_violation("%s was called between the first and the last copy to device %d",
                          context->unsteady, context->device);
}

static CUresult put_copy_in(CUdeviceptr to, const void *from, size_t bytes, CUstream handle)
{
    CUcontext context;
    CUstream stream;
    HOSTILE_TRY(hostile_current(&context));
    HOSTILE_TRY(hostile_stream(context, handle, &stream));
    copy_t *self = calloc(1, sizeof *self);
    *self = (copy_t){.work = {.name = "a copy to the device",
                              .touches = {{(uintptr_t)to, bytes, true}},
                              .run = copy_in,
                              .poison = poison,
                              .end = end},
                     .to = hostile_memory_at(context, to, bytes, "a copy"),
                     .from = from,
                     .bytes = bytes};
    if (hostile_memory_is_pinned(context, from, bytes)) {
        self->work.touches[1] = (touch_t){(uintptr_t)from, bytes, false};
        count_copy(context);
    } else {
        copy_aside(self);
    }
    self->hash = XXH3_64bits(self->from, bytes);
    hostile_stream_put(stream, &self->work);
    return CUDA_SUCCESS;
}

static bool fill(work_t *work, bool demanded)
{
    const copy_t *self = (const copy_t *)work;
    (void)demanded;
    memset(self->to, self->value, self->bytes);
    return true;
}

static CUresult put_fill(CUdeviceptr to, unsigned char value, size_t bytes, CUstream handle)
{
    CUcontext context;
    CUstream stream;
    HOSTILE_TRY(hostile_current(&context));
    HOSTILE_TRY(hostile_stream(context, handle, &stream));
    copy_t *self = calloc(1, sizeof *self);
    *self = (copy_t){.work = {.name = "a fill",
                              .touches = {{(uintptr_t)to, bytes, true}},
                              .run = fill,
                              .poison = poison},
                     .to = hostile_memory_at(context, to, bytes, "a fill"),
                     .bytes = bytes,
                     .value = value};
    hostile_stream_put(stream, &self->work);
    return CUDA_SUCCESS;
}

/* --- to the host ------------------------------------------------------------------------------ */

static bool copy_out(work_t *work, bool demanded)
{
    const copy_t *self = (const copy_t *)work;
    (void)demanded;
    memcpy(self->to, self->from, self->bytes);
    return true;
}

static CUresult put_copy_out(void *to, CUdeviceptr from, size_t bytes, CUstream handle, bool waits)
{
    CUcontext context;
    CUstream stream;
    HOSTILE_TRY(hostile_current(&context));
    HOSTILE_TRY(hostile_stream(context, handle, &stream));
    if (!waits && !hostile_memory_is_pinned(context, to, bytes))
        hostile_violation("a copy to memory of the host that is not page-locked");
    copy_t *self = calloc(1, sizeof *self);
    *self = (copy_t){
        .work = {.name = "a copy to the host",
                 .touches = {{(uintptr_t)from, bytes, false}, {(uintptr_t)to, bytes, true}},
                 .run = copy_out,
                 .poison = poison},
        .to = to,
        .from = hostile_memory_at(context, from, bytes, "a copy to the host"),
        .bytes = bytes};
    hostile_stream_put(stream, &self->work);
    return waits ? hostile_stream_wait(stream) : CUDA_SUCCESS;
}

/* --- calls ------------------------------------------------------------------------------------ */

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    HOSTILE_CALL(cuMemcpyHtoDAsync_v2, put_copy_in(to, from, bytes, stream));
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
    HOSTILE_CALL(cuMemsetD8Async, put_fill(to, value, bytes, stream));
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    HOSTILE_CALL(cuMemcpyDtoHAsync_v2, put_copy_out(to, from, bytes, stream, false));
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
    HOSTILE_CALL(cuMemcpyDtoH_v2, put_copy_out(to, from, bytes, NULL, true));
}
