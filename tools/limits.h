/*  tools/limits.h - what the control groups of this process allow it.
 *
 *  Both versions, also where the process sees only the part of the tree that is its container's.
 *  The strictest limit from its own group up to the root counts.
 *
 *  Threads: any.
 */
#ifndef TUNDISH_TOOLS_LIMITS_H
#define TUNDISH_TOOLS_LIMITS_H

#include <stdint.h>

typedef struct {
    double cores;          /* processor time a second; 0: no limit */
    uint64_t memory_bytes; /* UINT64_MAX: no limit */
    char cores_by[256];    /* the file that says so; "": none does */
    char memory_by[256];
} tnd_limits_t;

/*  `root` is where /proc and /sys are: "" for this machine's. */
void tnd_limits_read(const char *root, tnd_limits_t *limits);

#endif
