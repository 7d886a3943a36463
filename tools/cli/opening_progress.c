/*  tools/cli/opening_progress.c - shows on stderr how far a command is with opening data. */
#include "tools/cli/opening_progress.h"

#include <stdio.h>
#include <unistd.h>

void tnd_opening_progress_init(tnd_opening_progress_t *self, const tnd_plan_t *plan)
{
    tnd_run_summary_init(&self->summary, plan);
    tnd_progress_init(&self->progress, &self->summary, TND_UNKNOWN, false);
    self->progress.out = stderr;
    self->progress.terminal = STDERR_FILENO;
}

void tnd_opening_progress_show(tnd_opening_progress_t *self, uint32_t host,
                               const tnd_open_progress_t *progress)
{
    tnd_run_summary_opening(&self->summary, host, progress);
    tnd_progress_tick(&self->progress);
}

void tnd_opening_progress_end(tnd_opening_progress_t *self)
{
    tnd_progress_stop(&self->progress);
    tnd_run_summary_fini(&self->summary);
}
