/*  tests/support/cuda/step_kernels.c - runs the kernels of a step; destroys the context under it. */
#include "tests/support/cuda/step_kernels.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/cuda/calls.h"
#include "tests/support/cuda/contexts.h"
#include "tests/support/cuda/memory.h"

enum { INPUTS = 16, CONTEXT_IS_DESTROYED = 709 };

static bool faulted;

bool hostile_step_has_faulted(void)
{
    return faulted;
}

/* --- linear ----------------------------------------------------------------------------------- */

typedef struct {
    work_t work;
    const float *x, *y, *weights;
    float *sums; /* the gradient, then the loss */
    uint32_t rows;
} linear_t;

static bool run_linear(work_t *work, bool demanded)
{
    const linear_t *self = (const linear_t *)work;
    (void)demanded;
    memset(self->sums, 0, (INPUTS + 1) * sizeof *self->sums);
    for (size_t r = 0; r < self->rows; r++) {
        float miss = -self->y[r];
        for (size_t i = 0; i < INPUTS; i++)
            miss += self->weights[i] * self->x[r * INPUTS + i];
        self->sums[INPUTS] += miss * miss;
        for (size_t i = 0; i < INPUTS; i++)
            self->sums[i] += miss * self->x[r * INPUTS + i];
    }
    return true;
}

static void *touch(linear_t *self, CUcontext context, size_t place, void **parameters, size_t count,
                   bool writes)
{
    CUdeviceptr at = *(const CUdeviceptr *)parameters[place];
    self->work.touches[place] = (touch_t){(uintptr_t)at, count * sizeof(float), writes};
    return hostile_memory_at(context, at, count * sizeof(float), self->work.name);
}

static work_t *make_linear(CUcontext context, void **parameters)
{
    linear_t *self = calloc(1, sizeof *self);
    self->work = (work_t){.name = "linear", .run = run_linear};
    self->rows = *(const uint32_t *)parameters[4];
    if (self->rows > 0) {
        self->x = touch(self, context, 0, parameters, self->rows * INPUTS, false);
        self->y = touch(self, context, 1, parameters, self->rows, false);
    }
    self->weights = touch(self, context, 2, parameters, INPUTS, false);
    self->sums = touch(self, context, 3, parameters, INPUTS + 1, true);
    return &self->work;
}

/* --- faults ----------------------------------------------------------------------------------- */

static bool run_illegal(work_t *work, bool demanded)
{
    (void)demanded;
    hostile_stream_context(work->stream)->failed = CUDA_ERROR_ILLEGAL_ADDRESS;
    faulted = true;
    return true;
}

static work_t *make_illegal(CUcontext context, void **parameters)
{
    work_t *self = calloc(1, sizeof *self);
    (void)context, (void)parameters;
    *self = (work_t){.name = "illegal", .run = run_illegal};
    return self;
}

static bool run_to_its_end(work_t *work, bool demanded)
{
    (void)work, (void)demanded;
    return true;
}

static bool never_end(work_t *work, bool demanded)
{
    (void)work, (void)demanded;
    faulted = true;
    return false;
}

/*  A time takes none, a century never ends. */
static work_t *make_spin(CUcontext context, void **parameters)
{
    work_t *self = calloc(1, sizeof *self);
    bool endless = *(const uint64_t *)parameters[0] > UINT64_C(1000000000000000000);
    (void)context;
    *self = (work_t){.name = "spin", .run = endless ? never_end : run_to_its_end};
    return self;
}

const hostile_step_kernel_t hostile_step_kernels[HOSTILE_STEP_KERNELS] = {
    {"linear", make_linear},
    {"illegal", make_illegal},
    {"spin", make_spin},
};

static CUresult reset(CUdevice device)
{
    CUcontext context = hostile_context(device);
    if (context == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    if (context->retained > 0)
        context->failed = CONTEXT_IS_DESTROYED;
    faulted = true;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    HOSTILE_CALL(cuDevicePrimaryCtxReset_v2, reset(device));
}
