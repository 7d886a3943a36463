/*  runtime/observe/inspection.h - shows the actors of all runs on this machine.
 *
 *  Reads the statistics pages (statistics.h) of every process from shared memory only, so stopped
 *  processes and actors that hang are shown too.  The pages are copied and validated: texts are
 *  terminated and printable, states and device numbers exist.  Files that are truncated, of another
 *  version or of another user are listed as unread.
 *
 *  Pages whose lock is free belong to a killed process.  They are marked, and removed when they are
 *  10 minutes old or, by the leader, when the run ends.
 *
 *  Ownership: the caller destroys an inspection.  Threads: one. */
#ifndef TND_RUNTIME_OBSERVE_INSPECTION_H
#define TND_RUNTIME_OBSERVE_INSPECTION_H

#include "runtime/observe/machine_load.h"
#include "runtime/observe/pages.h"

/*  One process's part of a run. */
typedef struct {
    char path[512];   /* of its file */
    char machine[64]; /* the address of the machine that it runs on; "": this one */
    char run[64], host[64];
    uint64_t session; /* the same in all processes of a run that reached the leader */
    int process;
    bool killed;           /* it was killed; these are its last counts */
    int killed_by;         /* by this signal; 0: not known */
    bool stopped;          /* by a signal, such as Ctrl-Z gives */
    bool foreign;          /* the file is another user's: what it says of hosts is not trusted */
    bool here;             /* it runs on this machine by that number */
    uint32_t processors;   /* that it may run on; 0: not known */
    double cores;          /* that its control groups allow; 0: no limit, or not known */
    char cores_by[128];    /* the file that says so */
    uint64_t throttled_ns; /* by them, so far */
    uint64_t silent_ns; /* on another machine: since when nothing is heard of it; 0: it answers */
    uint64_t last_ns;   /* when one of its actors last changed its state; 0: never */
    uint32_t count;
    tnd_statistics_t *actors; /* a copy, without those of other hosts */
    /*  Copies of the rest.  Histories, details and timings are NULL unless they were asked for; the
     *  rings of events are always NULL (see event_reader.h). */
    tnd_run_record_t record;
    uint64_t rings_at; /* offset of the rings in the file */
    uint64_t tap_at;   /* likewise, of its tap (see tap.h) */
    void *record_memory;
} tnd_inspected_t;

typedef struct {
    uint64_t now_ns; /* monotonic time of the inspection */
    tnd_machine_load_t load;
    uint32_t count;
    tnd_inspected_t *processes; /* sorted by run, session, host, process */
    char *unread;               /* files that could not be read and why, a line each; or "" */
    /*  Of those, files of processes that run another version of tundish and may be, by their names,
     *  of the wanted run. */
    uint32_t others;
} tnd_inspection_t;

/*  What is read beside the pages of the actors and the run.  Each includes those before it. */
typedef enum {
    TND_LOOK_NOW,       /* nothing */
    TND_LOOK_HISTORIES, /* the last minute of each actor; what control groups allow */
    TND_LOOK_DETAILS    /* details and timings */
} tnd_look_t;

/*  A file that is larger is not read. */
enum { TND_PAGES_FILE_MAX = 256 << 20 };

/*  Does not fail; see `unread`. */
tnd_inspection_t *tnd_inspection_new(tnd_look_t look);
/*  Copies the pages of this run only, so that the cost does not depend on other runs of this
 *  machine; NULL: of all runs. */
tnd_inspection_t *tnd_inspection_of_run(const char *run, tnd_look_t look);
/*  Copies the pages of the run of this process only, of the processes that were not killed; nothing
 *  if this process has no pages. */
tnd_inspection_t *tnd_inspection_of_self(tnd_look_t look);
/*  Reads one open statistics file, also after its removal; NULL if it cannot be read. */
tnd_inspection_t *tnd_inspection_of_file(int file);
void tnd_inspection_destroy(tnd_inspection_t **self_p);

/*  Validates a process whose pages came from elsewhere. */
void tnd_inspected_bound(tnd_inspected_t *self);
/*  Reads a copy of the statistics file of a process of another machine, without its event rings.
 *  Returns NULL, or why it cannot be shown. */
const char *tnd_inspected_copy(tnd_inspected_t *self, int file, tnd_look_t look);
/*  Moves a process of another inspection here and leaves an empty one there.  tnd_inspection_sort
 *  restores the order after the last one. */
void tnd_inspection_move(tnd_inspection_t *self, tnd_inspected_t *process);
void tnd_inspection_sort(tnd_inspection_t *self);

/*  "killed", "stopped", "silent" if the process does not answer; NULL if it runs. */
const char *tnd_inspected_state(const tnd_inspected_t *self);
/*  Whether there is a process of the run named `run`: a killed one, or one that was not killed. */
bool tnd_inspection_has(const tnd_inspection_t *self, const char *run, bool killed);

/*  Whether the run of a process has a process that was not killed. */
bool tnd_inspection_runs(const tnd_inspection_t *self, const tnd_inspected_t *process);

/*  Whether two processes are of the same run. */
bool tnd_inspected_same(const tnd_inspected_t *a, const tnd_inspected_t *b);

/*  The process of the run of `process` that leads it, or else `process`: its record knows most. */
const tnd_inspected_t *tnd_inspection_leader(const tnd_inspection_t *self,
                                             const tnd_inspected_t *process);

/*  The same actor in another inspection of the same process, or NULL. */
const tnd_statistics_t *tnd_inspection_find(const tnd_inspection_t *self,
                                            const tnd_inspected_t *process, const char *actor);
/*  The signal that was noted for a process of this machine; 0: none, or its file is gone. */
int tnd_pages_death(int process);

#endif
