/*  tests/conformance/hub_peers.h - every hub, when peers connect, leave, or stop reading. */
#ifndef TND_TESTS_CONFORMANCE_HUB_PEERS_H
#define TND_TESTS_CONFORMANCE_HUB_PEERS_H

#include "tests/conformance/hub_sites.h"

Test(hub, a_peer_that_closed_is_lost_and_returns_in_a_new_life)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);

    tnd_hub_close(&worker.hub, 0);
    run_until(&join, NULL, &join.losts, 1);
    tnd_msg_t msg = {.kind = TND_MSG_HELD, .from = JOIN, .to = WORKER};
    cr_assert_eq(tnd_hub_send(join.hub, PORT_IN, WORKER, &msg, TND_CARRY_NOTHING), TND_AGAIN);
    cr_assert_eq(join.loss, TND_LOSS_ENDED);
    site_open(&worker, &stage, WORKER, 2);
    site_connect(&worker, &stage.terms);
    run_until(&worker, &join, &worker.ups, 1);

    cr_assert_str_eq(join.trace, "lost 2\nup 2 life 2\n");
    part(&stage, &join, &worker);
}

Test(hub, a_peer_that_returns_after_its_clock_went_back_is_accepted)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);

    tnd_hub_close(&worker.hub, 0);
    run_until(&join, NULL, &join.losts, 1);
    site_open(&worker, &stage, WORKER, 5);
    site_connect(&worker, &stage.terms);
    run_until(&worker, &join, &worker.ups, 1);
    tnd_hub_close(&worker.hub, 0);
    run_until(&join, NULL, &join.losts, 2);
    site_open(&worker, &stage, WORKER, 4);
    site_connect(&worker, &stage.terms);
    run_until(&worker, &join, &worker.ups, 1);

    cr_assert_str_eq(join.trace, "lost 2\nup 2 life 5\nlost 2\nup 2 life 6\n",
                     "later than the one before, by 1 and its birth in units of 65 us");
    cr_assert_str_eq(worker.trace, "up 1\n");
    part(&stage, &join, &worker);
}

Test(hub, messages_of_a_peer_that_closed_arrive_before_its_loss)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);
    char expected[4096] = "";

    send_tickets(&worker, WORKER, 50, expected);
    strcat(expected, "lost 2\n");
    tnd_hub_close(&worker.hub, 5000000000);
    run_until(&join, NULL, &join.losts, 1);

    cr_assert_str_eq(join.trace, expected);
    part(&stage, &join, NULL);
}

Test(hub, messages_of_a_binder_that_closed_arrive_before_its_loss)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);
    char expected[4096] = "";

    send_tickets(&join, JOIN, 50, expected);
    strcat(expected, "lost 1\n");
    tnd_hub_close(&join.hub, 5000000000);
    run_until(&worker, NULL, &worker.losts, 1);

    cr_assert_str_eq(worker.trace, expected);
    part(&stage, NULL, &worker);
}

Test(hub, a_binder_that_closed_is_lost_and_found_again_at_the_same_endpoint)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);

    tnd_hub_close(&join.hub, 0);
    run_until(&worker, NULL, &worker.losts, 1);
    site_open(&join, &stage, JOIN, 2);
    site_bind(&join, &stage.terms);
    run_until(&worker, &join, &worker.ups, 2);

    cr_assert_str_eq(worker.trace, "lost 1\nup 1\n");
    part(&stage, &join, &worker);
}

Test(hub, where_no_peer_listens_connections_are_refused)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);
    cr_assert_not(tnd_hub_refused(worker.hub, PORT_OUT, JOIN));

    tnd_hub_close(&join.hub, 0);
    run_until(&worker, NULL, &worker.losts, 1);
    cr_assert_eq(worker.loss, TND_LOSS_ENDED);
    uint64_t until = stage_now(&stage) + DEADLINE_NS;
    while (!tnd_hub_refused(worker.hub, PORT_OUT, JOIN)) {
        cr_assert_lt(stage_now(&stage), until);
        while (site_step(&worker))
            continue;
        tnd_hub_wait(worker.hub, stage_now(&stage) + 5000000);
    }
    site_open(&join, &stage, JOIN, 2);
    site_bind(&join, &stage.terms);
    run_until(&worker, &join, &worker.ups, 2);

    cr_assert_not(tnd_hub_refused(worker.hub, PORT_OUT, JOIN));
    part(&stage, &join, &worker);
}

Test(hub, a_quiet_connection_of_tcp_knows_its_round_trip)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);
    bool tcp = strncmp(stage.net.endpoint, "tcp:", 4) == 0;
    uint64_t until = stage_now(&stage) + DEADLINE_NS, took = 0;
    cr_assert_eq(tnd_hub_round_trip(worker.hub, PORT_OUT, WORKER), 0, "it has no such peer");
    while (tcp && took == 0) {
        cr_assert_lt(stage_now(&stage), until);
        while (site_step(&worker) || site_step(&join))
            continue;
        tnd_hub_wait(worker.hub, stage_now(&stage) + 5000000);
        took = tnd_hub_round_trip(worker.hub, PORT_OUT, JOIN);
    }
    cr_assert_lt(took, DEADLINE_NS);
    part(&stage, &join, &worker);
}

/*  How much sooner is tested where time is stepped by hand: link_end_test.c. */
Test(hub, connect_now_finds_a_binder_that_is_back_and_keeps_a_connection_that_is_up)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);

    tnd_hub_close(&join.hub, 0);
    run_until(&worker, NULL, &worker.losts, 1);
    site_open(&join, &stage, JOIN, 2);
    site_bind(&join, &stage.terms);
    tnd_hub_connect_now(worker.hub, PORT_OUT, 77);
    tnd_hub_connect_now(worker.hub, PORT_OUT, JOIN);
    run_until(&worker, &join, &worker.ups, 2);
    tnd_hub_connect_now(worker.hub, PORT_OUT, JOIN);
    tnd_hub_connect_now(join.hub, PORT_IN, WORKER);
    tnd_msg_t msg = {.kind = TND_MSG_TICKET, .from = WORKER, .to = JOIN, .ticket.first = 8};
    cr_assert_eq(tnd_hub_send(worker.hub, PORT_OUT, JOIN, &msg, TND_CARRY_NOTHING), TND_OK);
    run_until(&join, &worker, &join.messages, 1);

    cr_assert_str_eq(worker.trace, "lost 1\nup 1\n");
    part(&stage, &join, &worker);
}

Test(hub, a_later_life_replaces_one_that_still_looks_alive)
{
    static stage_t stage;
    static site_t join, worker, second;
    meet(&stage, &join, &worker);
    site_open(&second, &stage, WORKER, 2);
    site_connect(&second, &stage.terms);

    run_until(&second, &join, &second.ups, 1);
    tnd_msg_t msg = {.kind = TND_MSG_TICKET, .from = JOIN, .to = WORKER, .ticket.first = 1};
    cr_assert_eq(tnd_hub_send(join.hub, PORT_IN, WORKER, &msg, TND_CARRY_NOTHING), TND_OK);
    run_until(&second, &join, &second.messages, 1);
    /* The first life tries again, and is told. */
    run_until(&worker, &join, &worker.refusals, 1);

    cr_assert_not_null(strstr(worker.trace, "another process has taken its place"));
    cr_assert_str_eq(join.trace, "lost 2\nup 2 life 2\n");
    cr_assert_eq(worker.messages, 0);
    tnd_hub_close(&second.hub, 0);
    part(&stage, &join, &worker);
}

Test(hub, a_reborn_actor_returns_in_its_new_life)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);

    tnd_hub_rebirth(worker.hub, 2);
    run_until(&worker, &join, &worker.ups, 2);

    cr_assert_str_eq(join.trace, "lost 2\nup 2 life 2\n");
    cr_assert_str_eq(worker.trace, "lost 1\nup 1\n");
    part(&stage, &join, &worker);
}

Test(hub, an_actor_that_disconnects_gets_no_loss)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);

    tnd_hub_disconnect(worker.hub, PORT_OUT, JOIN);
    run_until(&join, &worker, &join.losts, 1);

    cr_assert_str_eq(worker.trace, "");
    part(&stage, &join, &worker);
}

Test(hub, an_actor_that_disconnects_gets_no_earlier_notices)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);

    /* The loss is known at once, but reported only by the next receive. */
    tnd_hub_rebirth(worker.hub, 2);
    tnd_hub_disconnect(worker.hub, PORT_OUT, JOIN);
    while (site_step(&worker))
        continue;
    cr_assert_str_eq(worker.trace, "");

    site_connect(&worker, &stage.terms);
    run_until(&worker, &join, &worker.ups, 2);
    cr_assert_str_eq(worker.trace, "up 1\n");
    part(&stage, &join, &worker);
}

Test(hub, messages_and_bytes_are_counted_in_both_directions)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);
    tnd_hub_counts_t before_in, before_out, in, out;
    tnd_hub_counts(join.hub, &before_in);
    tnd_hub_counts(worker.hub, &before_out);

    for (unsigned i = 0; i < 5; i++)
        send_block(&worker, make_block(&stage, i, 3));
    run_until(&join, &worker, &join.messages, 5);

    tnd_hub_counts(join.hub, &in);
    tnd_hub_counts(worker.hub, &out);
    cr_assert_eq(in.messages_in - before_in.messages_in, 5);
    cr_assert_eq(out.messages_out - before_out.messages_out, 5);
    /* Pings may pass as well. */
    bool copies = !stage.net.trusts && !stage.net.network->is_simulated;
    uint64_t bytes = copies ? 5 * 3 * 13 : 0;
    cr_assert_geq(in.bytes_in - before_in.bytes_in, bytes);
    cr_assert_geq(out.bytes_out - before_out.bytes_out, bytes);
    part(&stage, &join, &worker);
}

Test(hub, an_idle_link_stays_up_because_its_ends_ping)
{
    static stage_t stage;
    static site_t join, worker;
    stage_open(&stage);
    site_open_patient(&join, &stage, JOIN, 1, 400000000);
    site_open_patient(&worker, &stage, WORKER, 1, 400000000);
    site_bind(&join, &stage.terms);
    site_connect(&worker, &stage.terms);
    run_until(&worker, &join, &worker.ups, 1);

    uint64_t until = stage_now(&stage) + 1000000000;
    while (stage_now(&stage) < until) {
        while (site_step(&join) || site_step(&worker))
            continue;
        tnd_hub_wait(join.hub, stage_now(&stage) + 5000000);
        tnd_hub_wait(worker.hub, stage_now(&stage));
    }

    cr_assert_str_eq(join.trace, "up 2 life 1\n");
    cr_assert_str_eq(worker.trace, "up 1\n");
    part(&stage, &join, &worker);
}

Test(hub, a_peer_that_falls_silent_is_lost)
{
    static stage_t stage;
    static site_t join, worker;
    stage_open(&stage);
    site_open_patient(&join, &stage, JOIN, 1, 200000000);
    site_open_patient(&worker, &stage, WORKER, 1, 200000000);
    site_bind(&join, &stage.terms);
    site_connect(&worker, &stage.terms);
    run_until(&worker, &join, &worker.ups, 1);

    /* The worker's thread no longer takes its turn. */
    run_until(&join, NULL, &join.losts, 1);

    cr_assert_str_eq(join.trace, "up 2 life 1\nlost 2\n");
    cr_assert_eq(join.loss, TND_LOSS_SILENT);
    part(&stage, &join, &worker);
}

enum { FLOOD_BYTES = 64 << 10, FLOOD_MOST = 800 };

/*  Sends until it is not taken any more; returns how many were. */
static uint32_t flood(site_t *from, uint32_t port, tnd_actor_id_t to, tnd_pool_t *pool)
{
    tnd_msg_t msg = {.kind = TND_MSG_POST, .from = from->id, .to = to};
    for (uint32_t sent = 0; sent < FLOOD_MOST; sent++) {
        tnd_buffer_t *buffer = tnd_pool_take(pool);
        tnd_buffer_seal(buffer);
        msg.post.payload = buffer;
        if (tnd_hub_send(from->hub, port, to, &msg, TND_CARRY_BUFFER) != TND_OK) {
            tnd_buffer_drop(&buffer);
            return sent;
        }
    }
    return FLOOD_MOST;
}

/*  The connection of the peer accepts messages, but its thread never reads them. */
static void leave_unread(bool binder_sends)
{
    static stage_t stage;
    static site_t join, worker;
    stage_open(&stage);
    stage.unread = 8;
    site_open_patient(&join, &stage, JOIN, 1, DEADLINE_NS);
    site_open_patient(&worker, &stage, WORKER, 1, DEADLINE_NS);
    site_bind(&join, &stage.terms);
    site_connect(&worker, &stage.terms);
    run_until(&join, &worker, &join.ups, 1);
    run_until(&worker, &join, &worker.ups, 1);
    tnd_pool_t *pool = tnd_pool_new(FLOOD_BYTES);
    site_t *sender = binder_sends ? &join : &worker;

    uint32_t sent =
        flood(sender, binder_sends ? PORT_IN : PORT_OUT, binder_sends ? WORKER : JOIN, pool);

    if (stage.net.trusts) {
        cr_assert_eq(sent, FLOOD_MOST);
    } else {
        cr_assert(sent >= stage.unread && sent < FLOOD_MOST, "%u were sent", sent);
        run_until(sender, NULL, &sender->losts, 1);
        /* The peer did not leave by itself, and the user learns why. */
        cr_assert_str_eq(sender->lost_why, "the peer does not read the data that it requests");
        tnd_hub_counts_t counts;
        tnd_hub_counts(sender->hub, &counts);
        cr_assert_eq(counts.refused, 1);
        /* When it reads again it reconnects, by a new connection. */
        run_until(&worker, &join, &worker.ups, 2);
        run_until(&join, &worker, &join.ups, 2);
        join.messages = worker.messages = 0;
        tnd_msg_t msg = {.kind = TND_MSG_TICKET, .from = sender->id, .ticket.first = 1};
        msg.to = binder_sends ? WORKER : JOIN;
        cr_assert_eq(tnd_hub_send(sender->hub, binder_sends ? PORT_IN : PORT_OUT, msg.to, &msg,
                                  TND_CARRY_NOTHING),
                     TND_OK);
        run_until(&join, &worker, binder_sends ? &worker.messages : &join.messages, 1);
    }
    part(&stage, &join, &worker);
    cr_assert_eq(tnd_pool_out(pool), 0);
    tnd_pool_destroy(&pool);
}

Test(hub, a_binder_gives_up_a_peer_that_does_not_read)
{
    leave_unread(true);
}

Test(hub, a_connector_gives_up_a_peer_that_does_not_read)
{
    leave_unread(false);
}

static void *wake(void *hub)
{
    tnd_hub_wake(hub);
    return NULL;
}

Test(hub, any_thread_may_end_a_wait)
{
    static stage_t stage;
    static site_t join;
    stage_open(&stage);
    site_open(&join, &stage, JOIN, 1);
    pthread_t thread;
    uint64_t before = stage_now(&stage);

    pthread_create(&thread, NULL, wake, join.hub);
    if (stage.net.network->is_simulated)
        pthread_join(thread, NULL);
    tnd_hub_wait(join.hub, before + DEADLINE_NS);

    cr_assert(stage_now(&stage) < before + DEADLINE_NS);
    if (!stage.net.network->is_simulated)
        pthread_join(thread, NULL);
    part(&stage, &join, NULL);
}

Test(hub, an_endpoint_is_bound_once)
{
    static stage_t stage;
    static site_t join, second;
    stage_open(&stage);
    site_open(&join, &stage, JOIN, 1);
    site_open(&second, &stage, 3, 1);
    site_bind(&join, &stage.terms);
    tnd_error_t error = {.text = ""};
    char actual[256] = "";

    tnd_status_t status = tnd_hub_bind(second.hub, PORT_IN, stage.actual, &stage.terms, actual,
                                       sizeof actual, &error);

    cr_assert_eq(status, TND_FAILED);
    cr_assert_not_null(strstr(error.text, stage.actual), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "in use"), "%s", error.text);
    tnd_hub_close(&second.hub, 0);
    part(&stage, &join, NULL);
}

#endif
