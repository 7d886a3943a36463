/*  tools/report/long_call.h - whether an actor has been inside one call of its work for too long.
 *
 *  A call hangs if it takes longer than a second, and ten times as long as its actor's last calls, or
 *  as those of the other workers.
 *
 *  Threads: any.  Units: nanoseconds. */
#ifndef TND_TOOLS_REPORT_LONG_CALL_H
#define TND_TOOLS_REPORT_LONG_CALL_H

#include "tools/report/run_view.h"

typedef struct {
    uint64_t since_ns;    /* for how long it has been inside the call; 0: it is not in one */
    uint64_t usual_ns;    /* the mean of its last calls; 0: none has ended */
    uint64_t siblings_ns; /* the median of the other workers' calls; 0: it has none */
    bool hangs;
} tnd_long_call_t;

tnd_long_call_t tnd_long_call(const tnd_run_view_t *view, const tnd_seen_t *who);

#endif
