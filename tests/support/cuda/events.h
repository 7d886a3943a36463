/*  tests/support/cuda/events.h - events, which come late.
 *
 *  Threads: the lock of calls.h is held. */
#ifndef TND_TESTS_SUPPORT_CUDA_EVENTS_H
#define TND_TESTS_SUPPORT_CUDA_EVENTS_H

#include "transport/cuda/cuda_driver.h"

/*  Frees what is left of a context; the number of events that were not destroyed. */
unsigned hostile_events_end(CUcontext context);

/*  Whether an event was chosen that never comes, so that what waits for it is never done. */
bool hostile_event_is_withheld(void);

#endif
