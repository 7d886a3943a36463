/*  tests/conformance/hub_suite.h - what every hub must do: one script, one trace.
 *
 *  A test program defines `hub_fixture` and includes this.  The expected traces stand in the tests
 *  and are the same for all implementations.
 */
#ifndef TND_TESTS_CONFORMANCE_HUB_SUITE_H
#define TND_TESTS_CONFORMANCE_HUB_SUITE_H

#include "tests/conformance/hub_sites.h"

static tnd_buffer_t *make_text(stage_t *stage, const char *text)
{
    tnd_buffer_t *buffer = tnd_pool_take(stage->pool);
    memset(tnd_buffer_data(buffer), ' ', tnd_buffer_size(buffer));
    memcpy(tnd_buffer_data(buffer), text, strlen(text));
    tnd_buffer_seal(buffer);
    return buffer;
}

/*  Sends `count` tickets to the other one, and adds to `expected` what he will note of them. */
static void send_tickets(site_t *site, tnd_actor_id_t from, unsigned count, char expected[4096])
{
    tnd_actor_id_t to = from == WORKER ? JOIN : WORKER;
    for (unsigned i = 0; i < count; i++) {
        tnd_msg_t msg = {.kind = TND_MSG_TICKET, .from = from, .to = to, .ticket.first = i};
        cr_assert_eq(tnd_hub_send(site->hub, from == WORKER ? PORT_OUT : PORT_IN, to, &msg,
                                  TND_CARRY_NOTHING),
                     TND_OK);
        size_t used = strlen(expected);
        snprintf(expected + used, 4096 - used, "%u: ticket %u\n", TND_MSG_TICKET, i);
    }
}

/* --- the handshake ----------------------------------------------------------------------------
 */

Test(hub, both_sides_see_the_other_come_up)
{
    static stage_t stage;
    static site_t join, worker;
    stage_open(&stage);
    site_open(&join, &stage, JOIN, 5);
    site_open(&worker, &stage, WORKER, 7);
    site_bind(&join, &stage.terms);
    site_connect(&worker, &stage.terms);

    run_until(&worker, &join, &worker.ups, 1);

    cr_assert_str_eq(join.trace, "up 2 life 7\n");
    cr_assert_str_eq(worker.trace, "up 1\n");
    part(&stage, &join, &worker);
}

Test(hub, who_connects_before_the_other_binds_comes_up_too)
{
    static stage_t stage;
    static site_t join, worker;
    stage_open(&stage);
    site_open(&join, &stage, JOIN, 1);
    site_open(&worker, &stage, WORKER, 1);
    /* An endpoint that can be connected to is known only once it was bound. */
    site_bind(&join, &stage.terms);
    tnd_hub_close(&join.hub, 0);
    site_connect(&worker, &stage.terms);
    cr_assert_eq(site_step(&worker), false);

    site_open(&join, &stage, JOIN, 2);
    site_bind(&join, &stage.terms);
    run_until(&worker, &join, &worker.ups, 1);

    cr_assert_str_eq(worker.trace, "up 1\n");
    part(&stage, &join, &worker);
}

/*  Connects with other terms than the binder has and returns the text that both saw. */
static const char *refused_text(const tnd_terms_t *theirs)
{
    static stage_t stage;
    static site_t join, worker;
    stage_open(&stage);
    site_open(&join, &stage, JOIN, 1);
    site_open(&worker, &stage, WORKER, 1);
    site_bind(&join, &stage.terms);
    site_connect(&worker, theirs);

    run_until(&worker, &join, &worker.refusals, 1);

    cr_assert_eq(join.refusals, 1);
    cr_assert_eq(strncmp(join.trace, "refused 2: ", 11), 0, "%s", join.trace);
    cr_assert_eq(strncmp(worker.trace, "refused 1: ", 11), 0, "%s", worker.trace);
    cr_assert_str_eq(join.trace + 11, worker.trace + 11);
    cr_assert_eq(join.ups + worker.ups, 0);
    part(&stage, &join, &worker);
    return join.trace;
}

Test(hub, another_graph_is_refused_on_both_sides)
{
    const char *text =
        refused_text(&(tnd_terms_t){.graph = {11, 99}, .schema = 13, .numeric = 14, .abi = 1});
    cr_assert_not_null(strstr(text, "graph"), "%s", text);
}

Test(hub, another_schema_is_refused_on_both_sides)
{
    const char *text =
        refused_text(&(tnd_terms_t){.graph = {11, 12}, .schema = 99, .numeric = 14, .abi = 1});
    cr_assert_not_null(strstr(text, "schema"), "%s", text);
}

Test(hub, another_arithmetic_is_refused_on_both_sides)
{
    const char *text =
        refused_text(&(tnd_terms_t){.graph = {11, 12}, .schema = 13, .numeric = 99, .abi = 1});
    cr_assert_not_null(strstr(text, "numeric"), "%s", text);
}

Test(hub, another_version_is_refused_on_both_sides)
{
    const char *text =
        refused_text(&(tnd_terms_t){.graph = {11, 12}, .schema = 13, .numeric = 14, .abi = 2});
    cr_assert_not_null(strstr(text, "version"), "%s", text);
}

Test(hub, another_arithmetic_is_let_in_where_that_is_allowed)
{
    static stage_t stage;
    static site_t join, worker;
    stage_open(&stage);
    site_open(&join, &stage, JOIN, 1);
    site_open(&worker, &stage, WORKER, 1);
    site_bind(&join, &stage.terms);
    tnd_terms_t theirs = stage.terms;
    theirs.numeric = 99;
    theirs.tolerant = true;
    site_connect(&worker, &theirs);

    run_until(&worker, &join, &worker.ups, 1);

    cr_assert_eq(join.refusals, 0);
    part(&stage, &join, &worker);
}

Test(hub, who_looks_for_another_actor_is_told_who_listens_here)
{
    static stage_t stage;
    static site_t join, worker;
    stage_open(&stage);
    site_open(&join, &stage, JOIN, 1);
    site_open(&worker, &stage, WORKER, 1);
    site_bind(&join, &stage.terms);
    cr_assert_eq(tnd_hub_connect(worker.hub, PORT_OUT, 77, stage.net.endpoint, &stage.terms, NULL),
                 TND_OK);

    run_until(&worker, &join, &worker.refusals, 1);

    cr_assert_not_null(strstr(worker.trace, "not actor 77"), "%s", worker.trace);
    cr_assert_not_null(strstr(join.trace, "not actor 77"), "%s", join.trace);
    part(&stage, &join, &worker);
}

/*  Lets both sites run until the binder has sent a connector to look elsewhere so many times. */
static void run_until_turned_away(site_t *join, site_t *worker, uint64_t times)
{
    uint64_t deadline = stage_now(join->stage) + DEADLINE_NS;
    tnd_hub_counts_t counts = {0};
    while (counts.refused < times) {
        if (!site_step(join) && !site_step(worker)) {
            cr_assert(stage_now(join->stage) < deadline);
            tnd_hub_wait(worker->hub, stage_now(join->stage) + 1000000);
            tnd_hub_wait(join->hub, stage_now(join->stage));
        }
        tnd_hub_counts(join->hub, &counts);
    }
}

Test(hub, who_reaches_another_listener_than_it_means_dials_until_it_is_told_where)
{
    static stage_t stage;
    static site_t join, worker;
    stage_open(&stage);
    stage.search_ns = 3600000000000;
    site_open(&join, &stage, JOIN, 1);
    site_open(&worker, &stage, WORKER, 1);
    tnd_terms_t now = stage.terms, stale = stage.terms;
    now.listener = 5;
    stale.listener = 4;
    site_bind(&join, &now);
    site_connect(&worker, &stale);
    run_until_turned_away(&join, &worker, 3);
    cr_assert_str_eq(join.trace, "");
    cr_assert_str_eq(worker.trace, "");

    tnd_hub_disconnect(worker.hub, PORT_OUT, JOIN);
    site_connect(&worker, &now);
    run_until(&worker, &join, &worker.ups, 1);

    cr_assert_str_eq(join.trace, "up 2 life 1\n");
    cr_assert_str_eq(worker.trace, "up 1\n");
    part(&stage, &join, &worker);
}

Test(hub, who_reaches_another_listener_all_the_time_is_refused_in_the_end)
{
    static stage_t stage;
    static site_t join, worker;
    stage_open(&stage);
    stage.search_ns = 100000000;
    site_open(&join, &stage, JOIN, 1);
    site_open(&worker, &stage, WORKER, 1);
    tnd_terms_t now = stage.terms, unnamed = stage.terms;
    now.listener = 5;
    site_bind(&join, &now);
    site_connect(&worker, &unnamed);

    run_until(&worker, &join, &worker.refusals, 1);

    cr_assert_not_null(strstr(worker.trace, "refused 1: join listens here"), "%s", worker.trace);
    cr_assert_str_eq(join.trace, "");
    part(&stage, &join, &worker);
}

/* --- messages ---------------------------------------------------------------------------------
 */

Test(hub, messages_of_a_connection_arrive_in_order)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);
    char expected[4096] = "";

    send_tickets(&worker, WORKER, 100, expected);
    run_until(&join, &worker, &join.messages, 100);

    cr_assert_str_eq(join.trace, expected);
    part(&stage, &join, &worker);
}

Test(hub, both_sides_may_send)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);

    tnd_msg_t msg = {.kind = TND_MSG_TICKET, .from = JOIN, .to = WORKER, .ticket.first = 8};
    cr_assert_eq(tnd_hub_send(join.hub, PORT_IN, WORKER, &msg, TND_CARRY_NOTHING), TND_OK);
    run_until(&worker, &join, &worker.messages, 1);

    cr_assert_not_null(strstr(worker.trace, "ticket 8"));
    part(&stage, &join, &worker);
}

Test(hub, a_message_may_name_somebody_behind_the_peer)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);
    tnd_msg_t msg = {.kind = TND_MSG_HELD, .from = 40, .to = 50, .until.step = 6};
    tnd_arrival_t arrival;

    cr_assert_eq(tnd_hub_send(worker.hub, PORT_OUT, JOIN, &msg, TND_CARRY_NOTHING), TND_OK);
    uint64_t deadline = stage_now(&stage) + DEADLINE_NS;
    while (tnd_hub_receive(join.hub, &arrival) != TND_OK && stage_now(&stage) < deadline)
        tnd_hub_wait(join.hub, stage_now(&stage) + 1000000);

    cr_assert_eq(arrival.kind, TND_ARRIVAL_MESSAGE);
    cr_assert_eq(arrival.peer, WORKER);
    cr_assert_eq(arrival.msg.from, 40);
    cr_assert_eq(arrival.msg.to, 50);
    cr_assert_eq(arrival.msg.until.step, 6);
    part(&stage, &join, &worker);
}

Test(hub, a_packed_block_arrives_as_it_was)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);

    send_block(&worker, make_block(&stage, 5, 3));
    run_until(&join, &worker, &join.messages, 1);

    cr_assert_str_eq(join.trace, "8: block 5+3 5,5.25,-5/5 6,6.25,-6/6 7,7.25,-7/7\n");
    part(&stage, &join, &worker);
}

Test(hub, a_gathered_block_arrives_in_the_order_of_its_index)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);
    tnd_block_t *block = make_block(&stage, 0, 4);
    tnd_buffer_t *index = tnd_pool_take(stage.pool);
    memcpy(tnd_buffer_data(index), (uint64_t[]){3, 0, 2, 1}, 32);
    tnd_buffer_seal(index);
    block->index = index;
    block->columns[0].index = block->columns[1].index = tnd_buffer_data(index);

    send_block(&worker, block);
    run_until(&join, &worker, &join.messages, 1);

    cr_assert_str_eq(join.trace, "8: block 0+4 3,3.25,-3/3 0,0.25,-0/0 2,2.25,-2/2 1,1.25,-1/1\n");
    part(&stage, &join, &worker);
}

Test(hub, origins_and_bad_rows_arrive_with_their_block)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);
    tnd_block_t *block = make_block(&stage, 5, 3);
    block->marks = tnd_pool_take(stage.pool);
    uint32_t *marks = tnd_buffer_data(block->marks);
    memcpy(marks, (uint32_t[]){0, 2, 2, 1, 3}, 20);
    tnd_buffer_seal(block->marks);
    block->note.count = 4;
    block->note.bad_count = 2;
    block->note.origin = marks;
    block->note.bad = marks + 3;

    send_block(&worker, block);
    run_until(&join, &worker, &join.messages, 1);

    cr_assert_str_eq(join.trace,
                     "8: block 5+4 5,5.25,-5/5 6,6.25,-6/6 7,7.25,-7/7 origin 0 2 2 bad 1 3\n");
    part(&stage, &join, &worker);
}

Test(hub, a_block_may_carry_no_rows)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);
    tnd_block_t *block = make_block(&stage, 9, 0);
    block->note.count = 4;

    send_block(&worker, block);
    run_until(&join, &worker, &join.messages, 1);

    cr_assert_str_eq(join.trace, "8: block 9+4\n");
    part(&stage, &join, &worker);
}

static void send_slice(site_t *worker, stage_t *stage, const tnd_piece_t *pieces, uint32_t count)
{
    tnd_slice_note_t slice = {.step = 4};
    for (uint32_t i = 0; i < count; i++)
        slice.rows += pieces[i].rows;
    tnd_msg_t msg = {.kind = TND_MSG_SLICE, .from = WORKER, .to = JOIN, .slice = slice};
    msg.slice.payload = tnd_rack_slice(stage->rack, &stage->schema, &slice, pieces, count);
    cr_assert_eq(tnd_hub_send(worker->hub, PORT_OUT, JOIN, &msg, TND_CARRY_SLICE), TND_OK);
}

Test(hub, a_slice_over_several_blocks_arrives_in_one_order)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);
    tnd_block_t *one = make_block(&stage, 0, 4), *two = make_block(&stage, 10, 4);
    tnd_block_seal(one);
    tnd_block_seal(two);
    tnd_piece_t pieces[] = {{one, 3, 1}, {two, 0, 2}};

    send_slice(&worker, &stage, pieces, 2);
    tnd_block_drop(&one);
    tnd_block_drop(&two);
    run_until(&join, &worker, &join.messages, 1);

    cr_assert_str_eq(join.trace, "10: slice 4 3,3.25,-3/3 10,10.25,-10/10 11,11.25,-11/11\n");
    part(&stage, &join, &worker);
}

Test(hub, a_slice_of_one_block_arrives_from_its_middle)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);
    tnd_block_t *one = make_block(&stage, 0, 4);
    tnd_block_seal(one);
    tnd_piece_t piece = {one, 1, 2};

    send_slice(&worker, &stage, &piece, 1);
    tnd_block_drop(&one);
    run_until(&join, &worker, &join.messages, 1);

    cr_assert_str_eq(join.trace, "10: slice 4 1,1.25,-1/1 2,2.25,-2/2\n");
    part(&stage, &join, &worker);
}

Test(hub, a_slice_may_carry_no_rows)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);

    send_slice(&worker, &stage, NULL, 0);
    run_until(&join, &worker, &join.messages, 1);

    cr_assert_str_eq(join.trace, "10: slice 4\n");
    part(&stage, &join, &worker);
}

Test(hub, a_buffer_arrives_whole)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);
    tnd_buffer_t *text = make_text(&stage, "loss 0.25 and 4096 bytes in all");
    char expected[5000];
    snprintf(expected, sizeof expected, "11: buffer %.*s\n", (int)tnd_buffer_size(text),
             (const char *)tnd_buffer_data(text));
    tnd_msg_t msg = {.kind = TND_MSG_POST, .from = WORKER, .to = JOIN, .post.payload = text};

    cr_assert_eq(tnd_hub_send(worker.hub, PORT_OUT, JOIN, &msg, TND_CARRY_BUFFER), TND_OK);
    run_until(&join, &worker, &join.messages, 1);

    cr_assert_str_eq(join.trace, expected);
    part(&stage, &join, &worker);
}

Test(hub, a_cursor_is_copied_when_it_is_sent)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);
    tnd_cursor_t *cursor = calloc(1, sizeof *cursor);
    tnd_cursor_start(cursor, 3);
    cursor->step = 21;
    tnd_msg_t msg = {.kind = TND_MSG_REWIND, .from = WORKER, .to = JOIN, .rewind.cursor = cursor};

    cr_assert_eq(tnd_hub_send(worker.hub, PORT_OUT, JOIN, &msg, TND_CARRY_CURSOR), TND_OK);
    memset(cursor, 0xff, sizeof *cursor);
    free(cursor);
    run_until(&join, &worker, &join.messages, 1);

    cr_assert_not_null(strstr(join.trace, "cursor step 21 lanes 3"), "%s", join.trace);
    part(&stage, &join, &worker);
}

Test(hub, what_cannot_be_sent_stays_with_the_sender)
{
    static stage_t stage;
    static site_t worker;
    stage_open(&stage);
    site_open(&worker, &stage, WORKER, 1);
    tnd_block_t *block = make_block(&stage, 0, 2);
    tnd_msg_t msg = block_message(block);

    cr_assert_eq(tnd_hub_send(worker.hub, PORT_OUT, JOIN, &msg, TND_CARRY_BLOCK), TND_AGAIN);

    cr_assert_eq(tnd_pool_out(stage.pool), 2);
    tnd_block_drop(&block);
    part(&stage, NULL, &worker);
}

Test(hub, what_nobody_reads_is_given_back)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);

    for (unsigned i = 0; i < 20; i++)
        send_block(&worker, make_block(&stage, i, 3));

    part(&stage, &join, &worker);
}

/* --- coming and going -------------------------------------------------------------------------
 */

Test(hub, a_peer_that_closed_is_lost_and_comes_back_in_a_new_life)
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

Test(hub, a_peer_that_comes_back_when_the_clock_has_gone_back_is_let_in)
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

    cr_assert_str_eq(join.trace, "lost 2\nup 2 life 5\nlost 2\nup 2 life 10\n",
                     "later than the one before, by 1 and its own");
    cr_assert_str_eq(worker.trace, "up 1\n");
    part(&stage, &join, &worker);
}

Test(hub, what_a_peer_sent_before_it_closed_comes_before_its_loss)
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

Test(hub, what_a_binder_sent_before_it_closed_comes_before_its_loss)
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

/*  How much sooner is tested where time is stepped by hand: link_end_test.c. */
Test(hub, who_is_known_to_be_back_is_found_and_who_is_there_stays)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);

    tnd_hub_close(&join.hub, 0);
    run_until(&worker, NULL, &worker.losts, 1);
    site_open(&join, &stage, JOIN, 2);
    site_bind(&join, &stage.terms);
    tnd_hub_hurry(worker.hub, PORT_OUT, 77);
    tnd_hub_hurry(worker.hub, PORT_OUT, JOIN);
    run_until(&worker, &join, &worker.ups, 2);
    tnd_hub_hurry(worker.hub, PORT_OUT, JOIN);
    tnd_hub_hurry(join.hub, PORT_IN, WORKER);
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

Test(hub, a_reborn_actor_comes_back_in_its_new_life)
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

Test(hub, who_disconnects_hears_of_no_loss)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);

    tnd_hub_disconnect(worker.hub, PORT_OUT, JOIN);
    run_until(&join, &worker, &join.losts, 1);

    cr_assert_str_eq(worker.trace, "");
    part(&stage, &join, &worker);
}

Test(hub, who_disconnects_hears_nothing_of_what_was_before)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);

    /* The loss is known at once, and is not told before the next receive. */
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

Test(hub, what_comes_in_and_goes_out_is_counted)
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
    bool copies = !stage.net.trusts && stage.net.ops != &tnd_hub_sim;
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

Test(hub, a_peer_that_says_nothing_any_more_is_lost)
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

/*  A peer that came up takes whatever it is sent, but its thread never looks at it. */
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
        /* It did not go by itself, and the user is told so. */
        cr_assert_str_eq(sender->lost_why, "the peer does not read what it asks for");
        tnd_hub_counts_t counts;
        tnd_hub_counts(sender->hub, &counts);
        cr_assert_eq(counts.refused, 1);
        /* Once it reads it comes again, by a new connection. */
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

Test(hub, who_leaves_more_unread_than_credit_allows_is_given_up_by_the_binder)
{
    leave_unread(true);
}

Test(hub, who_leaves_more_unread_than_credit_allows_is_given_up_by_who_connected)
{
    leave_unread(false);
}

static void *wake(void *hub)
{
    tnd_hub_wake(hub);
    return NULL;
}

Test(hub, anybody_may_end_a_wait)
{
    static stage_t stage;
    static site_t join;
    stage_open(&stage);
    site_open(&join, &stage, JOIN, 1);
    pthread_t thread;
    uint64_t before = stage_now(&stage);

    pthread_create(&thread, NULL, wake, join.hub);
    if (stage.net.ops == &tnd_hub_sim)
        pthread_join(thread, NULL);
    tnd_hub_wait(join.hub, before + DEADLINE_NS);

    cr_assert(stage_now(&stage) < before + DEADLINE_NS);
    if (stage.net.ops != &tnd_hub_sim)
        pthread_join(thread, NULL);
    part(&stage, &join, NULL);
}

Test(hub, an_endpoint_belongs_to_one)
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
