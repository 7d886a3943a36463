/*  tools/report/slow_link.h - a connection between two hosts that both of its ends wait for.
 *
 *  Bytes that were sent and have not arrived are on its way.  A connection is slow if both ends wait
 *  for most of the time and bytes are on the way for longer than a network needs, or if nothing has
 *  arrived for a while.  One that stays on a machine is not slow.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_REPORT_SLOW_LINK_H
#define TND_TOOLS_REPORT_SLOW_LINK_H

#include "tools/report/run_view.h"
#include "tools/report/verdict.h"

typedef struct {
    tnd_seen_t from, to;
    double rate;        /* bytes per second; 0: none has arrived yet */
    double on_the_way;  /* bytes */
    uint64_t silent_ns; /* for how long nothing has arrived; 0: something does */
    bool slow;          /* false: both ends wait for it, but bytes arrive soon */
} tnd_slow_link_t;

/*  Finds a connection that both ends wait for, rather a slow one.  `seconds`: of the histories, over which it is judged; 0: the time between
 *  the two looks.  `rows_per_second`: that are fed.  Returns false if there is none. */
bool tnd_slow_link_find(const tnd_run_view_t *view, uint64_t seconds, double rows_per_second,
                        tnd_slow_link_t *link);

/*  Adds to the sentence that the connection limits the run. */
void tnd_slow_link_say(const tnd_run_view_t *view, const tnd_slow_link_t *link,
                       tnd_verdict_t *verdict);
/*  Adds the fault, and that it is the limit of the run. */
void tnd_slow_link_add(const tnd_slow_link_t *link, tnd_verdict_t *verdict);

#endif
