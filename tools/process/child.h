/*  tools/process/child.h - a process of this program that runs one host, and is started again.
 *
 *  Whether it is started again the plan says (`restart:`, `restarts:`), and how it ended:
 * on-failure means that a signal killed it; a command line, a topology or data that cannot be used
 * will not be usable the next time either.
 *
 *  Threads: start on a thread that lives as long as its children should, for they end with it.
 */
#ifndef TUNDISH_TOOLS_CHILD_H
#define TUNDISH_TOOLS_CHILD_H

#include <signal.h>
#include <sys/types.h>

#include "runtime/core/restart.h"
#include "tools/cli/load.h"

typedef struct {
    const tnd_plan_t *plan;
    uint32_t host;
    bool guided;       /* its parent is of the run: a leader that it misses meanwhile is there */
    pid_t pid;         /* 0: it does not run */
    uint64_t again_ns; /* when it is to be started again; 0: not at all */
    pid_t corpse;      /* the one before, which has ended and is not buried; 0: none */
    uint64_t bury_ns;  /* when that is to be done */
    tnd_restart_policy_t supervise;
} tnd_child_t;

/*  What its streams become; -1: those of this process. */
typedef struct {
    int out, err;
    int death_signal; /* what it gets when the thread that started it ends */
    const sigset_t *mask;
} tnd_child_terms_t;

/*  The command line `tundish run ... --host NAME` as a list ended by NULL; tnd_child_words_free. */
char **tnd_child_words(const tnd_request_t *request, const char *host, bool leads, bool saves);
void tnd_child_words_free(char **words);

/*  False: errno says why. */
bool tnd_child_start(tnd_child_t *self, char *const *words, const tnd_child_terms_t *terms);

typedef enum {
    TND_CHILD_OVER,  /* as asked, or nothing is to be done about it */
    TND_CHILD_AGAIN, /* to be started at `again_ns` */
    TND_CHILD_LATE,  /* it would be started again, but the run no longer needs it */
    TND_CHILD_LIMIT  /* it died too often */
} tnd_child_verdict_t;

/*  Whether it has ended; its status, as waitpid would give it.  It is not waited for: the kernel
 *  keeps who takes leave of a process that was killed until the last of its threads has gone
 * through its end, which takes half a second where many want to run.
 */
bool tnd_child_has_ended(const tnd_child_t *self, int *status_p);
/*  Records that the process ended with that status.  `needed`: the run goes on, so that a process
 *  which may be restarted is.  `text` receives how it ended and what follows, "was killed by signal
 *  9 (Killed): it is started again in 10 ms (1 of 5)", or "" if it ended well.
 */
tnd_child_verdict_t tnd_child_ended(tnd_child_t *self, int status, bool needed, char *text,
                                    size_t room);
/*  Waits for the one that has ended, once it is time, or at once for TND_NEVER; returns when it
 * will be, TND_NEVER: there is none.
 */
uint64_t tnd_child_bury(tnd_child_t *self, uint64_t now);
/*  What a shell calls that status. */
int tnd_child_code(int status);
/*  What an exit code of `tundish run` other than 0 says. */
const char *tnd_child_meaning(int code);

#endif
