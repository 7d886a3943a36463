/*  runtime/core/protocol/message.h - the messages between actors.
 *
 *  One struct per message, the same in the simulator, inside a process and, encoded by the
 *  transport, on a wire.  The payload (rows) is opaque to the core: a pointer.
 *
 *  Data links carry the kinds under "links" in messages.def.  All others go by control, addressed
 *  to an actor, through its host, or to the leader.
 *
 *  Generations.  A rewind raises the generation of the whole run.  A receiver drops messages of an
 *  older generation.  A link message of a newer one means that the rewind is still on its way, and
 *  the receiver acts as if it had arrived.
 *
 *  Threads: any; plain values.  Pointers inside are valid while the payload is. */
#ifndef TND_RUNTIME_CORE_PROTOCOL_MESSAGE_H
#define TND_RUNTIME_CORE_PROTOCOL_MESSAGE_H

#include "runtime/core/protocol/held_positions.h"
#include "runtime/core/stream/cursor.h"
#include "runtime/core/stream/ledger.h"
#include "runtime/core/stream/position.h"

/*  An actor instance in the plan of the run: the same number on every host. */
typedef uint32_t tnd_actor_id_t;
#define TND_LEADER ((tnd_actor_id_t)0xfffffffe) /* the session's leader */
#define TND_NOBODY ((tnd_actor_id_t)0xffffffff)

/*  One life of one actor, unique in a run; a later life of an actor is greater.  It is the time of
 *  day.  If the clock went back, the peer answers STALE and the actor raises its life. */
typedef uint64_t tnd_life_t;

/*  The part that an actor plays in the protocol: which messages it sends and receives
 *  (messages.def), and what follows from its loss (members.h).  Every kind declares one, and
 *  several kinds may play the same.  A CACHE is a reader for the actors after it and a join for those
 *  before it. */
typedef enum {
    TND_ROLE_NONE,    /* a kind that forgot to declare its role; every message of it is refused */
    TND_ROLE_READER,  /* sends the rows that tickets ask for (kind: reader) */
    TND_ROLE_CACHE,   /* answers tickets from its store, or passes them on (kind: cache) */
    TND_ROLE_WORKER,  /* makes blocks of blocks; any instance can take any (preprocessor) */
    TND_ROLE_JOIN,    /* puts the blocks of a lane in order and cuts batches (batcher) */
    TND_ROLE_FEEDER,  /* gives batches to replicas and commits steps (feeder) */
    TND_ROLE_REDUCER, /* combines what replicas post (reducer) */
    TND_ROLE_REPLICA, /* gives whole batches to replicas without state (feeder, `deal: whole`) */
    TND_ROLE_PARAMETERS, /* keeps the state of replicas and commits steps (parameters) */
    TND_ROLE_OBSERVER    /* takes no part in the stream; a run continues without it (no kind yet) */
} tnd_role_t;

/*  messages.def describes sender, receiver and fields of each kind. */
typedef enum {
#define TND_MESSAGE(name, ...) TND_MSG_##name,
#include "runtime/core/protocol/messages.def"
    TND_MSG_KINDS
} tnd_msg_kind_t;

/*  What both ends of a connection must agree on before the first row.  Zero: not checked. */
typedef struct {
    uint64_t graph[2]; /* fingerprint of the graph */
    uint64_t schema;   /* of the rows that pass here */
    uint64_t numeric;  /* hash of the worker's own operations over built-in rows */
    /*  The bound port that is meant, one number per port and life of its actor, which announces it
     *  with its endpoint.  At a binding end, 0: the endpoint is known in advance. */
    uint64_t listener;
    uint32_t abi;  /* of the wire format and of this program */
    bool tolerant; /* `numeric: tolerant`: another `numeric` is let in */
} tnd_terms_t;

/*  The policy for bad records. */
typedef enum {
    TND_BAD_STOP,       /* the run fails and names the record */
    TND_BAD_SKIP,       /* the record is dropped and counted */
    TND_BAD_QUARANTINE, /* and also written to the quarantine file */
    TND_BAD_END         /* as STOP, whatever the policy is */
} tnd_bad_way_t;

/*  Bytes of the text about a bad record, with its terminator. */
enum { TND_BAD_TEXT_MAX = 480 };

/*  A bad record, or a number of them. */
typedef struct {
    uint64_t position; /* WHY: the step */
    uint32_t lane, epoch;
    uint32_t way;  /* tnd_bad_way_t */
    void *payload; /* text */
} tnd_bad_note_t;

/*  A block as the core sees it: rows made from positions [first, first + count) of an epoch. */
typedef struct {
    uint64_t first;
    uint32_t lane, epoch;
    uint32_t
        count; /* positions covered, with held ones; fewer than `asked`: see tnd_block_is_short */
    uint32_t asked;   /* positions the ticket asked for */
    uint32_t attempt; /* of the ticket, from 0 */
    uint32_t rows;    /* carried, after the operations */
    bool end;         /* the epoch has no position from first + count on */
    uint32_t bad_count;
    const uint32_t *origin; /* a row: its position less `first`, ascending; NULL: row i from i */
    const uint32_t *bad;    /* ascending offsets of bad positions; NULL if none */
    /*  The lengths of a ragged column, which the join needs to make batches: of each row.  `measured`:
     *  the number of that column, plus 1; 0: none is needed.  NULL also without rows. */
    const uint64_t *lengths;
    uint32_t measured;
    /*  For each of them a terminated text, in sequence: tnd_bad_way_t as a digit, the actor that
     *  found it, a tab, the error.  NULL: no texts. */
    const char *why;
    uint32_t why_bytes;
    uint64_t bytes;   /* of the payload in memory */
    uint64_t budget;  /* of the ticket: bytes of ragged columns */
    uint64_t ragged;  /* of ragged columns, the most in any stage so far; see below */
    uint64_t work_ns; /* what the slowest stage so far spent on it */
    void *payload;
} tnd_block_note_t;

/*  Whether the block covers a part of its ticket because the rest does not fit the budget.  A block
 *  that covers no position is too small for the first one, which takes `ragged` bytes. */
static inline bool tnd_block_is_short(const tnd_block_note_t *block)
{
    return block->count < block->asked && !block->end;
}
static inline bool tnd_block_is_too_small(const tnd_block_note_t *block)
{
    return block->count == 0 && !block->end;
}

/*  The rows of one lane for one replica in one step. */
typedef struct {
    uint64_t step; /* over the run */
    uint64_t step_of_epoch;
    uint64_t rank; /* of the first row of the slice in the stream of the run */
    uint32_t epoch, lane, replica;
    uint32_t offset;    /* of the first row within the replica's rows */
    uint32_t rows;      /* in this slice; 0 only if `total` is 0 */
    uint32_t total;     /* real rows of the replica in this step */
    uint32_t padded;    /* rows of weight 0 after them */
    uint32_t step_rows; /* real rows of the whole step */
    uint32_t cuts;      /* epochs that programs had ended early when it was made */
    bool last_of_epoch, last_of_run;
    void *payload;
} tnd_slice_note_t;

typedef struct {
    uint64_t round;        /* over the run and the feeder's chain: step, then order of posting */
    uint32_t reducer_slot; /* which reduction of the step: 0, 1 ... in order of posting */
    uint32_t reduction;    /* of the user's in this step; large ones travel in several slots */
    uint32_t first, count; /* logical replicas covered: an aligned node of the tree */
    uint64_t weight;       /* rows that the value is computed from */
    void *payload;
} tnd_post_note_t;

/*  In each of the steps [first, last] a feeder posts nothing here under the slots [begin, end). */
typedef struct {
    uint64_t first, last;
    uint32_t begin, end; /* `end` TND_PASSED_DONE: these steps are done */
    uint32_t reductions; /* of the user's, in each of them so far */
} tnd_passed_note_t;
#define TND_PASSED_DONE UINT32_MAX

/*  What one replica made of a whole step. */
typedef struct {
    uint64_t step;
    uint64_t digest[2]; /* of its rows: low, high */
    uint32_t replica, rows;
    uint32_t epoch;
    uint32_t
        count; /* f32 of the gradient, with which the payload begins; metrics follow, as text */
    bool last_of_epoch;
    void *payload;
} tnd_push_note_t;

/*  Checkpoints, each named by the number of steps before it. */
typedef struct {
    uint64_t every;           /* the models are saved after each multiple of it; 0: never */
    uint64_t rest_steps;      /* likewise, and after each step that ends */
    uint64_t rest_epochs;     /* a multiple of so many epochs; 0: never */
    uint64_t step;            /* and after so many steps, which no feeder has done yet; 0: none */
    uint64_t below;           /* those of fewer steps may be deleted, */
    uint64_t best;            /* but for the one with the best value; 0: there is none */
    uint64_t written, closed; /* the newest that is complete; the newest that is complete or will
                                 never be */
} tnd_keep_note_t;

typedef struct tnd_msg {
    tnd_msg_kind_t kind;
    uint32_t generation;
    tnd_actor_id_t from, to;
    union {
        struct {
            tnd_life_t life;
            tnd_life_t birth;    /* the first life of the same actor */
            uint32_t connection; /* of that life, from 0 */
            tnd_terms_t terms;
        } hello;
        struct {
            const char *why;
            bool elsewhere; /* another listener was meant, not final */
        } refuse;
        struct {
            uint64_t blocks, bytes;
        } credit;
        tnd_block_note_t block;
        struct {
            uint64_t step;
        } until; /* WINDOW, HELD, BOOKED; LAST of the leader to feeders; DEPTH: slots */
        struct {
            uint64_t step;  /* no step is started from this one on; TND_UNKNOWN: any */
            uint32_t epoch; /* and none of this epoch and later ones; TND_ENDLESS: any */
        } limit;
        struct {
            uint64_t step;   /* of the answer: steps started */
            uint32_t number; /* of the question, from 1 */
            bool ends;       /* the run ends where the feeders stop */
        } halt;
        tnd_slice_note_t slice;
        tnd_post_note_t post; /* POST, RESULT, GOT, CLOSED */
        tnd_passed_note_t passed;
        struct {
            uint64_t step;
            uint64_t version; /* of SERVE: so many pushes have made them */
            uint32_t replica;
            void *payload; /* of SERVE: f32 */
        } parameters;      /* READ, SERVE, TAKEN */
        tnd_push_note_t push;
        struct {
            uint64_t step;
            tnd_life_t life;  /* of the replica */
            uint32_t replica; /* TND_NOBODY: none gets it */
        } deal;
        tnd_keep_note_t keep;
        struct {
            const tnd_cursor_t *cursor;
            uint32_t cuts;   /* epochs that programs have ended early so far */
            uint32_t before; /* the last generation of the stream fed before; 0: none was */
        } rewind;
        struct {
            uint64_t first;
            uint32_t lane, epoch, count, attempt;
            uint64_t budget;      /* bytes of ragged columns that the block may have */
            tnd_position_t floor; /* below it nothing is needed any more */
            bool begun;           /* LOST of a cache: its worker had sent BEGIN */
            tnd_held_t held;      /* TICKET of a cache */
        } ticket;                 /* TICKET, LOST, DIED, BEGIN, GO */
        tnd_bad_note_t bad;       /* BAD, QUARANTINED, WHY */
        struct {
            uint64_t rows;        /* joined in `epoch` since the cursor of this generation */
            uint32_t lane, epoch; /* of the stream: 0 with span_epochs */
            bool ended;           /* no more rows in that epoch */
        } mark;
        struct {
            uint64_t step;
            uint32_t lane;
            uint32_t epoch;          /* of the cursor after the step */
            uint64_t step_of_epoch;  /* of the cursor after the step */
            uint64_t rank;           /* of the cursor after the step */
            tnd_position_t position; /* of the lane, after the step */
            uint64_t since;          /* what was made since `position`; see cursor.h */
            tnd_ledger_t ledger;     /* what this lane adds with this step */
            uint64_t ragged; /* bytes of its ragged rows in this step, if they are limited */
        } part;              /* PART; LAST of a join, where `step` is how many there are */
        struct {
            uint64_t step;
            uint64_t digest[2]; /* of the rows this feeder got: low, high */
            uint32_t rows;
            bool cut;      /* the program ends the epoch with it (tnd_feed_rewind) */
            bool last;     /* no step follows it, as is known from its rows */
            void *payload; /* reported metrics; opaque */
        } commit;
        struct {
            uint64_t number; /* of the chain, the actor ...: as the kind wants it */
            void *payload;   /* NULL: no text */
        } note;
    };
} tnd_msg_t;

#endif
