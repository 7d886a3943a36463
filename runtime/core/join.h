/*  runtime/core/join.h - a batcher's decisions: one lane's order, composed into steps.
 *
 *  A join joins its lane (order.h), tells the other joins its watermark, computes with them what
 *  each step is made of (compose.h), cuts its own rows of the step into slices for the replicas
 *  (split.h) and sends them to the feeders that have a slot for that step.  With each step it sends
 *  the leader its part of the cursor.  It has no other state: any join is rebuilt by a rewind.
 *
 *  A feeder's connection that is lost or replaced while slices of this generation went over it
 *  makes the join say BROKEN; the leader rewinds.
 */
#ifndef TND_RUNTIME_CORE_JOIN_H
#define TND_RUNTIME_CORE_JOIN_H

#include "runtime/core/compose.h"
#include "runtime/core/order.h"
#include "runtime/core/split.h"

typedef enum { TND_REMAINDER_KEEP, TND_REMAINDER_DROP, TND_REMAINDER_PAD } tnd_remainder_t;

typedef struct {
    tnd_order_config_t order;
    uint32_t lanes;
    const tnd_actor_id_t *joins; /* of all lanes; kept by the caller */
    uint64_t size;               /* rows of a global batch */
    uint32_t replicas;
    const tnd_actor_id_t *feeders; /* by replica: who feeds it; kept by the caller */
    tnd_split_t split;
    tnd_remainder_t remainder;
    bool span_epochs;
} tnd_join_config_t;

typedef struct tnd_join tnd_join_t;

size_t tnd_join_bytes(const tnd_join_config_t *config);
tnd_join_t *tnd_join_init(void *memory, const tnd_join_config_t *config);

void tnd_join_rewind(tnd_join_t *self, uint32_t generation, const tnd_cursor_t *cursor);
tnd_status_t tnd_join_block(tnd_join_t *self, const tnd_msg_t *msg, tnd_error_t *error);
void tnd_join_lost(tnd_join_t *self, const tnd_msg_t *msg);
void tnd_join_mark(tnd_join_t *self, const tnd_msg_t *msg);
/*  WINDOW of a feeder, cumulative over its connection. */
void tnd_join_window(tnd_join_t *self, const tnd_msg_t *msg);
void tnd_join_feeder_up(tnd_join_t *self, tnd_actor_id_t feeder);
void tnd_join_feeder_lost(tnd_join_t *self, tnd_actor_id_t feeder);

/*  TICKET (control, to a reader), MARK (control, to TND_NOBODY: every other join), SLICE (link,
 *  with pieces), PART, LAST and BROKEN (control, to the leader), DROP.
 *  LAST is sent once all steps are composed; by lane 0 alone.
 */
bool tnd_join_next(tnd_join_t *self, uint64_t now, tnd_effect_t *effect);
uint32_t tnd_join_blocked_on(const tnd_join_t *self);
const tnd_order_t *tnd_join_order(const tnd_join_t *self);

#endif
