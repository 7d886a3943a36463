/*  runtime/core/host/replacement.h - how a host replaces one of its actors.
 *
 *  An actor that hangs is reported to the leader, and abandoned when the leader wants it restarted:
 *  a thread cannot be killed.  One that works is asked to end on request of a user, and abandoned only
 *  if it does not within `hung_after`.  The next life then passes the barriers of the start on its
 *  own: it binds, runs, and is reported to the leader, also if the connection was lost meanwhile.
 *
 *  Threads: one. */
#ifndef TND_RUNTIME_CORE_HOST_REPLACEMENT_H
#define TND_RUNTIME_CORE_HOST_REPLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    TND_REPLACEMENT_NONE,
    TND_REPLACEMENT_REPORTED, /* the leader was told that the actor hangs */
    TND_REPLACEMENT_STOPPING, /* it works, and ends on request */
    TND_REPLACEMENT_MADE,     /* the next one was made, and binds */
    TND_REPLACEMENT_RAISED    /* the next one may run */
} tnd_replacement_state_t;

/*  Zeroed: the actor was not replaced yet. */
typedef struct {
    tnd_replacement_state_t state;
    uint64_t until_ns; /* when one that is STOPPING is abandoned */
    uint32_t births;   /* how often the actor was replaced */
} tnd_replacement_t;

/*  What the host must do. */
typedef enum {
    TND_REPLACEMENT_WAIT,    /* nothing, now */
    TND_REPLACEMENT_STOP,    /* ask the actor to end */
    TND_REPLACEMENT_ABANDON, /* abandon the actor with all that it may access, and make the next */
    TND_REPLACEMENT_FREE,    /* free the actor, which has ended, and make the next */
    TND_REPLACEMENT_GO,      /* let the next run, and tell the leader where it listens */
    TND_REPLACEMENT_REPORT   /* tell the leader that it runs */
} tnd_replacement_step_t;

/*  What is known of the actor, or of the next one once that is made. */
typedef struct {
    bool ended;   /* its thread has */
    bool bound;   /* it waits for GO */
    bool runs;    /* and has not ended */
    bool reaches; /* the leader can be told */
} tnd_replacement_facts_t;

/*  Whether hangs of the actor are looked for. */
bool tnd_replacement_is_watched(const tnd_replacement_t *self);
/*  The leader was told that the actor hangs. */
void tnd_replacement_reported(tnd_replacement_t *self);
/*  The connection to the leader was lost, and with it perhaps what it was told last: an actor that
 *  hangs is watched again. */
void tnd_replacement_forget(tnd_replacement_t *self);
/*  The leader wants the actor restarted; `asked`: on request of a user, although it may work. */
tnd_replacement_step_t tnd_replacement_ask(tnd_replacement_t *self, bool asked,
                                           uint64_t hung_after_ns, uint64_t now);
/*  Call it until it returns WAIT, and whenever something may have changed. */
tnd_replacement_step_t tnd_replacement_next(tnd_replacement_t *self,
                                            const tnd_replacement_facts_t *facts, uint64_t now);

#endif
