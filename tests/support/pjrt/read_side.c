/*  tests/support/pjrt/read_side.c - reads where the plugin says that the memory is. */
#include "tests/support/pjrt/read_side.h"

#include <string.h>

#include "tests/support/cuda/loaded_calls.h"

void pjrt_read_side(const tnd_device_t *device, const void *address, void *out, size_t bytes)
{
    CUcontext context;
    if (device->ops->can & TND_DEVICE_POINTERS) {
        memcpy(out, address, bytes);
        return;
    }
    TEST_CUDA(cuDevicePrimaryCtxRetain, &context, 0);
    TEST_CUDA(cuCtxPushCurrent_v2, context);
    TEST_CUDA(cuMemcpyDtoH_v2, out, (CUdeviceptr)(uintptr_t)address, bytes);
    TEST_CUDA(cuCtxPopCurrent_v2, &context);
    TEST_CUDA(cuDevicePrimaryCtxRelease_v2, 0);
}
