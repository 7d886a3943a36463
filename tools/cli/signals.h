/*  tools/cli/signals.h - delivers SIGINT, SIGTERM and a clock tick as calls on its own thread.
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

typedef struct {
    /*  The first signal, the second, ... */
    void (*signal)(void *context, int number, unsigned count);
    /*  Ten times a second. */
    void (*tick)(void *context);
    void *context;
    pthread_t thread;
    bool begun;
    sigset_t before;
    int signals, over;
} tnd_signals_t;

/*  Blocks the signals until begin.  Call it before other threads start. */
void tnd_signals_hold(tnd_signals_t *self);
/*  The callbacks are set. */
void tnd_signals_begin(tnd_signals_t *self);
/*  No callback runs afterwards.  Without begin it undoes hold.  Later signals are ignored: only the
 *  last lines are still written. */
void tnd_signals_end(tnd_signals_t *self);

#endif
