/*  tools/cli/progress.h - shows the progress of a run.
 *
 *  On a terminal, one line is redrawn at most ten times a second; otherwise a line is printed every
 *  few seconds.  It shows how far hosts are with opening their data if they are waited for.  In both
 *  cases a line stays for a host that is awaited, an epoch that ended, and a validation.  With `every:` the
 *  line has both chains: the one that runs, and where the first one rests, or the last validation.
 *
 *  Threads: tick on one thread, end on the main one after it, clear and stop on either; all read
 *  the summary under its lock. */
#ifndef TND_TOOLS_CLI_PROGRESS_H
#define TND_TOOLS_CLI_PROGRESS_H

#include "runtime/observe/run_summary.h"

/*  Printed once for a drain that was requested on another host. */
#define TND_PROGRESS_DRAINS "draining: every replica finishes the same last step"

typedef struct {
    tnd_run_summary_t *summary;
    FILE *out;          /* owned by the caller; stdout unless it is set */
    int terminal;       /* the descriptor that shows it */
    uint64_t steps_max; /* TND_UNKNOWN: none */
    bool quiet, stopped, drawn, joined;
    bool draining; /* the drain was announced, here or where it was requested */
    uint32_t chain;
    uint64_t epochs_shown, epoch_lines, epoch_ns, plain_ns;
    uint64_t validation_lines, validation_ns;
    size_t validations_seen;
    uint64_t open_ns;            /* when to show again what is opened */
    uint64_t rate_ns, rate_rows; /* the start of the interval of the current rate */
    double rate;
    char waiting[512];
} tnd_progress_t;

void tnd_progress_init(tnd_progress_t *self, tnd_run_summary_t *summary, uint64_t steps_max,
                       bool quiet);
/*  Shows changes; called about every 100 ms. */
void tnd_progress_tick(tnd_progress_t *self);
/*  Clears the line that is redrawn. */
void tnd_progress_clear(tnd_progress_t *self);
/*  Clears it and stops: the run has failed, and its errors are the last lines. */
void tnd_progress_stop(tnd_progress_t *self);
/*  The closing lines of a run that succeeded or was drained. */
void tnd_progress_end(tnd_progress_t *self, bool drained);

#endif
