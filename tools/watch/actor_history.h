/*  tools/watch/actor_history.h - the last ten minutes of each actor of a run.
 *
 *  The pages of a process have the last 64 seconds of its actors, and what was before in spans of 10
 *  seconds (run_page.h).  The first look takes both; each later one adds the seconds that are new, so
 *  the looks may be up to a minute apart.
 *
 *  Ownership: tnd_actor_history_free frees all.  Threads: one. */
#ifndef TND_TOOLS_WATCH_ACTOR_HISTORY_H
#define TND_TOOLS_WATCH_ACTOR_HISTORY_H

#include <stdio.h>

#include "runtime/observe/inspection.h"

enum { TND_ACTOR_HISTORY_SECONDS = 600 };

/*  About one second. */
typedef struct {
    uint64_t at_ns;                     /* when it ended */
    float rows;                         /* handed on, per second */
    uint8_t shares[TND_HISTORY_SHARES]; /* of 255, in the order of TND_TIMES */
} tnd_actor_second_t;

typedef struct {
    int process;   /* that has written them */
    uint64_t next; /* seconds that it had written at the last look */
    uint64_t count;
    tnd_actor_second_t *seconds; /* ring: number modulo TND_ACTOR_HISTORY_SECONDS */
    char name[48];
} tnd_actor_ring_t;

/*  Zeroed: empty. */
typedef struct {
    uint64_t session; /* of the run */
    uint32_t actor_count;
    tnd_actor_ring_t *actors; /* by instance of the plan */
} tnd_actor_history_t;

/*  Adds the seconds since the previous look at the run of `process`.  Another run begins anew. */
void tnd_actor_history_add(tnd_actor_history_t *self, const tnd_inspection_t *look,
                           const tnd_inspected_t *process);
/*  Writes the member `actors`: for each actor that has seconds its name, their ages, rows per second,
 *  and shares of the time, two hexadecimal digits each. */
void tnd_actor_history_json(const tnd_actor_history_t *self, uint64_t now, FILE *out);
void tnd_actor_history_free(tnd_actor_history_t *self);

#endif
