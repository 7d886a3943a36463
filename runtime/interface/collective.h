/*  runtime/interface/collective.h - the interface of a collective, which reduces what replicas post.
 *
 *  The members of a collective are the processes that have replicas of a run; each *joins* with its
 *  own.  In a *round* all replicas have posted the same things, in the same order, and their device
 *  threads call `reduce`, which adds the values along the fixed tree and returns when the results are
 *  in the memory of this process.  The threads do the adding themselves, so no other one has to be woken.
 *
 *  Whatever carries the values, the reducer's actor keeps the account: which replicas have posted, with
 *  which weight, and which have left a reduction out.  So a member tells the actor of its feeder what is
 *  to be sent to reducers, and hears from it what these answered.  A member that has all replicas
 *  sends nothing.
 *
 *  One file in transport/collective/ and one line in collectives.def make a collective, which is found
 *  by name.
 *
 *  Threads: `reduce`, `begin` and `await` on all device threads of the process, each with its own number, and `start`
 *  on that of the replica; those under
 *  "actor" on the thread of the feeder's actor; `abort` on any; the others while none of these run.
 *
 *  Errors: the first failure of a member is told by `fail`, and ends it. */
#ifndef TND_RUNTIME_INTERFACE_COLLECTIVE_H
#define TND_RUNTIME_INTERFACE_COLLECTIVE_H

#include "runtime/base/status.h"
#include "runtime/core/protocol/message_notes.h"
#include "runtime/core/protocol/role.h"
#include "runtime/interface/device.h"
#include "runtime/posts/gathers.h"
#include "runtime/posts/partial_sums.h"

/*  A member: what one process has of a collective. */
typedef struct tnd_collective tnd_collective_t;

/*  The order in which values are added: along the tree, which gives the same bits everywhere, or any. */
typedef enum { TND_ORDER_TREE, TND_ORDER_ANY } tnd_order_t;

/*  A device thread and its replicas, counted from the first one of the process. */
typedef struct {
    uint32_t first, count;
    const tnd_device_t *device; /* NULL: not known */
} tnd_collective_thread_t;

/*  One round of a step, of which there may be several.  The same one for all threads. */
typedef struct {
    uint64_t step;
    const uint64_t *rows; /* of the step, by replica of the process */
    uint32_t tensors;     /* of this step that have gone to reducers ... */
    uint32_t reductions;  /* ... and the number of the user's reductions that they belong to */
} tnd_collective_round_t;

/*  What a member uses of the process that it is in. */
typedef struct {
    /*  Meets the other device threads: waits until all have arrived; false: the process has stopped, or
     *  one of them has ended its step instead. */
    bool (*meet)(void *context, uint32_t thread);
    /*  The actor has something to take.  Any thread. */
    void (*wake)(void *context);
    /*  Ends the run for this reason, unless it has failed before, and calls `abort`.  Any thread. */
    void (*fail)(void *context, const char *text);
    /*  The same, because device threads (by number) are in calls of a library that do not return: they
     *  are not waited for, and what they may use is leaked, this member included: neither `leave` nor
     *  `free` is called. */
    void (*hang)(void *context, const bool *threads, const char *text);
    void *context;
} tnd_collective_process_t;

/*  What it points to remains the caller's, and valid until the member is freed. */
typedef struct {
    const char *name;                /* of the feeder, for errors */
    uint32_t replicas, first, count; /* of the run; of this process */
    const tnd_collective_thread_t *threads;
    uint32_t thread_count;
    const tnd_postings_t *const *posts; /* by replica of the process: what it has posted */
    uint32_t accumulate;                /* so many consecutive replicas share a model ... */
    const tnd_partial_sums_t *sums;     /* ... by model: what all but the last one have posted */
    const uint64_t *buckets; /* by reducer: bytes of values that several postings fill together at
                                most.  NULL: each is reduced by itself */
    uint64_t patience_ns;    /* how long a library may take for one thing */
    tnd_collective_process_t process;
} tnd_collective_config_t;

/*  The value of one node of a reduction tree, for a reducer. */
typedef struct {
    uint32_t reducer;
    tnd_post_note_t post; /* the payload is a buffer, which the caller of `outgoing` owns */
    bool last;            /* of those that are sent before a result has to come */
} tnd_outgoing_t;

/*  A result that is not read here any more. */
typedef struct {
    tnd_actor_id_t reducer;
    tnd_post_note_t result; /* without its payload */
} tnd_used_t;

typedef struct {
    const char *name;
    uint32_t orders;                   /* that it can add in: 1 << TND_ORDER_TREE and so on */
    uint64_t host_bytes, device_bytes; /* for values under way, for each device thread */
    const char *devices;               /* the kind that replicas have to be on; NULL: any */
    /*  Whether this machine can use it for replicas on a device: its name, "cuda:0".  NULL: any can.
     *  Errors: TND_FAILED with the reason, which names the device only if another would do. */
    tnd_status_t (*usable)(const char *device, tnd_error_t *error);
    /*  Errors: TND_FAILED. */
    tnd_status_t (*join)(tnd_collective_t **self_p, const tnd_collective_config_t *config,
                         tnd_error_t *error);
    /*  The replicas of a device thread have posted: reduces that with all other replicas.  Waits.
     *  false: it was aborted. */
    bool (*reduce)(tnd_collective_t *self, uint32_t thread, tnd_collective_round_t *round);
    /*  Steps still run, and replica `replica` of the process has posted what shall be reduced meanwhile; NULL
     *  where nothing is before all have posted everything.  `reduce` or `begin` follow as always.  Waits for
     *  nothing.  false: it was aborted. */
    bool (*start)(tnd_collective_t *self, uint32_t thread, uint32_t replica,
                  tnd_collective_round_t *round);
    /*  In place of `reduce`, for steps that use one result while others are on their way; NULL, both, where
     *  a round is reduced as a whole.  `begin` waits for the other threads of the process only.  `await`
     *  waits until posting `posting`, and all before it, are where the replicas of this thread read them;
     *  TND_POSTINGS_MAX ends the round, which every thread does.  Until then no thread posts.  false: it was
     *  aborted. */
    bool (*begin)(tnd_collective_t *self, uint32_t thread, tnd_collective_round_t *round);
    bool (*await)(tnd_collective_t *self, uint32_t thread, tnd_collective_round_t *round,
                  uint32_t posting);
    /*  What the last round gathered.  The same address for all rounds. */
    const tnd_gathers_t *(*gathers)(const tnd_collective_t *self);
    /*  From now on no thread waits in those. */
    void (*abort)(tnd_collective_t *self);
    /*  After an `abort`, when no thread is in them any more: gives back all buffers. */
    void (*leave)(tnd_collective_t *self);
    /*  Sets *self_p to NULL; NULL is allowed. */
    void (*free)(tnd_collective_t **self_p);

    /* --- actor.  After each `incoming` and `closed`, and when it is woken, it asks for all that is `used` and
     * `outgoing`. */

    /*  Takes the next value to be sent; false if there is none now. */
    bool (*outgoing)(tnd_collective_t *self, tnd_outgoing_t *outgoing);
    /*  A result of a reducer has come; takes its buffer.  One that no round waits for is dropped.
     *  Errors: TND_FAILED if it does not fit what was posted. */
    tnd_status_t (*incoming)(tnd_collective_t *self, tnd_actor_id_t reducer,
                             const tnd_post_note_t *result, tnd_error_t *error);
    /*  Takes the next result that is not read any more, so that the reducer may forget it; false if
     *  there is none now. */
    bool (*used)(tnd_collective_t *self, tnd_used_t *used);
    /*  All values of a reduction that were sent are closed: its reducer has forgotten them. */
    void (*closed)(tnd_collective_t *self);
    /*  Whether a round waits for results / for this one. */
    bool (*waits)(const tnd_collective_t *self);
    bool (*awaits)(const tnd_collective_t *self, uint64_t step, uint32_t reducer_slot);
} tnd_collective_ops_t;

/*  Every implementation begins with this. */
struct tnd_collective {
    const tnd_collective_ops_t *ops;
};

/*  The collectives of this build; collectives.c defines it from the list. */
const tnd_collective_ops_t *const *tnd_registry_collectives(size_t *count_p);

/*  Whether replicas may be on that device, "cuda:0" or "cuda", as far as its kind says. */
bool tnd_collective_is_for(const tnd_collective_ops_t *ops, const char *device);

/*  The collective that the options of a reducer mean: `through` is its name, which one for each order may have,
 *  or "auto".  Errors:
 *  TND_FAILED if this build has none of that name, or none that adds in that order. */
tnd_status_t tnd_collective_find(const tnd_collective_ops_t **ops_p, const char *through,
                                 tnd_order_t order, tnd_error_t *error) TND_CHECKED;

#endif
