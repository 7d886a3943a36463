/*  tests/gpu/step_linear.c - a step with kernels of its own: `step: {plugin: linear}`.
 *
 *  It fits weights to `x` (16 f32 per row) and `y` (one f32 per row).  On a CUDA device it does so in a
 *  stream of its own, on a processor by the same operations in the same order, so the bits are equal.
 *
 *  $LINEAR_SPIN_US: microseconds that a kernel runs in each step.
 *  $LINEAR_FAULT: what happens as soon as the file $LINEAR_SWITCH exists; not in an option, because a run that
 *  resumes has the same options:
 *
 *    illegal   a kernel writes to address 16
 *    endless   a kernel never ends, and the step waits for it
 *    unwaited  a kernel that reads the rows never ends, and the step returns
 *    reset     the program destroys the primary context */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tundish/tundish.h>

#include "runtime/feed/dlpack.h"
#include "tests/gpu/spin_kernel.h"
#include "tests/support/cuda/loaded_calls.h"

extern TND_API const tnd_step_ops_t tnd_step_linear;

enum { INPUTS = 16 };

/*  linear: what linear_step computes, by 16 threads of which each has one input.  No operation is fused. */
static const char kernels[] = ".version 6.3\n.target sm_75\n.address_size 64\n"
                              ".visible .entry linear(.param .u64 px, .param .u64 py, .param .u64 "
                              "pw, .param .u64 po, .param .u32 pn)\n"
                              "{\n"
                              "    .reg .u64 %x, %y, %w, %out, %row, %at, %offset;\n"
                              "    .reg .u32 %rows, %r, %i, %j;\n"
                              "    .reg .f32 %miss, %a, %b, %sum, %loss;\n"
                              "    .reg .pred %p;\n"
                              "    ld.param.u64 %x, [px];\n"
                              "    ld.param.u64 %y, [py];\n"
                              "    ld.param.u64 %w, [pw];\n"
                              "    ld.param.u64 %out, [po];\n"
                              "    ld.param.u32 %rows, [pn];\n"
                              "    mov.u32 %j, %tid.x;\n"
                              "    mov.f32 %sum, 0f00000000;\n"
                              "    mov.f32 %loss, 0f00000000;\n"
                              "    mov.u32 %r, 0;\n"
                              "ROW:\n"
                              "    setp.ge.u32 %p, %r, %rows;\n"
                              "    @%p bra END;\n"
                              "    mul.wide.u32 %offset, %r, 4;\n"
                              "    add.u64 %at, %y, %offset;\n"
                              "    ld.global.f32 %a, [%at];\n"
                              "    neg.f32 %miss, %a;\n"
                              "    mul.wide.u32 %offset, %r, 64;\n"
                              "    add.u64 %row, %x, %offset;\n"
                              "    mov.u32 %i, 0;\n"
                              "INPUT:\n"
                              "    mul.wide.u32 %offset, %i, 4;\n"
                              "    add.u64 %at, %w, %offset;\n"
                              "    ld.global.f32 %a, [%at];\n"
                              "    add.u64 %at, %row, %offset;\n"
                              "    ld.global.f32 %b, [%at];\n"
                              "    mul.rn.f32 %a, %a, %b;\n"
                              "    add.rn.f32 %miss, %miss, %a;\n"
                              "    add.u32 %i, %i, 1;\n"
                              "    setp.lt.u32 %p, %i, 16;\n"
                              "    @%p bra INPUT;\n"
                              "    mul.rn.f32 %a, %miss, %miss;\n"
                              "    add.rn.f32 %loss, %loss, %a;\n"
                              "    mul.wide.u32 %offset, %j, 4;\n"
                              "    add.u64 %at, %row, %offset;\n"
                              "    ld.global.f32 %b, [%at];\n"
                              "    mul.rn.f32 %b, %miss, %b;\n"
                              "    add.rn.f32 %sum, %sum, %b;\n"
                              "    add.u32 %r, %r, 1;\n"
                              "    bra ROW;\n"
                              "END:\n"
                              "    mul.wide.u32 %offset, %j, 4;\n"
                              "    add.u64 %at, %out, %offset;\n"
                              "    st.global.f32 [%at], %sum;\n"
                              "    setp.eq.u32 %p, %j, 0;\n"
                              "    @%p st.global.f32 [%out+64], %loss;\n"
                              "    ret;\n"
                              "}\n"
                              ".visible .entry illegal()\n"
                              "{\n"
                              "    .reg .u64 %to;\n"
                              "    mov.u64 %to, 16;\n"
                              "    st.global.u64 [%to], %to;\n"
                              "    ret;\n"
                              "}\n" SPIN_KERNEL;

/*  A century: %globaltimer counts nanoseconds since 1970. */
static const uint64_t never_ns = UINT64_C(3155760000000000000);

typedef struct {
    float weights[INPUTS];
    float sums[INPUTS + 1]; /* the gradient, then the loss */
} numbers_t;

typedef struct {
    const loaded_calls_t *calls; /* NULL: on a processor */
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction linear, illegal, spin;
    CUstream stream, other;
    numbers_t *numbers;          /* page-locked if there are calls */
    CUdeviceptr there;           /* the same on the device */
    const char *fault, *trigger; /* "": none */
    uint64_t spin_us;
} linear_t;

/* --- a device --------------------------------------------------------------------------------- */

static tnd_status_t refuse(tnd_replica_t *replica, CUresult result, const char *call)
{
    char text[96];
    snprintf(text, sizeof text, "the step's %s failed with error %d", call, result);
    tnd_replica_error(replica, text);
    return TND_FAILED;
}

#define TRY_CUDA(replica, name, ...)                                                               \
    do {                                                                                           \
        CUresult result_ = self->calls->name(__VA_ARGS__);                                         \
        if (result_ != CUDA_SUCCESS)                                                               \
            return refuse(replica, result_, #name);                                                \
    } while (0)

static tnd_status_t set_up(linear_t *self, tnd_replica_t *replica)
{
    void *memory;
    numbers_t loaded = *self->numbers;
    free(self->numbers);
    self->numbers = NULL;
    TRY_CUDA(replica, cuModuleLoadData, &self->module, kernels);
    TRY_CUDA(replica, cuModuleGetFunction, &self->linear, self->module, "linear");
    TRY_CUDA(replica, cuModuleGetFunction, &self->illegal, self->module, "illegal");
    TRY_CUDA(replica, cuModuleGetFunction, &self->spin, self->module, "spin");
    TRY_CUDA(replica, cuStreamCreateWithPriority, &self->stream, CU_STREAM_NON_BLOCKING, 0);
    TRY_CUDA(replica, cuStreamCreateWithPriority, &self->other, CU_STREAM_NON_BLOCKING, 0);
    TRY_CUDA(replica, cuMemHostAlloc, &memory, sizeof *self->numbers, 0);
    self->numbers = memory;
    *self->numbers = loaded;
    TRY_CUDA(replica, cuMemAlloc_v2, &self->there, sizeof *self->numbers);
    return TND_OK;
}

static tnd_status_t spin_for(linear_t *self, tnd_replica_t *replica, CUstream stream, uint64_t ns)
{
    TRY_CUDA(replica, cuLaunchKernel, self->spin, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){&ns},
             NULL);
    return TND_OK;
}

static tnd_status_t fail_as_told(linear_t *self, tnd_replica_t *replica)
{
    if (strcmp(self->fault, "illegal") == 0)
        TRY_CUDA(replica, cuLaunchKernel, self->illegal, 1, 1, 1, 1, 1, 1, 0, self->stream, NULL,
                 NULL);
    if (strcmp(self->fault, "endless") == 0)
        return spin_for(self, replica, self->stream, never_ns);
    if (strcmp(self->fault, "unwaited") == 0)
        return spin_for(self, replica, self->other, never_ns);
    if (strcmp(self->fault, "reset") == 0)
        TRY_CUDA(replica, cuDevicePrimaryCtxReset_v2, self->device);
    return TND_OK;
}

static tnd_status_t put_step(linear_t *self, tnd_replica_t *replica, void *x, void *y)
{
    uint32_t rows = (uint32_t)tnd_replica_rows(replica);
    CUdeviceptr weights = self->there, sums = self->there + sizeof self->numbers->weights;
    TRY_CUDA(replica, cuMemcpyHtoDAsync_v2, weights, self->numbers->weights,
             sizeof self->numbers->weights, self->stream);
    TRY_CUDA(replica, cuLaunchKernel, self->linear, 1, 1, 1, INPUTS, 1, 1, 0, self->stream,
             (void *[]){&x, &y, &weights, &sums, &rows}, NULL);
    if (self->spin_us > 0)
        TND_TRY(spin_for(self, replica, self->stream, self->spin_us * 1000));
    if (*self->fault != '\0' && access(self->trigger, F_OK) == 0)
        TND_TRY(fail_as_told(self, replica));
    TRY_CUDA(replica, cuMemcpyDtoHAsync_v2, self->numbers->sums, sums, sizeof self->numbers->sums,
             self->stream);
    TRY_CUDA(replica, cuStreamSynchronize, self->stream);
    return TND_OK;
}

/*  A tensor that both streams wait for, and that is read until both are done. */
static dl_managed_tensor_t *share(linear_t *self, tnd_replica_t *replica, const char *name,
                                  CUstream stream)
{
    tnd_error_t error;
    (void)self;
    dl_managed_tensor_t *tensor = tnd_replica_dlpack(replica, name);
    if (tensor == NULL)
        return NULL;
    dl_managed_tensor_t *shared =
        tnd_tensor_share(tensor, false, (int64_t)(intptr_t)stream, &error);
    tensor->deleter(tensor);
    if (shared == NULL)
        tnd_replica_error(replica, error.text);
    return shared;
}

static tnd_status_t step_there(linear_t *self, tnd_replica_t *replica)
{
    CUcontext popped;
    bool unwaited = strcmp(self->fault, "unwaited") == 0;
    dl_managed_tensor_t *x = share(self, replica, "x", unwaited ? self->other : self->stream);
    dl_managed_tensor_t *y = share(self, replica, "y", self->stream);
    if (x == NULL || y == NULL)
        return TND_FAILED;
    TRY_CUDA(replica, cuCtxPushCurrent_v2, self->context);
    tnd_status_t status = put_step(self, replica, x->dl_tensor.data, y->dl_tensor.data);
    (void)self->calls->cuCtxPopCurrent_v2(&popped);
    x->deleter(x);
    y->deleter(y);
    return status;
}

/* --- a processor ------------------------------------------------------------------------------ */

static void step_here(numbers_t *self, const float *x, const float *y, size_t rows)
{
    memset(self->sums, 0, sizeof self->sums);
    for (size_t r = 0; r < rows; r++) {
        float miss = -y[r];
        for (size_t i = 0; i < INPUTS; i++)
            miss += self->weights[i] * x[r * INPUTS + i];
        self->sums[INPUTS] += miss * miss;
        for (size_t i = 0; i < INPUTS; i++)
            self->sums[i] += miss * x[r * INPUTS + i];
    }
}

/* --- the step --------------------------------------------------------------------------------- */

static bool is_on_cuda(tnd_replica_t *replica, CUdevice *device_p)
{
    dl_managed_tensor_t *tensor = tnd_replica_dlpack(replica, "x");
    bool cuda = tensor != NULL && tensor->dl_tensor.device.device_type == DL_CUDA;
    *device_p = cuda ? tensor->dl_tensor.device.device_id : 0;
    if (tensor != NULL)
        tensor->deleter(tensor);
    return cuda;
}

static tnd_status_t open_there(linear_t *self, tnd_replica_t *replica)
{
    CUcontext popped;
    self->calls = test_cuda_calls();
    TRY_CUDA(replica, cuDevicePrimaryCtxRetain, &self->context, self->device);
    TRY_CUDA(replica, cuCtxPushCurrent_v2, self->context);
    tnd_status_t status = set_up(self, replica);
    (void)self->calls->cuCtxPopCurrent_v2(&popped);
    return status;
}

static const char *setting(const char *name, const char *otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? text : otherwise;
}

static tnd_status_t linear_open(void **model_p, const char *options, tnd_replica_t *replica)
{
    linear_t *self = calloc(1, sizeof *self);
    (void)options, (void)replica;
    self->fault = setting("LINEAR_FAULT", "");
    self->trigger = setting("LINEAR_SWITCH", "");
    self->spin_us = strtoull(setting("LINEAR_SPIN_US", "0"), NULL, 10);
    *model_p = self;
    self->numbers = calloc(1, sizeof *self->numbers);
    return TND_OK;
}

static tnd_status_t linear_step(void *model, tnd_replica_t *replica)
{
    linear_t *self = model;
    size_t rows = tnd_replica_rows(replica);
    if (self->calls == NULL && is_on_cuda(replica, &self->device))
        TND_TRY(open_there(self, replica));
    if (self->calls != NULL)
        TND_TRY(step_there(self, replica));
    else
        step_here(self->numbers, tnd_replica_column(replica, "x"), tnd_replica_column(replica, "y"),
                  rows);
    for (size_t i = 0; i < INPUTS && rows > 0; i++)
        self->numbers->sums[i] /= (float)rows;
    tnd_replica_report(replica, "loss", (double)self->numbers->sums[INPUTS], (double)rows);
    return tnd_replica_reduce(replica, "mean", TND_MEAN, TND_F32, self->numbers->sums, INPUTS);
}

static tnd_status_t linear_apply(void *model, tnd_replica_t *replica)
{
    numbers_t *self = ((linear_t *)model)->numbers;
    (void)replica;
    for (size_t i = 0; i < INPUTS; i++)
        self->weights[i] -= 0.05f * self->sums[i];
    return TND_OK;
}

static tnd_status_t linear_save(void *model, const char *path)
{
    const linear_t *self = model;
    FILE *file = fopen(path, "we");
    bool done =
        file != NULL && fwrite(self->numbers->weights, sizeof self->numbers->weights, 1, file) == 1;
    if (file != NULL)
        done = fclose(file) == 0 && done;
    return done ? TND_OK : TND_FAILED;
}

static tnd_status_t linear_load(void *model, const char *path)
{
    const linear_t *self = model;
    FILE *file = fopen(path, "re");
    bool done =
        file != NULL && fread(self->numbers->weights, sizeof self->numbers->weights, 1, file) == 1;
    if (file != NULL)
        fclose(file);
    return done ? TND_OK : TND_FAILED;
}

static void release(const linear_t *self)
{
    CUcontext popped;
    const loaded_calls_t *calls = self->calls;
    (void)calls->cuCtxPushCurrent_v2(self->context);
    if (self->there != 0)
        (void)calls->cuMemFree_v2(self->there);
    if (self->numbers != NULL)
        (void)calls->cuMemFreeHost(self->numbers);
    if (self->other != NULL)
        (void)calls->cuStreamDestroy_v2(self->other);
    if (self->stream != NULL)
        (void)calls->cuStreamDestroy_v2(self->stream);
    if (self->module != NULL)
        (void)calls->cuModuleUnload(self->module);
    (void)calls->cuCtxPopCurrent_v2(&popped);
    (void)calls->cuDevicePrimaryCtxRelease_v2(self->device);
}

/*  After a fault nothing is released: what the context had is lost, or does not end. */
static void linear_close(void *model)
{
    linear_t *self = model;
    if (self->calls == NULL)
        free(self->numbers);
    else if (*self->fault == '\0')
        release(self);
    free(self);
}

const tnd_step_ops_t tnd_step_linear = {
    .abi = TND_ABI,
    .name = "linear",
    .open = linear_open,
    .step = linear_step,
    .apply = linear_apply,
    .save = linear_save,
    .load = linear_load,
    .close = linear_close,
};
