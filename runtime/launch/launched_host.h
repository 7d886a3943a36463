/*  runtime/launch/launched_host.h - which host of a plan a launched process is.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_LAUNCH_LAUNCHED_HOST_H
#define TND_RUNTIME_LAUNCH_LAUNCHED_HOST_H

#include "runtime/launch/launch.h"
#include "runtime/plan/placement.h"

/*  Finds the host of this process: rank i is host i of the plan, without isolated hosts and those
 *  that may join later.  Tasks of TF_CONFIG go by name, such as `worker0`, if every task has a host
 *  of its name.  There must be as many processes as hosts.  A launcher must have been found.
 *  Errors: TND_FAILED says what to write. */
tnd_status_t tnd_launched_host(const tnd_launch_t *launch, const tnd_plan_t *plan, uint32_t *host_p,
                               tnd_error_t *error) TND_CHECKED;
/*  The line for the log: "slurm job 17, rank 2 of 3 is host c (10.1.0.12); a leads", and on which machine
 *  and where, if the processes found that out by meeting. */
const char *tnd_launched_text(const tnd_launch_t *launch, const tnd_plan_t *plan, uint32_t host,
                              char *text, size_t room);

#endif
