/*  runtime/interface/control_batch.h - control messages to the leader, sent in batches.
 *
 *  Each control message wakes a host and the leader.  No actor waits for a report of completed work
 *  (PART, HELD, COMMIT), so reports are sent in batches, a few milliseconds late at most, and
 *  before any other control message.
 *
 *  Threads: the actor's. */
#ifndef TND_RUNTIME_INTERFACE_CONTROL_BATCH_H
#define TND_RUNTIME_INTERFACE_CONTROL_BATCH_H

#include "runtime/interface/link.h"

enum { TND_CONTROL_BATCH_MAX = 128 };

typedef struct {
    tnd_msg_t msg;
    tnd_carry_t carry;
} tnd_control_entry_t;

/*  Zeroed: empty. */
typedef struct {
    tnd_control_entry_t items[TND_CONTROL_BATCH_MAX];
    uint32_t count;
    uint32_t held;   /* index of its HELD plus 1; 0: none */
    uint64_t due_ns; /* when the first message must be sent */
} tnd_control_batch_t;

/*  Whether a message may be delayed. */
bool tnd_control_batch_bear(const tnd_msg_t *msg);
/*  Adds a message and takes its payload; a later HELD replaces an earlier one.  Returns false if
 *  the batch is full. */
bool tnd_control_batch_keep(tnd_control_batch_t *self, const tnd_msg_t *msg, tnd_carry_t carry,
                            uint64_t now);
/*  Empties the batch after all were sent. */
void tnd_control_batch_clear(tnd_control_batch_t *self);
/*  When to send the batch; TND_NEVER if it is empty. */
uint64_t tnd_control_batch_due(const tnd_control_batch_t *self);

#endif
