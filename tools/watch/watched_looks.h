/*  tools/watch/watched_looks.h - looks at a run and makes the texts that `tundish watch` serves.
 *
 *  Threads: one. */
#ifndef TND_TOOLS_WATCH_WATCHED_LOOKS_H
#define TND_TOOLS_WATCH_WATCHED_LOOKS_H

#include "tools/top/watched_run.h"
#include "tools/watch/actor_history.h"
#include "tools/watch/look_store.h"
#include "tools/watch/time_totals.h"

typedef struct {
    tnd_watched_run_t run;
    tnd_actor_history_t history;
    tnd_time_totals_t totals;
    tnd_look_store_t store;
    char *parts; /* JSON of the run when it was last seen; NULL: not made for this look */
    double look_seconds;
    uint32_t clients; /* set by the server */
} tnd_watched_looks_t;

/*  Arguments: see tnd_watched_run_begin. */
void tnd_watched_looks_begin(tnd_watched_looks_t *self, const char *name,
                             tnd_remote_hosts_t *hosts);
/*  Looks once more. */
void tnd_watched_looks_look(tnd_watched_looks_t *self);
void tnd_watched_looks_free(tnd_watched_looks_t *self);

#endif
