/*  tools/launch/requeue.h - queues a job of Slurm again after a drain.
 *
 *  Threads: the main one. */
#ifndef TND_TOOLS_LAUNCH_REQUEUE_H
#define TND_TOOLS_LAUNCH_REQUEUE_H

#include "runtime/plan/placement.h"

/*  Whether the job of this process can be queued again and its next start resumes.  Returns
 *  TND_EXIT_OK, or prints an error and returns another exit code. */
int tnd_requeue_check(const tnd_plan_t *plan);

/*  Calls `scontrol requeue` for the job of this process.  Slurm may end the process before this
 *  returns.
 *  Errors: TND_FAILED. */
tnd_status_t tnd_requeue(tnd_error_t *error) TND_CHECKED;

#endif
