/*  tools/report/run_faults.h - what is wrong in a run, whether rows flow or not.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_REPORT_RUN_FAULTS_H
#define TND_TOOLS_REPORT_RUN_FAULTS_H

#include "tools/report/run_view.h"
#include "tools/report/verdict.h"

/*  Adds processes that were stopped, killed or crash again and again, actors that hang while others
 *  work, and processors that are not free. */
void tnd_run_faults_find(const tnd_run_view_t *view, tnd_verdict_t *verdict);
/*  Of a run that feeds no row at this moment: adds a fault, and what it says to the sentence, if an actor
 *  hands on few of its rows. */
void tnd_run_faults_find_left_out(const tnd_run_view_t *view, tnd_verdict_t *verdict);

#endif
