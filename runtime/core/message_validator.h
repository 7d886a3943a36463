/*  runtime/core/message_validator.h - whether a message from this peer is allowed and plausible.
 *
 *  The state machines assert what their peers promise.  A message that arrives is checked here
 *  first: whether messages.def allows it on this way, whether it comes from the lane or the
 *  replicas that it names, whether its numbers fit the plan and the stream, and whether the sender
 *  has credit.  What only the state machine can know (a block that was not requested, a step
 *  without a slot) it refuses itself.
 *
 *  Generations.  Only the leader raises them.  A peer may learn of a rewind earlier, so its
 *  messages may be ahead of what the leader told this actor, by at most TND_AHEAD_MAX.  The leader
 *  must confirm it in time (tnd_validator_unconfirmed), or one false message would keep an actor
 *  waiting for a generation that never comes.
 *
 *  Lifecycle: one per actor, in the caller's memory (zeroed), no end.  Threads: one at a time.
 *  Cost: a few nanoseconds per message; nothing is allocated. */
#ifndef TND_RUNTIME_CORE_MESSAGE_VALIDATOR_H
#define TND_RUNTIME_CORE_MESSAGE_VALIDATOR_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/core/lane/row_bytes.h"
#include "runtime/core/protocol/message.h"

enum { TND_AHEAD_MAX = 64 };

/*  One actor of the plan. */
typedef struct {
    tnd_role_t role;
    uint32_t host, chain;
    uint32_t lane;                         /* of a reader or join */
    uint32_t lane_first, lane_count;       /* of a worker */
    uint32_t replica_first, replica_count; /* of a feeder */
} tnd_party_t;

/*  All actors by id, and hosts by number. */
typedef struct {
    const tnd_party_t *parties; /* the caller keeps them alive */
    uint32_t party_count, host_count;
    uint32_t lanes;
    tnd_actor_id_t host_id; /* of the first host's control; the others follow */
} tnd_membership_t;

/*  What the stream of a chain allows. */
typedef struct {
    uint64_t lane_rows;    /* positions of an epoch in the longest lane; TND_UNKNOWN */
    tnd_row_bytes_t bytes; /* of the rows of a ticket */
    uint32_t rows_max;     /* rows that one position may become */
    uint32_t epochs;       /* TND_ENDLESS */
    uint32_t replicas;
} tnd_bounds_t;

/*  Whether host `host` may forward this control message to host `self`.  Returns NULL, or the
 *  reason why not. */
const char *tnd_validator_relay(const tnd_membership_t *membership, uint32_t self, uint32_t host,
                                const tnd_msg_t *msg);

/*  Whether PART and LAST are within the stream.  Returns NULL, or what is wrong with them. */
const char *tnd_validator_report(const tnd_bounds_t *bounds, const tnd_msg_t *msg);

typedef struct {
    tnd_membership_t membership;
    tnd_bounds_t bounds;
    tnd_actor_id_t self;
} tnd_validator_config_t;

typedef struct tnd_validator tnd_validator_t;

size_t tnd_validator_bytes(const tnd_validator_config_t *config);
tnd_validator_t *tnd_validator_init(void *memory, const tnd_validator_config_t *config);

/*  The run is at this generation, as the leader told the actor's host: at the start of the actor,
 *  and later too, because the message to the actor itself may be lost with a connection. */
void tnd_validator_reached(tnd_validator_t *self, uint32_t generation);

/*  A message of `peer` by its data link, or by control (then the host that received it has checked
 *  `msg->from`).  Returns NULL if the message is valid, else the reason why not; then nothing is
 *  recorded. */
const char *tnd_validator_link(tnd_validator_t *self, tnd_actor_id_t peer, const tnd_msg_t *msg,
                               uint64_t now);
const char *tnd_validator_control(tnd_validator_t *self, const tnd_msg_t *msg, uint64_t now);

/*  This actor sends `msg`: with CREDIT its reader may send more. */
void tnd_validator_sent(tnd_validator_t *self, const tnd_msg_t *msg);
/*  The connection of a peer is new or lost: the credit on it is void. */
void tnd_validator_reset(tnd_validator_t *self, tnd_actor_id_t peer);

/*  The peer that named a generation which the leader has not confirmed within `patience_ns`, or
 *  TND_NOBODY.  Call it often: of the time since the last call at most an eighth of `patience_ns`
 *  counts, because an actor that was away (in a hook, stopped) did not hear the leader either. */
tnd_actor_id_t tnd_validator_unconfirmed(tnd_validator_t *self, uint64_t now, uint64_t patience_ns);

#endif
