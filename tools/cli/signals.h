/*  tools/cli/signals.h - SIGINT and SIGTERM as calls, and a clock tick, on a thread of their own.
 *
 *  From hold on the signals are blocked in every thread made meanwhile and taken by that thread
 *  alone, so that what they call may lock and print.
 *
 *  Threads: hold, begin and end on the main one.
 */
#ifndef TUNDISH_TOOLS_SIGNALS_H
#define TUNDISH_TOOLS_SIGNALS_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

typedef struct {
    /*  A signal came: the first, the second, ... */
    void (*signal)(void *context, int number, unsigned count);
    /*  Ten times a second. */
    void (*tick)(void *context);
    void *context;
    pthread_t thread;
    bool begun;
    sigset_t before;
    int signals, over;
} tnd_signals_t;

/*  Blocks the signals: what comes from now on waits for begin.  Before other threads are made. */
void tnd_signals_hold(tnd_signals_t *self);
/*  The calls are set. */
void tnd_signals_begin(tnd_signals_t *self);
/*  No more calls.  Without begin it undoes hold; behind it a signal is for nobody: all is done,
 * only the last words are still written, and the process ends as it would have.
 */
void tnd_signals_end(tnd_signals_t *self);

#endif
