/*  runtime/core/cache.h - a cache's decisions: which tickets it answers itself, and which it passes
 *  on.
 *
 *  A cache is between the actors that make rows and those that use them.  The join after it sees a
 *  reader: it sends tickets, and gets blocks and LOST.  The readers before it see a join: they get
 *  tickets and send blocks.  A ticket whose samples are all stored is answered from the store.  For
 *  others a reader gets the ticket, with the attempt and the budget of the join, and with the
 *  positions that are held: only the others are made again.  Its block waits here until a worker
 *  after the cache has credit for it, and is completed from the store when it is sent (mixed_rows.h).
 *
 *  A block that was sent is kept until the floor has passed it, because the reader would not make it
 *  again while its worker is alive.
 *
 *  The join owns all retries.  A ticket that a reader reports as lost is forgotten here and reported
 *  to the join.  The first answer to a ticket counts, whatever its attempt; others are duplicates, and
 *  so are those to attempts that were made before this cache began: they may lack positions that an
 *  earlier life of it had stored.
 *
 *  Workers before the cache report BEGIN and get GO here.  If one died with a ticket that it began,
 *  the join learns it by DIED, and isolates the row as it does for workers of its own.  A lost ticket
 *  that a worker began is reported when that worker is back, or after TND_ABSENT_MAX_NS.
 *
 *  What is stored is not known here: the driver says it of the samples of each ticket.  The store
 *  never loses a sample in one life, so that stays true.  While the store has room, tickets of an epoch
 *  are passed on only when those of earlier epochs have been answered, because their samples may be
 *  stored by then.
 *
 *  Threads: one. */
#ifndef TND_RUNTIME_CORE_CACHE_H
#define TND_RUNTIME_CORE_CACHE_H

#include "runtime/base/status.h"
#include "runtime/core/protocol/effect.h"

/*  How many of `count` positions from `first` on have samples that are in the store, and which:
 *  adds them to `held`, which is empty. */
typedef uint32_t tnd_cache_stored_fn(void *store, uint32_t epoch, uint64_t first, uint32_t count,
                                     tnd_held_t *held);

typedef struct {
    tnd_actor_id_t self, join;
    uint32_t lane;
    const tnd_actor_id_t *readers; /* before the cache; the caller keeps them alive */
    uint32_t reader_count;
    uint32_t makers_max;  /* workers before the cache */
    uint32_t tickets_max; /* as of a reader */
    uint32_t workers_max; /* that take blocks from the cache, the join included */
    uint64_t rest_ns;     /* as of a reader */
    tnd_cache_stored_fn *stored;
    void *store; /* its first argument */
} tnd_cache_core_config_t;

typedef struct tnd_cache_core tnd_cache_core_t;

size_t tnd_cache_core_bytes(const tnd_cache_core_config_t *config);
tnd_cache_core_t *tnd_cache_core_init(void *memory, const tnd_cache_core_config_t *config);

/*  Forgets all tickets and drops all blocks.  Ignored if the generation is not newer.
 */
void tnd_cache_core_rewind(tnd_cache_core_t *self, uint32_t generation);

/* From the join. */

void tnd_cache_core_ticket(tnd_cache_core_t *self, const tnd_msg_t *msg);
/*  Whether another ticket would exceed the limit, which is a fault of the batcher. */
bool tnd_cache_core_full(const tnd_cache_core_t *self);

/* From the actors before the cache. */

/*  True: it answers a ticket, and the payload comes back by tnd_cache_core_drop.  False: it
 *  is stale or a duplicate, and remains the caller's. */
bool tnd_cache_core_block(tnd_cache_core_t *self, const tnd_msg_t *msg);
/*  A sample did not fit into the store. */
void tnd_cache_core_store_full(tnd_cache_core_t *self);
/*  A reader lost that ticket. */
void tnd_cache_core_lost(tnd_cache_core_t *self, const tnd_msg_t *msg);
/*  A connection of a worker before the cache begins.  Another birth than before means that the
 *  worker died. */
void tnd_cache_core_maker_up(tnd_cache_core_t *self, tnd_actor_id_t maker, tnd_life_t birth);
/*  That worker, which is up, is about to process a block whose ticket was lost before. */
void tnd_cache_core_begin(tnd_cache_core_t *self, const tnd_msg_t *msg);
/*  The answer to its BEGIN or BLOCK; returns false if there is none. */
bool tnd_cache_core_go(const tnd_cache_core_t *self, const tnd_msg_t *heard, tnd_msg_t *go);

/* From the actors after the cache: as the functions of a reader. */
void tnd_cache_core_worker_up(tnd_cache_core_t *self, tnd_actor_id_t worker);
void tnd_cache_core_worker_lost(tnd_cache_core_t *self, tnd_actor_id_t worker);
void tnd_cache_core_awake(tnd_cache_core_t *self, uint32_t most);
void tnd_cache_core_credit(tnd_cache_core_t *self, tnd_actor_id_t worker, uint64_t blocks,
                           uint64_t bytes);
void tnd_cache_core_sent(tnd_cache_core_t *self, tnd_actor_id_t worker, uint64_t bytes);

/*  The next block that is not needed any more, or NULL: the driver takes all of them after each
 *  event. */
void *tnd_cache_core_drop(tnd_cache_core_t *self);
/*  TICKET to a reader, LOST and DIED to the join (CONTROL); READ: sends the block of `msg.ticket` to
 *  `msg.to`, from the store if `payload` is NULL, else a copy of it; with `at` > 0 it was made
 *  without that many positions, and those that are stored now come from the store. */
bool tnd_cache_core_next(tnd_cache_core_t *self, uint64_t now, tnd_effect_t *effect);
uint64_t tnd_cache_core_deadline(const tnd_cache_core_t *self);
uint32_t tnd_cache_core_blocked_on(const tnd_cache_core_t *self);
uint32_t tnd_cache_core_waiting(const tnd_cache_core_t *self); /* tickets not answered yet */
uint32_t tnd_cache_core_held(const tnd_cache_core_t *self);    /* blocks */
uint64_t tnd_cache_core_room(const tnd_cache_core_t *self);    /* blocks that may be sent now */

#endif
