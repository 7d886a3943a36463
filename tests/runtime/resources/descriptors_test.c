/*  Covers runtime/resources/descriptors.h: how many descriptors a host of a plan needs. */
#include "runtime/resources/descriptors.h"

#include <criterion/criterion.h>

static const tnd_link_cost_t cost = {
    .context = 5, .hub = 1, .listener = 4, .dialled = 4, .accepted = 1};
static const tnd_kind_spec_t lane_kind = {.instances = TND_INSTANCE_LANE};
static const tnd_kind_spec_t other_kind = {.instances = TND_INSTANCE_HOST};

enum { MOST = 8 };
static tnd_plan_host_t hosts[MOST];
static tnd_instance_t instances[MOST];
static tnd_edge_t edges[MOST];
static tnd_plan_t plan;

static void begin(uint32_t host_count)
{
    static const char *const names[MOST] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    for (uint32_t h = 0; h < MOST; h++)
        hosts[h] = (tnd_plan_host_t){.name = names[h]};
    plan = (tnd_plan_t){
        .hosts = hosts, .host_count = host_count, .instances = instances, .edges = edges};
}

static void add_actor(uint32_t host)
{
    instances[plan.instance_count++] = (tnd_instance_t){.kind = &other_kind, .host = host};
}

/*  A connection that its upstream end opens. */
static void add_edge(uint32_t from, uint32_t to, tnd_transport_t transport)
{
    edges[plan.edge_count++] =
        (tnd_edge_t){.from = from, .to = to, .transport = transport, .from_connects = true};
}

static tnd_descriptors_t count(uint32_t host)
{
    tnd_descriptors_t needed;
    tnd_descriptors_count(&needed, &plan, host, &cost);
    cr_assert_eq(needed.total, needed.process + needed.actors + needed.listeners +
                                   needed.connections + needed.children + needed.reserve);
    return needed;
}

Test(descriptors, inside_a_process_connections_take_none)
{
    begin(1);
    for (int i = 0; i < 4; i++)
        add_actor(0);
    add_edge(0, 1, TND_TRANSPORT_INPROC);
    add_edge(2, 1, TND_TRANSPORT_INPROC);
    tnd_descriptors_t needed = count(0);
    cr_assert_eq(needed.actors, 8);
    cr_assert_eq(needed.listeners + needed.connections, 0);
}

Test(descriptors, an_endpoint_is_counted_once_however_many_connect)
{
    begin(2);
    add_actor(0);
    add_actor(0);
    add_actor(1);
    add_edge(0, 2, TND_TRANSPORT_TCP);
    add_edge(1, 2, TND_TRANSPORT_TCP);
    tnd_descriptors_t leader = count(0), other = count(1);
    cr_assert_eq(leader.listeners, 4, "of control");
    cr_assert_eq(leader.connections, 1 + 2 * 4);
    cr_assert_eq(other.listeners, 4);
    cr_assert_eq(other.connections, 4 + 2);
    /* A port that is reached in two ways is two endpoints. */
    edges[1].transport = TND_TRANSPORT_IPC;
    cr_assert_eq(count(1).listeners, 8);
    edges[1].inlet = 1;
    cr_assert_eq(count(1).listeners, 8);
    /* And where the other end binds, it is there. */
    edges[1].from_connects = false;
    cr_assert_eq(count(1).listeners, 4);
    cr_assert_eq(count(0).listeners, 8);
}

Test(descriptors, the_reserve_lets_every_connection_be_replaced)
{
    begin(2);
    add_actor(0);
    add_actor(1);
    uint64_t before = count(1).reserve;
    add_edge(1, 0, TND_TRANSPORT_TCP);
    cr_assert_eq(count(1).reserve, before + 4);
    uint64_t no_data = count(1).reserve;
    instances[1].kind = &lane_kind;
    cr_assert_eq(count(1).reserve, no_data + 2);
}

Test(descriptors, hosts_that_may_join_have_room_and_no_reserve)
{
    begin(2);
    add_actor(0);
    add_actor(1);
    add_edge(1, 0, TND_TRANSPORT_TCP);
    tnd_descriptors_t before = count(0);
    hosts[1].spare = true;
    tnd_descriptors_t needed = count(0);
    cr_assert_eq(needed.connections, before.connections);
    cr_assert_eq(needed.reserve, before.reserve - 2, "of control, and of the edge");
    cr_assert_eq(count(1).reserve, before.reserve - 2 + 8, "its own may be replaced");
}

Test(descriptors, isolated_processes_count_for_themselves)
{
    begin(3);
    hosts[1].isolated = hosts[2].isolated = true;
    add_actor(0);
    cr_assert_eq(count(0).children, 4);
    cr_assert_eq(count(1).children, 0);
    cr_assert_eq(count(1).connections, 4, "control");
    cr_assert_eq(count(0).connections, 2);
}
