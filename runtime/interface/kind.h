/*  runtime/interface/kind.h - a kind of actor: everything the runtime needs in order to run one.
 *
 *  One file in actors/ and one line in kinds.def make a kind.  A kind has no thread, socket, lock
 *  or loop of its own: hooks run on the actor's thread, one at a time; what they decide, a machine
 *  of runtime/core/ decides.  No hook waits.  Only `work` may take long, and does one unit (a block
 *  read, a block's operations, a slice copied) between two looks at the stop flag.
 */
#ifndef TND_RUNTIME_INTERFACE_KIND_H
#define TND_RUNTIME_INTERFACE_KIND_H

#include "runtime/option/spec.h"
#include "runtime/plan/placement.h"
#include "runtime/interface/link.h"
#include "runtime/checkpoint/data_table.h"
#include "runtime/observe/memory_estimate.h"
#include "runtime/data/stream.h"

typedef struct tnd_actor tnd_actor_t;
typedef struct tnd_guarded_call tnd_guarded_call_t;

typedef struct tnd_kind {
    tnd_kind_spec_t spec; /* name, role, options, ports */
    size_t state_bytes;   /* the runtime allocates and zeroes this much */

    /*  What the data is, said by a host that has it: opens it once for all instances of the actor
     *  on the host of `instance`, fills schema, count and identity, and leaves in *shared_p what
     * the instances then read from at the same time (tnd_actor_shared).  On a thread of its own,
     * which tells `trial` what it is at (tnd_guarded_call_at), for that may hang.  NULL: this kind
     * has no data.
     */
    tnd_status_t (*facts)(const tnd_plan_t *plan, const tnd_instance_t *instance,
                          tnd_guarded_call_t *trial, tnd_stream_t *stream, void **shared_p,
                          tnd_error_t *error);
    /*  Adds the files that `facts` opened on the host of `instance` to `table`, for a checkpoint,
     *  with hashes of whole files if the options ask for them; on the same thread as `facts`.  NULL
     *  without `facts` only.
     */
    tnd_status_t (*list)(const tnd_plan_t *plan, const tnd_instance_t *instance, const void *shared,
                         tnd_data_table_t *table, tnd_error_t *error);
    /*  Closes what `facts` opened, once all instances are gone. */
    void (*unshare)(const tnd_instance_t *instance, void *shared);
    /*  Whether this machine has what the instance needs beside data: plugins, devices.  Before the
     *  start, on a thread of its own; reports all that is missing.  NULL: it needs nothing.
     */
    void (*check)(const tnd_instance_t *instance, const tnd_plan_t *plan,
                  tnd_diagnostics_t *diagnostics);
    /*  What the kind makes of the stream that comes in: schemas, rows_max, epochs, numeric.  On
     *  every host, with the same outcome, and told to `trial` likewise.  NULL: nothing.
     */
    tnd_status_t (*derive)(const tnd_instance_t *instance, tnd_guarded_call_t *trial,
                           tnd_stream_t *stream, tnd_error_t *error);
    /*  Whether the kind can do with what the stream has become; on every host.  NULL: it can. */
    tnd_status_t (*fits)(const tnd_instance_t *instance, const tnd_stream_t *stream,
                         tnd_error_t *error);

    /*  The most memory that an instance takes in its process, beside what every thread has: adds a
     *  term for each thing whose size follows from plan and stream, and what code of the user's
     *  allocates is not among them.  Any thread.  NULL: nothing worth a word.
     */
    void (*needs)(const tnd_plan_t *plan, uint32_t instance, const tnd_stream_t *stream,
                  tnd_memory_estimate_t *needs);

    /*  How many messages the credit of an instance lets one peer upstream have on their way to it
     *  in one generation.  NULL: TND_UNREAD.
     */
    uint32_t (*credit)(const tnd_plan_t *plan, const tnd_instance_t *instance,
                       const tnd_stream_t *stream);

    /*  Makes the state ready; the actor's stream (schemas, counts) and options are known.  On
     *  failure `fini` is called and the run fails with the text.
     */
    tnd_status_t (*init)(void *state, tnd_actor_t *self, tnd_error_t *error);
    /*  A peer came or went, or a message came by link or control.  Takes a payload by setting
     *  msg.*.payload to NULL; what is left there the runtime drops.
     */
    tnd_status_t (*arrive)(void *state, tnd_actor_t *self, tnd_arrival_t *arrival,
                           tnd_error_t *error);
    /*  Performs what the machine wants, about one unit of work.  *more_p: there is more to do now.
     */
    tnd_status_t (*work)(void *state, tnd_actor_t *self, bool *more_p, tnd_error_t *error);
    /*  When `work` is to be called though nothing has come (tnd_actor_now); NULL, TND_NEVER: never.
     */
    uint64_t (*deadline)(const void *state);
    /*  Why there is nothing to do: a set of TND_WAIT_*. */
    uint32_t (*blocked_on)(const void *state);
    /*  Fills in what waits at this actor, in blocks (of a feeder and a reducer: steps), and what it
     *  may still send or take; TND_UNKNOWN: it needs no credit.
     */
    void (*depth)(const void *state, uint64_t *queue_p, uint64_t *credit_p);
    /*  What a program gets of this actor (of a feeder: its feed); NULL: nothing. */
    void *(*handle)(void *state);
    /*  Releases what init and the hooks acquired.  Called once, also after a failed init. */
    void (*fini)(void *state);
    /*  Frees what `handle` gave out, which programs may use until the session is destroyed; on
     *  whatever thread that is.  NULL: nothing.
     */
    void (*release)(void *state);
} tnd_kind_t;

/*  The kind that a spec belongs to; never NULL for a spec of the registry.  Defined with the list
 *  of kinds.
 */
const tnd_kind_t *tnd_kind_of(const tnd_kind_spec_t *spec);

#endif
