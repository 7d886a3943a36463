/*  tools/report/full_cache.h - a cache whose store is full, so that samples are made again.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_REPORT_FULL_CACHE_H
#define TND_TOOLS_REPORT_FULL_CACHE_H

#include "tools/report/run_view.h"
#include "tools/report/verdict.h"

/*  Adds to the sentence how much of its rows a full cache hands on from its store, and which `limit`
 *  would hold all.  Not in the first epoch, in which all samples are made. */
void tnd_full_cache_say(const tnd_run_view_t *view, tnd_verdict_t *verdict);

#endif
