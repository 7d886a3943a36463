/*  runtime/feed/device_workers.h - the device threads of one feeder, and the memory of its slots.
 *
 *  There is one thread per device; each carries some consecutive replicas.  The actor gathers rows
 *  into a slot and marks it as ready.  Every thread runs the step on each of its replicas; when all
 *  replicas have posted, it runs its share of the reductions, then `apply`.  Replicas that share a
 *  model run one after the other; `apply`, and what a task does without rows or to keep the model, runs
 *  once for them, with the first one.  Steps run in order.
 *  As many steps may be active as there are slots: a thread starts the next one without the actor.
 *
 *  A mode decides what starts a step.  At first nothing does, and steps wait.  Later the threads
 *  start each step once it is ready (a task), or a program pulls steps one by one, or all steps are
 *  discarded.
 *
 *  If other hosts have replicas, the actor sends the tensors of a round
 *  (tnd_device_workers_outgoing) and receives its results.
 *
 *  Errors: the first failure stops all threads at once; tnd_device_workers_error returns its text.
 *
 *  Threads: functions under "actor" on the actor's thread, those under "program" on the thread that
 *  pulls; new and destroy on any thread while no other function runs. */
#ifndef TND_RUNTIME_FEED_DEVICE_WORKERS_H
#define TND_RUNTIME_FEED_DEVICE_WORKERS_H

#include "runtime/core/numeric/digest.h"
#include "runtime/core/numeric/row_cast.h"
#include "runtime/data/block.h"
#include "runtime/feed/replica.h"
#include "runtime/feed/slots/slot_layout.h"
#include "runtime/interface/collective.h"
#include "runtime/observe/event_ring.h"
#include "runtime/observe/statistics.h"
#include "runtime/timing/timing.h"

typedef struct tnd_device_workers tnd_device_workers_t;

typedef struct {
    const char *name; /* of the feeder, for errors and thread names */
    const tnd_schema_t *schema;
    /*  What steps read, if columns are cast, and how, by column; NULL: not.  NULL: none is cast. */
    const tnd_schema_t *shown;
    const tnd_row_cast_t *const *casts;
    tnd_device_config_t device;
    uint32_t replicas, first, count; /* of the run; carried here */
    /*  So many consecutive replicas share a model; it divides those of each device.  0: as 1. */
    uint32_t accumulate;
    bool early; /* `apply` runs while what was posted is on its way, and awaits what it uses */
    const char *const
        *devices;      /* by local replica: "cpu:0"; replicas of one device are consecutive */
    uint32_t depth;    /* slots */
    uint32_t spare;    /* spare memories for slots whose rows a program still reads */
    uint32_t further;  /* memories that may be allocated when all these are read; UINT32_MAX: any */
    uint64_t rows_max; /* of one replica in one step, padding included */
    tnd_slot_form_t form;
    uint64_t ragged_max; /* bytes of its ragged rows, at most; 0: of rows_max of the longest */
    uint64_t bounded;    /* and what follows: see slot_layout.h */
    uint32_t deciding, bound_count;
    const uint64_t *bounds;
    const uint64_t *pads; /* by column: the element after a shorter row; NULL: zeros */
    const char *const *reducers;
    uint32_t reducer_count;
    const int *weights; /* by reducer: the column that weights its means; -1: none.  NULL: none */
    const uint64_t *buckets; /* by reducer: bytes of values that several postings fill together at
                                most.  NULL: each is reduced by itself */
    const tnd_collective_ops_t *collective; /* what reduces; NULL: what adds along the tree */
    uint64_t patience_ns; /* how long a library that it uses may take for one thing */
    /*  Called on a device thread or the program's when the actor has something to do. */
    void (*wake)(void *context);
    void *context;
    uint64_t stop_ns; /* how long a stop waits until devices have done what they were asked to */
    /*  Where threads publish their state, with room for TND_PAGE_DEVICES; NULL: nowhere. */
    tnd_device_page_t *pages;
    /*  Where the program's thread publishes the time between its calls, and since when it makes
     *  none; NULL: nowhere. */
    _Atomic uint64_t *program_ns, *program_since_ns;
    /*  Where they record their events, one ring each; the rest of them records none. */
    tnd_event_ring_t *rings;
    uint32_t ring_count;
    tnd_timing_t *timings; /* where they count times, as many as rings; NULL: nowhere */
} tnd_device_workers_config_t;

/*  What the threads do with a step, for each replica.  `apply` may be NULL.  `start`, which may be NULL,
 *  posts for each model without rows: before the first step of a task, or in tnd_device_workers_sync,
 *  which calls `apply` too. */
typedef struct {
    tnd_status_t (*step)(void *context, tnd_replica_t *replica);
    tnd_status_t (*apply)(void *context, tnd_replica_t *replica);
    tnd_status_t (*start)(void *context, tnd_replica_t *replica);
    void *context;
} tnd_task_t;

/*  Opens the devices, allocates the slots, starts the threads.  Strings and schema are borrowed.
 *  Errors: TND_FAILED if a device cannot be used: *failed_p is its replica, counted from the first one
 *  carried here (failed_p may be NULL); UINT32_MAX: no thread can be started. */
tnd_status_t tnd_device_workers_new(tnd_device_workers_t **self_p,
                                    const tnd_device_workers_config_t *config, uint32_t *failed_p,
                                    tnd_error_t *error) TND_CHECKED;
/*  Stops the threads and waits for them, and for devices. A program that waits in one of its
 *  functions returns. */
void tnd_device_workers_stop(tnd_device_workers_t *self);
/*  After a stop: names a device that had not done all it was asked to within `stop_ns`, in a
 *  sentence; NULL if all had. */
const char *tnd_device_workers_unsettled(const tnd_device_workers_t *self);
/*  Also stops the threads. What a device may still access is leaked. Sets *self_p to NULL; NULL is
 *  allowed. */
void tnd_device_workers_destroy(tnd_device_workers_t **self_p);

/*  The text of the failure; NULL without one. Any thread. */
const char *tnd_device_workers_error(const tnd_device_workers_t *self);
/*  Whether they have failed or were stopped. Any thread. */
bool tnd_device_workers_dead(const tnd_device_workers_t *self);
/*  Whether they have failed, or were stopped although steps may follow: the run ends, and not as it
 *  was asked to. Any thread. */
bool tnd_device_workers_failed(const tnd_device_workers_t *self);
/*  Whether tnd_device_workers_over was called. Any thread. */
bool tnd_device_workers_is_over(const tnd_device_workers_t *self);
/*  The number of threads: one per device. */
uint32_t tnd_device_workers_devices(const tnd_device_workers_t *self);
/*  Processor time of the threads so far, in nanoseconds. */
uint64_t tnd_device_workers_cpu_ns(const tnd_device_workers_t *self);

/* --- actor ------------------------------------------------------------------------------------ */

/*  Calls task->step for each replica on its thread, without rows, and waits.  Before any step. */
tnd_status_t tnd_device_workers_call(tnd_device_workers_t *self, const tnd_task_t *task,
                                     tnd_error_t *error) TND_CHECKED;
/*  From now on the threads start every step with this task, which remains the caller's. */
void tnd_device_workers_run_all(tnd_device_workers_t *self, const tnd_task_t *task);

/*  The first step that will be ready has this number.  Once, before any is. */
void tnd_device_workers_begin_at(tnd_device_workers_t *self, uint64_t step);

/*  The address of row `row` of a column in a slot. `local` counts the replicas carried here.  If rows
 *  are arranged, those of ragged columns have one once they are. */
void *tnd_device_workers_row(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                             uint32_t column, uint64_t row);
/*  Writes rows of a ragged column of a slot from row `row` on, with the padding after each: rows
 *  [first, first + rows) of `from`, a column of a block.  A row that has a check is checked just before
 *  it is copied.  Errors: TND_FAILED if one is bad; those before it were written. */
tnd_status_t tnd_device_workers_put(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                                    uint32_t column, uint64_t row, const tnd_block_column_t *from,
                                    uint32_t first, uint32_t rows, tnd_error_t *error) TND_CHECKED;
/*  Sets the number of rows of a replica in the step of that slot. Zeroes the padded rows (of length
 *  0 if ragged) and ends all borrowing. */
void tnd_device_workers_share(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                              uint32_t rows, uint32_t padded);
/*  Whether ragged rows can be written only when the lengths of all of them are known: the schema has
 *  some, and their form is not TND_SLOT_SPREAD. */
bool tnd_device_workers_arranges(const tnd_device_workers_t *self);
/*  The lengths of the rows of a ragged column, for tnd_device_workers_arrange. */
uint64_t *tnd_device_workers_lengths(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                                     uint32_t column);
/*  Arranges the ragged rows of a replica, by the lengths of its rows, after its last
 *  tnd_device_workers_share.  Returns the bytes that they take; if these are more than `ragged_max`,
 *  nothing may be written. */
uint64_t tnd_device_workers_arrange(tnd_device_workers_t *self, uint32_t slot, uint32_t local);
/*  Lets a replica read its rows of a column in place, outside the slot, or its device copy them from
 *  there; tnd_device_workers_keep takes the slice that holds them. `pinned`: their memory is
 *  page-locked. Returns false if the device cannot read them. */
bool tnd_device_workers_borrow(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                               uint32_t column, const void *rows, bool pinned);
/*  Takes the slice of borrowed rows. It is dropped when the step is over and its last tensor is
 *  released, at the next tnd_device_workers_share, or by tnd_device_workers_destroy. */
void tnd_device_workers_keep(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                             tnd_slice_t *slice);
/*  Lets the replica's thread hash its rows, the first of which has the global rank `rank`, just
 *  before it reads them and they enter its cache. Returns false if the host cannot read them. */
bool tnd_device_workers_hash(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                             uint64_t rank);
/*  The state that the next step of the only replica computes on, while no step runs; it stays the
 *  caller's. */
void tnd_device_workers_serve(tnd_device_workers_t *self, const tnd_replica_state_t *state);
/*  The first values that the model of the only replica gave when it was opened, for the caller to free, and
 *  how many; NULL: none. */
float *tnd_device_workers_initial(tnd_device_workers_t *self, size_t *count_p);
/*  Whether the last step, which is done, has pushed. */
bool tnd_device_workers_pushed(const tnd_device_workers_t *self);
/*  Marks the slot as complete; tnd_device_workers_flush then wakes the threads. `keep`: a task
 *  whose `step` runs for each replica after the step, or NULL. */
void tnd_device_workers_ready(tnd_device_workers_t *self, uint32_t slot,
                              const tnd_slice_note_t *note, const tnd_task_t *keep);
/*  Lets the threads, or the program, start all steps that are ready. */
void tnd_device_workers_flush(tnd_device_workers_t *self);

/*  A step that has run on the host; its devices may still work on it. */
typedef struct {
    uint64_t step;
    uint32_t tensors;    /* posted to reducers */
    uint32_t reductions; /* the user's reductions that these belong to */
} tnd_ran_t;

/*  A finished step. */
typedef struct {
    uint64_t step;
    uint32_t slot, rows;
    tnd_digest_t digest;         /* of the rows that tnd_device_workers_hash was called for */
    const tnd_report_t *reports; /* by local replica; valid until the next call */
} tnd_done_t;

/*  The step of that slot is over. If a program still holds tensors of it, the slot gets other
 *  memory. Errors: TND_FAILED if all spare memory is in use and no more may or can be allocated. */
tnd_status_t tnd_device_workers_release(tnd_device_workers_t *self, uint32_t slot,
                                        tnd_error_t *error) TND_CHECKED;
/*  Changes the number of slots, all of which are free, as `depth` of the configuration. Errors:
 *  TND_FAILED if a device cannot allocate them; then there are as many as before. */
tnd_status_t tnd_device_workers_resize(tnd_device_workers_t *self, uint32_t depth,
                                       tnd_error_t *error) TND_CHECKED;
/*  How many memories were allocated because all spare ones were read, at most at a time. */
uint32_t tnd_device_workers_further(const tnd_device_workers_t *self);
/*  Whether steps are discarded without computing on them. */
bool tnd_device_workers_discards(const tnd_device_workers_t *self);
/*  Whether a processor seems to be free; false at first. If so, a program that waits for its next
 *  step polls before it sleeps. */
void tnd_device_workers_may_look(tnd_device_workers_t *self, bool may);
/*  Takes the next step that has run; returns false if there is none yet. */
bool tnd_device_workers_ran(tnd_device_workers_t *self, tnd_ran_t *ran);
/*  Takes the next finished step, of those that tnd_device_workers_ran has returned; returns false if
 *  there is none yet. */
bool tnd_device_workers_done(tnd_device_workers_t *self, tnd_done_t *done);

/*  Takes the next value to be sent; returns false if there is none now. */
bool tnd_device_workers_outgoing(tnd_device_workers_t *self, tnd_outgoing_t *outgoing);
/*  Delivers the result of a reducer and takes its buffer. A result that no step waits for is dropped. */
tnd_status_t tnd_device_workers_incoming(tnd_device_workers_t *self, tnd_actor_id_t reducer,
                                         const tnd_post_note_t *result,
                                         tnd_error_t *error) TND_CHECKED;

/*  Takes the next result that is not read any more, so that the reducer may forget it; returns false
 *  if there is none now. */
bool tnd_device_workers_used(tnd_device_workers_t *self, tnd_used_t *used);
/*  All values of a reduction that were sent are closed: its reducer has forgotten them. */
void tnd_device_workers_closed(tnd_device_workers_t *self);
/*  Whether a step waits for this result. */
bool tnd_device_workers_awaits(const tnd_device_workers_t *self, uint64_t round,
                               uint32_t reducer_slot);
/*  Whether a step waits for results from other hosts. Then tnd_device_workers_ran returns all
 *  steps before it. */
bool tnd_device_workers_waits(const tnd_device_workers_t *self);
/*  Whether the program ends an epoch (tnd_device_workers_cut): sets *step_p to the first step that comes
 *  back.  Ask for each step that has run or is done. */
bool tnd_device_workers_is_cut(const tnd_device_workers_t *self, uint64_t *step_p);
/*  No further step comes back. */
void tnd_device_workers_end_cut(tnd_device_workers_t *self);
/*  Whether all steps that were made ready have been taken as run. */
bool tnd_device_workers_idle(const tnd_device_workers_t *self);
/*  No step will follow. A program that waits for one gets `how` (TND_END or TND_STOPPED), as does a
 *  program whose step tnd_device_workers_stop interrupts. */
void tnd_device_workers_over(tnd_device_workers_t *self, tnd_status_t how);

/* --- program ---------------------------------------------------------------------------------- */

/*  No program will pull steps, so they are discarded. Ignored after the first pull. Any thread. */
void tnd_device_workers_discard(tnd_device_workers_t *self);
/*  Waits for the next step and ends the one before. TND_AGAIN: tnd_device_workers_watch. Errors:
 *  TND_FAILED if the threads start steps themselves, have failed, or were stopped without
 *  tnd_device_workers_over. */
tnd_status_t tnd_device_workers_next(tnd_device_workers_t *self);
/*  Runs a task on at most `count` > 0 steps, no further than the end of an epoch, as many calls of
 *  tnd_device_workers_next and tnd_device_workers_run would, but the calling thread is woken once.  The
 *  last of them is ended by the next call.  Sets *ran_p to their number.  TND_OK: at least one. */
tnd_status_t tnd_device_workers_run_steps(tnd_device_workers_t *self, uint64_t count,
                                          const tnd_task_t *task, uint64_t *ran_p);
/*  Calls task->start for each model without rows, on the threads of its steps, reduces what it posts over
 *  all replicas, then calls task->apply as after a step.  It belongs to the step that runs next, also if
 *  that never comes.  The step before it stays as it is, and is known as run.  TND_END, TND_STOPPED: no
 *  step follows.  Errors: as tnd_device_workers_run. */
tnd_status_t tnd_device_workers_sync(tnd_device_workers_t *self, const tnd_task_t *task);
/*  Ends the epoch with the step that was pulled last, which is committed: those that are ready come
 *  back, unused, as done.  Nothing happens where no epoch has begun that has not ended.  Errors: as
 *  tnd_device_workers_next. */
tnd_status_t tnd_device_workers_cut(tnd_device_workers_t *self);
/*  Whether the step that was pulled last ends its epoch. */
bool tnd_device_workers_last(const tnd_device_workers_t *self);
/*  Whether a step was pulled and has not been run. */
bool tnd_device_workers_is_unused(const tnd_device_workers_t *self);
/*  Ends the step that ran last, as tnd_device_workers_next does, without another one. */
void tnd_device_workers_commit(tnd_device_workers_t *self);
/*  The same, also of a step that was not run. */
void tnd_device_workers_end_step(tnd_device_workers_t *self);
/*  Whether the last step was ended / and its epoch goes on. */
bool tnd_device_workers_is_ended(const tnd_device_workers_t *self);
bool tnd_device_workers_is_between(const tnd_device_workers_t *self);
/*  Whether a program pulls the steps, or nothing has started them yet.  Sets *steps_p to the steps of
 *  the whole run before the one that the program would run next; 0: it has run none. */
bool tnd_device_workers_steps(const tnd_device_workers_t *self, uint64_t *steps_p);
/*  The reports of the step that ran last, until the program ends it; NULL if there is none. */
tnd_report_t *tnd_device_workers_reports(tnd_device_workers_t *self, uint64_t *step_p);
/*  The steps that the program has taken in this session. */
uint64_t tnd_device_workers_taken(const tnd_device_workers_t *self);
/*  Whether there is a step that it has not taken. */
bool tnd_device_workers_has_step(const tnd_device_workers_t *self);
/*  Whether there is one, or the stream has ended since tnd_device_workers_see_end, of a group that has not
 *  stopped. */
bool tnd_device_workers_has_turn(const tnd_device_workers_t *self);
/*  The program knows that the stream has ended, which may begin again. */
void tnd_device_workers_see_end(tnd_device_workers_t *self);
/*  How often it knows that. */
uint64_t tnd_device_workers_ends_seen(const tnd_device_workers_t *self);
/*  Where no step comes and `is(context)`, tnd_device_workers_next and tnd_device_workers_run_steps return
 *  TND_AGAIN without one.  It is called on the thread that waits. */
void tnd_device_workers_watch(tnd_device_workers_t *self, bool (*is)(const void *context),
                              const void *context);
/*  What happens to `self` also wakes a program that waits for steps of `lead`, which lives as long. */
void tnd_device_workers_wake_too(tnd_device_workers_t *self, tnd_device_workers_t *lead);
/*  Waits until `is(context)`, which is checked where something happens to `self`. */
void tnd_device_workers_await(tnd_device_workers_t *self, bool (*is)(const void *context),
                              const void *context);
/*  The program pulls no further step: the rest is discarded. */
void tnd_device_workers_discard_rest(tnd_device_workers_t *self);
/*  Runs a task on that step and waits: on the calling thread if there is one device whose steps may
 *  run on any thread. Errors: TND_FAILED without a step, if a task has run on it already, or as
 *  tnd_device_workers_next; TND_END or TND_STOPPED if the threads were stopped meanwhile. */
tnd_status_t tnd_device_workers_run(tnd_device_workers_t *self, const tnd_task_t *task);

#endif
