/*  runtime/core/host/relay.c - control messages, as the process of a host passes them on. */
#include "runtime/core/host/relay.h"

tnd_relay_t tnd_relay_of(const tnd_membership_t *membership, uint32_t self, tnd_actor_id_t to)
{
    uint32_t host = to - membership->host_id;
    bool is_host = to >= membership->host_id && host < membership->host_count;
    if (to == TND_LEADER)
        return (tnd_relay_t){self == 0 ? TND_RELAY_LEADER : TND_RELAY_HOST, 0};
    if (!is_host && to >= membership->party_count)
        return (tnd_relay_t){TND_RELAY_DROP, self};
    if (!is_host)
        host = membership->parties[to].host;
    if (host == self)
        return (tnd_relay_t){is_host ? TND_RELAY_OWN : TND_RELAY_ACTOR, self};
    return (tnd_relay_t){TND_RELAY_HOST, self == 0 ? host : 0};
}

bool tnd_relay_speaks(const tnd_membership_t *membership, uint32_t self, uint32_t origin,
                      tnd_actor_id_t from)
{
    if (self != 0 || from == membership->host_id + origin)
        return true;
    return from < membership->party_count && membership->parties[from].host == origin;
}

bool tnd_relay_spread(const tnd_membership_t *membership, const tnd_msg_t *msg, uint32_t *next_p,
                      tnd_msg_t *copy)
{
    const tnd_party_t *from = &membership->parties[msg->from];
    while (*next_p < membership->party_count) {
        tnd_actor_id_t id = (*next_p)++;
        const tnd_party_t *to = &membership->parties[id];
        if (id == msg->from || to->role != from->role || to->chain != from->chain)
            continue;
        *copy = *msg;
        copy->to = id;
        return true;
    }
    return false;
}

uint32_t tnd_relay_generation(uint32_t known, tnd_msg_kind_t kind, uint32_t said)
{
    return kind == TND_MSG_REWIND || said > known ? said : known;
}
