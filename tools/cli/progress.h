/*  tools/cli/progress.h - how far a run is, for a person.
 *
 *  On a terminal one line that is drawn again, at most ten times a second; elsewhere a plain line
 *  every few seconds.  Either way a line stays for what does not pass: a host that is waited for,
 *  an epoch that ended, the begin of an evaluation.
 *
 *  Threads: tick on one thread, end on the main one after it, clear and stop on either; all look at
 *  the tally under its lock.
 */
#ifndef TUNDISH_TOOLS_PROGRESS_H
#define TUNDISH_TOOLS_PROGRESS_H

#include "runtime/observe/run_summary.h"

/*  Said once of a drain that nobody here asked for. */
#define TND_PROGRESS_DRAINS "draining: every replica finishes the same last step"

typedef struct {
    tnd_run_summary_t *tally;
    FILE *out;          /* kept by the caller; stdout unless it is set */
    uint64_t steps_max; /* TND_UNKNOWN: none */
    bool quiet, stopped, drawn, joined;
    bool draining; /* that it drains was said, here or by who asked for it */
    uint32_t chain;
    uint64_t epochs_shown, epoch_lines, epoch_ns, plain_ns;
    uint64_t rate_ns, rate_rows; /* where the current rate is measured from */
    double rate;
    char waiting[512];
} tnd_progress_t;

void tnd_progress_init(tnd_progress_t *self, tnd_run_summary_t *tally, uint64_t steps_max,
                       bool quiet);
/*  Shows what has changed.  Every 100 ms or so. */
void tnd_progress_tick(tnd_progress_t *self);
/*  Clears the line that is drawn again. */
void tnd_progress_clear(tnd_progress_t *self);
/*  Clears it, and later ticks show nothing: the run has failed, and its errors are the last lines.
 */
void tnd_progress_stop(tnd_progress_t *self);
/*  The closing lines of a run that has ended well, or drained. */
void tnd_progress_end(tnd_progress_t *self, bool drained);

#endif
