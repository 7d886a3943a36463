/*  runtime/core/reader.h - a reader's decisions: which ticket next, to which worker.
 *
 *  Tickets wait sorted by position, never by arrival, and the lowest goes to the live worker with
 *  the most free credit (equal: the one served longest ago).  Nothing is read before a worker has
 *  credit for it.  The reader remembers which worker got which ticket until the floor has passed
 *  it; when a worker is lost, those tickets go back to the join as LOST, and the join, which owns
 *  all retries, issues them again.  A reader that dies takes nothing with it that a rewind does not
 *  bring back.
 *
 *  A ticket that is issued again while its worker lives is overdue: it goes to another worker as
 *  well, and the late one rests, for `rest_ns` and twice as long each time that it is late again.
 *  Then it gets one ticket, and more only while nobody else has credit; once the floor has passed
 *  that one it is as good as the others.  There is always one worker that does not rest, and where
 *  there is a single one nothing is sent twice.
 *
 *  "Worker" here is whoever takes blocks from this reader: a preprocessor, or the join itself.
 */
#ifndef TND_RUNTIME_CORE_READER_H
#define TND_RUNTIME_CORE_READER_H

#include "runtime/core/protocol/effect.h"

typedef struct {
    tnd_actor_id_t self, join;
    uint32_t lane;
    uint32_t tickets_max; /* in one generation, waiting or below no floor; more is a broken join */
    uint32_t workers_max;
    uint64_t rest_ns; /* of a worker that was late for the first time */
} tnd_reader_core_config_t;

typedef struct tnd_reader_core tnd_reader_core_t;

size_t tnd_reader_core_bytes(const tnd_reader_core_config_t *config);
tnd_reader_core_t *tnd_reader_core_init(void *memory, const tnd_reader_core_config_t *config);

/*  Forgets all tickets; credit stays, for the workers give it back for what they drop.  A
 * generation that is not newer changes nothing.
 */
void tnd_reader_core_rewind(tnd_reader_core_t *self, uint32_t generation);
/*  A second ticket for the same first position replaces the one before if its attempt is higher,
 *  and is ignored otherwise.
 */
void tnd_reader_core_ticket(tnd_reader_core_t *self, const tnd_msg_t *msg);
/*  There is no room for another ticket: its join is broken. */
bool tnd_reader_core_full(const tnd_reader_core_t *self);
void tnd_reader_core_worker_up(tnd_reader_core_t *self, tnd_actor_id_t worker);
void tnd_reader_core_worker_lost(tnd_reader_core_t *self, tnd_actor_id_t worker);
/*  Cumulative over the worker's connection. */
void tnd_reader_core_credit(tnd_reader_core_t *self, tnd_actor_id_t worker, uint64_t blocks,
                            uint64_t bytes);
/*  The block of the READ to `worker` was sent and took `bytes`.  Every READ ends so, or with the
 *  loss of its worker; until then that worker gets no other, so that it is given at most one block
 *  more than its bytes.
 */
void tnd_reader_core_sent(tnd_reader_core_t *self, tnd_actor_id_t worker, uint64_t bytes);

/*  READ to a worker (a TICKET, to `msg.to`), LOST to the join. */
bool tnd_reader_core_next(tnd_reader_core_t *self, uint64_t now, tnd_effect_t *effect);
/*  When the first worker that rests is to be tried again. */
uint64_t tnd_reader_core_deadline(const tnd_reader_core_t *self);
uint32_t tnd_reader_core_blocked_on(const tnd_reader_core_t *self);
uint32_t tnd_reader_core_waiting(const tnd_reader_core_t *self); /* tickets not yet sent */
uint64_t tnd_reader_core_room(const tnd_reader_core_t *self);    /* blocks that may be sent now */

#endif
