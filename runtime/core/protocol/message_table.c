/*  runtime/core/protocol/message_table.c - what messages.def says of each kind of message, as data. */
#include "runtime/core/protocol/message_table.h"

#include <stddef.h>

#include "runtime/core/protocol/message.h"

enum {
    READER = TND_PARTY_READER,
    CACHE = TND_PARTY_CACHE,
    WORKER = TND_PARTY_WORKER,
    JOIN = TND_PARTY_JOIN,
    FEEDER = TND_PARTY_FEEDER,
    REDUCER = TND_PARTY_REDUCER,
    REPLICA = TND_PARTY_REPLICA,
    PARAMETERS = TND_PARTY_PARAMETERS,
    ACTOR = TND_PARTY_ACTOR,
    LEADER = TND_PARTY_LEADER,
    HOST = TND_PARTY_HOST
};

/* clang-format off */
#define FIELD(member, type, most) {offsetof(tnd_msg_t, member), TND_FIELD_##type, most}
#define U32(member) FIELD(member, U32, UINT32_MAX)
#define U64(member) FIELD(member, U64, UINT64_MAX)
#define BOOL(member) FIELD(member, BOOL, 1)
#define TEXT(member) FIELD(member, TEXT, 0)
#define LANE(member) FIELD(member, U32, TND_LANES_MAX - 1)
#define PLACE(member) FIELD(member, U64, UINT64_MAX / 4)
#define TND_FIELDS(name, ...) static const tnd_msg_field_t fields_##name[] = {__VA_ARGS__};
#include "runtime/core/protocol/messages.def"

enum {
    count_NONE = 0,
#define TND_FIELDS(name, ...) count_##name = sizeof fields_##name / sizeof fields_##name[0],
#include "runtime/core/protocol/messages.def"
};

#define fields_NONE NULL
#define NOTHING TND_CARRY_NOTHING, 0
#define CURSOR TND_CARRY_CURSOR, 0
#define PAYLOAD(what, member) TND_CARRY_##what, offsetof(tnd_msg_t, member)
#define ENDS {0, 0, false}
#define LINK(senders, receivers) {senders, receivers, false}
#define CONTROL(senders, receivers) {senders, receivers, true}
#define TND_MESSAGE(name, fields, carries, ...) \
    [TND_MSG_##name] = {#name, fields_##fields, count_##fields, carries, {__VA_ARGS__}},
const tnd_msg_spec_t tnd_msg_specs[TND_MSG_KINDS] = {
#include "runtime/core/protocol/messages.def"
};
/* clang-format on */

void **tnd_msg_payload(tnd_msg_t *msg)
{
    if ((unsigned)msg->kind >= TND_MSG_KINDS || tnd_msg_specs[msg->kind].payload == 0)
        return NULL;
    return (void **)(void *)((char *)msg + tnd_msg_specs[msg->kind].payload);
}
