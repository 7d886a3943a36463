/*  runtime/feed/device_workers_internal.h - shared by the files of the device workers.
 *
 *  Steps are jobs in a ring, counted from 0 by `seq`.  Four counts only grow: jobs that are ready,
 *  published (the workers may run them), finished (by all workers), retired (the program does not
 *  use them any more).  Rounds without rows (device_workers_sync.c) are between jobs.  A worker's `word` is
 *  its progress: its turn, which counts both, and the barriers (meetings) that it has reached in that turn.
 *  A worker that meets waits until no other word is less than its own.
 */
#ifndef TND_RUNTIME_FEED_DEVICE_WORKERS_INTERNAL_H
#define TND_RUNTIME_FEED_DEVICE_WORKERS_INTERNAL_H

#include "runtime/feed/device_workers.h"

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/core/device/device_slots.h"
#include "runtime/core/numeric/float_mode.h"
#include "runtime/feed/futex_wait.h"
#include "runtime/interface/device.h"

/*  The slot of a job without rows. */
#define NO_SLOT UINT32_MAX

/*  The low bits of a word count the meetings of one turn. */
enum { MEETING_BITS = 20 };

typedef struct {
    uint32_t slot;
    tnd_slice_note_t note;
    const tnd_task_t *task; /* NULL: no task */
    const tnd_task_t *keep; /* NULL: the models are not saved after it */
    tnd_report_t *reports;  /* by local replica */
    tnd_collective_round_t round;
    uint64_t *rows;        /* of the step, by local replica: of `round` */
    _Atomic uint32_t left; /* workers that have not finished it */
    _Atomic uint32_t *met; /* by worker: meetings arrived at */
} job_t;

/*  The thread that brings rows to a device, and its counts of jobs (core/device/device_slots.h). */
typedef struct {
    struct worker *worker;
    pthread_t thread;
    bool started;
    tnd_futex_t gate;
    uint64_t shown_ns;       /* when facts were published */
    tnd_device_slots_t seen; /* the counts for which the rest was, and whether ... */
    bool seen_discards;      /* ... rows were discarded */
    uint64_t link_before_ns; /* the time of the link when the device began to wait for it */
    _Atomic uint64_t copying, copied, put, finished;
} copier_t;

typedef struct worker {
    _Alignas(64) _Atomic uint64_t word;
    tnd_device_workers_t *group;
    uint32_t number, first, count;   /* local replicas */
    const char *name;                /* of its device */
    tnd_device_t *device;            /* the pool's */
    copier_t *copier;                /* NULL: steps read rows where they are gathered */
    tnd_device_page_t *page, unseen; /* `unseen` if it is not published */
    tnd_event_ring_t *events;        /* NULL: they are not recorded */
    tnd_timing_t *timing;            /* NULL: times are not counted */
    bool steps;                      /* whether its last job was a step */
    pthread_t thread;
    bool started;
    _Atomic bool hangs;           /* in a call that does not return: it is not waited for */
    uint64_t seq, syncs;          /* jobs and rounds without rows so far ... */
    uint64_t turn;                /* ... and both together */
    uint32_t meeting;             /* of this turn */
    tnd_collective_round_t *open; /* that `apply` has not awaited; NULL: none */
    bool begun;                   /* the `start` of its task was called */
    job_t *job;                   /* of this turn */
} worker_t;

/*  The condition of a wait: a count of the group has reached, or passed, `number`. */
typedef struct {
    const tnd_device_workers_t *group;
    uint64_t number;
} awaited_t;

typedef struct {
    uint32_t rows, padded;
    bool unhashed; /* the rows have ranks from `rank` on and are not hashed yet */
    uint64_t rank;
    tnd_digest_t digest;
} share_t;

typedef enum { MODE_KEEP, MODE_TASK, MODE_PULL, MODE_DISCARD } start_mode_t;

/*  What replicas post, and what reduces it. */
typedef struct {
    tnd_value_table_t *values;        /* that they post */
    tnd_partial_sums_t *sums;         /* by local model */
    tnd_collective_t *collective;     /* NULL until all devices are open */
    tnd_collective_thread_t *threads; /* by worker: as the collective counts them ... */
    const tnd_postings_t **posts;     /* ... and what each local replica posts */
    _Atomic uint32_t reducing;        /* workers that use what was posted */
} exchange_t;

/*  The last round without rows (device_workers_sync.c). */
typedef struct {
    job_t job;                   /* without a task if it was before a job */
    _Atomic uint64_t asked;      /* such rounds that the program has asked for */
    _Atomic uint64_t after;      /* jobs that had run at the last of these */
    _Atomic uint64_t first_step; /* TND_UNKNOWN: not known yet */
} sync_t;

/*  The copiers, and with them jobs whose rows are where steps read them on all devices, and those that
 *  all devices have done. */
typedef struct {
    copier_t *of; /* by worker */
    bool any;
    _Atomic uint64_t copied, completed;
} copies_t;

/*  What the actor has done with jobs. */
typedef struct {
    uint64_t told,
        told_ns;  /* finished jobs that it was woken for, and when: finishers, or the program */
    uint64_t ran; /* that it has taken as run */
    uint64_t consumed; /* ... and as done */
    uint32_t further;  /* memories beside those that were planned, at most so far */
    uint64_t flushed;  /* jobs that others were notified of */
} account_t;

/*  The steps that a program takes and runs. */
typedef struct {
    _Atomic(tnd_futex_t *) also; /* is opened with `program`; NULL: none */
    bool (*watch)(const void *); /* what else ends a wait for a step; NULL: nothing */
    const void *watched;         /* its argument */
    uint64_t ends_seen;
    uint64_t taken, ran;
    uint64_t steps;       /* of the whole run, until the last one that it ran; 0: none */
    bool last;            /* the step that it took last ends its epoch */
    bool inside_epoch;    /* it has taken a step of an epoch, not the last one */
    _Atomic uint64_t cut; /* it ends the epoch before this step; 0: it does not */
    /*  Jobs before this one run without the program, by a task of it (device_workers_span.c); 0: it
     *  runs each. */
    _Atomic uint64_t span_until;
    const tnd_task_t *span_task;
} pull_t;

/*  How the group fails. */
typedef struct {
    pthread_mutex_t lock; /* guards the text, and that the actor can be woken */
    bool deaf;
    char text[512], unsettled[256];
} failure_t;

struct tnd_device_workers {
    tnd_device_workers_config_t config;
    tnd_slot_layout_t layout;
    tnd_slot_column_t *placed; /* by slot x local replica x ragged column */
    tnd_slot_pool_t *pool;
    tnd_slot_memory_t **memories; /* by slot */
    share_t *shares;              /* by slot x local replica */
    const void **columns; /* by slot x local replica x TND_COLUMNS_MAX: where the host has them */
    const void **shown;   /* by local replica x TND_COLUMNS_MAX: where its step reads them */
    tnd_slot_layout_t shown_layout; /* of what steps read */
    size_t casts_at;                /* on the host's side: the rows that it casts, so arranged */
    tnd_replica_t *replicas;
    worker_t *workers;
    uint32_t worker_count;
    job_t *jobs; /* by seq % depth */
    const tnd_task_t *task;
    _Atomic bool hangs; /* a worker does: all of this is leaked */

    tnd_futex_t work, meet, program, left;
    _Atomic int mode;
    _Atomic int over;      /* a status; TND_OK: not yet */
    _Atomic uint64_t ends; /* how often it was set to another one */
    _Atomic bool failed, stopped;
    _Atomic bool may_look; /* a processor seems to be free */
    _Atomic uint64_t ready, published, finished, retired;
    _Atomic uint64_t
        *startable; /* jobs that a program may run: `ready`, or those that were copied */

    exchange_t exchange;
    sync_t sync;
    copies_t copies;
    account_t account;
    pull_t pull;
    struct caller *caller; /* steps on the program's thread (device_workers_pull.c) */
    failure_t failure;
};

static inline tnd_stage_t *tnd_device_workers_stage(const tnd_device_workers_t *self, uint32_t slot,
                                                    uint32_t local)
{
    return &self->memories[slot]->stages[local];
}

/*  The lists of the ragged columns of a replica.  If they are SPREAD, the lengths are those of what
 *  the memory contains now. */
static inline uint64_t *tnd_device_workers_lists(const tnd_device_workers_t *self, uint32_t slot,
                                                 uint32_t local)
{
    return self->memories[slot]->lists +
           (size_t)local * self->layout.ragged * self->layout.list_room;
}

/*  Where the ragged columns of a replica are. */
static inline tnd_slot_column_t *tnd_device_workers_placed(const tnd_device_workers_t *self,
                                                           uint32_t slot, uint32_t local)
{
    return &self->placed[((size_t)slot * self->config.count + local) * self->layout.ragged];
}

/*  Stops all threads for this reason; the first one counts.  Always returns false. */
bool tnd_device_workers_fail(tnd_device_workers_t *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/*  Wakes every waiting thread and the program. */
void tnd_device_workers_wake_all(tnd_device_workers_t *self);
/*  The main function of a device thread; the argument is its worker_t. */
void *tnd_device_workers_thread(void *worker);
/*  Copiers (device_workers_copy.c).  `prepare` decides which devices have one, when they are open;
 *  `open` tells them that steps are ready. */
tnd_status_t tnd_device_workers_prepare_copies(tnd_device_workers_t *self, uint32_t *failed_p,
                                               tnd_error_t *error) TND_CHECKED;
tnd_status_t tnd_device_workers_start_copies(tnd_device_workers_t *self,
                                             tnd_error_t *error) TND_CHECKED;
void tnd_device_workers_open_copies(tnd_device_workers_t *self);
void tnd_device_workers_stop_copies(tnd_device_workers_t *self);
/*  After the threads: waits, for a limited time, until devices have done all that they were asked
 *  to; else writes `unsettled`. */
void tnd_device_workers_settle(tnd_device_workers_t *self);
/*  Whether the rows of a job are where its step reads them; points a replica at them. */
bool tnd_device_workers_may_start(const worker_t *worker, uint64_t seq);
void tnd_device_workers_show_rows(const worker_t *worker, uint32_t slot, uint32_t local);
/*  A worker has put work of a job on its device, all of it unless the job has failed. */
void tnd_device_workers_put_work(const worker_t *worker, const job_t *job);
/*  A count of a device has changed: what may start or be committed is counted again. */
void tnd_device_workers_complete(tnd_device_workers_t *self);
/*  Hashes the rows of share `at` if tnd_device_workers_hash requested it and it is not done. */
void tnd_device_workers_hash_now(tnd_device_workers_t *self, size_t at);
/*  Rounds without rows (device_workers_sync.c): the memory of `sync`; what a worker does for one, or before
 *  the first step of its task; and at the beginning of a job, which continues what its round has counted. */
void tnd_device_workers_make_sync(tnd_device_workers_t *self);
void tnd_device_workers_free_sync(tnd_device_workers_t *self);
bool tnd_device_workers_run_sync(worker_t *worker, job_t *job);
bool tnd_device_workers_start_task(worker_t *worker, const job_t *job);
void tnd_device_workers_continue_sync(worker_t *worker, job_t *job);
/*  Whether what was posted may be used until `end_use`; call that in any case. */
bool tnd_device_workers_use_posts(tnd_device_workers_t *self);
void tnd_device_workers_end_use(tnd_device_workers_t *self);
/*  What is reduced while a step runs, and rounds that `apply` awaits (device_workers_early.c). */
bool tnd_device_workers_start_posts(tnd_replica_t *replica);
bool tnd_device_workers_is_early(const tnd_device_workers_t *self);
bool tnd_device_workers_begin_round(worker_t *worker, tnd_collective_round_t *round);
bool tnd_device_workers_end_round(worker_t *worker);
bool tnd_device_workers_await_posting(tnd_replica_t *replica, uint32_t posting);
/*  After `apply`.  Errors: TND_FAILED, after tnd_replica_error, if it has not awaited all. */
tnd_status_t tnd_device_workers_check_awaited(worker_t *worker, tnd_replica_t *replica);
/*  Runs a job, or a round without rows, on the program's thread. */
void tnd_device_workers_run_here(tnd_device_workers_t *self, job_t *job);

/*  What is called for replicas, and what that is named and shown as. */
typedef struct {
    void *context;
    tnd_status_t (*call)(void *context, tnd_replica_t *replica);
    const char *what;
    tnd_device_state_t state;
} part_t;

/*  Points the replicas of a worker at their rows, if the job has some. */
void tnd_device_workers_begin(worker_t *worker, const job_t *job);
/*  Calls it once for each model, with the first of the replicas that share it. */
bool tnd_device_workers_each_model(worker_t *worker, const job_t *job, const part_t *part);
/*  What was posted is reduced. */
void tnd_device_workers_clear_posts(const worker_t *worker);
/*  From now on the first replica of each model posts and reports for all of that model. */
void tnd_device_workers_lead_models(const worker_t *worker);
/*  Reduces what was posted in a round of the job, then applies it, until nothing more is posted. */
bool tnd_device_workers_apply_all(worker_t *worker, const job_t *job, tnd_collective_round_t *round,
                                  const tnd_task_t *task);
/*  Runs a job on the replicas of a worker, on the calling thread; false: the group has stopped. */
bool tnd_device_workers_run_job(worker_t *worker, job_t *job);
/*  Publishes what a thread does from now on, and records what it did before. */
void tnd_device_workers_show(worker_t *worker, tnd_device_state_t state, uint32_t replica,
                             uint64_t step, uint64_t now);
static inline tnd_device_slots_t tnd_copier_counts(const copier_t *self)
{
    return (tnd_device_slots_t){
        .ready = atomic_load_explicit(&self->worker->group->ready, memory_order_acquire),
        .copying = atomic_load_explicit(&self->copying, memory_order_relaxed),
        .copied = atomic_load_explicit(&self->copied, memory_order_acquire),
        .put = atomic_load_explicit(&self->put, memory_order_acquire),
        .finished = atomic_load_explicit(&self->finished, memory_order_acquire),
    };
}
static inline job_t *tnd_copier_job(const copier_t *self, uint64_t seq)
{
    const tnd_device_workers_t *group = self->worker->group;
    return &group->jobs[seq % group->config.depth];
}
/*  Publishes what the device counts: it may have to ask its driver. */
void tnd_copier_show_facts(const copier_t *self);
/*  Publishes what the device has not done yet: what its host waits for, if it never comes. */
void tnd_copier_show_pending(copier_t *self, uint64_t now);
/*  Both, and what the device waits for, as far as it may have changed.  `any`: a copy or the work of a
 *  step was done.  Returns the time. */
uint64_t tnd_copier_show(copier_t *self, bool any);
/*  Lets the workers run all jobs before `jobs` / whether they have finished `number` jobs. */
void tnd_device_workers_publish(tnd_device_workers_t *self, uint64_t jobs);
bool tnd_device_workers_has_finished(const void *awaited);
/*  Whether to wake the actor now for `finished` steps, of `known` that are active or finished.  It
 *  is woken for several short steps at a time, but at once if no other step is active, and never
 *  late.  If true, the caller must wake it. */
bool tnd_device_workers_worth_telling(tnd_device_workers_t *self, uint64_t finished, uint64_t known,
                                      uint64_t now);
void tnd_device_workers_make_caller(tnd_device_workers_t *self);
/*  Lets the program check what it waits for. */
void tnd_device_workers_tell_program(tnd_device_workers_t *self);
/*  Whether what is watched ends its wait for a step. */
bool tnd_device_workers_is_interrupted(const tnd_device_workers_t *self);
/*  Whether steps run on the program's thread. */
bool tnd_device_workers_runs_here(tnd_device_workers_t *self);
/*  The program calls / its call returns. */
uint64_t tnd_device_workers_enter(tnd_device_workers_t *self);
void tnd_device_workers_leave(tnd_device_workers_t *self, uint64_t now);
/*  From now on the program pulls steps; false: it cannot. */
bool tnd_device_workers_pulls(tnd_device_workers_t *self);
/*  Ends the program's last step, if there is one. */
tnd_status_t tnd_device_workers_retire(tnd_device_workers_t *self);
/*  What a program gets where no step is left. */
tnd_status_t tnd_device_workers_no_step(const tnd_device_workers_t *self);
/*  What a program gets from a stopped group. */
tnd_status_t tnd_device_workers_ended(const tnd_device_workers_t *self);
/*  Publishes the jobs of a span that are ready.  The actor's thread. */
void tnd_device_workers_publish_span(tnd_device_workers_t *self);
/*  Waits until the program is outside of a step; it begins none in a stopped group. */
void tnd_device_workers_await_caller(tnd_device_workers_t *self);
/*  Processor time of the steps on the program's thread. */
uint64_t tnd_device_workers_caller_ns(const tnd_device_workers_t *self);
void tnd_device_workers_wake(tnd_device_workers_t *self);
/*  Once the group is dead: waits until no worker uses what was posted. */
void tnd_device_workers_leave_posts(tnd_device_workers_t *self);
/*  Meets the other workers of the job: waits until all arrive; false: the group has stopped. */
bool tnd_device_workers_meet(worker_t *worker, job_t *job);

#endif
