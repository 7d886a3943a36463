/*  runtime/observe/observer.h - events of a run, as the leader reports them.
 *
 *  A progress line, a metrics file, a report are written by observers; the runtime prints nothing.
 *
 *  Threads: every function is called on the host's own thread and must not wait long.
 */
#ifndef TND_RUNTIME_OBSERVE_OBSERVER_H
#define TND_RUNTIME_OBSERVE_OBSERVER_H

#include "runtime/core/order/cursor.h"
#include "runtime/core/leader.h"
#include "runtime/data/stream.h"

enum { TND_METRICS_MAX = 16, TND_METRIC_NAME = 32 };

/*  A reported number: the weighted mean is sum / weight. */
typedef struct {
    char name[TND_METRIC_NAME];
    double sum, weight;
} tnd_metric_t;

/*  One booked step of one chain. */
typedef struct {
    uint32_t chain;
    uint64_t step;  /* over the run */
    uint32_t epoch; /* that it belongs to */
    uint32_t rows;
    bool last_of_epoch;
    uint32_t metric_count;
    const tnd_metric_t *metrics;
    const tnd_cursor_t *cursor; /* after the step */
} tnd_step_record_t;

typedef enum { TND_LOG_DEBUG, TND_LOG_INFO, TND_LOG_WARNING, TND_LOG_ERROR } tnd_log_level_t;

/*  Bad records of a run, by who found them. */
typedef struct {
    char who[160];   /* actor, operation */
    char first[320]; /* what was wrong with the first of them */
    uint64_t count;  /* in this session */
} tnd_reason_t;

typedef struct tnd_observer {
    void *context;
    /*  A chain's state changed; `waiting` names hosts that are missing, in JOINING. */
    void (*state)(void *context, uint32_t chain, tnd_leader_core_state_t state,
                  const char *waiting);
    /*  The chain's stream is known: rows, epochs, schema. */
    void (*stream)(void *context, const tnd_stream_t *stream);
    void (*step)(void *context, const tnd_step_record_t *record);
    /*  The chain ends: once for each reason, before `end`. */
    void (*bad)(void *context, uint32_t chain, const tnd_reason_t *reason);
    /*  The chain has ended: the cursor behind its last step, with everything that was read. */
    void (*end)(void *context, uint32_t chain, const tnd_cursor_t *cursor);
    /*  The hash of what the model's `save` wrote: 32 hex digits. */
    void (*model)(void *context, uint32_t chain, const char *digest);
    /*  What an actor counted, once, at the end: words "NAME VALUE" between spaces. */
    void (*statistics)(void *context, const char *host, const char *actor, const char *kind,
                       const char *counts);
    /*  What is to be known of this host; at the leader also warnings and errors of all others. */
    void (*log)(void *context, tnd_log_level_t level, const char *host, const char *actor,
                const char *text);
    tnd_log_level_t log_level; /* less is not told */
} tnd_observer_t;

/*  Whether whoever watches (NULL: nobody) wants records of a level. */
static inline bool tnd_observer_wants(const tnd_observer_t *self, tnd_log_level_t level)
{
    return self != NULL && self->log != NULL && level >= self->log_level;
}

#endif
