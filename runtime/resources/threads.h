/*  runtime/resources/threads.h - whether the threads of a host can be started.
 *
 *  The system limits them by user (RLIMIT_NPROC) and by control group (pids.max), and other processes
 *  use up the same limits.  So as many threads as a host needs are started and ended at once, before
 *  anything of the run begins.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_RESOURCES_THREADS_H
#define TND_RUNTIME_RESOURCES_THREADS_H

#include "runtime/plan/placement.h"

/*  The most threads that host `host` of a whole plan runs at a time, besides the calling one. */
uint32_t tnd_threads_count(const tnd_plan_t *plan, uint32_t host);

/*  Errors: TND_FAILED if these threads and `more` others cannot be started, with their number, the
 *  limits and what to do. */
tnd_status_t tnd_threads_check(const tnd_plan_t *plan, uint32_t host, uint32_t more,
                               tnd_error_t *error) TND_CHECKED;

#endif
