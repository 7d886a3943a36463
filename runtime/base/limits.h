/*  runtime/base/limits.h - the limits that control groups set for a process.
 *
 *  Reads both versions of control groups, also in a container that sees only a part of the tree.
 *  The strictest limit from the process's own group up to the root counts.
 *
 *  The page cache may use the available memory of the machine.  In a group with a limit it may use
 *  what the group has not used, and the file pages that it has in memory, which can be evicted.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_BASE_LIMITS_H
#define TND_RUNTIME_BASE_LIMITS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    double cores;          /* seconds of processor time per second; 0: no limit */
    uint64_t throttled_ns; /* so far, by the limit that did it most */
    uint64_t memory_bytes; /* UINT64_MAX: no limit */
    uint64_t cache_bytes;  /* for pages of files now; UINT64_MAX: unknown */
    char cores_by[256];    /* the file that sets it; "": none */
    char memory_by[256];
    char cache_by[256];
    uint64_t tasks; /* processes and threads; UINT64_MAX: no limit */
    char tasks_by[256];
} tnd_group_limits_t;

/*  `root` is where /proc and /sys are: "" for this machine's. */
void tnd_group_limits_read(const char *root, tnd_group_limits_t *limits);
/*  Only `cores`, `cores_by` and `throttled_ns`, those of another process. */
void tnd_group_limits_of(const char *root, int process, tnd_group_limits_t *limits);

/*  What the system says of the groups of a process, cut to `room`; processes with the same text have the
 *  same limits.  "" if it says nothing. */
void tnd_group_names(const char *root, int process, char *text, size_t room);

/*  Processors that this process may run on. */
uint32_t tnd_processors_allowed(void);
/*  Processors that another process may run on; 0: not known. */
uint32_t tnd_processors_allowed_of(int process);
/*  Processors for each task of a step of Slurm, which need not confine its tasks to them; 0: not told. */
uint32_t tnd_task_processors(void);
/*  How many of them it may use at a time: its control group, or Slurm, may allow less. */
double tnd_cores_allowed(void);

#endif
