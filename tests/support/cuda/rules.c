/*  tests/support/cuda/rules.c - breaks each rule of the hostile driver, which must notice it.
 *
 *  Usage: with LD_LIBRARY_PATH for the driver.  Each rule is broken in a process of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cuda/loaded_calls.h"

enum { BYTES = 1000 };

/*  What each rule has: streams, an event and memory of device 0. */
static struct {
    CUcontext context;
    CUstream first, second;
    CUevent event;
    CUdeviceptr memory;
    char *host, *other; /* page-locked */
} has;

static void start(void)
{
    TEST_CUDA(cuDevicePrimaryCtxRetain, &has.context, 0);
    TEST_CUDA(cuCtxPushCurrent_v2, has.context);
    TEST_CUDA(cuStreamCreateWithPriority, &has.first, CU_STREAM_NON_BLOCKING, 0);
    TEST_CUDA(cuStreamCreateWithPriority, &has.second, CU_STREAM_NON_BLOCKING, 0);
    TEST_CUDA(cuEventCreate, &has.event, CU_EVENT_DISABLE_TIMING);
    TEST_CUDA(cuMemAlloc_v2, &has.memory, BYTES);
    TEST_CUDA(cuMemHostAlloc, (void **)&has.host, BYTES, CU_MEMHOSTALLOC_PORTABLE);
    TEST_CUDA(cuMemHostAlloc, (void **)&has.other, BYTES, CU_MEMHOSTALLOC_PORTABLE);
}

static void end(void)
{
    TEST_CUDA(cuMemFreeHost, has.other);
    TEST_CUDA(cuMemFreeHost, has.host);
    TEST_CUDA(cuMemFree_v2, has.memory);
    TEST_CUDA(cuEventDestroy_v2, has.event);
    TEST_CUDA(cuStreamDestroy_v2, has.second);
    TEST_CUDA(cuStreamDestroy_v2, has.first);
    TEST_CUDA(cuCtxPopCurrent_v2, &has.context);
    TEST_CUDA(cuDevicePrimaryCtxRelease_v2, 0);
}

static void copy(void)
{
    TEST_CUDA(cuMemcpyHtoDAsync_v2, has.memory, has.host, BYTES, has.first);
}

static void settle(void)
{
    TEST_CUDA(cuStreamSynchronize, has.first);
    TEST_CUDA(cuStreamSynchronize, has.second);
}

/* --- the rules, and what the driver says ------------------------------------------------------ */

/*  None is broken: a copy there, and back in another stream that waits for it. */
static void none_is_broken(void)
{
    memset(has.host, 7, BYTES);
    for (int i = 0; i < 100; i++) {
        TEST_CUDA(cuStreamWaitEvent, has.first, has.event, 0);
        copy();
        TEST_CUDA(cuEventRecord, has.event, has.first);
        TEST_CUDA(cuStreamWaitEvent, has.second, has.event, 0);
        TEST_CUDA(cuMemcpyDtoHAsync_v2, has.other, has.memory, BYTES, has.second);
        TEST_CUDA(cuEventRecord, has.event, has.second);
        while (test_cuda_calls()->cuEventQuery(has.event) == CUDA_ERROR_NOT_READY)
            ;
        if (memcmp(has.host, has.other, BYTES) != 0)
            test_cuda_succeed(1, "the copy there and back");
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
        TEST_CUDA(cuMemcpyDtoHAsync_v2, has.other, has.memory, BYTES, has.second);
        copy();
    }
}

static void a_copy_is_not_awaited(void)
{
    for (int i = 0; i < 100; i++) {
        copy();
        TEST_CUDA(cuEventRecord, has.event, has.second);
        TEST_CUDA(cuStreamWaitEvent, has.second, has.event, 0);
        TEST_CUDA(cuMemcpyDtoHAsync_v2, has.other, has.memory, BYTES, has.second);
        TEST_CUDA(cuStreamSynchronize, has.second);
    }
}

/*  A copy may also run at once, as the driver draws. */
static void memory_is_freed_too_early(void)
{
    for (int i = 0; i < 100; i++) {
        copy();
        TEST_CUDA(cuMemFreeHost, has.host);
        TEST_CUDA(cuMemHostAlloc, (void **)&has.host, BYTES, CU_MEMHOSTALLOC_PORTABLE);
    }
}

static void a_copy_is_too_long(void)
{
    TEST_CUDA(cuMemsetD8Async, has.memory + 1, 0, BYTES, has.first);
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
    TEST_CUDA(cuMemFreeHost, has.host);
    TEST_CUDA(cuDevicePrimaryCtxRelease_v2, 0);
}

static void the_context_is_left(void)
{
    exit(0);
}

static void a_run_allocates(void)
{
    copy();
    copy();
    TEST_CUDA(cuEventCreate, &has.event, CU_EVENT_DISABLE_TIMING);
    copy();
}

static void a_run_copies_slow_memory(void)
{
    static const char slow[BYTES];
    copy();
    copy();
    TEST_CUDA(cuMemcpyHtoDAsync_v2, has.memory, slow, BYTES, has.first);
    copy();
}

static const struct {
    void (*breaks)(void);
    const char *words; /* NULL: the driver says nothing */
    bool steady;       /* calls between copies are a violation too */
} rules[] = {
    {none_is_broken, NULL, true},
    {the_source_changes, "the source of a copy of 1000 bytes to device 0 changed", false},
    {a_reader_is_not_awaited,
     "a copy to the device in stream 0 does not wait for a copy to the host", false},
    {a_copy_is_not_awaited, "a copy to the host in stream 1 does not wait for a copy to the device",
     false},
    {memory_is_freed_too_early, "1000 bytes are freed that a copy to the device in stream 0",
     false},
    {a_copy_is_too_long, "a fill of 1000 bytes at ", false},
    {the_host_reads_the_device, "reads", false},
    {the_host_writes_beyond_the_end, "were written beyond their end", false},
    {something_is_left, "device 0 ends with 2 streams, 1 events, 0 modules and 2 allocations left",
     false},
    {the_context_is_left, "the process ends and has not released device 0", false},
    {a_run_allocates, "cuEventCreate was called between the first and the last copy to device 0",
     true},
    {a_run_copies_slow_memory, "a copy of memory that is not page-locked was called between", true},
};

/*  Returns whether the process ended as expected. */
static bool try(void (*breaks)(void), const char *words, bool steady)
{
    char text[4096];
    int pipes[2], status;
    size_t used = 0;
    if (pipe(pipes) != 0)
        test_cuda_succeed(1, "pipe");
    pid_t child = fork();
    if (child == 0) {
        dup2(pipes[1], STDERR_FILENO);
        setenv("TND_CUDA_STEADY", steady ? "2" : "0", 1);
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
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        good = try(rules[i].breaks, rules[i].words, rules[i].steady) && good;
    return good ? 0 : 1;
}
