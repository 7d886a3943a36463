/*  runtime/core/protocol/message_table.h - what messages.def says of each kind of message, as data.
 *
 *  Threads: any; constants. */
#ifndef TND_RUNTIME_CORE_PROTOCOL_MESSAGE_TABLE_H
#define TND_RUNTIME_CORE_PROTOCOL_MESSAGE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/core/protocol/message_kind.h"
#include "runtime/core/protocol/role.h"

struct tnd_msg;

/*  What a message carries in addition to its struct. */
typedef enum {
    TND_CARRY_NOTHING,
    TND_CARRY_BLOCK,  /* tnd_block_t */
    TND_CARRY_SLICE,  /* tnd_slice_t */
    TND_CARRY_BUFFER, /* tnd_buffer_t: tensors of reductions, metrics, opaque bytes */
    TND_CARRY_CURSOR  /* no payload: msg.rewind.cursor, copied */
} tnd_carry_t;

/*  Senders and receivers as bits: the roles of actors, and parties that are no actors.  An actor
 *  without a role is none of them. */
#define TND_PARTY(role) (1 << (role) >> 1)
enum {
    TND_PARTY_READER = TND_PARTY(TND_ROLE_READER),
    TND_PARTY_CACHE = TND_PARTY(TND_ROLE_CACHE),
    TND_PARTY_WORKER = TND_PARTY(TND_ROLE_WORKER),
    TND_PARTY_JOIN = TND_PARTY(TND_ROLE_JOIN),
    TND_PARTY_FEEDER = TND_PARTY(TND_ROLE_FEEDER),
    TND_PARTY_REDUCER = TND_PARTY(TND_ROLE_REDUCER),
    TND_PARTY_REPLICA = TND_PARTY(TND_ROLE_REPLICA),
    TND_PARTY_PARAMETERS = TND_PARTY(TND_ROLE_PARAMETERS),
    TND_PARTY_LEADER = TND_PARTY(TND_ROLE_OBSERVER + 1),
    TND_PARTY_HOST = TND_PARTY(TND_ROLE_OBSERVER + 2),
    TND_PARTY_ACTOR = TND_PARTY_LEADER - 1
};

typedef struct {
    uint16_t senders, receivers;
    bool by_control; /* else over a data link */
} tnd_msg_route_t;

typedef enum { TND_FIELD_U32, TND_FIELD_U64, TND_FIELD_BOOL, TND_FIELD_TEXT } tnd_field_type_t;

typedef struct {
    uint16_t offset; /* in tnd_msg_t */
    tnd_field_type_t type;
    uint64_t most; /* the largest value of a number */
} tnd_msg_field_t;

enum { TND_ROUTES_MAX = 2 };

typedef struct {
    const char *name;
    const tnd_msg_field_t *fields;
    uint32_t field_count;
    tnd_carry_t carry;
    uint16_t payload; /* offset of its pointer in tnd_msg_t; 0: there is none */
    tnd_msg_route_t routes[TND_ROUTES_MAX]; /* unused ones are zero */
} tnd_msg_spec_t;

extern const tnd_msg_spec_t tnd_msg_specs[TND_MSG_KINDS];

/*  Where a message stores its payload; NULL for kinds that have none. */
void **tnd_msg_payload(struct tnd_msg *msg);

#endif
