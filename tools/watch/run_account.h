/*  tools/watch/run_account.h - what the report of a run has of its statistics: the last look at the run
 *  of this process, and the last ten minutes of its actors.
 *
 *  Zeroed: empty.  Ownership: tnd_run_account_free frees all.  Threads: one at a time. */
#ifndef TND_TOOLS_WATCH_RUN_ACCOUNT_H
#define TND_TOOLS_WATCH_RUN_ACCOUNT_H

#include "tools/watch/actor_history.h"

typedef struct {
    tnd_actor_history_t history;
    uint64_t due_ns; /* of the next look; 0: at once */
    char *text;      /* members of a JSON object; NULL: none */
} tnd_run_account_t;

/*  Looks twice a minute; it may be called more often. */
void tnd_run_account_tick(tnd_run_account_t *self, uint64_t now);
/*  The run has ended, and its statistics still exist: makes `text`.  Its members are `look`, as
 *  `tundish ps --json` shows this run, and `history`.  Processes on other machines are missing. */
void tnd_run_account_end(tnd_run_account_t *self);
void tnd_run_account_free(tnd_run_account_t *self);

#endif
