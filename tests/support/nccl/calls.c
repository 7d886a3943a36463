/*  tests/support/nccl/calls.c - counts calls and lets one fail; errors in words. */
#include "tests/support/nccl/calls.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/nccl/meeting.h"
#include "tests/support/nccl/settings.h"

static const char *const names[CALLS] = {
#define TYPE(name, type)
#define CONSTANT(name, value)
#define CALL(result, name, parameters) #name,
#include "transport/nccl/nccl_calls.def"
#undef CALL
#undef CONSTANT
#undef TYPE
};

static const hostile_guest_t *driver;
static uint64_t by_name[CALLS];
static char last_error[256];

static void find_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const hostile_guest_t *(*guest)(void) = NULL;
    if (library != NULL)
        *(void **)&guest = dlsym(library, "hostile_guest");
    driver = guest != NULL ? guest() : NULL;
}

const hostile_guest_t *nccl_driver(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_driver);
    return driver;
}

static void note(const char *line)
{
    const char *path = nccl_settings()->report;
    int file = path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (file < 0)
        return;
    if (write(file, line, strlen(line)) < 0)
        perror(path);
    close(file);
}

void nccl_violation(const char *format, ...)
{
    char text[400], line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "libnccl.so.2 of the tests: violation: %s\n", text);
    snprintf(line, sizeof line, "violation %s\n", text);
    note(line);
    abort();
}

ncclResult_t nccl_say(ncclResult_t result, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    return result;
}

static bool is_chosen(nccl_call_t call)
{
    const settings_t *settings = nccl_settings();
    return strcmp(names[call], settings->fail_call) == 0 && by_name[call] == settings->fail_at;
}

ncclResult_t nccl_begin(nccl_call_t call)
{
    char line[96];
    if (nccl_driver() != NULL)
        nccl_driver()->lock();
    by_name[call]++;
    if (!is_chosen(call))
        return ncclSuccess;
    snprintf(line, sizeof line, "failed %s\n", names[call]);
    note(line);
    return nccl_say(nccl_settings()->fail_with, "%s was told to fail", names[call]);
}

ncclResult_t nccl_end(ncclResult_t result)
{
    if (nccl_driver() != NULL)
        nccl_driver()->unlock();
    return result;
}

__attribute__((destructor)) static void report(void)
{
    for (size_t i = 0; i < CALLS; i++) {
        char line[96];
        snprintf(line, sizeof line, "called %s %lu\n", names[i], (unsigned long)by_name[i]);
        if (by_name[i] > 0)
            note(line);
    }
}

/* --- calls ------------------------------------------------------------------------------------ */

ncclResult_t ncclGetVersion(int *version)
{
    NCCL_CALL(ncclGetVersion, (*version = nccl_settings()->version, ncclSuccess));
}

static ncclResult_t make_id(ncclUniqueId *id)
{
    return meeting_make(id) ? ncclSuccess : nccl_say(ncclSystemError, "no more files");
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    NCCL_CALL(ncclGetUniqueId, make_id(id));
}

/*  The words of the real one. */
const char *ncclGetErrorString(ncclResult_t result)
{
    static const char *const texts[] = {
        "no error",
        "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
        "unhandled system error (run with NCCL_DEBUG=INFO for details)",
        "internal error - please report this issue to the NCCL developers",
        "invalid argument (run with NCCL_DEBUG=WARN for details)",
        "invalid usage (run with NCCL_DEBUG=WARN for details)",
        "remote process exited or there was a network error",
        "NCCL operation in progress"};
    bool known = result >= 0 && (size_t)result < sizeof texts / sizeof texts[0];
    return known ? texts[result] : "unknown result code";
}

const char *ncclGetLastError(ncclComm_t comm)
{
    (void)comm;
    return last_error;
}
