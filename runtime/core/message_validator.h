/*  runtime/core/message_validator.h - may this peer say this to this actor?
 *
 *  The machines of the core assert what their peers promise.  What really came is checked here
 *  first, one message at a time: is there such a rule at all (who may say what to whom, by which
 *  way), does it come from the lane and the replicas that it speaks of, are its numbers such as the
 *  plan and the stream allow, does it keep to the credit it was given.  What only the machine can
 *  know (a block that nobody asked for, a step without a slot) the machine refuses itself.
 *
 *  Generations.  The leader alone raises them.  A peer may have heard of a rewind earlier, so that
 *  its messages may be ahead of the leader's word, but not by more than TND_AHEAD_MAX, and the
 *  leader must confirm it in time (tnd_validator_unconfirmed): else one lie would keep an actor in
 * a future that never comes.
 *
 *  Lifecycle: one per actor, in the caller's memory (zeroed), no end.  Threads: one at a time.
 *  Cost: a few nanoseconds a message; nothing is allocated.
 */
#ifndef TND_RUNTIME_CORE_MESSAGE_VALIDATOR_H
#define TND_RUNTIME_CORE_MESSAGE_VALIDATOR_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/core/protocol/message.h"
#include "runtime/core/leader.h"

enum { TND_AHEAD_MAX = 64 };

/*  What the plan says of one actor. */
typedef struct {
    tnd_role_t role;
    uint32_t host, chain;
    uint32_t lane;                         /* of a reader or join */
    uint32_t lane_first, lane_count;       /* of a worker */
    uint32_t replica_first, replica_count; /* of a feeder */
} tnd_party_t;

/*  Who there is: parties by actor id, hosts by number. */
typedef struct {
    const tnd_party_t *parties; /* kept by the caller */
    uint32_t party_count, host_count;
    uint32_t lanes;
    tnd_actor_id_t host_id; /* of the first host's control; the others follow */
} tnd_membership_t;

/*  What the stream of a chain allows. */
typedef struct {
    uint64_t lane_rows; /* positions of an epoch in the longest lane; TND_UNKNOWN */
    uint64_t row_bytes; /* of one position, after the operations */
    uint32_t rows_max;  /* rows that one position may become */
    uint32_t epochs;    /* TND_ENDLESS */
    uint32_t replicas;
} tnd_bounds_t;

/*  Whether host `host` may hand this control message on to host `self`.  NULL: yes; else what is
 *  wrong with it, for a text.
 */
const char *tnd_validator_relay(const tnd_membership_t *census, uint32_t self, uint32_t host,
                                const tnd_msg_t *msg);

/*  Whether what an actor reports to the leader lies within its stream: PART and LAST.  NULL: yes.
 */
const char *tnd_validator_report(const tnd_bounds_t *bounds, const tnd_msg_t *msg);

typedef struct {
    tnd_membership_t census;
    tnd_bounds_t bounds;
    tnd_actor_id_t self;
} tnd_validator_config_t;

typedef struct tnd_validator tnd_validator_t;

size_t tnd_validator_bytes(const tnd_validator_config_t *config);
tnd_validator_t *tnd_validator_init(void *memory, const tnd_validator_config_t *config);

/*  The run is at this generation, by the leader's word: when the actor is born, and later by
 * another way than to the actor itself, whose own may be lost with a connection.
 */
void tnd_validator_reached(tnd_validator_t *self, uint32_t generation);

/*  A message of `peer` by its data link, or by control (then `msg->from` was checked by the host
 *  that took it).  NULL: the kind may have it; else what is wrong with it, for a text, and nothing
 *  was noted.
 */
const char *tnd_validator_link(tnd_validator_t *self, tnd_actor_id_t peer, const tnd_msg_t *msg,
                               uint64_t now);
const char *tnd_validator_control(tnd_validator_t *self, const tnd_msg_t *msg, uint64_t now);

/*  This actor sends: a CREDIT is what its reader may send from now on. */
void tnd_validator_sent(tnd_validator_t *self, const tnd_msg_t *msg);
/*  The connection of a peer is new, or gone: what it was given is void. */
void tnd_validator_reset(tnd_validator_t *self, tnd_actor_id_t peer);

/*  Who spoke of a generation that the leader has not begun within `patience_ns`, or TND_NOBODY.  To
 *  be asked often: of the time since it was asked last no more than an eighth of that counts, for
 *  who was away (in a hook, stopped) has not heard the leader either.
 */
tnd_actor_id_t tnd_validator_unconfirmed(tnd_validator_t *self, uint64_t now, uint64_t patience_ns);

#endif
