/*  Covers runtime/core/host/relay.h: the leader's host 0, a host 1, and a host 2 of another chain's join. */
#include "runtime/core/host/relay.h"

#include <criterion/criterion.h>

enum { READ, BATCH0, BATCH1, BATCH2, LATER, PARTIES, HOSTS = 3, HOST_ID = 1000 };

static const tnd_party_t parties[PARTIES] = {
    [READ] = {.role = TND_ROLE_READER, .host = 1},
    [BATCH0] = {.role = TND_ROLE_JOIN, .host = 0},
    [BATCH1] = {.role = TND_ROLE_JOIN, .host = 1},
    [BATCH2] = {.role = TND_ROLE_JOIN, .host = 2},
    [LATER] = {.role = TND_ROLE_JOIN, .host = 2, .chain = 1}};

static const tnd_membership_t membership = {
    .parties = parties, .party_count = PARTIES, .host_count = HOSTS, .host_id = HOST_ID};

static void goes(uint32_t self, tnd_actor_id_t to, tnd_relay_kind_t kind, uint32_t host)
{
    tnd_relay_t relay = tnd_relay_of(&membership, self, to);
    cr_assert_eq(relay.kind, kind, "host %u, to %u: %d", self, to, (int)relay.kind);
    cr_assert(kind == TND_RELAY_DROP || relay.host == host, "host %u, to %u: by host %u", self, to,
              relay.host);
}

Test(relay, the_leader_is_at_the_first_host)
{
    goes(0, TND_LEADER, TND_RELAY_LEADER, 0);
    goes(1, TND_LEADER, TND_RELAY_HOST, 0);
    goes(2, TND_LEADER, TND_RELAY_HOST, 0);
}

Test(relay, what_is_here_is_handed_over)
{
    for (uint32_t id = 0; id < PARTIES; id++)
        goes(parties[id].host, id, TND_RELAY_ACTOR, parties[id].host);
    for (uint32_t h = 0; h < HOSTS; h++)
        goes(h, HOST_ID + h, TND_RELAY_OWN, h);
}

Test(relay, all_else_passes_the_host_of_the_leader)
{
    goes(1, BATCH2, TND_RELAY_HOST, 0);
    goes(1, BATCH0, TND_RELAY_HOST, 0);
    goes(0, BATCH2, TND_RELAY_HOST, 2);
    goes(2, HOST_ID + 1, TND_RELAY_HOST, 0);
    goes(0, HOST_ID + 1, TND_RELAY_HOST, 1);
}

Test(relay, what_is_for_none_is_dropped)
{
    for (uint32_t h = 0; h < HOSTS; h++) {
        goes(h, PARTIES, TND_RELAY_DROP, h);
        goes(h, HOST_ID - 1, TND_RELAY_DROP, h);
        goes(h, HOST_ID + HOSTS, TND_RELAY_DROP, h);
        goes(h, TND_NOBODY, TND_RELAY_DROP, h);
    }
}

Test(relay, a_host_speaks_for_itself_and_its_actors)
{
    cr_assert(tnd_relay_speaks(&membership, 0, 1, HOST_ID + 1));
    cr_assert(tnd_relay_speaks(&membership, 0, 1, READ));
    cr_assert_not(tnd_relay_speaks(&membership, 0, 1, HOST_ID + 2));
    cr_assert_not(tnd_relay_speaks(&membership, 0, 1, BATCH2));
    cr_assert_not(tnd_relay_speaks(&membership, 0, 1, PARTIES));
    cr_assert(tnd_relay_speaks(&membership, 1, 0, BATCH2), "the leader's host passes it on");
}

Test(relay, a_mark_goes_to_every_other_join_of_its_chain)
{
    tnd_msg_t mark = {.kind = TND_MSG_MARK, .from = BATCH1, .to = TND_NOBODY}, copy;
    uint32_t next = 0;
    mark.mark.rows = 12;
    cr_assert(tnd_relay_spread(&membership, &mark, &next, &copy));
    cr_assert_eq(copy.to, BATCH0);
    cr_assert_eq(copy.from, BATCH1);
    cr_assert_eq(copy.mark.rows, 12);
    cr_assert(tnd_relay_spread(&membership, &mark, &next, &copy));
    cr_assert_eq(copy.to, BATCH2);
    cr_assert_not(tnd_relay_spread(&membership, &mark, &next, &copy));
    next = 0;
    mark.from = LATER;
    cr_assert_not(tnd_relay_spread(&membership, &mark, &next, &copy), "it is alone in its chain");
}

Test(relay, a_table_does_not_take_a_generation_back)
{
    cr_assert_eq(tnd_relay_generation(4, TND_MSG_REWIND, 5), 5);
    cr_assert_eq(tnd_relay_generation(4, TND_MSG_TABLE, 6), 6);
    cr_assert_eq(tnd_relay_generation(4, TND_MSG_TABLE, 4), 4);
    cr_assert_eq(tnd_relay_generation(4, TND_MSG_TABLE, 3), 4, "it was written before a rewind");
}
