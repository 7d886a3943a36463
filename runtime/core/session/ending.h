/*  runtime/core/session/ending.h - what a signal asks of a process of a run.
 *
 *  Launchers send SIGTERM, SIGUSR1 or SIGUSR2 before they take a machine away, to one process or to all, and
 *  repeat it: each asks for a drain, which others do not shorten.  SIGINT, as Ctrl-C sends it, asks for more
 *  each time once the process was asked to end.
 *
 *  Threads: one. */
#ifndef TND_RUNTIME_CORE_SESSION_ENDING_H
#define TND_RUNTIME_CORE_SESSION_ENDING_H

#include <stdbool.h>

/*  Zeroed but for `spare`. */
typedef struct {
    bool spare;     /* the run continues without this process */
    unsigned asked; /* by how many signals that asked for something */
} tnd_ending_t;

typedef enum {
    TND_ENDING_NOTHING,
    TND_ENDING_DRAIN, /* the run ends after the same step everywhere */
    TND_ENDING_LEAVE, /* the process ends, and the run continues */
    TND_ENDING_STOP,  /* it ends within a moment, whatever it does */
    TND_ENDING_EXIT   /* at once */
} tnd_ending_step_t;

/*  A signal came; `pressed`: it is SIGINT. */
tnd_ending_step_t tnd_ending_ask(tnd_ending_t *self, bool pressed);

#endif
