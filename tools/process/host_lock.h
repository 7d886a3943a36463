/*  tools/process/host_lock.h - one process per host: the process that runs a host holds its lock.
 *
 *  The lock is a socket in the kernel's abstract name space, so it disappears with its process.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_PROCESS_HOST_LOCK_H
#define TND_TOOLS_PROCESS_HOST_LOCK_H

#include "runtime/base/status.h"
#include "runtime/plan/placement.h"

/*  Locks a host until this process ends.  Errors: TND_FAILED if another process runs that host of
 *  the same run and goes on for two seconds; the text names it. */
tnd_status_t tnd_host_lock(const tnd_plan_t *plan, uint32_t host, tnd_error_t *error) TND_CHECKED;
/*  Checks without locking: whether another process runs that host now. */
tnd_status_t tnd_host_lock_look(const tnd_plan_t *plan, uint32_t host,
                                tnd_error_t *error) TND_CHECKED;

#endif
