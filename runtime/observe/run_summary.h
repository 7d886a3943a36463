/*  runtime/observe/run_summary.h - the totals of a run, collected from its events.
 *
 *  Progress, report and closing lines are computed from it.
 *
 *  Threads: events on the host's thread; readers hold `lock`. */
#ifndef TND_RUNTIME_OBSERVE_RUN_SUMMARY_H
#define TND_RUNTIME_OBSERVE_RUN_SUMMARY_H

#include <pthread.h>

#include "runtime/core/numeric/digest.h"
#include "runtime/observe/observer.h"
#include "runtime/plan/placement.h"

typedef struct {
    const tnd_chain_plan_t *plan;
    bool stream_known;
    tnd_stream_t stream;
    tnd_leader_core_state_t state;
    uint64_t steps;                    /* committed */
    uint64_t here;                     /* of these, in this session */
    uint64_t before_steps, before_fed; /* by the runs that this one resumes */
    uint64_t epochs;                   /* completed */
    tnd_ledger_t ledger;
    tnd_digest_t digest;
    tnd_epoch_metrics_t sums;
    uint64_t ended_ns,
        ended_fed; /* when an epoch last ended in this session, and the rows fed until then */
    uint64_t begun_ns, last_ns;          /* its stream began; its last step was committed */
    uint64_t epoch_left_ns, run_left_ns; /* until they end, as of then; 0: not known */
    char model[TND_DIGEST_TEXT_SIZE];    /* "": it has none */
    tnd_reason_t *reasons;               /* why records were bad, in this session */
    uint32_t reason_count;
} tnd_run_summary_chain_t;

/*  The counters of an instance, as received: "NAME VALUE" separated by spaces. */
typedef struct {
    char *host, *actor, *kind, *counts;
} tnd_run_summary_actor_t;

/*  What 0, 1, 2 ... of an actor's labels mean. */
typedef struct {
    char *actor;
    char **names;
    size_t count, room;
} tnd_run_summary_labels_t;

/*  The data of an actor that a host opens. */
typedef struct {
    uint32_t host;
    tnd_open_progress_t progress;
    tnd_open_pace_t pace;
} tnd_run_summary_opening_t;

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t booked; /* a step was */
    const tnd_plan_t *plan;
    uint32_t chain; /* the running one */
    tnd_run_summary_chain_t *chains;
    tnd_validations_t validations;
    uint32_t best_chain; /* the chain of whose validations the best is wanted; 0: none */
    bool best_kept;
    tnd_best_t best;
    char waiting[512];                   /* hosts that are missing; "": none */
    tnd_run_summary_opening_t *openings; /* in order of their first reports */
    size_t opening_count, opening_room;
    tnd_run_summary_actor_t *actors;
    uint32_t actor_count;
    size_t actor_room;
    tnd_run_summary_labels_t *labels; /* of actors that have some */
    uint32_t labels_count;
    size_t labels_room;
    uint64_t unwritten;      /* checkpoints that could not be written */
    bool last_unwritten;     /* one of them is the last that was due */
    char unwritten_why[256]; /* the last of them */
} tnd_run_summary_t;

void tnd_run_summary_init(tnd_run_summary_t *self, const tnd_plan_t *plan);
void tnd_run_summary_fini(tnd_run_summary_t *self);

/*  These are called by a tnd_observer_t; `summary` is its context, or what that begins with. */
void tnd_run_summary_state(void *summary, uint32_t chain, tnd_leader_core_state_t state,
                           const char *waiting);
void tnd_run_summary_opening(void *summary, uint32_t host, const tnd_open_progress_t *progress);
void tnd_run_summary_stream(void *summary, const tnd_stream_t *stream);
void tnd_run_summary_resume(void *summary, uint32_t chain, const tnd_cursor_t *cursor,
                            const tnd_epoch_metrics_t *sums);
void tnd_run_summary_step(void *summary, const tnd_step_record_t *record);
void tnd_run_summary_bad(void *summary, uint32_t chain, const tnd_reason_t *reason);
/*  Includes rows that were read after the last step. */
void tnd_run_summary_end(void *summary, uint32_t chain, const tnd_cursor_t *cursor);
void tnd_run_summary_validated(void *summary, const tnd_validated_t *validated);
void tnd_run_summary_best(void *summary, uint32_t chain, const tnd_best_t *best, bool kept);
void tnd_run_summary_unwritten(void *summary, uint64_t failed, bool last, const char *why);
void tnd_run_summary_model(void *summary, uint32_t chain, const char *digest);
void tnd_run_summary_label(void *summary, const char *actor, uint64_t number, const char *name);
void tnd_run_summary_statistics(void *summary, const char *host, const char *actor,
                                const char *kind, const char *counts);

/*  Waits at most a second until so many steps of a chain are committed, with those of the runs that
 *  this one resumes.  Where other hosts feed the chain too it does not: their programs may wait for
 *  this one. */
void tnd_run_summary_await(tnd_run_summary_t *self, uint32_t chain, uint64_t steps);
/*  The weighted mean of a metric; 0 without weight. */
double tnd_run_summary_mean(const tnd_metric_t *metric);
/*  Seconds from the start of a chain's stream to its last committed step. */
double tnd_run_summary_seconds(const tnd_run_summary_chain_t *chain);

#endif
