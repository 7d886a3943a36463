/*  Covers runtime/plan/pace.h: how a time-out grows with the connections of one machine. */
#include "runtime/plan/pace.h"

#include <stdlib.h>

#include <criterion/criterion.h>

enum { HOSTS = 4, SECOND = 1000000000 };
static tnd_plan_host_t hosts[HOSTS];
static tnd_instance_t instances[HOSTS];
static tnd_plan_t plan;

/*  A host, with an actor, at each of four addresses. */
static void begin(const char *a, const char *b, const char *c, const char *d)
{
    const char *const addresses[HOSTS] = {a, b, c, d};
    for (uint32_t h = 0; h < HOSTS; h++) {
        hosts[h] = (tnd_plan_host_t){.address = addresses[h]};
        instances[h] = (tnd_instance_t){.host = h};
    }
    plan = (tnd_plan_t){
        .hosts = hosts, .host_count = HOSTS, .instances = instances, .instance_count = HOSTS};
}

/*  So many connections from the actor of one host to that of another. */
static uint64_t second_with(uint32_t from, uint32_t to, uint32_t count, tnd_transport_t transport)
{
    tnd_edge_t *edges = calloc(count + 1, sizeof *edges);
    cr_assert_not_null(edges);
    for (uint32_t e = 0; e < count; e++)
        edges[e] = (tnd_edge_t){.from = from, .to = to, .transport = transport};
    plan.edges = edges;
    plan.edge_count = count;
    uint64_t span = tnd_pace_stretch(&plan, SECOND);
    free(edges);
    return span;
}

Test(pace, machines_of_their_own_keep_the_time_as_given)
{
    begin("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4");
    cr_assert_eq(second_with(0, 1, 0, TND_TRANSPORT_TCP), SECOND);
    cr_assert_eq(second_with(1, 2, TND_PACE_ENDS - 1, TND_TRANSPORT_TCP), SECOND);
    cr_assert_eq(second_with(1, 2, 2 * TND_PACE_ENDS - 1, TND_TRANSPORT_TCP), 2ull * SECOND);
}

Test(pace, both_ends_of_a_connection_inside_a_machine_count)
{
    begin("127.0.0.1", "127.0.0.2", "localhost", "10.0.0.4");
    /* Control: two inside, and one to the fourth. */
    cr_assert_eq(second_with(0, 1, (TND_PACE_ENDS - 6) / 2, TND_TRANSPORT_IPC), SECOND);
    cr_assert_eq(second_with(0, 1, TND_PACE_ENDS, TND_TRANSPORT_IPC),
                 (uint64_t)SECOND / TND_PACE_ENDS * (2 * TND_PACE_ENDS + 5));
    cr_assert_eq(second_with(1, 3, TND_PACE_ENDS, TND_TRANSPORT_TCP),
                 (uint64_t)SECOND / TND_PACE_ENDS * (TND_PACE_ENDS + 5));
}

Test(pace, what_passes_inside_a_process_does_not_count)
{
    begin("127.0.0.1", "127.0.0.1", "127.0.0.1", "127.0.0.1");
    cr_assert_eq(second_with(0, 0, 4 * TND_PACE_ENDS, TND_TRANSPORT_INPROC), SECOND);
}

Test(pace, hosts_that_may_join_do_not_count)
{
    begin("10.0.0.1", "10.0.0.1", "10.0.0.3", "10.0.0.4");
    hosts[1].spare = true;
    cr_assert_eq(second_with(0, 1, 4 * TND_PACE_ENDS, TND_TRANSPORT_IPC), SECOND);
    cr_assert_eq(second_with(1, 0, 4 * TND_PACE_ENDS, TND_TRANSPORT_IPC), SECOND);
}

Test(pace, it_grows_up_to_its_limit)
{
    begin("10.0.0.1", "10.0.0.1", "10.0.0.3", "10.0.0.4");
    cr_assert_eq(second_with(0, 1, 50 * TND_PACE_ENDS, TND_TRANSPORT_TCP),
                 (uint64_t)TND_PACE_MOST * SECOND);
}
