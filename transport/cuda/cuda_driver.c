/*  transport/cuda/cuda_driver.c - looks for CUDA's driver and the addresses of its calls. */
#include "transport/cuda/cuda_driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/library.h"

/*  CUDA 11.4: the first with all calls of the table. */
enum { OLDEST = 11040 };

enum { TND_DEVICE_CALL_OTHER = TND_DEVICE_CALL_KINDS };

#define TYPE(name, type)
#define CONSTANT(name, value)

static const char *const names[TND_CUDA_CALLS] = {
#define CALL(kind, name, parameters) #name,
#include "transport/cuda/cuda_calls.def"
#undef CALL
};

static const uint8_t kinds[TND_CUDA_CALLS] = {
#define CALL(kind, name, parameters) TND_DEVICE_CALL_##kind,
#include "transport/cuda/cuda_calls.def"
#undef CALL
};

static const size_t places[TND_CUDA_CALLS] = {
#define CALL(kind, name, parameters) offsetof(tnd_cuda_driver_t, name),
#include "transport/cuda/cuda_calls.def"
#undef CALL
};

static tnd_cuda_driver_t driver;
static void *library;
static tnd_status_t outcome;
static tnd_error_t reason; /* why it cannot be used */

tnd_device_call_t tnd_cuda_call_kind(tnd_cuda_call_t call)
{
    return (tnd_device_call_t)kinds[call];
}

const char *tnd_cuda_call_name(tnd_cuda_call_t call)
{
    return names[call];
}

const char *tnd_cuda_failure(tnd_cuda_call_t call, CUresult result, char *text, size_t room)
{
    const char *name = NULL, *meaning = NULL;
    if (driver.cuGetErrorName(result, &name) != CUDA_SUCCESS || name == NULL)
        name = "unknown";
    if (driver.cuGetErrorString(result, &meaning) != CUDA_SUCCESS || meaning == NULL)
        meaning = "unknown error";
    snprintf(text, room, "%s failed: %s (%s, %d)", names[call], meaning, name, result);
    return text;
}

static tnd_status_t find_calls(tnd_error_t *error)
{
    for (size_t i = 0; i < TND_CUDA_CALLS; i++) {
        void *address = dlsym(library, names[i]);
        if (address == NULL)
            return tnd_fail(error,
                            "the CUDA driver lacks %s, as those before CUDA 11.4 do: update it",
                            names[i]);
        memcpy((char *)&driver + places[i], &address, sizeof address);
    }
    return TND_OK;
}

tnd_status_t tnd_cuda_succeeded(tnd_cuda_call_t call, CUresult result, tnd_error_t *error)
{
    char text[256];
    switch (result) {
    case CUDA_SUCCESS:
        return TND_OK;
    case CUDA_ERROR_STUB_LIBRARY:
        return tnd_fail(error,
                        "the libcuda.so.1 that was found is the stub of the CUDA Toolkit and "
                        "not a driver: remove its folder from LD_LIBRARY_PATH");
    case CUDA_ERROR_NO_DEVICE:
        return tnd_fail(error,
                        "the CUDA driver finds no device (CUDA_VISIBLE_DEVICES may hide it)");
    default:
        return tnd_fail(error, "%s", tnd_cuda_failure(call, result, text, sizeof text));
    }
}

static tnd_status_t start(tnd_error_t *error)
{
    char why[256];
    int version = 0;
    library = tnd_library_load("libcuda.so.1", RTLD_NOW | RTLD_LOCAL, why, sizeof why);
    if (library == NULL)
        return tnd_fail(error,
                        "no CUDA driver can be loaded: libcuda.so.1: %s; NVIDIA's driver for CUDA "
                        "11.4 or later provides it",
                        why);
    TND_TRY(find_calls(error));
    TND_TRY(tnd_cuda_succeeded(TND_CUDA_cuInit, driver.cuInit(0), error));
    TND_TRY(tnd_cuda_succeeded(TND_CUDA_cuDriverGetVersion, driver.cuDriverGetVersion(&version),
                               error));
    if (version < OLDEST)
        return tnd_fail(error, "the CUDA driver is for CUDA %d.%d and 11.4 is needed: update it",
                        version / 1000, version % 1000 / 10);
    return TND_OK;
}

static void start_once(void)
{
    outcome = start(&reason);
}

tnd_status_t tnd_cuda_driver(const tnd_cuda_driver_t **driver_p, tnd_error_t *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_once);
    *driver_p = &driver;
    return outcome == TND_OK ? TND_OK : tnd_fail(error, "%s", reason.text);
}

bool tnd_cuda_driver_found(void)
{
    return library != NULL;
}
