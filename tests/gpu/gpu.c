/*  tests/gpu/gpu.c - the driver, and lines of JSON. */
#include "tests/gpu/gpu.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "tests/gpu/spin_kernel.h"
#include "transport/cuda/cuda_devices.h"

static bool failed;

/* --- lines ------------------------------------------------------------------------------------ */

static void print(int check, const char *name, double value, const char *unit, const char *expected,
                  const char *met)
{
    char number[32] = "null"; /* JSON has no infinity */
    if (isfinite(value))
        snprintf(number, sizeof number, "%.6g", value);
    printf(
        "{\"check\":%d,\"name\":\"%s\",\"value\":%s,\"unit\":\"%s\",\"expected\":\"%s\",\"met\":%"
        "s}\n",
        check, name, number, unit, expected, met);
    fflush(stdout); /* a program that dies has shown what it found */
}

static void judge(int check, const char *name, double value, const char *unit, const char *relation,
                  double bound, bool met)
{
    char expected[48];
    snprintf(expected, sizeof expected, "%s %.6g", relation, bound);
    failed = failed || !met;
    print(check, name, value, unit, expected, met ? "true" : "false");
}

void gpu_exact(int check, const char *name, double value, double expected)
{
    judge(check, name, value, "", "=", expected, value == expected);
}

void gpu_least(int check, const char *name, double value, const char *unit, double least)
{
    judge(check, name, value, unit, ">=", least, value >= least);
}

void gpu_most(int check, const char *name, double value, const char *unit, double most)
{
    judge(check, name, value, unit, "<=", most, value <= most);
}

void gpu_show(int check, const char *name, double value, const char *unit, const char *usual)
{
    print(check, name, value, unit, usual, "null");
}

/* --- calls ------------------------------------------------------------------------------------ */

void gpu_must_do(bool done, const char *what)
{
    if (done)
        return;
    fprintf(stderr, "%s\n", what);
    _Exit(1); /* nothing is released: the device may be lost */
}

void gpu_must(const gpu_t *self, tnd_cuda_call_t call, CUresult result)
{
    tnd_error_t error;
    (void)self;
    if (tnd_cuda_succeeded(call, result, &error) != TND_OK)
        gpu_must_do(false, error.text);
}

void gpu_begin(gpu_t *self, int argc, char **argv)
{
    tnd_error_t error;
    CUdevice device;
    uint32_t count;
    *self = (gpu_t){.speeds = argc < 2};
    if (argc > 2 || (argc == 2 && strcmp(argv[1], "--correct") != 0)) {
        fprintf(stderr, "usage: %s [--correct]\n", argv[0]);
        exit(2);
    }
    if (tnd_cuda_driver(&self->driver, &error) != TND_OK ||
        tnd_cuda_devices_count(&count, &error) != TND_OK) {
        printf("skipped: %s\n", error.text);
        exit(77);
    }
    /* It is loaded: this finds it again. */
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    gpu_must_do(library != NULL, "libcuda.so.1 was loaded and is not found again");
    *(void **)&self->copy_back = dlsym(library, "cuMemcpyDtoHAsync_v2");
    *(void **)&self->copy_inside = dlsym(library, "cuMemcpyDtoDAsync_v2");
    gpu_must_do(self->copy_back != NULL, "the driver has no cuMemcpyDtoHAsync_v2");
    GPU_CALL(self, cuDeviceGet, &device, 0);
    GPU_CALL(self, cuDevicePrimaryCtxRetain, &self->context, device);
    GPU_CALL(self, cuCtxPushCurrent_v2, self->context);
    GPU_CALL(self, cuStreamCreateWithPriority, &self->stream, CU_STREAM_NON_BLOCKING, 0);
}

int gpu_failed(void)
{
    return failed ? 1 : 0;
}

int gpu_end(gpu_t *self)
{
    CUcontext context;
    CUdevice device;
    GPU_CALL(self, cuStreamDestroy_v2, self->stream);
    GPU_CALL(self, cuCtxPopCurrent_v2, &context);
    GPU_CALL(self, cuDeviceGet, &device, 0);
    GPU_CALL(self, cuDevicePrimaryCtxRelease_v2, device);
    return gpu_failed();
}

CUdeviceptr gpu_allocate(const gpu_t *self, size_t bytes)
{
    CUdeviceptr memory;
    GPU_CALL(self, cuMemAlloc_v2, &memory, bytes);
    return memory;
}

void *gpu_allocate_host(const gpu_t *self, size_t bytes, unsigned flags)
{
    void *memory;
    GPU_CALL(self, cuMemHostAlloc, &memory, bytes, flags);
    memset(memory, 0x5a, bytes);
    return memory;
}

void gpu_wait(const gpu_t *self)
{
    GPU_CALL(self, cuStreamSynchronize, self->stream);
}

CUfunction gpu_kernel(const gpu_t *self, const char *text, const char *name)
{
    CUmodule module;
    CUfunction function;
    CUresult result = self->driver->cuModuleLoadData(&module, text);
    if (result != CUDA_SUCCESS)
        return NULL;
    if (self->driver->cuModuleGetFunction(&function, module, name) == CUDA_SUCCESS)
        return function;
    GPU_CALL(self, cuModuleUnload, module);
    return NULL;
}

CUfunction gpu_spin(const gpu_t *self)
{
    static const char spin_text[] = ".version 6.3\n.target sm_75\n.address_size 64\n" SPIN_KERNEL;
    return gpu_kernel(self, spin_text, "spin");
}

double gpu_link_rate(const gpu_t *self, size_t bytes)
{
    enum { WARM_UP = 5, COPIES = 50 };
    void *from = gpu_allocate_host(self, bytes, 0);
    CUdeviceptr to = gpu_allocate(self, bytes);
    uint64_t begun = 0;
    for (int i = 0; i < WARM_UP + COPIES; i++) {
        if (i == WARM_UP) {
            gpu_wait(self);
            begun = tnd_clock_now();
        }
        GPU_CALL(self, cuMemcpyHtoDAsync_v2, to, from, bytes, self->stream);
    }
    gpu_wait(self);
    double rate = (double)bytes * COPIES / (double)(tnd_clock_now() - begun);
    GPU_CALL(self, cuMemFree_v2, to);
    GPU_CALL(self, cuMemFreeHost, from);
    return rate;
}
