/*  tools/top/watched_run.h - looks at one run again and again, until it has ended.
 *
 *  The run is the newest of those asked for, until the user chooses one.  Once it has ended it stays,
 *  with how it ended.
 *
 *  Ownership: tnd_watched_run_free frees all.  Threads: one. */
#ifndef TND_TOOLS_TOP_WATCHED_RUN_H
#define TND_TOOLS_TOP_WATCHED_RUN_H

#include "tools/remote/remote_hosts.h"
#include "tools/top/snapshot.h"

typedef struct {
    const char *name;                 /* of the run that was asked for; NULL: any */
    tnd_remote_hosts_t *hosts;        /* on other machines; borrowed */
    tnd_look_t what;                  /* what is read, at least */
    char chosen_run[64];              /* the run that the user has chosen ... */
    uint64_t chosen;                  /* ... and its session; 0: none */
    bool lists;                       /* all runs are looked at, whatever was asked for */
    const char *open;                 /* the actor that is opened; borrowed; NULL: none */
    uint64_t patience_ns;             /* how long a look waits for them */
    tnd_inspection_t *before, *after; /* the last two looks; NULL: none yet */
    tnd_top_snapshot_t *snapshot;     /* of the last look; NULL: no run was found */
    tnd_top_close_up_t *close_up;     /* of the open actor */
    bool follows;                     /* the next run that begins replaces one that has ended */
    bool ended;                       /* the run has ended; further looks change nothing */
    bool found_dead; /* it was killed before it was found: a run that begins replaces it */
    int file;        /* its leader's statistics, readable after their end; -1: none */
} tnd_watched_run_t;

/*  `name`: of the run, or the number of one of its processes on this machine; NULL: the newest run. */
void tnd_watched_run_begin(tnd_watched_run_t *self, const char *name, tnd_remote_hosts_t *hosts,
                           uint64_t patience_ns);
void tnd_watched_run_look(tnd_watched_run_t *self);
/*  From the next look on, it is this run. */
void tnd_watched_run_choose(tnd_watched_run_t *self, const char *run, uint64_t session);
/*  The process of the run in the last look, or NULL. */
const tnd_inspected_t *tnd_watched_run_process(const tnd_watched_run_t *self);
/*  Writes the members `runs`, `processes` and `unread` of `tundish ps --json`. */
void tnd_watched_run_json(const tnd_watched_run_t *self, FILE *out);
void tnd_watched_run_free(tnd_watched_run_t *self);

#endif
