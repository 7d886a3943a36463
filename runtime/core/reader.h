/*  runtime/core/reader.h - a reader's decisions: which ticket next, to which worker.
 *
 *  Tickets wait sorted by position, never by arrival.  The lowest one goes to the live worker with
 *  the most free credit; if equal, to the one served longest ago.  Nothing is read before a worker
 *  has credit for it.  The reader remembers which worker got which ticket until the floor has
 *  passed it.  When a worker is lost, its tickets go back to the join as LOST, and the join, which
 *  owns all retries, issues them again.  After the death of a reader a rewind restores everything.
 *
 *  A ticket that is issued again while its worker is alive is overdue: it goes to another worker as
 *  well.  The late worker rests, for `rest_ns` and twice as long each time it is late again.  Then
 *  it gets one ticket, and more only while no other worker has credit; once the floor has passed
 *  that ticket it counts as the others do.  Of the workers that are awake at least one never rests,
 *  and without another one nothing is sent twice.
 *
 *  Workers may sleep: only the live ones with the lowest numbers, as many as tnd_reader_core_awake
 *  says, get blocks.  A worker that falls asleep finishes those that it has, and keeps its credit.
 *  The loss of a worker that is awake wakes the next one.
 *
 *  A worker is any actor that takes blocks from this reader: a preprocessor, or the join itself.
 *
 *  Threads: one. */
#ifndef TND_RUNTIME_CORE_READER_H
#define TND_RUNTIME_CORE_READER_H

#include "runtime/core/protocol/effect.h"

typedef struct {
    tnd_actor_id_t self, join;
    uint32_t lane;
    uint32_t tickets_max; /* of a generation, waiting or above the floor; more: the join is wrong */
    uint32_t workers_max;
    uint64_t rest_ns;  /* rest of a worker that was late for the first time */
    bool before_cache; /* tickets may have held positions */
} tnd_reader_core_config_t;

typedef struct tnd_reader_core tnd_reader_core_t;

size_t tnd_reader_core_bytes(const tnd_reader_core_config_t *config);
tnd_reader_core_t *tnd_reader_core_init(void *memory, const tnd_reader_core_config_t *config);

/*  Forgets all tickets.  Credit stays, because workers grant it again for what they drop.  Ignored
 *  if the generation is not newer. */
void tnd_reader_core_rewind(tnd_reader_core_t *self, uint32_t generation);
/*  A second ticket for the same first position replaces the first one if its attempt is higher, and
 *  is ignored otherwise. */
void tnd_reader_core_ticket(tnd_reader_core_t *self, const tnd_msg_t *msg);
/*  Nothing below `floor` is needed any more. */
void tnd_reader_core_floor(tnd_reader_core_t *self, tnd_position_t floor);
/*  A ticket that was not sent yet is not to be answered now. */
void tnd_reader_core_withdraw(tnd_reader_core_t *self, uint32_t epoch, uint64_t first);
/*  Whether another ticket would exceed the limit, which is a fault of the batcher. */
bool tnd_reader_core_full(const tnd_reader_core_t *self);
void tnd_reader_core_worker_up(tnd_reader_core_t *self, tnd_actor_id_t worker);
void tnd_reader_core_worker_lost(tnd_reader_core_t *self, tnd_actor_id_t worker);
/*  How many workers are awake at most, 1 or more; at first all of them. */
void tnd_reader_core_awake(tnd_reader_core_t *self, uint32_t most);
/*  Cumulative over the worker's connection. */
void tnd_reader_core_credit(tnd_reader_core_t *self, tnd_actor_id_t worker, uint64_t blocks,
                            uint64_t bytes);
/*  The block of the READ to `worker` was sent and has `bytes`.  Every READ ends with this call or
 *  with the loss of its worker; until then that worker gets no other block, so that it exceeds its
 *  credit of bytes by at most one block. */
void tnd_reader_core_sent(tnd_reader_core_t *self, tnd_actor_id_t worker, uint64_t bytes);

/*  READ to a worker (a TICKET, to `msg.to`), LOST to the join. */
bool tnd_reader_core_next(tnd_reader_core_t *self, uint64_t now, tnd_effect_t *effect);
/*  When the first resting worker is tried again. */
uint64_t tnd_reader_core_deadline(const tnd_reader_core_t *self);
uint32_t tnd_reader_core_blocked_on(const tnd_reader_core_t *self);
uint32_t tnd_reader_core_waiting(const tnd_reader_core_t *self); /* tickets not yet sent */
uint64_t tnd_reader_core_room(const tnd_reader_core_t *self);    /* blocks that may be sent now */

#endif
