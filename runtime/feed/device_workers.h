/*  runtime/feed/device_workers.h - the device threads of one feeder, and the memory of its slots.
 *
 *  There is one thread per device; each carries some consecutive replicas.  The actor gathers rows
 *  into a slot and marks it as ready.  Every thread runs the step on each of its replicas; when all
 *  replicas have posted, it runs its share of the reductions, then `apply`.  Steps run in order.
 *  As many steps as there are slots may be under way: a thread starts the next one without the
 *  actor.
 *
 *  A mode decides what starts a step.  At first nothing does, and steps wait.  Later the threads
 *  start each step once it is ready (a task), or a program pulls steps one by one, or all steps are
 *  discarded.
 *
 *  Where the run has replicas elsewhere, the tensors of a round leave through the actor
 *  (tnd_device_workers_outgoing) and its results come back the same way.
 *
 *  Errors: the first failure counts; all threads stop at once, and tnd_device_workers_error returns
 *  its text.
 *
 *  Threads: functions under "actor" on the actor's thread, those under "program" on the thread that
 *  pulls; new and destroy on any thread while no other function runs.
 */
#ifndef TND_RUNTIME_FEED_DEVICE_WORKERS_H
#define TND_RUNTIME_FEED_DEVICE_WORKERS_H

#include "runtime/core/numeric/digest.h"
#include "runtime/feed/replica.h"
#include "runtime/observe/statistics.h"

typedef struct tnd_device_workers tnd_device_workers_t;

typedef struct {
    const char *name; /* of the feeder, for texts and threads */
    const tnd_schema_t *schema;
    uint32_t replicas, first, count; /* of the run; carried here */
    const char *const *devices;      /* by local replica: "cpu:0"; those of one device together */
    uint32_t depth;                  /* slots */
    uint32_t spare;                  /* memories kept for slots whose rows a program still reads */
    uint64_t rows_max;               /* of one replica in one step, padding included */
    const char *const *reducers;
    uint32_t reducer_count;
    const int *weights; /* by reducer: the column that its means weigh by; -1: none.  NULL: none */
    /*  Called on a device thread or a program's when there is something for the actor to look at.
     */
    void (*wake)(void *context);
    void *context;
    /*  Where the threads say what they are at, with room for TND_PAGE_DEVICES; NULL: nowhere. */
    tnd_device_page_t *pages;
} tnd_device_workers_config_t;

/*  What the threads do with a step, for each replica.  `apply` may be NULL. */
typedef struct {
    tnd_status_t (*step)(void *context, tnd_replica_t *replica);
    tnd_status_t (*apply)(void *context, tnd_replica_t *replica);
    void *context;
} tnd_task_t;

/*  Bytes of one slot of one replica. */
size_t tnd_device_workers_slot_bytes(const tnd_schema_t *schema, uint64_t rows_max);

/*  Opens the devices, allocates the slots and starts the threads.  Strings and schema are kept by
 *  the caller.
 */
tnd_status_t tnd_device_workers_new(tnd_device_workers_t **self_p,
                                    const tnd_device_workers_config_t *config,
                                    tnd_error_t *error) TND_CHECKED;
/*  Stops the threads and waits for them; whoever waits in a program's function is let go. */
void tnd_device_workers_stop(tnd_device_workers_t *self);
/*  Nobody uses it any more. */
void tnd_device_workers_destroy(tnd_device_workers_t **self_p);

/*  The text of the failure; NULL: there is none.  Any thread. */
const char *tnd_device_workers_error(const tnd_device_workers_t *self);
/*  How many threads it has: one a device. */
uint32_t tnd_device_workers_devices(const tnd_device_workers_t *self);
/*  Processor time of the threads so far, in nanoseconds. */
uint64_t tnd_device_workers_cpu_ns(const tnd_device_workers_t *self);

/* --- actor -------------------------------------------------------------------------------------
 */

/*  Calls task->step for each replica on its thread, without rows, and waits.  Before any step. */
tnd_status_t tnd_device_workers_call(tnd_device_workers_t *self, const tnd_task_t *task,
                                     tnd_error_t *error) TND_CHECKED;
/*  From now on the crew starts every step with this task, which it keeps. */
void tnd_device_workers_run_all(tnd_device_workers_t *self, const tnd_task_t *task);

/*  Where row `row` of a column of a slot goes; `local` counts the replicas carried here. */
void *tnd_device_workers_row(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                             uint32_t column, uint64_t row);
/*  Writes row `row` of a ragged column of a slot, `length` along its first axis, with zeros behind
 *  it up to what was there before.
 */
void tnd_device_workers_put(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                            uint32_t column, uint64_t row, const void *data, uint64_t length);
/*  How many rows a replica has in the step of that slot; makes the padded ones zeros, of length 0
 *  if ragged, and takes back what was lent.
 */
void tnd_device_workers_share(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                              uint32_t rows, uint32_t padded);
/*  Lets a replica read its rows of a column in place and not in the slot; tnd_device_workers_keep
 * takes what holds them.  False: its device cannot.
 */
bool tnd_device_workers_borrow(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                               uint32_t column, const void *rows);
/*  Takes the slice whose rows a replica reads in place.  It is dropped when the step is over and
 * the last tensor of it released, at the next tnd_device_workers_share, or with the crew.
 */
void tnd_device_workers_keep(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                             tnd_slice_t *slice);
/*  The rows of a replica, which lie there whole from global rank `rank` on, are hashed by its
 * thread when it is about to read them: on their way into its cache.  False: the host cannot read
 * them there.
 */
bool tnd_device_workers_hash(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                             uint64_t rank);
/*  The slot is complete; no thread is woken for it before tnd_device_workers_flush.  `keep`: what
 * each replica does after the step, its `step` alone; NULL: nothing.
 */
void tnd_device_workers_ready(tnd_device_workers_t *self, uint32_t slot,
                              const tnd_slice_note_t *note, const tnd_task_t *keep);
/*  Lets the threads of the crew, or the program, begin all steps that are ready. */
void tnd_device_workers_flush(tnd_device_workers_t *self);

/*  A step that is done, in order. */
typedef struct {
    uint64_t step;
    uint32_t slot, rows;
    uint32_t tensors;            /* that went to reducers */
    uint32_t reductions;         /* of the user's that they were of */
    tnd_digest_t digest;         /* of the rows that tnd_device_workers_hash was called for */
    const tnd_report_t *reports; /* by local replica; valid until the next call */
} tnd_done_t;

/*  The step of that slot is over.  If a program still holds tensors of it, the slot gets other
 *  memory.  TND_FAILED: there is no spare, and a device cannot allocate one.
 */
tnd_status_t tnd_device_workers_release(tnd_device_workers_t *self, uint32_t slot,
                                        tnd_error_t *error) TND_CHECKED;
/*  Whether steps are discarded: nothing is computed on them. */
bool tnd_device_workers_discards(const tnd_device_workers_t *self);
/*  Whether a processor seems to be free: then a program that waits for its next step looks for it
 *  before it sleeps.  Not so at first.
 */
void tnd_device_workers_may_look(tnd_device_workers_t *self, bool may);
/*  The next one; false: none yet. */
bool tnd_device_workers_done(tnd_device_workers_t *self, tnd_done_t *done);

/*  One node's value, on its way to a reducer. */
typedef struct {
    uint32_t reducer;
    tnd_post_note_t post; /* the payload is a buffer, which the taker holds */
} tnd_outgoing_t;

/*  The next one; false: none now. */
bool tnd_device_workers_outgoing(tnd_device_workers_t *self, tnd_outgoing_t *outgoing);
/*  A result; takes the buffer.  One that nobody waits for is dropped. */
tnd_status_t tnd_device_workers_incoming(tnd_device_workers_t *self, uint64_t round,
                                         uint32_t reducer_slot, tnd_buffer_t *result,
                                         tnd_error_t *error) TND_CHECKED;
/*  Whether a step waits for this result. */
bool tnd_device_workers_awaits(const tnd_device_workers_t *self, uint64_t round,
                               uint32_t reducer_slot);
/*  Whether a step waits for results from elsewhere.  All steps before it can be had from
 *  tnd_device_workers_done then.
 */
bool tnd_device_workers_waits(const tnd_device_workers_t *self);
/*  Whether all steps that were made ready have been taken as done. */
bool tnd_device_workers_idle(const tnd_device_workers_t *self);
/*  No step will follow: a program that waits for one gets `how` (TND_END, TND_STOPPED).  So does
 * one whose step is interrupted by tnd_device_workers_stop.
 */
void tnd_device_workers_over(tnd_device_workers_t *self, tnd_status_t how);

/* --- program -----------------------------------------------------------------------------------
 */

/*  Nobody will ask for steps: they are discarded.  Any thread; ignored once somebody has. */
void tnd_device_workers_discard(tnd_device_workers_t *self);
/*  The next step is there; the one before is done with.  TND_FAILED: the crew runs by itself, has
 *  failed, or was stopped without tnd_device_workers_over.
 */
tnd_status_t tnd_device_workers_next(tnd_device_workers_t *self);
/*  What the replicas report of the step that was run last and is not done with; NULL: there is
 * none.
 */
tnd_report_t *tnd_device_workers_reports(tnd_device_workers_t *self, uint64_t *step_p);
/*  Runs a task on that step and waits.  It runs on the calling thread if there is one device, whose
 *  steps may run on any thread.  TND_FAILED: there is no step, a task has run on it already,
 *  or as tnd_device_workers_next; TND_END and TND_STOPPED: the crew was stopped meanwhile.
 */
tnd_status_t tnd_device_workers_run(tnd_device_workers_t *self, const tnd_task_t *task);

#endif
