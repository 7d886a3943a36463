/*  tools/cli/signals.h - delivers signals that end a run, and a clock tick, as calls on its own thread.
 *
 *  SIGINT, SIGTERM, SIGUSR1 and SIGUSR2 ask a process to end; for what, ending.h decides.
 *
 *  After hold, the signals are blocked in every new thread and handled by that thread only, so the
 *  callbacks may lock and print.
 *
 *  Threads: hold, begin and end on the main one. */
#ifndef TND_TOOLS_CLI_SIGNALS_H
#define TND_TOOLS_CLI_SIGNALS_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/signalfd.h>

#include "runtime/base/status.h"
#include "runtime/core/session/ending.h"

typedef struct {
    /*  A signal that asks for `step`, which is never TND_ENDING_NOTHING.  `cause` is " (SIGTERM from process
     *  12, srun)", or "" for the terminal and for another process of this program, which says it itself. */
    void (*signal)(void *context, int number, const char *cause, tnd_ending_step_t step);
    /*  Ten times a second. */
    void (*tick)(void *context);
    void *context;
    tnd_ending_t ending; /* likewise */
    pthread_t thread;
    bool begun;
    sigset_t before;
    int signals, over;
} tnd_signals_t;

/*  The signals that ask for a drain. */
void tnd_signals_set(sigset_t *set);
/*  What a program does that waits for children and signals by a signalfd.  `ended`: a child may have;
 *  `asked`: as `signal` above. */
typedef struct {
    void (*ended)(void *context);
    void (*asked)(void *context, const char *cause);
    void *context;
} tnd_signal_reader_t;

/*  What is said to the first one, and to those after it. */
static inline const char *tnd_signals_answer(unsigned count)
{
    return count == 1 ? "draining; Ctrl-C ends the run at once" : "leaving";
}

/*  Reads all that have come, and counts those that ask for something. */
void tnd_signals_read(int file, tnd_ending_t *ending, const tnd_signal_reader_t *reader);
/*  Which signal it is and what process sent it; see `signal` above. */
void tnd_signals_cause(const struct signalfd_siginfo *info, char *text, size_t room);
/*  Ends the process with exit code 130 if one of them, unless it is ignored, comes before hold: nothing
 *  has begun.  One that the parent blocks comes after begin. */
void tnd_signals_expect(void);
/*  From here on SIGTERM, SIGUSR1 and SIGUSR2 do not: hold delivers the first of them, so that what
 *  follows a drain is done.  Meanwhile `came` says that one has come, or is blocked. */
void tnd_signals_remember(void);
bool tnd_signals_came(void);
/*  Undoes remember: no other process depends on this one.  Ends the process if one has come. */
void tnd_signals_forget(void);
/*  For a program that is run again with the signals blocked: those that have come meanwhile are taken. */
void tnd_signals_unblock(void);
/*  Blocks the signals until begin; one that was remembered comes then.  Call it before other threads start. */
void tnd_signals_hold(tnd_signals_t *self);
/*  The callbacks and `ending` are set.  Errors: TND_FAILED if the system allows no thread or descriptor; signals stay
 *  blocked. */
tnd_status_t tnd_signals_begin(tnd_signals_t *self, tnd_error_t *error) TND_CHECKED;
/*  No callback runs afterwards.  Without begin it undoes hold.  Later signals are ignored: only the
 *  last lines are still written. */
void tnd_signals_end(tnd_signals_t *self);

#endif
