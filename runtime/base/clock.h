/*  runtime/base/clock.h - the clocks of the machine; the pure core gets their time as an argument.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_BASE_CLOCK_H
#define TND_RUNTIME_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t tnd_clock_read(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/*  Nanoseconds of the host's monotonic clock. */
static inline uint64_t tnd_clock_now(void)
{
    return tnd_clock_read(CLOCK_MONOTONIC);
}

/*  Nanoseconds of processor time of the calling thread. */
static inline uint64_t tnd_clock_thread(void)
{
    return tnd_clock_read(CLOCK_THREAD_CPUTIME_ID);
}

#endif
