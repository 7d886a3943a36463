/*  runtime/resources/threads.h - whether a host of a plan may start the threads that it needs.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_RESOURCES_THREADS_H
#define TND_RUNTIME_RESOURCES_THREADS_H

#include "runtime/plan/placement.h"

/*  Threads of the process of a host: those of actors, devices and the process itself.  Further ones of
 *  feeders follow from the rows, and are not counted. */
uint64_t tnd_threads_count(const tnd_plan_t *plan, uint32_t host);

/*  Starts and ends as many as the host lacks before its first one, with those of the processes that it
 *  starts: limits of users and control groups are for all of them.  Errors: TND_FAILED with the
 *  number, the limits and what to do. */
tnd_status_t tnd_threads_check(const tnd_plan_t *plan, uint32_t host,
                               tnd_error_t *error) TND_CHECKED;

#endif
