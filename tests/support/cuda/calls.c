/*  tests/support/cuda/calls.c - counts calls and lets one fail. */
#include "tests/support/cuda/calls.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cuda/contexts.h"
#include "tests/support/cuda/settings.h"
#include "tests/support/cuda/violation.h"

enum {
    TND_DEVICE_CALL_OTHER = TND_DEVICE_CALL_KINDS,
    CUDA_ERROR_ECC_UNCORRECTABLE = 214,
    CUDA_ERROR_UNKNOWN = 999
};

#define TYPE(name, type)
#define CONSTANT(name, value)

static const char *const names[ALL_CALLS] = {
#define CALL(kind, name, parameters) #name,
#include "tests/support/cuda/all_calls.def"
#undef CALL
};

static const char *const kind_names[ALL_CALLS] = {
#define CALL(kind, name, parameters) #kind,
#include "tests/support/cuda/all_calls.def"
#undef CALL
};

static const unsigned kinds[ALL_CALLS] = {
#define CALL(kind, name, parameters) TND_DEVICE_CALL_##kind,
#include "tests/support/cuda/all_calls.def"
#undef CALL
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t progress = PTHREAD_COND_INITIALIZER;
static uint64_t calls, by_name[ALL_CALLS];
static bool releases_failed;

/*  The device is lost, at its first call after a file has appeared. */
static bool is_lost(unsigned call)
{
    const char *path = hostile_settings()->lose;
    const struct CUctx_st *current = hostile_current_or_none();
    return path != NULL && current != NULL && current->failed == CUDA_SUCCESS &&
           kinds[call] != TND_DEVICE_CALL_OTHER && access(path, F_OK) == 0;
}

static bool is_chosen(unsigned call)
{
    const settings_t *settings = hostile_settings();
    if (settings->fail_at == 0)
        return false;
    if (settings->fail_call[0] == '\0')
        return calls == settings->fail_at;
    return strcmp(names[call], settings->fail_call) == 0 && by_name[call] == settings->fail_at;
}

/*  Errors of one call.  After all others the device is lost. */
static bool is_passing(CUresult result)
{
    return result < 100 || result == CUDA_ERROR_NOT_FOUND ||
           (result >= 200 && result < 225 && result != CUDA_ERROR_ECC_UNCORRECTABLE);
}

static CUresult fail(unsigned call)
{
    CUcontext current = hostile_current_or_none();
    CUresult result = hostile_settings()->fail_with;
    if (result == 0 && kinds[call] == TND_DEVICE_CALL_ALLOCATE)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    else if (result == 0)
        result = current != NULL ? CUDA_ERROR_LAUNCH_FAILED : CUDA_ERROR_UNKNOWN;
    if (current != NULL && !is_passing(result))
        current->failed = result;
    if (kinds[call] == TND_DEVICE_CALL_FREE)
        releases_failed = true;
    hostile_note("failed %s %d", names[call], result);
    return result;
}

void hostile_unsteady(const char *what)
{
    CUcontext current = hostile_current_or_none();
    uint64_t after = hostile_settings()->steady;
    if (after > 0 && current != NULL && current->copies >= after && current->unsteady == NULL)
        current->unsteady = what;
}

CUresult hostile_begin(unsigned call)
{
    pthread_mutex_lock(&lock);
    if (call < TND_CUDA_CALLS && call != TND_CUDA_cuGetErrorName &&
        call != TND_CUDA_cuGetErrorString) {
        calls++;
        by_name[call]++;
        if (is_chosen(call) || is_lost(call))
            return fail(call);
    }
    if (kinds[call] <= TND_DEVICE_CALL_SYNCHRONIZE)
        hostile_unsteady(names[call]);
    return CUDA_SUCCESS;
}

CUresult hostile_end(CUresult result)
{
    pthread_mutex_unlock(&lock);
    return result;
}

void hostile_lock(void)
{
    pthread_mutex_lock(&lock);
}

void hostile_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void hostile_wait(void)
{
    pthread_cond_wait(&progress, &lock);
}

void hostile_progress(void)
{
    pthread_cond_broadcast(&progress);
}

bool hostile_releases_failed(void)
{
    return releases_failed;
}

__attribute__((destructor)) static void report(void)
{
    hostile_lock(); /* threads may be left that hang */
    for (size_t i = 0; i < ALL_CALLS; i++)
        if (by_name[i] > 0)
            hostile_note("called %s %s %" PRIu64, kind_names[i], names[i], by_name[i]);
    hostile_note("calls %" PRIu64, calls);
    hostile_unlock();
}
