/*  runtime/core/host/run_touches.h - what users ask of a run, as its leader carries it out and answers.
 *
 *  A user asks at any host, which passes it on with the number of the client that it must answer.  The
 *  leader tries what is asked (leader.h).  If it is done, all hosts are told, and then the host that
 *  passed it on: no user is answered before it is done, and by then his own host knows it.  A host
 *  that comes later, or comes back, is told what holds now.
 *
 *  A pause continues in the next chain.  No chain follows in a run that drains, or whose programs have
 *  ended their loops.
 *
 *  Threads: one.  The caller provides the memory. */
#ifndef TND_RUNTIME_CORE_HOST_RUN_TOUCHES_H
#define TND_RUNTIME_CORE_HOST_RUN_TOUCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/core/host/touch_verb.h"

/*  What came of it. */
typedef enum {
    TND_TOUCH_DONE,
    TND_TOUCH_REFUSED, /* it was tried */
    TND_TOUCH_ENDED,   /* the run has */
    TND_TOUCH_DRAINS   /* the run does so already */
} tnd_touch_result_t;

/*  Workers of an actor. */
typedef struct {
    uint32_t first; /* its first instance, which names it */
    uint32_t workers;
} tnd_touch_scale_t;

/*  Zeroed but for what the caller sets: nothing was asked yet. */
typedef struct {
    uint32_t *awake; /* by instance, the first of its actor: workers that a user wants awake; 0: as
                        planned.  The caller provides it, zeroed, and sets the counts. */
    uint32_t instance_count, host_count;
    bool drains;        /* the run, on request */
    bool finishes;      /* programs have ended their loops */
    bool is_set;        /* an option was */
    uint64_t paused_ns; /* when the pause was asked for; 0: the run is not paused */
    uint32_t pending;   /* what must be done next, and for which host */
    tnd_verb_t verb;
    tnd_touch_result_t result;
    uint32_t from, host, first;
    uint64_t client;
} tnd_run_touches_t;

typedef enum {
    TND_TOUCHES_TRY,     /* carry out what is asked, and call tnd_run_touches_tried */
    TND_TOUCHES_OPTIONS, /* tell `host` which options are set now */
    TND_TOUCHES_SCALE,   /* tell `host` how many workers of an actor are awake */
    TND_TOUCHES_NEWS,    /* tell `host` that it was carried out */
    TND_TOUCHES_ANSWER   /* have `host` tell its client what came of it */
} tnd_touches_step_kind_t;

typedef struct {
    tnd_touches_step_kind_t kind;
    uint32_t host;
    tnd_touch_scale_t scale;
    uint64_t client;
    tnd_touch_result_t result;
} tnd_touches_step_t;

/*  A user asks at `host`, for its client of that number; `ended`: the run has.  All steps of what was asked
 *  before were taken. */
void tnd_run_touches_take(tnd_run_touches_t *self, tnd_verb_t verb, uint32_t host, uint64_t client,
                          bool ended);
/*  It was carried out, or not; `scale`: for SCALE, of which actor. */
void tnd_run_touches_tried(tnd_run_touches_t *self, bool done, const tnd_touch_scale_t *scale,
                           uint64_t now);
/*  A host is connected and ready, perhaps again. */
void tnd_run_touches_greet(tnd_run_touches_t *self, uint32_t host);
/*  The next step, in order; false: there is none. */
bool tnd_run_touches_next(tnd_run_touches_t *self, tnd_touches_step_t *step);

/*  The run is to drain / its programs have ended their loops, at any host. */
void tnd_run_touches_drain(tnd_run_touches_t *self);
void tnd_run_touches_finish(tnd_run_touches_t *self);
/*  Whether another chain may follow. */
bool tnd_run_touches_goes_on(const tnd_run_touches_t *self);

#endif
