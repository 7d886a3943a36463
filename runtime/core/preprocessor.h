/*  runtime/core/preprocessor.h - a preprocessor's decisions: its queue, its credit, its lives.
 *
 *  Blocks wait sorted by (generation, epoch, position) over all lanes it serves, never by arrival.
 *  Its output needs no credit: the ticket of a block is the join's reservation for it.  Credit goes
 *  to the readers as blocks leave the queue, in quarters of their window, and to no reader whose
 *  lane's join is not connected: its blocks would wait here for ever.
 *
 *  With `window_ns` a worker that is slow asks for less: for what it works on in that time, by its
 *  slowest block of late.  A reader gives its blocks to whom has the most credit, so that few wait
 *  for the slow one, and the whole lane for them.  While it gets nothing it asks for more again.
 *
 *  A worker is soft.  When any of its links is lost it drops everything, closes all links and
 *  begins a new life (RESET): its readers see the old life go and tell the joins, so that no state
 *  of the worker ever needs to be recovered, and a message lost with a connection is one more block
 *  that is made again.
 *
 *  A block whose ticket was lost before may be what ends workers.  It is worked on only after its
 *  join has heard that it is its turn (BEGIN, GO), so that the join knows what to blame; and
 *  nothing else is before the join has its answer (BLOCK, GO), so that it is not blamed for what
 *  comes next.
 */
#ifndef TND_RUNTIME_CORE_PREPROCESSOR_H
#define TND_RUNTIME_CORE_PREPROCESSOR_H

#include "runtime/core/protocol/effect.h"

typedef struct {
    tnd_actor_id_t self;
    uint32_t lanes;                /* that it serves */
    const tnd_actor_id_t *readers; /* all of them; kept by the caller */
    const uint32_t *reader_lane;   /* lane number of readers[i] */
    uint32_t reader_count;
    const tnd_actor_id_t *joins; /* by index of lane_number */
    const uint32_t *lane_number;
    uint32_t window_blocks; /* credit a reader: blocks in its queue or on the way */
    uint64_t window_bytes;  /* and bytes */
    uint64_t window_ns;     /* and what is worked on in so long, one block at least; 0: any */
} tnd_preprocessor_core_config_t;

typedef struct tnd_preprocessor_core tnd_preprocessor_core_t;

size_t tnd_preprocessor_core_bytes(const tnd_preprocessor_core_config_t *config);
tnd_preprocessor_core_t *tnd_preprocessor_core_init(void *memory,
                                                    const tnd_preprocessor_core_config_t *config);

void tnd_preprocessor_core_rewind(tnd_preprocessor_core_t *self, uint32_t generation);
/*  Takes msg->block.payload (the queue hands it back by APPLY or DROP).  The sender is a reader
 * that keeps to its credit; a block of an older generation is dropped, one of a newer is a rewind.
 */
void tnd_preprocessor_core_block(tnd_preprocessor_core_t *self, const tnd_msg_t *msg);
/*  GO of a join: it knows of the BEGIN, or has the BLOCK.  Generations differ only while a rewind
 *  is under way, which drops the block.
 */
void tnd_preprocessor_core_go(tnd_preprocessor_core_t *self, const tnd_msg_t *msg);
/*  A reader or a join.  Losing one that was up loses all of them, until they come up again. */
void tnd_preprocessor_core_peer_up(tnd_preprocessor_core_t *self, tnd_actor_id_t peer);
void tnd_preprocessor_core_peer_lost(tnd_preprocessor_core_t *self, tnd_actor_id_t peer);

/*  APPLY (the driver owns the payload then), CREDIT to readers, BEGIN to joins, DROP, RESET (after
 * all DROPs; the driver closes its links, takes a new life and calls peer_up as they come up
 * again).  APPLY comes last of all and one at a time: a driver asks for the next effect when it is
 * done with it.
 */
bool tnd_preprocessor_core_next(tnd_preprocessor_core_t *self, uint64_t now, tnd_effect_t *effect);
uint32_t tnd_preprocessor_core_blocked_on(const tnd_preprocessor_core_t *self);
uint32_t tnd_preprocessor_core_waiting(const tnd_preprocessor_core_t *self);
/*  For the simulator: whether the queue is in order and within its window. */
bool tnd_preprocessor_core_sound(const tnd_preprocessor_core_t *self);

#endif
