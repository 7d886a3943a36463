/*  runtime/core/host/relay.h - control messages, as the process of a host passes them on.
 *
 *  An actor talks to its host, and every host to that of the leader, the first one.  So a message between
 *  actors of two other hosts passes three processes.  A host speaks for itself and for its actors.
 *
 *  Threads: any; plain values. */
#ifndef TND_RUNTIME_CORE_HOST_RELAY_H
#define TND_RUNTIME_CORE_HOST_RELAY_H

#include "runtime/core/message_validator.h"

typedef enum {
    TND_RELAY_DROP,   /* it is for none that exists */
    TND_RELAY_LEADER, /* the leader is here */
    TND_RELAY_OWN,    /* it is for this process */
    TND_RELAY_ACTOR,  /* for an actor here */
    TND_RELAY_HOST    /* the process of `host` passes it on */
} tnd_relay_kind_t;

typedef struct {
    tnd_relay_kind_t kind;
    uint32_t host;
} tnd_relay_t;

/*  What the process of host `self` does with a message to `to`. */
tnd_relay_t tnd_relay_of(const tnd_membership_t *membership, uint32_t self, tnd_actor_id_t to);
/*  Whether host `origin` may have sent a message of `from` to host `self`. */
bool tnd_relay_speaks(const tnd_membership_t *membership, uint32_t self, uint32_t origin,
                      tnd_actor_id_t from);
/*  MARK goes to every other join of its chain.  Fills in the next copy; *next_p is 0 at first.  Returns
 *  false if all have got one. */
bool tnd_relay_spread(const tnd_membership_t *membership, const tnd_msg_t *msg, uint32_t *next_p,
                      tnd_msg_t *copy);
/*  The generation that a host knows, which knew `known`, after REWIND to an actor of its own or TABLE
 *  has said one.  A REWIND may be lost with a connection; the TABLE that follows says it again. */
uint32_t tnd_relay_generation(uint32_t known, tnd_msg_kind_t kind, uint32_t said);

#endif
