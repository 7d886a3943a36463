/*  tools/report/run_limit.h - the actor that bounds the rate of a run, and what a change would give.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_REPORT_RUN_LIMIT_H
#define TND_TOOLS_REPORT_RUN_LIMIT_H

#include "tools/report/run_view.h"
#include "tools/report/verdict.h"
#include "tools/report/wait_chain.h"

/*  Fills the limit of a run that flows, adds what limits it to the sentence, and adds a fault for a
 *  slow connection. */
void tnd_run_limit_find(const tnd_run_view_t *view, tnd_verdict_t *verdict);

/*  Fills the limit of a run that feeds no row at this moment: the limit is the actor that the wait chain ended at
 *  if it has been at work for most of the last seconds and does not hang.  Of a chain without an end it is
 *  the actor that was at work most of the time. */
void tnd_run_limit_find_stalled(const tnd_run_view_t *view, tnd_chain_end_t end,
                                tnd_verdict_t *verdict);

#endif
