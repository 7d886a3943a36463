/*  runtime/observe/inspection.h - what the actors of all runs on this machine are at.
 *
 *  Reads the statistics pages (statistics.h) of every process, and asks none: also one that is
 *  stopped, or whose actors hang, is seen.  What is read is copied and held within its bounds:
 *  texts end and have only printable characters, numbers of states and devices exist.  A file that
 *  is of another version, cut or of somebody else is not shown, and said.
 *
 *  The pages of a process that was killed are known by the lock that nobody holds; they are told
 *  apart, and removed.
 *
 *  Ownership: an inspection is the caller's, to tnd_inspection_destroy.  Threads: one.
 */
#ifndef TND_RUNTIME_OBSERVE_INSPECTION_H
#define TND_RUNTIME_OBSERVE_INSPECTION_H

#include "runtime/observe/statistics.h"

/*  One process's part of a run. */
typedef struct {
    char path[512]; /* of its file */
    char run[64], host[64];
    uint64_t session; /* the same in all processes of a run, once each has met the leader */
    int process;
    bool killed;  /* it ended without a word; what it counted last is here */
    bool stopped; /* by a signal, such as Ctrl-Z gives */
    uint32_t count;
    tnd_statistics_t *actors; /* a copy; those of other hosts are left out */
} tnd_inspected_t;

typedef struct {
    uint64_t now_ns; /* monotonic, when it was made */
    uint32_t count;
    tnd_inspected_t *processes; /* sorted by run, session, host, process */
    char *unread;               /* what could not be shown and why, a line each; "": nothing */
} tnd_inspection_t;

/*  Never fails: what cannot be read is in `unread`. */
tnd_inspection_t *tnd_inspection_new(void);
void tnd_inspection_destroy(tnd_inspection_t **self_p);

/*  Whether a process of the run called `run` is in it: one that was killed, or one that was not. */
bool tnd_inspection_has(const tnd_inspection_t *self, const char *run, bool killed);

/*  Whether two processes are of the same run. */
bool tnd_inspected_same(const tnd_inspected_t *a, const tnd_inspected_t *b);

/*  The same actor in another inspection of the same process, or NULL. */
const tnd_statistics_t *tnd_inspection_find(const tnd_inspection_t *self,
                                            const tnd_inspected_t *process, const char *actor);

#endif
