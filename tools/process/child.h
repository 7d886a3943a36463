/*  tools/process/child.h - a process of this program that runs one host, with its restarts.
 *
 *  The plan (`restart:`, `restarts:`) and the way it ended decide about a restart: on-failure means
 *  that a signal killed it.  A wrong command line, topology or data file will be wrong the next
 *  time too.  One that does not work any more, because it is stopped for example, is killed.
 *
 *  Threads: start on a thread that outlives the children, because they end with it. */
#ifndef TND_TOOLS_PROCESS_CHILD_H
#define TND_TOOLS_PROCESS_CHILD_H

#include <signal.h>
#include <sys/types.h>

#include "runtime/core/protocol/heartbeat.h"
#include "runtime/core/protocol/restart.h"
#include "tools/launch/run_options.h"

typedef struct {
    const tnd_plan_t *plan;
    uint32_t host;
    bool guided;       /* its parent runs in this run, so a leader that it misses exists */
    bool resumes;      /* the run starts again without a host that was killed, or with it */
    pid_t pid;         /* 0: it does not run */
    uint64_t again_ns; /* when it will be restarted; 0: never */
    pid_t unreaped;    /* the process before it, which has ended but is not reaped; 0: none */
    uint64_t reap_ns;  /* when it will be reaped */
    tnd_restart_policy_t supervise;
    int pages; /* its statistics file; -1: it has none yet */
    tnd_heartbeat_t heartbeat;
    uint64_t look_ns;   /* when its heartbeat is looked at; TND_NEVER: no more */
    uint64_t silent_ns; /* it was killed because it had been silent for so long */
    bool killed;        /* it was killed because it did not end */
} tnd_child_t;

/*  Its streams; -1: those of this process. */
typedef struct {
    int out, err;
    int death_signal; /* the signal that it gets when the thread that started it ends */
    const sigset_t *mask;
} tnd_child_terms_t;

/*  The command line `tundish run ... --host NAME`, a list that ends with NULL; free it with
 *  tnd_child_words_free. */
char **tnd_child_words(const tnd_request_t *request, const tnd_run_options_t *options,
                       const char *host, bool leads, bool saves);
void tnd_child_words_free(char **words);

/*  Errors: false, with errno. */
bool tnd_child_start(tnd_child_t *self, char *const *words, const tnd_child_terms_t *terms);

/*  Kills a process that has not worked for so long that the leader has lost it, if it may be
 *  restarted.  Returns when to look again; TND_NEVER: it is not looked after. */
uint64_t tnd_child_look_after(tnd_child_t *self, uint64_t now);
/*  Kills it, because it does not end although it was told to. */
void tnd_child_kill(tnd_child_t *self);

typedef enum {
    TND_CHILD_OVER,  /* it succeeded, or a restart would not help */
    TND_CHILD_AGAIN, /* it will be restarted at `again_ns` */
    TND_CHILD_LATE,  /* the run has ended, so it is not restarted */
    TND_CHILD_LIMIT  /* it died too often */
} tnd_child_verdict_t;

/*  Whether it has ended, with its status as from waitpid.  It is not reaped yet: reaping a killed
 *  process blocks until the last of its threads has ended, which takes half a second on a busy
 *  machine. */
bool tnd_child_has_ended(const tnd_child_t *self, int *status_p);
/*  Records the status of the process that ended.  `needed`: the run continues, so that it may be
 *  restarted.  `text` receives how it ended and what follows, "was killed by signal 9 (Killed): it
 *  is started again in 10 ms (1 of 5)", or "" if it succeeded. */
tnd_child_verdict_t tnd_child_ended(tnd_child_t *self, int status, bool needed, char *text,
                                    size_t room);
/*  Reaps the process that has ended when that is due, or at once for TND_NEVER.  Returns when it is
 *  due; TND_NEVER: there is none. */
uint64_t tnd_child_reap(tnd_child_t *self, uint64_t now);
/*  The exit code that a shell gives to this status. */
int tnd_child_code(int status);
/*  The meaning of an exit code of `tundish run` other than 0. */
const char *tnd_child_meaning(int code);

#endif
