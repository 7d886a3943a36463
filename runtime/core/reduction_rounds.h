/*  runtime/core/reduction_rounds.h - the rounds of a reducer: open ones, and the names of those
 *  that were closed last.
 *
 *  Part of the reducer (reducer.h).  Open rounds form a list by name, so that the oldest is known;
 *  a hash finds them by name, and the closed ones.  A feeder that lost CLOSED with its connection
 *  posts at most `rounds_max` rounds again, so that many closed names are remembered.
 *
 *  Threads: one.  The caller provides the memory. */
#ifndef TND_RUNTIME_CORE_REDUCTION_ROUNDS_H
#define TND_RUNTIME_CORE_REDUCTION_ROUNDS_H

#include <stddef.h>

#include "runtime/core/protocol/message_notes.h"

#define TND_ROUND_NONE UINT32_MAX

typedef struct {
    uint64_t round;
    uint32_t slot;
} tnd_round_name_t;

/*  What is known of one replica in one round; a post is stored at the first replica of its node. */
typedef struct {
    uint64_t weight;
    void *payload;
    uint32_t count; /* 0: no node begins here */
    uint32_t reduction;
    bool covered;
} tnd_round_leaf_t;

typedef enum { TND_RESULT_UNSENT, TND_RESULT_SENT, TND_RESULT_GOT } tnd_result_state_t;

typedef struct {
    tnd_round_name_t name;
    uint32_t previous, next; /* in the list of open rounds, or of free ones */
    uint32_t covered, got;
    uint64_t weight;
    void *root;
    bool queued, asked, has_root, closing;
    bool reduce_due, results_due;
    uint32_t walk; /* how many effects of closing are handed out */
} tnd_round_t;

typedef struct {
    tnd_round_name_t name;
    uint32_t round; /* TND_ROUND_NONE: closed */
    bool used;
} tnd_round_entry_t;

typedef struct {
    uint32_t replicas, rounds_max;
    uint32_t feeder_count; /* set by the caller after init */
    uint32_t hash_mask;
    uint32_t oldest, newest, spare;   /* rounds */
    uint32_t open, incomplete;        /* how many */
    uint32_t closed_at, closed_count; /* ring of the names closed last */
    uint32_t work_first, work_count;  /* ring of rounds with effects to hand out */
    tnd_round_t *rounds;
    tnd_round_leaf_t *leaves; /* by round x replica */
    uint8_t *results;         /* by round x feeder: tnd_result_state_t */
    tnd_round_entry_t *hash;
    tnd_round_name_t *closed;
    uint32_t *work;
} tnd_reduction_rounds_t;

size_t tnd_reduction_rounds_bytes(uint32_t replicas, uint32_t rounds_max);
/*  `memory` is zeroed. */
void tnd_reduction_rounds_init(tnd_reduction_rounds_t *self, void *memory, uint32_t replicas,
                               uint32_t rounds_max);
/*  How many rounds there may be, open or closed with effects to hand out. */
uint32_t tnd_reduction_rounds_pool(uint32_t rounds_max);

static inline tnd_round_name_t tnd_round_name(const tnd_post_note_t *post)
{
    return (tnd_round_name_t){.round = post->round, .slot = post->reducer_slot};
}

/*  Less than, equal to or greater than zero as `a` is before, at or after `b`. */
static inline int tnd_round_compare(tnd_round_name_t a, tnd_round_name_t b)
{
    if (a.round != b.round)
        return a.round < b.round ? -1 : 1;
    return a.slot < b.slot ? -1 : a.slot > b.slot;
}

/*  The leaves of a round by replica, and the state of its result by feeder. */
tnd_round_leaf_t *tnd_round_leaves(const tnd_reduction_rounds_t *self, const tnd_round_t *round);
uint8_t *tnd_round_results(const tnd_reduction_rounds_t *self, const tnd_round_t *round);

/*  The entry of that name; it is unused if the name is unknown. */
const tnd_round_entry_t *tnd_round_entry(const tnd_reduction_rounds_t *self, tnd_round_name_t name);
/*  The open round of that name, or NULL. */
tnd_round_t *tnd_round_find(const tnd_reduction_rounds_t *self, tnd_round_name_t name);
/*  Opens a round; returns NULL if rounds_max are open. */
tnd_round_t *tnd_round_open(tnd_reduction_rounds_t *self, tnd_round_name_t name);
void tnd_round_close(tnd_reduction_rounds_t *self, tnd_round_t *round);

/*  The round has effects to hand out; the first such round, or NULL; it has no more. */
void tnd_round_queue(tnd_reduction_rounds_t *self, tnd_round_t *round);
tnd_round_t *tnd_round_queued(const tnd_reduction_rounds_t *self);
void tnd_round_done(tnd_reduction_rounds_t *self);

#endif
