/*  runtime/looks/failed_run.h - what remains of a run that failed: who, when and why.
 *
 *  The statistics of a process end with it.  So the leader of a run that fails leaves a small file in
 *  their folder, one per name of a run, which `tundish why` shows for 10 minutes.  The next run of that
 *  name removes it.
 *
 *  Threads: any.  Errors: none; a file that cannot be written or read is left out. */
#ifndef TND_RUNTIME_LOOKS_FAILED_RUN_H
#define TND_RUNTIME_LOOKS_FAILED_RUN_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    char run[64], host[64];
    int process;
    int code;        /* exit code of `tundish run` for such an end */
    uint64_t ago_ns; /* since its end */
    char why[512];
} tnd_failed_run_t;

/*  Leaves the file of a run that ends now. */
void tnd_failed_run_write(const tnd_failed_run_t *self);
/*  Removes the file of the run named `run`. */
void tnd_failed_run_forget(const char *run);
/*  Reads up to `room` failed runs named `run`, of any name if that is NULL, and removes files that are
 *  too old.  Returns their number. */
size_t tnd_failed_runs_read(const char *run, tnd_failed_run_t *found, size_t room);

#endif
