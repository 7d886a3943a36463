/*  tools/process/host_lock.h - one process a host: whoever runs a host of a run on this machine
 * says so.
 *
 *  A claim is a socket in the kernel's own name space: it goes with its process, however that ends.
 *
 *  Threads: any.
 */
#ifndef TUNDISH_TOOLS_CLAIM_H
#define TUNDISH_TOOLS_CLAIM_H

#include "runtime/plan/placement.h"
#include "runtime/base/status.h"

/*  Claims a host for this process, to its end.  TND_FAILED: another process runs that host of the
 *  same run; the text says which.
 */
tnd_status_t tnd_host_lock(const tnd_plan_t *plan, uint32_t host, tnd_error_t *error) TND_CHECKED;
/*  The same without claiming it: whether another process runs that host now. */
tnd_status_t tnd_host_lock_look(const tnd_plan_t *plan, uint32_t host,
                                tnd_error_t *error) TND_CHECKED;

#endif
