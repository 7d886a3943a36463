/*  transport/cuda/cuda_trace.c - writes lines to the file of $TUNDISH_CUDA_TRACE. */
#include "transport/cuda/cuda_trace.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/clock.h"

static int file = -1;

static void open_file(void)
{
    const char *path = getenv("TUNDISH_CUDA_TRACE");
    if (path != NULL && *path != '\0')
        file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

/*  NULL: the call has not returned. */
static void write_line(tnd_cuda_call_t call, const CUresult *result)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char after[24] = "", line[128];
    pthread_once(&once, open_file);
    if (file < 0)
        return;
    uint64_t now = tnd_clock_now();
    if (result != NULL)
        snprintf(after, sizeof after, " = %d", *result);
    int length =
        snprintf(line, sizeof line, "%" PRIu64 ".%06" PRIu64 " %d %s%s\n", now / 1000000000,
                 now / 1000 % 1000000, (int)gettid(), tnd_cuda_call_name(call), after);
    ssize_t written = write(file, line, (size_t)length); /* dprintf makes two more calls */
    (void)written;
}

void tnd_cuda_trace_call(tnd_cuda_call_t call)
{
    write_line(call, NULL);
}

void tnd_cuda_trace_result(tnd_cuda_call_t call, CUresult result)
{
    write_line(call, &result);
}
