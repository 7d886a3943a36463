/*  tests/conformance/hub_messages.h - how every hub must carry messages and payloads. */
#ifndef TND_TESTS_CONFORMANCE_HUB_MESSAGES_H
#define TND_TESTS_CONFORMANCE_HUB_MESSAGES_H

#include "tests/conformance/hub_sites.h"

static tnd_buffer_t *make_text(stage_t *stage, const char *text)
{
    tnd_buffer_t *buffer = tnd_pool_take(stage->pool);
    memset(tnd_buffer_data(buffer), ' ', tnd_buffer_size(buffer));
    memcpy(tnd_buffer_data(buffer), text, strlen(text));
    tnd_buffer_seal(buffer);
    return buffer;
}

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

Test(hub, a_message_may_name_other_actors_than_the_two_peers)
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
    msg.slice.payload =
        tnd_block_pool_slice(stage->block_pool, &stage->schema, &slice, pieces, count);
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
    tnd_piece_t pieces[] = {{one, 3, 1, NULL}, {two, 0, 2, NULL}};

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
    tnd_piece_t piece = {one, 1, 2, NULL};

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

Test(hub, a_payload_that_cannot_be_sent_stays_with_the_sender)
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

Test(hub, unread_payloads_are_released)
{
    static stage_t stage;
    static site_t join, worker;
    meet(&stage, &join, &worker);

    for (unsigned i = 0; i < 20; i++)
        send_block(&worker, make_block(&stage, i, 3));

    part(&stage, &join, &worker);
}

#endif
