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
#include "runtime/core/protocol/message_kind.h"
#include "runtime/core/protocol/message_notes.h"
#include "runtime/core/protocol/role.h"
#include "runtime/core/stream/cursor.h"
#include "runtime/core/stream/ledger.h"
#include "runtime/core/stream/position.h"

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
        } until; /* WINDOW, HELD, REDO, BOOKED; LAST of the leader to feeders; DEPTH: slots */
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
            void *payload; /* of INITIAL and SERVE: f32 */
        } parameters;      /* INITIAL, READ, SERVE, TAKEN */
        tnd_push_note_t push;
        struct {
            uint64_t step;
            tnd_life_t life;  /* of the replica */
            uint32_t replica; /* TND_NOBODY: none gets it */
        } deal;
        struct {
            tnd_life_t life;
            tnd_actor_id_t actor;
        } gone;
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
