/*  runtime/core/preprocessor.h - a preprocessor's decisions: queue, credit and restarts.
 *
 *  Blocks wait sorted by (generation, epoch, position) over all lanes that it serves, never by
 *  arrival.  Its output needs no credit: the ticket of a block is the join's reservation for it.
 *  It grants credit to the readers as blocks leave the queue, in quarters of their window, and to
 *  no reader whose lane's join is not connected, because those blocks could not leave.
 *
 *  With `window_ns` a slow worker asks for less: as many blocks as it processes in that time, at
 *  the speed of its slowest recent block.  A reader gives blocks to the worker with the most
 *  credit, so few blocks, and with them the whole lane, wait for the slow worker.  While it gets
 *  nothing it asks for more again.
 *
 *  With `window_first` it asks for that few blocks until it knows how long one takes, so that others
 *  can be given the rest.
 *
 *  A worker keeps no state that matters.  When any of its links is lost it drops everything, closes
 *  all links and begins a new life (RESET).  Its readers see the old life end and tell the joins,
 *  so nothing of the worker is ever recovered, and a message lost with a connection is one more
 *  block that is made again.
 *
 *  A block whose ticket was lost before may be one that kills workers.  The worker processes it
 *  only after the join has answered BEGIN with GO, so that the join knows which block it was.  It
 *  starts nothing else before the join has answered the BLOCK with GO, so that the next block is
 *  not mistaken for this one.
 *
 *  Threads: one. */
#ifndef TND_RUNTIME_CORE_PREPROCESSOR_H
#define TND_RUNTIME_CORE_PREPROCESSOR_H

#include "runtime/core/protocol/effect.h"

typedef struct {
    tnd_actor_id_t self;
    uint32_t lanes;                /* that it serves */
    const tnd_actor_id_t *readers; /* all; the caller keeps them alive */
    const uint32_t *reader_lane;   /* lane number of readers[i] */
    uint32_t reader_count;
    const tnd_actor_id_t *joins; /* by index of lane_number */
    const uint32_t *lane_number;
    uint32_t window_blocks; /* credit per reader: blocks queued or in flight */
    uint64_t window_bytes;  /* and bytes */
    uint32_t window_first;  /* blocks until the first one is processed; 0: no such limit */
    uint64_t window_ns; /* and what is processed in that time, at least one block; 0: no limit */
} tnd_preprocessor_core_config_t;

typedef struct tnd_preprocessor_core tnd_preprocessor_core_t;

size_t tnd_preprocessor_core_bytes(const tnd_preprocessor_core_config_t *config);
tnd_preprocessor_core_t *tnd_preprocessor_core_init(void *memory,
                                                    const tnd_preprocessor_core_config_t *config);

void tnd_preprocessor_core_rewind(tnd_preprocessor_core_t *self, uint32_t generation);
/*  Takes msg->block.payload, which comes back by APPLY or DROP.  The sender is a reader that keeps to
 *  its credit.  A block of an older generation is dropped; one of a newer generation is a rewind.
 */
void tnd_preprocessor_core_block(tnd_preprocessor_core_t *self, const tnd_msg_t *msg);
/*  GO of a join: it has the BEGIN, or the BLOCK.  Generations differ only while a rewind is under
 *  way, which drops the block. */
void tnd_preprocessor_core_go(tnd_preprocessor_core_t *self, const tnd_msg_t *msg);
/*  A reader or a join.  Losing one that was up loses all, until they come up again. */
void tnd_preprocessor_core_peer_up(tnd_preprocessor_core_t *self, tnd_actor_id_t peer);
void tnd_preprocessor_core_peer_lost(tnd_preprocessor_core_t *self, tnd_actor_id_t peer);

/*  APPLY (the driver owns the payload then), CREDIT to readers, BEGIN to joins, DROP, RESET (after
 *  all DROPs; the driver closes its links, takes a new life and calls peer_up as links come up).
 *  APPLY comes last and one at a time: a driver asks for the next effect after the work. */
bool tnd_preprocessor_core_next(tnd_preprocessor_core_t *self, uint64_t now, tnd_effect_t *effect);
uint32_t tnd_preprocessor_core_blocked_on(const tnd_preprocessor_core_t *self);
uint32_t tnd_preprocessor_core_waiting(const tnd_preprocessor_core_t *self);
/*  For the simulator: whether the queue is in order and within its window. */
bool tnd_preprocessor_core_sound(const tnd_preprocessor_core_t *self);

#endif
