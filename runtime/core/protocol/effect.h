/*  runtime/core/protocol/effect.h - what a state machine asks its driver (the code around it) to
 *  do.
 *
 *  Every machine has the same shape.  Events are functions that only change its state.
 *  `tnd_X_next(self, now, &effect)` returns one effect at a time until it returns false, and is
 *  called again after each event and at `tnd_X_deadline`.  An effect counts as done: the driver
 *  performs it, or its connection, actor or run fails.
 *  Machines never wait, never allocate after `init`, and get the time as an argument (nanoseconds
 *  of the host's monotonic clock).
 *
 *  Memory: a machine with variable state takes one piece of zeroed memory at init, of
 *  `tnd_X_bytes(config)` bytes, aligned for any type, and keeps it; the driver frees it.
 *
 *  Threads: a machine belongs to one thread. */
#ifndef TND_RUNTIME_CORE_PROTOCOL_EFFECT_H
#define TND_RUNTIME_CORE_PROTOCOL_EFFECT_H

#include <stddef.h>

#include "runtime/core/protocol/message.h"

/*  A feeder reports its slots to a join unasked, unless the join sent nothing for so many steps. */
enum { TND_WINDOW_QUIET = 16 };

#define TND_NEVER UINT64_MAX /* no deadline */

typedef enum {
    TND_EFFECT_LINK,    /* send `msg` over the data link to `msg.to` */
    TND_EFFECT_CONTROL, /* send `msg` by control to `msg.to` (TND_LEADER; TND_NOBODY: to all
                           actors concerned) */
    TND_EFFECT_DROP,    /* release `payload` */
    TND_EFFECT_STORE,   /* batcher: copy row `pieces` to row `at` of the batch of `bucket` that is
                           stored in `slot`; row 0 begins it.  Where rows are packed: copy `values`
                           values of it, from value `from` on, to value `at` of the batch */
    TND_EFFECT_READ,    /* reader: read `msg.ticket`, send the block to `msg.to`, report
                           tnd_reader_core_sent */
    TND_EFFECT_APPLY,   /* worker: run the operations on `msg.block`, send the result to `msg.to` */
    TND_EFFECT_RESET,   /* worker: close every link and begin a new life */
    TND_EFFECT_PLACE,   /* feeder: copy the rows of `msg.slice` into `slot` */
    TND_EFFECT_READY, /* feeder: step `msg.slice.step` is whole in `slot`: hand it to the devices */
    TND_EFFECT_FREE,  /* feeder: `slot` is free again */
    TND_EFFECT_RESIZE,  /* feeder: every slot is free, and there are to be `slot` of them; answer by
                           tnd_feeder_core_resized */
    TND_EFFECT_REDUCE,  /* reducer: all nodes of `msg.post.round` are there: compute its root */
    TND_EFFECT_FORGET,  /* reducer, feeder: the payload of `msg.post` of that round may go */
    TND_EFFECT_BOOK,    /* leader: step is committed everywhere; `cursor` is the one after it */
    TND_EFFECT_RESTART, /* host: start actor `msg.to` again */
    TND_EFFECT_OUTCOME  /* leader: the run has ended: see tnd_session_outcome */
} tnd_effect_kind_t;

/*  Part of a slice: rows [first, first + rows) of a block that the join holds. */
typedef struct tnd_piece {
    void *payload; /* NULL: of the batch that is stored in the effect's `slot` */
    uint32_t first, rows;
    const uint64_t *lengths; /* of these rows, if the lane measures them; else NULL */
} tnd_piece_t;

typedef struct {
    tnd_effect_kind_t kind;
    uint32_t slot;
    uint32_t at, bucket;   /* of STORE; `at` also of READ of a cache */
    uint64_t from, values; /* likewise, if rows are packed */
    uint32_t segment;      /* likewise: the number of the row among those of its packed row, from 1;
                              in packed rows after that one it is 1 */
    tnd_msg_t msg;
    void *payload;
    const tnd_piece_t *pieces; /* of a SLICE or STORE; valid until the machine is called again */
    uint32_t piece_count;
    const tnd_cursor_t *cursor; /* valid until the machine is called again */
} tnd_effect_t;

/*  Why a machine has nothing to do: a set, so that an inspector can walk all of it. */
enum {
    TND_WAIT_INPUT = 1u << 0,  /* for blocks, slices or tickets */
    TND_WAIT_CREDIT = 1u << 1, /* for credit of a downstream actor */
    TND_WAIT_ORDER = 1u << 2,  /* has later blocks, waits for the floor */
    TND_WAIT_MARK = 1u << 3,   /* for another lane's watermark */
    TND_WAIT_WINDOW = 1u << 4, /* for a free slot of a feeder */
    TND_WAIT_MEMORY = 1u << 5, /* for room in its budget */
    TND_WAIT_STEP = 1u << 6,   /* for a step of the user */
    TND_WAIT_REDUCE = 1u << 7, /* for other replicas in a round */
    TND_WAIT_PEER = 1u << 8,   /* for a connection */
    TND_WAIT_LEADER = 1u << 9, /* for word from the leader */
    TND_WAIT_ENDED = 1u << 10  /* for nothing: its part is done */
};

#endif
