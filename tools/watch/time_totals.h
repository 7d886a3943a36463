/*  tools/watch/time_totals.h - how actors have spent their time, as counters that never decrease.
 *
 *  The times of an actor's life are estimates, which may shrink from one look to the next
 *  (statistics.h).  A counter of Prometheus that shrinks counts as a restart.  So the times between two
 *  looks are added up here.
 *
 *  Ownership: tnd_time_totals_free frees all.  Threads: one. */
#ifndef TND_TOOLS_WATCH_TIME_TOTALS_H
#define TND_TOOLS_WATCH_TIME_TOTALS_H

#include "runtime/observe/inspection.h"

typedef struct {
    char actor[48];
    tnd_times_t last, total;
} tnd_time_total_t;

/*  The actors of a process, in the order of an inspection. */
typedef struct {
    uint64_t session;
    int process;
    char host[64];
    uint32_t count;
    tnd_time_total_t *actors;
} tnd_process_totals_t;

/*  Zeroed: empty. */
typedef struct {
    uint64_t now_ns; /* of the last look */
    uint32_t count;
    tnd_process_totals_t *processes; /* of the last look, in its order */
} tnd_time_totals_t;

/*  Adds the time since the previous look.  Processes that the look does not have are forgotten. */
void tnd_time_totals_add(tnd_time_totals_t *self, const tnd_inspection_t *look);
void tnd_time_totals_free(tnd_time_totals_t *self);

#endif
