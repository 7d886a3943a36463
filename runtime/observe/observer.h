/*  runtime/observe/observer.h - events of a run, as the leader reports them.
 *
 *  Observers write progress lines, metrics and reports; the runtime prints nothing.
 *
 *  Threads: the host's thread calls every function; they must not block. */
#ifndef TND_RUNTIME_OBSERVE_OBSERVER_H
#define TND_RUNTIME_OBSERVE_OBSERVER_H

#include <tundish/types.h>

#include "runtime/core/leader_state.h"
#include "runtime/core/stream/cursor.h"
#include "runtime/data/stream.h"
#include "runtime/notes/epoch_metrics.h"
#include "runtime/notes/validations.h"
#include "runtime/observe/open_progress.h"

/*  One booked step of one chain. */
typedef struct {
    uint32_t chain;
    uint64_t step;  /* over the run */
    uint32_t epoch; /* that it belongs to */
    uint32_t rows;
    uint64_t
        fed; /* what it adds to the rows fed of the ledger: fewer, or more, if rows are packed */
    bool last_of_epoch;
    uint32_t metric_count;
    const tnd_metric_t *metrics;
    const tnd_epoch_metrics_t *sums;     /* with those of the steps before it */
    const tnd_cursor_t *cursor;          /* after the step */
    uint64_t epoch_left_ns, run_left_ns; /* the time until they end; 0: not known */
} tnd_step_record_t;

/*  Bad records of a run, by the actor and operation that found them. */
typedef struct {
    char who[160];   /* actor, operation */
    char where[256]; /* one of them: record, file, offset; "": not known */
    char first[320]; /* the error of that one */
    uint64_t count;  /* in this session */
} tnd_reason_t;

/*  Lines of metrics that could not be written yet. */
typedef struct {
    const char *path;  /* NULL: none are written */
    uint64_t since_ns; /* since when the next line waits (monotonic clock); 0: none waits */
    uint64_t dropped;  /* lines, so far */
    int reason; /* errno of a write that failed, after which no line is written; 0: none did */
} tnd_backlog_t;

typedef struct tnd_observer {
    void *context;
    /*  A chain's state changed; `waiting` names hosts that are missing, in JOINING. */
    void (*state)(void *context, uint32_t chain, tnd_leader_core_state_t state,
                  const char *waiting);
    /*  How far a host is with opening the data of an actor; NULL: it has opened all, or is lost. */
    void (*opening)(void *context, uint32_t host, const tnd_open_progress_t *progress);
    /*  The chain's stream is known: rows, epochs, schema. */
    void (*stream)(void *context, const tnd_stream_t *stream);
    /*  The chain begins at this cursor, with the metrics of the runs before it; called before any step.
     *  Of the first chain only if the run resumes; of others also if they are fed again. */
    void (*resume)(void *context, uint32_t chain, const tnd_cursor_t *cursor,
                   const tnd_epoch_metrics_t *sums);
    void (*step)(void *context, const tnd_step_record_t *record);
    /*  Called once for each reason at the end of the chain, before `end`. */
    void (*bad)(void *context, uint32_t chain, const tnd_reason_t *reason);
    /*  What inspection shows of the metrics; called often. */
    void (*backlog)(void *context, tnd_backlog_t *backlog);
    /*  The chain has ended with this cursor, which includes all rows that were read. */
    void (*end)(void *context, uint32_t chain, const tnd_cursor_t *cursor);
    /*  A chain with `every:` was fed whole; of validations before the run was resumed, too. */
    void (*validated)(void *context, const tnd_validated_t *validated);
    /*  Once at the end, if the best of the validations of a chain is wanted.  `kept`: there is a checkpoint
     *  of it. */
    void (*best)(void *context, uint32_t chain, const tnd_best_t *best, bool kept);
    /*  Once at the end, if checkpoints could not be written: how many, whether one of them was the last
     *  that was due, and why the last of them. */
    void (*unwritten)(void *context, uint64_t failed, bool last, const char *why);
    /*  The hash of the saved model: 32 hex digits. */
    void (*model)(void *context, uint32_t chain, const char *digest);
    /*  What a number of an actor's labels means; called for each, in order, from 0 on. */
    void (*label)(void *context, const char *actor, uint64_t number, const char *name);
    /*  The counters of an actor, once, at the end: words "NAME VALUE" separated by spaces. */
    void (*statistics)(void *context, const char *host, const char *actor, const char *kind,
                       const char *counts);
    /*  Log records of this host; on the leader also warnings and errors of all others. */
    void (*log)(void *context, tnd_log_level_t level, const char *host, const char *actor,
                const char *text);
    tnd_log_level_t log_level; /* the lowest level that is reported */
} tnd_observer_t;

/*  Whether the observer (may be NULL) wants records of a level. */
static inline bool tnd_observer_wants(const tnd_observer_t *self, tnd_log_level_t level)
{
    return self != NULL && self->log != NULL && level >= self->log_level;
}

#endif
