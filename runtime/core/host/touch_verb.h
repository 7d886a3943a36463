/*  runtime/core/host/touch_verb.h - what a user can ask of a run that is under way.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_CORE_HOST_TOUCH_VERB_H
#define TND_RUNTIME_CORE_HOST_TOUCH_VERB_H

typedef enum {
    TND_TOUCH_PAUSE,
    TND_TOUCH_RESUME,
    TND_TOUCH_DRAIN,
    TND_TOUCH_RESTART,    /* an actor */
    TND_TOUCH_SET,        /* an option of an actor to a value */
    TND_TOUCH_SCALE,      /* the workers of an actor that are awake to a value */
    TND_TOUCH_START_AGAIN /* the whole run, from its newest checkpoint (resumption.h) */
} tnd_verb_t;

enum { TND_TOUCH_KINDS = 7 };

#endif
