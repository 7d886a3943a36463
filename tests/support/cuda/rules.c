/*  tests/support/cuda/rules.c - breaks each rule of the hostile driver, which must notice it.
 *
 *  Usage: with LD_LIBRARY_PATH for the driver.  Each rule is broken in a process of its own. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/device/cuda_driver.h"

enum { BYTES = 1000 };

static tnd_cuda_driver_t driver;
static CUresult (*copy_out)(void *to, CUdeviceptr from, size_t bytes, CUstream stream);

/*  What each rule has: streams, an event and memory of device 0. */
static struct {
    CUcontext context;
    CUstream first, second;
    CUevent event;
    CUdeviceptr memory;
    char *host, *other; /* page-locked */
} has;

static void succeed(CUresult result, const char *what)
{
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "%s: %d\n", what, result);
        exit(1);
    }
}

#define CUDA(name, ...) succeed(driver.name(__VA_ARGS__), #name)

static void start(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        succeed(1, dlerror());
#define TYPE(name, type)
#define CONSTANT(name, value)
#define CALL(kind, name, parameters) *(void **)&driver.name = dlsym(library, #name);
#include "transport/device/cuda_calls.def"
#undef CALL
#undef CONSTANT
#undef TYPE
    *(void **)&copy_out = dlsym(library, "cuMemcpyDtoHAsync_v2");
    CUDA(cuInit, 0);
    CUDA(cuDevicePrimaryCtxRetain, &has.context, 0);
    CUDA(cuCtxPushCurrent_v2, has.context);
    CUDA(cuStreamCreateWithPriority, &has.first, CU_STREAM_NON_BLOCKING, 0);
    CUDA(cuStreamCreateWithPriority, &has.second, CU_STREAM_NON_BLOCKING, 0);
    CUDA(cuEventCreate, &has.event, CU_EVENT_DISABLE_TIMING);
    CUDA(cuMemAlloc_v2, &has.memory, BYTES);
    CUDA(cuMemHostAlloc, (void **)&has.host, BYTES, CU_MEMHOSTALLOC_PORTABLE);
    CUDA(cuMemHostAlloc, (void **)&has.other, BYTES, CU_MEMHOSTALLOC_PORTABLE);
}

static void end(void)
{
    CUDA(cuMemFreeHost, has.other);
    CUDA(cuMemFreeHost, has.host);
    CUDA(cuMemFree_v2, has.memory);
    CUDA(cuEventDestroy_v2, has.event);
    CUDA(cuStreamDestroy_v2, has.second);
    CUDA(cuStreamDestroy_v2, has.first);
    CUDA(cuCtxPopCurrent_v2, &has.context);
    CUDA(cuDevicePrimaryCtxRelease_v2, 0);
}

static void copy(void)
{
    CUDA(cuMemcpyHtoDAsync_v2, has.memory, has.host, BYTES, has.first);
}

static void settle(void)
{
    CUDA(cuStreamSynchronize, has.first);
    CUDA(cuStreamSynchronize, has.second);
}

/* --- the rules, and what the driver says ------------------------------------------------------ */

/*  None is broken: a copy there, and back in another stream that waits for it. */
static void none_is_broken(void)
{
    memset(has.host, 7, BYTES);
    for (int i = 0; i < 100; i++) {
        CUDA(cuStreamWaitEvent, has.first, has.event, 0);
        copy();
        CUDA(cuEventRecord, has.event, has.first);
        CUDA(cuStreamWaitEvent, has.second, has.event, 0);
        succeed(copy_out(has.other, has.memory, BYTES, has.second), "cuMemcpyDtoHAsync_v2");
        CUDA(cuEventRecord, has.event, has.second);
        while (driver.cuEventQuery(has.event) == CUDA_ERROR_NOT_READY)
            ;
        if (memcmp(has.host, has.other, BYTES) != 0)
            succeed(1, "the bytes that came back");
    }
}

static void the_source_changes(void)
{
    for (int i = 0; i < 100; i++) {
        copy();
        has.host[BYTES - 1]++;
        settle();
    }
}

static void a_reader_is_not_awaited(void)
{
    for (int i = 0; i < 100; i++) {
        copy();
        settle();
        succeed(copy_out(has.other, has.memory, BYTES, has.second), "cuMemcpyDtoHAsync_v2");
        copy();
    }
}

static void a_copy_is_not_awaited(void)
{
    for (int i = 0; i < 100; i++) {
        copy();
        CUDA(cuEventRecord, has.event, has.second);
        CUDA(cuStreamWaitEvent, has.second, has.event, 0);
        succeed(copy_out(has.other, has.memory, BYTES, has.second), "cuMemcpyDtoHAsync_v2");
        CUDA(cuStreamSynchronize, has.second);
    }
}

static void memory_is_freed_too_early(void)
{
    for (int i = 0; i < 100; i++)
        copy();
    CUDA(cuMemFreeHost, has.host);
}

static void a_copy_is_too_long(void)
{
    CUDA(cuMemsetD8Async, has.memory + 1, 0, BYTES, has.first);
}

static void the_host_reads_the_device(void)
{
    fprintf(stderr, "reads\n");
    has.host[0] = *(const volatile char *)(uintptr_t)has.memory;
}

static void the_host_writes_beyond_the_end(void)
{
    has.host[BYTES] = 0;
    end();
}

static void something_is_left(void)
{
    CUDA(cuMemFreeHost, has.host);
    CUDA(cuDevicePrimaryCtxRelease_v2, 0);
}

static void the_context_is_left(void)
{
    exit(0);
}

static void a_run_allocates(void)
{
    copy();
    copy();
    CUDA(cuEventCreate, &has.event, CU_EVENT_DISABLE_TIMING);
    copy();
}

static void a_run_copies_slow_memory(void)
{
    static const char slow[BYTES];
    copy();
    copy();
    CUDA(cuMemcpyHtoDAsync_v2, has.memory, slow, BYTES, has.first);
    copy();
}

static const struct {
    void (*breaks)(void);
    const char *words; /* NULL: the driver says nothing */
} rules[] = {
    {none_is_broken, NULL},
    {the_source_changes, "the source of a copy of 1000 bytes to device 0 changed"},
    {a_reader_is_not_awaited,
     "a copy to the device in stream 0 does not wait for a copy to the host"},
    {a_copy_is_not_awaited,
     "a copy to the host in stream 1 does not wait for a copy to the device"},
    {memory_is_freed_too_early, "1000 bytes are freed that a copy to the device in stream 0"},
    {a_copy_is_too_long, "a fill of 1000 bytes at "},
    {the_host_reads_the_device, "reads"},
    {the_host_writes_beyond_the_end, "were written beyond their end"},
    {something_is_left, "device 0 ends with 2 streams, 1 events, 0 modules and 2 allocations left"},
    {the_context_is_left, "the process ends and has not released device 0"},
    {a_run_allocates, "cuEventCreate was called between the first and the last copy to device 0"},
    {a_run_copies_slow_memory, "a copy of memory that is not page-locked was called between"},
};

/*  Returns whether the process ended as expected. */
static bool try(void (*breaks)(void), const char *words)
{
    char text[4096];
    int pipes[2], status;
    size_t used = 0;
    if (pipe(pipes) != 0)
        succeed(1, "pipe");
    pid_t child = fork();
    if (child == 0) {
        dup2(pipes[1], STDERR_FILENO);
        start();
        breaks();
        if (words == NULL)
            end();
        exit(0);
    }
    close(pipes[1]);
    for (ssize_t some; (some = read(pipes[0], text + used, sizeof text - 1 - used)) > 0;)
        used += (size_t)some;
    text[used] = '\0';
    close(pipes[0]);
    bool good = waitpid(child, &status, 0) == child && (status == 0) == (words == NULL) &&
                (words == NULL ? used == 0 : strstr(text, words) != NULL);
    if (!good)
        fprintf(stderr, "status %d: expected '%s': %s\n", status, words != NULL ? words : "", text);
    return good;
}

int main(void)
{
    bool good = true;
    setenv("TND_CUDA_STEADY", "2", 1);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        good = try(rules[i].breaks, rules[i].words) && good;
    return good ? 0 : 1;
}
