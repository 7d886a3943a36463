/*  runtime/interface/kind.h - the interface of a kind of actor: all that the runtime needs to run
 *  one.
 *
 *  A kind is one file in actors/ and one line in kinds.def.  If it makes decisions, it also has a
 *  state machine in runtime/core/.  A kind has no thread, socket, lock or loop of its own: its
 *  hooks run on the actor's thread, one at a time.  Hooks do not block.  Only `work` may take long;
 *  it does one unit (reads a block, runs a block's operations, copies a slice) between two checks
 *  of the stop flag. */
#ifndef TND_RUNTIME_INTERFACE_KIND_H
#define TND_RUNTIME_INTERFACE_KIND_H

#include "runtime/checkpoint/data_table.h"
#include "runtime/data/stream.h"
#include "runtime/interface/link.h"
#include "runtime/option/spec.h"
#include "runtime/plan/memory_estimate.h"
#include "runtime/plan/placement.h"

typedef struct tnd_actor tnd_actor_t;
typedef struct tnd_guarded_call tnd_guarded_call_t;

typedef struct tnd_kind {
    tnd_kind_spec_t spec; /* name, role, options, ports */
    size_t state_bytes;   /* the runtime allocates and zeroes this much */

    /*  Opens the data source once per host and describes it in *stream: schema, count, identity.
     *  All instances on that host share *shared_p (tnd_actor_shared). Runs on its own thread,
     *  because it may hang, and reports its progress by tnd_guarded_call_at. NULL: the kind has no
     *  data. */
    tnd_status_t (*facts)(const tnd_plan_t *plan, const tnd_instance_t *instance,
                          tnd_guarded_call_t *call, tnd_stream_t *stream, void **shared_p,
                          tnd_error_t *error);
    /*  Sets stream->adapted: what `auto` options of the operations after it are, for the rows that train.
     *  Runs after `facts` of all actors, on the same thread; with plan->unread it only takes what was
     *  stored.  *culprit_p: the instance that an error is about, `instance` at first.  NULL: nothing
     *  is. */
    tnd_status_t (*adapt)(const tnd_plan_t *plan, const tnd_instance_t *instance,
                          tnd_guarded_call_t *call, const void *shared, tnd_stream_t *stream,
                          const tnd_instance_t **culprit_p, tnd_error_t *error);
    /*  Adds the files that `facts` opened to `table`, for a checkpoint, with hashes of whole files
     *  if the options ask for them. Runs on the thread of `facts`. NULL only without `facts`. */
    tnd_status_t (*list)(const tnd_plan_t *plan, const tnd_instance_t *instance, const void *shared,
                         tnd_data_table_t *table, tnd_error_t *error);
    /*  Closes what `facts` opened, after all instances have ended. */
    void (*unshare)(const tnd_instance_t *instance, void *shared);
    /*  Reports everything that this machine lacks for the instance besides data: plugins, devices.
     *  Runs before the start on its own thread. NULL: it needs nothing. */
    void (*check)(const tnd_instance_t *instance, const tnd_plan_t *plan,
                  tnd_diagnostics_t *diagnostics);
    /*  Changes the description of the incoming stream, `fed`, to that of the outgoing one: the schema,
     *  rows_max, epochs, numeric; and declares what other kinds need of its options, such as
     *  stream->batch, so that none reads them. Runs on every host with the same result, and reports its
     *  progress like `facts`. NULL: no change. */
    tnd_status_t (*derive)(const tnd_plan_t *plan, const tnd_instance_t *instance,
                           tnd_guarded_call_t *call, tnd_stream_t *stream, tnd_error_t *error);
    /*  Sets what the derived stream has that depends on the memory budgets of the plan's hosts, for
     *  all instances of its chain. Also called with plans of other budgets. NULL: nothing does. */
    void (*budget)(const tnd_plan_t *plan, const tnd_instance_t *instance, tnd_stream_t *stream);
    /*  Every host calls this hook. It returns TND_FAILED if the kind cannot use the final stream.
     *  NULL: any stream is accepted. */
    tnd_status_t (*fits)(const tnd_instance_t *instance, const tnd_stream_t *stream,
                         tnd_error_t *error);

    /*  Adds a term for each part of the instance's memory whose size follows from plan and stream.
     *  The memory of every thread and what the user's code allocates are not included. Any thread.
     *  NULL: nothing significant. */
    void (*estimate_memory)(const tnd_plan_t *plan, uint32_t instance, const tnd_stream_t *stream,
                            tnd_memory_estimate_t *estimate);

    /*  The maximum number of messages in flight from one upstream peer to an instance, within one
     *  generation. NULL: TND_UNREAD. */
    uint32_t (*credit)(const tnd_plan_t *plan, const tnd_instance_t *instance,
                       const tnd_stream_t *stream);

    /*  Initializes the state; the actor's stream and options are known. On failure `fini` is called
     *  and the run fails with the text. */
    tnd_status_t (*init)(void *state, tnd_actor_t *self, tnd_error_t *error);
    /*  A peer connected or was lost, or a message that the kind accepts arrived. The hook owns its payload,
     *  and drops what it does not keep. */
    tnd_status_t (*arrive)(void *state, tnd_actor_t *self, tnd_arrival_t *arrival,
                           tnd_error_t *error);
    /*  Performs what the state machine decided, about one unit of work. *more_p: more work is
     *  ready. */
    tnd_status_t (*work)(void *state, tnd_actor_t *self, bool *more_p, tnd_error_t *error);
    /*  When `work` is to be called without an arrival (tnd_actor_now). NULL, TND_NEVER: never. */
    uint64_t (*deadline)(const void *state);
    /*  Why the actor has nothing to do: a set of TND_WAIT_*. */
    uint32_t (*blocked_on)(const void *state);
    /*  Sets how many blocks (for a feeder and a reducer: steps) wait at this actor, and how many it
     *  may still send or take; TND_UNKNOWN: it needs no credit. */
    void (*depth)(const void *state, uint64_t *queue_p, uint64_t *credit_p);
    /*  What a program gets from this actor: the feed of a feeder. NULL: nothing. */
    void *(*handle)(void *state);
    /*  Releases what init and the hooks acquired. Called once, also after a failed init. */
    void (*fini)(void *state);
    /*  Frees what `handle` returned, which programs may use until the session is destroyed. Any
     *  thread. NULL: nothing. */
    void (*release)(void *state);
} tnd_kind_t;

/*  The kind of a spec of the registry; never NULL. */
const tnd_kind_t *tnd_kind_of(const tnd_kind_spec_t *spec);

#endif
