/*  transport/cuda/cuda_driver.h - the driver of NVIDIA's devices, if this machine has one.
 *
 *  The driver is a library that is looked for at run time; nothing of NVIDIA's is needed to build.
 *  cuda_calls.def lists what is used of its interface.
 *
 *  Threads: any. */
#ifndef TND_TRANSPORT_CUDA_CUDA_DRIVER_H
#define TND_TRANSPORT_CUDA_CUDA_DRIVER_H

#include <stddef.h>

#include "runtime/interface/device.h"

typedef struct {
    unsigned char bytes[16];
} tnd_cuda_uuid_t;

#define TYPE(name, type) typedef type name;
#define CONSTANT(name, value)
#define CALL(kind, name, parameters)
#include "transport/cuda/cuda_calls.def"
#undef TYPE
#undef CONSTANT

#define TYPE(name, type)
#define CONSTANT(name, value) name = value,
enum {
#include "transport/cuda/cuda_calls.def"
};
#undef CONSTANT
#undef CALL
#define CONSTANT(name, value)

/*  The calls, each under its own name. */
typedef struct {
#define CALL(kind, name, parameters) CUresult(*name) parameters;
#include "transport/cuda/cuda_calls.def"
#undef CALL
} tnd_cuda_driver_t;

/*  Their numbers: TND_CUDA_cuInit and so on. */
typedef enum {
#define CALL(kind, name, parameters) TND_CUDA_##name,
#include "transport/cuda/cuda_calls.def"
#undef CALL
    TND_CUDA_CALLS,
} tnd_cuda_call_t;
#undef TYPE
#undef CONSTANT

/*  TND_DEVICE_CALL_KINDS for calls that are not counted. */
tnd_device_call_t tnd_cuda_call_kind(tnd_cuda_call_t call);
const char *tnd_cuda_call_name(tnd_cuda_call_t call);

/*  The driver, initialized; it stays loaded until the process ends.
 *  Errors: TND_FAILED with the reason if it is not found or cannot be used; the same at each call. */
tnd_status_t tnd_cuda_driver(const tnd_cuda_driver_t **driver_p, tnd_error_t *error) TND_CHECKED;

/*  Whether a library was found, after the first call of that: a machine without one need not have
 *  devices, one whose driver cannot be used has them in vain. */
bool tnd_cuda_driver_found(void);

/*  Writes "cuMemAlloc_v2 failed: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)".  Returns `text`. */
const char *tnd_cuda_failure(tnd_cuda_call_t call, CUresult result, char *text, size_t room);

/*  Whether a call succeeded.  Errors: TND_FAILED with its failure. */
tnd_status_t tnd_cuda_succeeded(tnd_cuda_call_t call, CUresult result,
                                tnd_error_t *error) TND_CHECKED;

#endif
