/*  tests/support/cuda/kernels.c - loads images and launches their kernels.
 *
 *  An image is only looked at: the kernels are those of transport/cuda/cuda_kernels.h and
 *  cuda_reduction_kernels.h. */
#include "tests/support/cuda/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cuda/calls.h"
#include "tests/support/cuda/contexts.h"
#include "tests/support/cuda/memory.h"
#include "tests/support/cuda/reduction_kernels.h"
#include "tests/support/cuda/step_kernels.h"
#include "tests/support/cuda/violation.h"
#include "transport/cuda/cuda_kernels.h"

static const uint32_t FATBIN = 0xba55ed50;

typedef struct {
    const char *name;
    void (*run)(const tnd_cuda_cast_t *cast, unsigned thread, unsigned threads);
    size_t in_size, out_size;
} kernel_t;

static const kernel_t kernels[] = {
#define KERNEL(name, in_t, out_t, round)                                                           \
    {"tnd_cast_" #name, tnd_kernel_##name, sizeof(in_t), sizeof(out_t)},
    TND_CUDA_KERNELS(KERNEL)
#undef KERNEL
};

enum { KERNELS = sizeof kernels / sizeof kernels[0] };

struct CUfunc_st {
    CUmodule module;
    const kernel_t *kernel;            /* a cast; or else ... */
    const hostile_step_kernel_t *step; /* one of a step; or else ... */
    const hostile_reduction_kernel_t *reduction;
};

struct CUmod_st {
    CUcontext context;
    CUmodule next;
    const char *text; /* of PTX; NULL: a fatbin */
    struct CUfunc_st functions[KERNELS], steps[HOSTILE_STEP_KERNELS];
    struct CUfunc_st reductions[HOSTILE_REDUCTION_KERNELS];
    bool unloaded;
};

typedef struct {
    work_t work;
    const kernel_t *kernel;
    tnd_cuda_cast_t cast; /* at the addresses where the driver works */
    unsigned threads;
} launch_t;

/* --- modules ---------------------------------------------------------------------------------- */

static CUresult load(CUmodule *module, const void *image)
{
    CUcontext context;
    uint32_t magic;
    HOSTILE_TRY(hostile_current(&context));
    memcpy(&magic, image, sizeof magic);
    if (magic != FATBIN && strstr(image, ".version") == NULL)
        return CUDA_ERROR_INVALID_IMAGE;
    CUmodule self = calloc(1, sizeof *self);
    *self = (struct CUmod_st){
        .context = context, .next = context->modules, .text = magic == FATBIN ? NULL : image};
    *module = context->modules = self;
    return CUDA_SUCCESS;
}

static CUresult unload(CUmodule self)
{
    CUcontext context;
    CUresult result = hostile_current(&context);
    if (result == CUDA_ERROR_INVALID_CONTEXT)
        return result;
    if (self == NULL || self->unloaded || self->context != context)
        return CUDA_ERROR_INVALID_HANDLE;
    self->unloaded = true;
    return result;
}

static bool has(const struct CUmod_st *self, const char *name)
{
    char entry[64];
    snprintf(entry, sizeof entry, ".entry %s(", name);
    return self->text == NULL || strstr(self->text, entry) != NULL;
}

static CUresult find(CUfunction *function, CUmodule self, const char *name)
{
    CUcontext context;
    HOSTILE_TRY(hostile_current(&context));
    if (self == NULL || self->unloaded || self->context != context)
        return CUDA_ERROR_INVALID_HANDLE;
    for (size_t i = 0; i < KERNELS; i++)
        if (strcmp(kernels[i].name, name) == 0 && has(self, name)) {
            self->functions[i] = (struct CUfunc_st){.module = self, .kernel = &kernels[i]};
            *function = &self->functions[i];
            return CUDA_SUCCESS;
        }
    for (size_t i = 0; i < HOSTILE_STEP_KERNELS; i++)
        if (strcmp(hostile_step_kernels[i].name, name) == 0 && has(self, name)) {
            self->steps[i] = (struct CUfunc_st){.module = self, .step = &hostile_step_kernels[i]};
            *function = &self->steps[i];
            return CUDA_SUCCESS;
        }
    for (size_t i = 0; i < HOSTILE_REDUCTION_KERNELS; i++)
        if (strcmp(hostile_reduction_kernels[i].name, name) == 0 && has(self, name)) {
            self->reductions[i] =
                (struct CUfunc_st){.module = self, .reduction = &hostile_reduction_kernels[i]};
            *function = &self->reductions[i];
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

unsigned hostile_modules_end(CUcontext context)
{
    unsigned left = 0;
    while (context->modules != NULL) {
        CUmodule self = context->modules;
        left += !self->unloaded;
        context->modules = self->next;
        free(self);
    }
    return left;
}

/* --- launches --------------------------------------------------------------------------------- */

static size_t out_bytes(const launch_t *self)
{
    return (size_t)self->cast.count * self->kernel->out_size;
}

static void poison(work_t *work)
{
    const launch_t *self = (const launch_t *)work;
    memset(self->cast.out, POISON, out_bytes(self));
}

/*  The last thread first. */
static bool run(work_t *work, bool demanded)
{
    const launch_t *self = (const launch_t *)work;
    (void)demanded;
    for (unsigned thread = self->threads; thread-- > 0;)
        self->kernel->run(&self->cast, thread, self->threads);
    return true;
}

/*  Where the driver works on what a parameter points to. */
static void *touch(launch_t *self, CUcontext context, size_t place, const void *at, size_t bytes,
                   bool writes)
{
    self->work.touches[place] = (touch_t){(uintptr_t)at, bytes, writes};
    return hostile_memory_at(context, (CUdeviceptr)(uintptr_t)at, bytes, self->kernel->name);
}

/*  A kernel that makes nothing touches nothing. */
static void touch_all(launch_t *self, CUcontext context)
{
    tnd_cuda_cast_t *cast = &self->cast;
    size_t constants = cast->channels * sizeof(float);
    if (cast->count == 0)
        return;
    if (cast->channels * cast->pixels != cast->elements || cast->count % cast->elements != 0)
        hostile_violation("%s makes %u elements: not whole rows of %u * %u", self->kernel->name,
                          cast->count, cast->channels, cast->pixels);
    cast->in = touch(self, context, 0, cast->in, cast->count * self->kernel->in_size, false);
    self->work.poison = poison;
    cast->out = touch(self, context, 1, cast->out, out_bytes(self), true);
    cast->scale = touch(self, context, 2, cast->scale, constants, false);
    cast->bias = touch(self, context, 3, cast->bias, constants, false);
}

static CUresult launch(CUfunction function, unsigned threads, CUstream handle, void **parameters)
{
    CUcontext context;
    CUstream stream;
    HOSTILE_TRY(hostile_current(&context));
    HOSTILE_TRY(hostile_stream(context, handle, &stream));
    if (function->module->unloaded || function->module->context != context)
        return CUDA_ERROR_INVALID_HANDLE;
    if (function->step != NULL) {
        hostile_stream_put(stream, function->step->make(context, parameters));
        return CUDA_SUCCESS;
    }
    if (function->reduction != NULL) {
        hostile_stream_put(
            stream, hostile_reduction_make(function->reduction, context, threads, parameters));
        return CUDA_SUCCESS;
    }
    launch_t *self = calloc(1, sizeof *self);
    *self = (launch_t){.work = {.name = function->kernel->name, .run = run},
                       .kernel = function->kernel,
                       .cast = *(const tnd_cuda_cast_t *)parameters[0],
                       .threads = threads};
    touch_all(self, context);
    hostile_stream_put(stream, &self->work);
    return CUDA_SUCCESS;
}

/* --- calls ------------------------------------------------------------------------------------ */

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    HOSTILE_CALL(cuModuleLoadData, load(module, image));
}

CUresult cuModuleUnload(CUmodule module)
{
    HOSTILE_CALL(cuModuleUnload, unload(module));
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    HOSTILE_CALL(cuModuleGetFunction, find(function, module, name));
}

/*  The kernels have one dimension, and no memory of their blocks. */
CUresult cuLaunchKernel(CUfunction function, unsigned blocks_x, unsigned blocks_y,
                        unsigned blocks_z, unsigned threads_x, unsigned threads_y,
                        unsigned threads_z, unsigned shared_bytes, CUstream stream,
                        void **parameters, void **extra)
{
    bool possible = blocks_x > 0 && threads_x > 0 && threads_x <= 1024 && blocks_y == 1 &&
                    blocks_z == 1 && threads_y == 1 && threads_z == 1 && shared_bytes == 0 &&
                    extra == NULL;
    HOSTILE_CALL(cuLaunchKernel, possible
                                     ? launch(function, blocks_x * threads_x, stream, parameters)
                                     : CUDA_ERROR_INVALID_VALUE);
}
