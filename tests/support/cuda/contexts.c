/*  tests/support/cuda/contexts.c - which context is current. */
#include "tests/support/cuda/contexts.h"

#include "tests/support/cuda/settings.h"
#include "tests/support/cuda/violation.h"

enum { DEVICES = 8, DEEPEST = 8 };

static struct CUctx_st contexts[DEVICES];
static _Thread_local CUcontext stack[DEEPEST];
static _Thread_local unsigned depth;

CUcontext hostile_context(CUdevice device)
{
    if (device < 0 || device >= hostile_settings()->devices)
        return NULL;
    contexts[device].device = device;
    return &contexts[device];
}

CUcontext hostile_current_or_none(void)
{
    return depth > 0 ? stack[depth - 1] : NULL;
}

CUresult hostile_current(CUcontext *context_p)
{
    CUcontext context = hostile_current_or_none();
    if (context == NULL || context->retained == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    *context_p = context;
    return context->failed;
}

CUresult hostile_push(CUcontext context)
{
    if (context == NULL || context->retained == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (depth == DEEPEST)
        hostile_violation("contexts are pushed and not popped");
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

CUresult hostile_pop(CUcontext *context_p)
{
    if (depth == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    *context_p = stack[--depth];
    return CUDA_SUCCESS;
}

/*  SplitMix64. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

uint64_t hostile_draw(const struct CUctx_st *context, uint64_t object, uint64_t time)
{
    uint64_t device = mix(hostile_settings()->seed) + (uint64_t)context->device;
    return mix(mix(mix(device) + object) + time);
}
