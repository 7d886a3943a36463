/*  tools/cli/opening_progress.h - shows on stderr how far a command is with opening data.
 *
 *  The lines are those that `tundish run` shows on stdout.
 *
 *  Lifecycle: init; show any number of times; end.  Threads: one at a time. */
#ifndef TND_TOOLS_CLI_OPENING_PROGRESS_H
#define TND_TOOLS_CLI_OPENING_PROGRESS_H

#include "tools/cli/progress.h"

typedef struct {
    tnd_run_summary_t summary;
    tnd_progress_t progress;
} tnd_opening_progress_t;

/*  `plan` is borrowed until the end. */
void tnd_opening_progress_init(tnd_opening_progress_t *self, const tnd_plan_t *plan);
/*  Host `host` reports `progress`; NULL: it has opened its data. */
void tnd_opening_progress_show(tnd_opening_progress_t *self, uint32_t host,
                               const tnd_open_progress_t *progress);
/*  Clears the line that is redrawn; nothing is shown after it. */
void tnd_opening_progress_end(tnd_opening_progress_t *self);

#endif
