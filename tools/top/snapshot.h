/*  tools/top/snapshot.h - what `tundish top` knows of a run at one moment.
 *
 *  Made from two inspections: times and rates are those between them.  For an actor that the first
 *  one lacks, they are those of the last second of its history.
 *
 *  Ownership: a snapshot copies what it needs.  Threads: one. */
#ifndef TND_TOOLS_TOP_SNAPSHOT_H
#define TND_TOOLS_TOP_SNAPSHOT_H

#include "runtime/observe/inspection.h"
#include "tools/machine/machine_use.h"
#include "tools/report/verdict.h"
#include "tools/top/close_up.h"

/*  A device thread of a feeder. */
typedef struct {
    char name[24];
    unsigned state; /* tnd_device_state_t */
    uint64_t replica, step;
    double since_seconds;
    double shares[TND_DEVICE_STATES]; /* of the window; 0 to 1 */
    /*  What is known of the device itself; "" and 0: unknown. */
    char model[64], bus[32];
    uint64_t memory, bytes_moved;            /* bytes; from the host since the start */
    double bytes_per_second;                 /* of the window, as is what follows; 0 to 1 */
    double link_share;                       /* a copy was under way */
    double link_wait_share, rows_wait_share; /* it had no work and waited for it */
    bool timed;                              /* `work_share` is known: that it worked on steps */
    double work_share;
    char pending[80];       /* what it has not done yet ... */
    double pending_seconds; /* ... and since when */
} tnd_top_device_t;

/*  What an actor spends its time with: a letter and a part of the window. */
enum { TND_TOP_SHARES = TND_HISTORY_SHARES };

/*  A moment of the time axis: what an actor did in a part of the past. */
typedef struct {
    double rows;  /* a second */
    double work;  /* the part in which it, or its busiest device, was at work; 0 to 1 */
    uint8_t most; /* what most of the time was spent with, by TND_TIMES */
    bool known;
} tnd_top_moment_t;

enum { TND_TOP_MOMENTS = 60 };

typedef struct {
    char name[48], actor[32], host[64], kind[16];
    tnd_role_t role;
    uint32_t instance, chain, host_index;
    uint32_t rank; /* steps from the start of the graph; actors are in this order */
    bool here;     /* its page was read: it is on this machine and has started */
    bool stopped, killed, silent, asleep, ended, failed, working, opens;
    double times[TND_TOP_SHARES]; /* parts of the window in the order of TND_TIMES; sum 1 */
    double minute[TND_TOP_SHARES], ten[TND_TOP_SHARES]; /* of the last 60 and 10 s; sum 1 or 0 */
    double rows_per_second, bytes_per_second;
    double rows_minute;                        /* a second, over the last 60 s */
    uint32_t minute_seconds;                   /* how many seconds of the last 60 are known */
    tnd_top_moment_t seconds[TND_TOP_MOMENTS]; /* the last 60, the newest last */
    tnd_top_moment_t spans[TND_TOP_MOMENTS];   /* likewise, of 10 seconds: the last ten minutes */
    uint64_t queue, credit;                    /* TND_UNKNOWN: it needs none */
    uint64_t rows_in, rows_out, lost, again, doubled, stale, step;
    double since_seconds, age_seconds;
    char waits[64];
    char upstream[160], downstream[160];
    int process;
    uint64_t thread;
    uint32_t device_count;
    tnd_top_device_t *devices;
} tnd_top_actor_t;

typedef struct {
    char from[48], to[48];
    char from_actor[32], to_actor[32];
    bool call; /* to a reducer */
    uint32_t transport, chain;
    bool known; /* an end is on this machine */
    double rows_per_second, bytes_per_second;
    uint64_t queue, credit; /* of the receiving actor, and of the sending one */
    uint64_t free;          /* blocks that may still be sent; TND_UNKNOWN: it needs no credit */
    uint64_t lost;
    double round_trip_seconds; /* 0: not known */
    double up_seconds;         /* less than 0: not connected, or not known */
} tnd_top_edge_t;

typedef struct {
    char name[64], address[64];
    tnd_presence_t presence;
    bool waited_for, leads, isolated, stopped, killed, silent, here;
    uint64_t process, restarts;
    uint32_t restarts_max;
    double since_seconds;
    uint64_t anonymous_bytes; /* of its process; 0: not known */
    uint64_t most_bytes;      /* the most that `tundish explain` expects of it; 0: not known */
    uint64_t memory_bytes;    /* its `memory:`; 0: none */
} tnd_top_host_t;

typedef struct {
    char text[248];
    unsigned level;
    double age_seconds;
} tnd_top_log_t;

/*  A run that is seen, for a list of them. */
typedef struct {
    char run[64];
    uint64_t session; /* distinguishes runs of one name */
    int process;      /* of its leader, if that is seen */
    const char *state;
    bool killed, shown; /* shown: the snapshot is of this one */
    double age_seconds, rows_per_second;
    uint64_t epoch, step, epoch_left_ns, run_left_ns;
} tnd_top_run_t;

typedef struct {
    char run[64];
    uint64_t session;
    int process; /* of its leader, if that is seen */
    double window_seconds;
    tnd_machine_use_t machine; /* on which the looks were taken */
    char paused[64];           /* "paused by USER"; "": it is not */
    const char *state;         /* "running", ...; "" if it is not known */
    const char *outcome;       /* how it ended, or NULL */
    bool stopped;              /* the process of its leader is stopped by a signal */
    double age_seconds;
    char waiting_for[128], chain[48];
    uint32_t chains, lanes, processes, running_chain;
    uint64_t epoch, step, rows, bad, lost, again, doubled;
    uint64_t checkpoint_step;
    double checkpoint_seconds;           /* less than 0: not known */
    uint64_t epoch_left_ns, run_left_ns; /* until they end; 0: not known */
    double rows_per_second, bytes_per_second;
    tnd_verdict_t verdict; /* zeros: no judgement yet */
    tnd_top_actor_t *actors;
    uint32_t actor_count;
    tnd_top_edge_t *edges;
    uint32_t edge_count;
    tnd_top_host_t *hosts;
    uint32_t host_count;
    tnd_top_log_t *log;
    uint32_t log_count;
    tnd_top_run_t *runs; /* all, also this one, sorted by name */
    uint32_t run_count;
    const tnd_top_close_up_t *close_up; /* of the open actor; borrowed; NULL: none */
} tnd_top_snapshot_t;

/*  A snapshot of the run of `process`, which is one of `after`. */
tnd_top_snapshot_t *tnd_top_snapshot_new(const tnd_inspection_t *before,
                                         const tnd_inspection_t *after,
                                         const tnd_inspected_t *process);
/*  Replaces the list of runs by that of two looks. */
void tnd_top_snapshot_take_runs(tnd_top_snapshot_t *self, const tnd_inspection_t *before,
                                const tnd_inspection_t *after);
/*  How many other runs go on, and whether one of them, or one that was killed, has the same name. */
uint32_t tnd_top_snapshot_others(const tnd_top_snapshot_t *self, bool *same_name_p);
/*  The run has ended.  `last`: its leader's statistics, which may show how; or NULL. */
void tnd_top_snapshot_end(tnd_top_snapshot_t *self, const tnd_inspection_t *last);
void tnd_top_snapshot_destroy(tnd_top_snapshot_t **self_p);

/*  The letters of TND_TIMES: "Ricosndq." in that order. */
extern const char tnd_top_letters[TND_TOP_SHARES + 1];
/*  The letter of what an actor does now. */
char tnd_top_letter(const tnd_top_actor_t *actor);
/*  Fills `bar` with `width` letters for the parts, which add up to 1; the parts are rounded so that
 *  the letters do too. */
void tnd_top_bar(const double *parts, const char *letters, size_t count, unsigned width, char *bar);

#endif
