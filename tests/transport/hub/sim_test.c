/*  Covers transport/hub/sim.h: faults that only the simulated network can inject. */
#include "tests/conformance/hub_sites.h"

#include "transport/hub/sim.h"

static hub_fixture_t hub_fixture(void)
{
    return hub_fixture_of("sim");
}

Test(sim, a_connection_cut_on_one_side_is_replaced)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);

    tnd_sim_network_cut(stage.net.context, WORKER, JOIN);
    send_block(&worker, make_block(&stage, 0, 3)); /* succeeds, arrives nowhere */
    run_until(&join, &worker, &join.ups, 2);

    cr_assert_str_eq(join.trace, "lost 2\nup 2 life 1\n");
    cr_assert_eq(join.messages, 0);
    part(&stage, &join, &worker);
}

Test(sim, a_connection_that_breaks_takes_along_what_was_in_flight)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);

    send_block(&worker, make_block(&stage, 0, 3));
    tnd_sim_network_break(stage.net.context, JOIN, WORKER);
    run_until(&worker, &join, &worker.ups, 2);

    cr_assert_str_eq(worker.trace, "lost 1\nup 1\n");
    cr_assert_eq(join.messages, 0);
    part(&stage, &join, &worker);
}

Test(sim, the_same_script_takes_the_same_time)
{
    uint64_t ended[2];
    for (int i = 0; i < 2; i++) {
        static stage_t stage;
        static site_t join, worker;
        meet(&stage, &join, &worker);
        tnd_sim_network_cut(stage.net.context, JOIN, WORKER);
        run_until(&worker, &join, &worker.ups, 2);
        ended[i] = stage_now(&stage);
        part(&stage, &join, &worker);
    }
    cr_assert_eq(ended[0], ended[1]);
}
