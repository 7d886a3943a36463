/*  tests/runtime/feed/take_done.h - takes finished steps, as an actor that has no reducers. */
#ifndef TND_TESTS_RUNTIME_FEED_TAKE_DONE_H
#define TND_TESTS_RUNTIME_FEED_TAKE_DONE_H

#include "runtime/feed/device_workers.h"

static inline bool take_done(tnd_device_workers_t *workers, tnd_done_t *done)
{
    tnd_ran_t ran;
    while (tnd_device_workers_ran(workers, &ran))
        ;
    return tnd_device_workers_done(workers, done);
}

#endif
