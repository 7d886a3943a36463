/*  tests/gpu/gpu.h - what the checks of a CUDA device share: its driver, with calls that the device cuda
 *  does not make, and the lines that they print.
 *
 *  Each check is a program: CHECK [--correct].  It prints a line of JSON for each value, with the
 *  expected one; --correct leaves out speeds, which the driver of the tests does not have.
 *  Exit codes: 0 all values are as expected; 1 a value is not, or a call failed; 77 the machine has no
 *  device.
 *
 *  Threads: one. */
#ifndef TND_TESTS_GPU_GPU_H
#define TND_TESTS_GPU_GPU_H

#include <stdio.h>

#include "transport/cuda/cuda_driver.h"

enum { GPU_BATCH = 256, GPU_ROW = 3 * 224 * 224, GPU_BATCH_BYTES = GPU_BATCH * GPU_ROW };

typedef struct {
    const tnd_cuda_driver_t *driver;
    CUcontext context; /* the primary one, current on the thread of gpu_begin */
    CUresult (*copy_back)(void *to, CUdeviceptr from, size_t bytes, CUstream stream);
    CUresult (*copy_inside)(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
    CUstream stream; /* apart from those of the device */
    bool speeds;     /* are measured */
} gpu_t;

/*  Ends the program with 77 if the machine has no device. */
void gpu_begin(gpu_t *self, int argc, char **argv);
/*  The exit code of the program. */
int gpu_end(gpu_t *self);
/*  The same after the context was lost. */
int gpu_failed(void);

/*  Ends the program with 1 if a call failed. */
void gpu_must(const gpu_t *self, tnd_cuda_call_t call, CUresult result);
#define GPU_CALL(self, name, ...) gpu_must(self, TND_CUDA_##name, (self)->driver->name(__VA_ARGS__))
/*  The same for a call without a number of its own, and for one of Tundish. */
void gpu_must_do(bool done, const char *what);

CUdeviceptr gpu_allocate(const gpu_t *self, size_t bytes);
void *gpu_allocate_host(const gpu_t *self, size_t bytes, unsigned flags);
void gpu_wait(const gpu_t *self);

/*  A kernel of a PTX text; NULL if this driver does not compile it. */
CUfunction gpu_kernel(const gpu_t *self, const char *text, const char *name);

/*  spin(u64 ns): runs for a given time; NULL as above. */
CUfunction gpu_spin(const gpu_t *self);

/*  GB/s of page-locked copies of a batch to the device, one after another: the bound of uploads. */
double gpu_link_rate(const gpu_t *self, size_t bytes);

/*  A value that must be `expected`, or at least or at most so much; or one that depends on the machine,
 *  with what is usual. */
void gpu_exact(int check, const char *name, double value, double expected);
void gpu_least(int check, const char *name, double value, const char *unit, double least);
void gpu_most(int check, const char *name, double value, const char *unit, double most);
void gpu_show(int check, const char *name, double value, const char *unit, const char *usual);

#endif
