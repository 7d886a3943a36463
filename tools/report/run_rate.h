/*  tools/report/run_rate.h - how many rows per second a run feeds.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_REPORT_RUN_RATE_H
#define TND_TOOLS_REPORT_RUN_RATE_H

#include "tools/report/run_view.h"

/*  Whether rows are fed, and how many per second.  A run flows if rows were fed between the two
 *  looks, or if its last step is not older than three of the longest of the last gaps. */
bool tnd_run_rate(const tnd_run_view_t *view, double *rows_per_second_p);

#endif
