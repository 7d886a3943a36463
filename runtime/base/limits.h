/*  runtime/base/limits.h - what the control groups of this process allow it.
 *
 *  Both versions, also where the process sees only the part of the tree that is its container's.
 *  The strictest limit from its own group up to the root counts.
 *
 *  The page cache may use what the machine has available; in a group with a limit, what the group
 *  has not used, and the pages of files that it has in memory already, which give way to others.
 *
 *  Threads: any.
 */
#ifndef TND_RUNTIME_BASE_LIMITS_H
#define TND_RUNTIME_BASE_LIMITS_H

#include <stdint.h>

typedef struct {
    double cores;          /* processor time a second; 0: no limit */
    uint64_t memory_bytes; /* UINT64_MAX: no limit */
    uint64_t cache_bytes;  /* that pages of files may take now; UINT64_MAX: unknown */
    char cores_by[256];    /* the file that says so; "": none does */
    char memory_by[256];
    char cache_by[256];
} tnd_group_limits_t;

/*  `root` is where /proc and /sys are: "" for this machine's. */
void tnd_group_limits_read(const char *root, tnd_group_limits_t *limits);

#endif
