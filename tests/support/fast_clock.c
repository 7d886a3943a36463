/*  tests/support/fast_clock.c - loaded before a program, lets its monotonic clock run 100,000 times as
 *  fast, so that what it does takes long. */
#include <dlfcn.h>
#include <stdint.h>
#include <time.h>

typedef int clock_gettime_t(clockid_t, struct timespec *);

enum { FASTER = 100000 };

static uint64_t begun_ns;

int clock_gettime(clockid_t clock, struct timespec *time)
{
    clock_gettime_t *next = (clock_gettime_t *)dlsym(RTLD_NEXT, "clock_gettime");
    int failed = next(clock, time);
    if (failed != 0 || clock != CLOCK_MONOTONIC)
        return failed;
    uint64_t now = (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
    if (begun_ns == 0)
        begun_ns = now;
    now = begun_ns + (now - begun_ns) * FASTER;
    time->tv_sec = (time_t)(now / 1000000000);
    time->tv_nsec = (long)(now % 1000000000);
    return 0;
}
