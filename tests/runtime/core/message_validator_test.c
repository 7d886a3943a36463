#include "runtime/core/message_validator.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/*  Two lanes; the leader's host 0 has lane 0, host 1 has lane 1 and a worker of that lane. */
enum { READ0, READ1, PREP, BATCH0, BATCH1, FEED0, FEED1, MEAN, PARTIES, HOST_ID = 1000 };

static const tnd_party_t parties[PARTIES] = {
    [READ0] = {.role = TND_ROLE_READER, .host = 0, .lane = 0},
    [READ1] = {.role = TND_ROLE_READER, .host = 1, .lane = 1},
    [PREP] = {.role = TND_ROLE_WORKER, .host = 1, .lane_first = 1, .lane_count = 1},
    [BATCH0] = {.role = TND_ROLE_JOIN, .host = 0, .lane = 0},
    [BATCH1] = {.role = TND_ROLE_JOIN, .host = 1, .lane = 1},
    [FEED0] = {.role = TND_ROLE_FEEDER, .host = 0, .replica_first = 0, .replica_count = 2},
    [FEED1] = {.role = TND_ROLE_FEEDER, .host = 1, .replica_first = 2, .replica_count = 2},
    [MEAN] = {.role = TND_ROLE_REDUCER, .host = 0},
};

static const tnd_membership_t membership = {
    .parties = parties, .party_count = PARTIES, .host_count = 2, .lanes = 2, .host_id = HOST_ID};

static const tnd_bounds_t bounds = {
    .lane_rows = 1000, .bytes = {.fixed = 100}, .rows_max = 2, .epochs = 3, .replicas = 4};

static int some_payload;

static tnd_validator_t *accept_of(tnd_actor_id_t self)
{
    tnd_validator_config_t config = {.membership = membership, .bounds = bounds, .self = self};
    return tnd_validator_init(calloc(1, tnd_validator_bytes(&config)), &config);
}

static tnd_msg_t block_of(tnd_actor_id_t from, uint32_t lane)
{
    tnd_msg_t msg = {.kind = TND_MSG_BLOCK, .from = from};
    msg.block = (tnd_block_note_t){.first = 10,
                                   .lane = lane,
                                   .count = 20,
                                   .asked = 20,
                                   .rows = 20,
                                   .bytes = 2000,
                                   .payload = &some_payload};
    return msg;
}

static void grant(tnd_validator_t *accept, tnd_actor_id_t reader, uint64_t blocks)
{
    tnd_msg_t credit = {.kind = TND_MSG_CREDIT, .to = reader, .credit.blocks = blocks};
    tnd_validator_sent(accept, &credit);
}

Test(message_validator, takes_a_block_of_its_own_lane_within_credit)
{
    tnd_validator_t *accept = accept_of(PREP);
    tnd_msg_t msg = block_of(READ1, 1);
    cr_assert_str_eq(tnd_validator_link(accept, READ1, &msg, 0), "it sends without credit");
    grant(accept, READ1, 2);
    cr_assert_null(tnd_validator_link(accept, READ1, &msg, 0));
    cr_assert_null(tnd_validator_link(accept, READ1, &msg, 0));
    cr_assert_not_null(tnd_validator_link(accept, READ1, &msg, 0));
    tnd_validator_reset(accept, READ1);
    cr_assert_not_null(tnd_validator_link(accept, READ1, &msg, 0), "credit of a connection ends");
    free(accept);
}

Test(message_validator, refuses_a_block_whose_numbers_are_out_of_range)
{
    tnd_validator_t *accept = accept_of(PREP);
    grant(accept, READ1, 100);
    tnd_msg_t good = block_of(READ1, 1), msg;
#define REFUSES(change)                                                                            \
    do {                                                                                           \
        msg = good;                                                                                \
        change;                                                                                    \
        cr_expect_not_null(tnd_validator_link(accept, READ1, &msg, 0), #change);                   \
    } while (0)
    REFUSES(msg.from = READ0);
    REFUSES(msg.kind = TND_MSG_SLICE);
    REFUSES(msg.kind = TND_MSG_KINDS);
    REFUSES(msg.block.lane = 0);
    REFUSES(msg.block.lane = UINT32_MAX);
    REFUSES(msg.block.epoch = 3);
    REFUSES(msg.block.first = 981);
    REFUSES(msg.block.first = UINT64_MAX - 5);
    REFUSES(msg.block.asked = 0);
    REFUSES(msg.block.count = 21);
    REFUSES(msg.block.rows = 21);
    REFUSES(msg.block.rows = 19);
    REFUSES(msg.block.bad_count = 1);
    REFUSES(msg.block.bytes = 20 * 101);
    REFUSES(msg.block.payload = NULL);
    REFUSES(msg.generation = TND_AHEAD_MAX + 1);
    cr_assert_null(tnd_validator_link(accept, READ1, &good, 0));
    free(accept);
}

Test(message_validator, bounds_the_bytes_of_a_block_by_its_ticket)
{
    tnd_validator_config_t config = {.membership = membership, .bounds = bounds, .self = PREP};
    config.bounds.bytes = (tnd_row_bytes_t){.fixed = 100, .ragged_max = 5000, .budget = 800};
    tnd_validator_t *accept = tnd_validator_init(calloc(1, tnd_validator_bytes(&config)), &config);
    grant(accept, READ1, 100);
    tnd_msg_t good = block_of(READ1, 1), msg;
    good.block.count = good.block.rows = 10;
    good.block.budget = good.block.ragged = 800;
    good.block.bytes = 10 * 100 + 800;
    cr_assert_null(tnd_validator_link(accept, READ1, &good, 0));
    REFUSES(msg.block.bytes++);
    REFUSES(msg.block.budget = 5001);
    REFUSES(msg.block.ragged = 10 * 5001);
    msg = good;
    msg.block.budget = 5000;
    msg.block.bytes = 10 * 100 + 5000;
    cr_assert_null(tnd_validator_link(accept, READ1, &msg, 0));
    free(accept);
}

Test(message_validator, refuses_senders_that_have_no_route_to_this_actor)
{
    tnd_validator_t *accept = accept_of(BATCH1);
    tnd_msg_t msg = block_of(PREP, 1);
    cr_assert_null(tnd_validator_link(accept, PREP, &msg, 0), "a ticket is its credit");
    cr_assert_not_null(tnd_validator_link(accept, PARTIES, &msg, 0));
    cr_assert_not_null(tnd_validator_link(accept, TND_LEADER, &msg, 0));
    msg.from = FEED0;
    cr_assert_not_null(tnd_validator_link(accept, FEED0, &msg, 0));
    tnd_msg_t rewind = {.kind = TND_MSG_REWIND, .from = PREP};
    cr_assert_not_null(tnd_validator_link(accept, PREP, &rewind, 0), "only the leader, by control");
    cr_assert_not_null(tnd_validator_control(accept, &rewind, 0));
    free(accept);
}

Test(message_validator, an_actor_of_a_kind_without_a_role_sends_and_receives_nothing)
{
    tnd_party_t two[] = {{.role = TND_ROLE_OBSERVER, .host = 1}, {.role = TND_ROLE_JOIN}};
    const tnd_membership_t some = {
        .parties = two, .party_count = 2, .host_count = 2, .lanes = 1, .host_id = HOST_ID};
    tnd_msg_t log = {.kind = TND_MSG_LOG, .from = 0, .to = TND_LEADER};
    tnd_msg_t rewind = {.kind = TND_MSG_REWIND, .from = TND_LEADER, .to = 0};
    cr_expect_null(tnd_validator_relay(&some, 0, 1, &log));
    cr_expect_null(tnd_validator_relay(&some, 1, 0, &rewind));
    two[0].role = TND_ROLE_NONE;
    cr_expect_not_null(tnd_validator_relay(&some, 0, 1, &log));
    cr_expect_not_null(tnd_validator_relay(&some, 1, 0, &rewind));
}

Test(message_validator, refuses_a_cursor_of_other_lanes)
{
    tnd_validator_t *accept = accept_of(BATCH0);
    static tnd_cursor_t cursor;
    tnd_cursor_start(&cursor, 3);
    tnd_msg_t rewind = {
        .kind = TND_MSG_REWIND, .generation = 1, .from = TND_LEADER, .rewind.cursor = &cursor};
    cr_assert_not_null(tnd_validator_control(accept, &rewind, 0));
    tnd_cursor_start(&cursor, 2);
    cursor.part[1].index = 1001;
    cr_assert_not_null(tnd_validator_control(accept, &rewind, 0));
    cursor.part[1].index = 1000;
    cursor.since[1] = 4;
    cr_assert_not_null(tnd_validator_control(accept, &rewind, 0));
    cursor.step = cursor.step_of_epoch = 4;
    cr_assert_null(tnd_validator_control(accept, &rewind, 0));
    free(accept);
}

Test(message_validator, names_the_peer_that_names_a_rewind_that_never_comes)
{
    tnd_validator_t *accept = accept_of(BATCH1);
    tnd_msg_t msg = block_of(PREP, 1);
    msg.generation = 3;
    cr_assert_null(tnd_validator_link(accept, PREP, &msg, 100));
    for (uint64_t now = 100; now < 1099; now += 111)
        cr_assert_eq(tnd_validator_unconfirmed(accept, now, 1000), TND_NOBODY);
    cr_assert_eq(tnd_validator_unconfirmed(accept, 1099, 1000), TND_NOBODY);
    cr_assert_eq(tnd_validator_unconfirmed(accept, 1100, 1000), PREP);
    static tnd_cursor_t cursor;
    tnd_cursor_start(&cursor, 2);
    tnd_msg_t rewind = {
        .kind = TND_MSG_REWIND, .generation = 2, .from = TND_LEADER, .rewind.cursor = &cursor};
    cr_assert_null(tnd_validator_control(accept, &rewind, 1200));
    cr_assert_eq(tnd_validator_unconfirmed(accept, 1200, 1000), PREP, "the leader said less");
    rewind.generation = 3;
    cr_assert_null(tnd_validator_control(accept, &rewind, 1200));
    cr_assert_eq(tnd_validator_unconfirmed(accept, 9999, 1000), TND_NOBODY);
    free(accept);
}

Test(message_validator, a_host_that_was_away_has_not_heard_the_leader_either)
{
    tnd_validator_t *accept = accept_of(BATCH1);
    tnd_msg_t msg = block_of(PREP, 1);
    msg.generation = 3;
    cr_assert_null(tnd_validator_link(accept, PREP, &msg, 100));
    cr_assert_eq(tnd_validator_unconfirmed(accept, 99999, 1000), TND_NOBODY);
    uint64_t now = 99999;
    while (tnd_validator_unconfirmed(accept, now, 1000) == TND_NOBODY)
        now += 100;
    cr_assert(now > 100800 && now <= 100999, "%llu", (unsigned long long)now);
    free(accept);
}

Test(message_validator, accepts_a_rewind_that_the_leader_announced_in_another_way)
{
    tnd_validator_t *accept = accept_of(BATCH1);
    tnd_msg_t msg = block_of(PREP, 1);
    msg.generation = 3;
    cr_assert_null(tnd_validator_link(accept, PREP, &msg, 100));
    tnd_validator_reached(accept, 2);
    for (uint64_t now = 100; now < 1100; now += 100)
        cr_assert_eq(tnd_validator_unconfirmed(accept, now, 1000), TND_NOBODY);
    cr_assert_eq(tnd_validator_unconfirmed(accept, 1100, 1000), PREP, "the leader said less");
    tnd_validator_reached(accept, 3);
    cr_assert_eq(tnd_validator_unconfirmed(accept, 9999, 1000), TND_NOBODY);
    tnd_validator_reached(accept, 1);
    msg.generation = 3 + TND_AHEAD_MAX;
    cr_assert_null(tnd_validator_link(accept, PREP, &msg, 10000), "it never goes back");
    free(accept);
}

Test(message_validator, accepts_slices_for_its_own_replicas_only)
{
    tnd_validator_t *accept = accept_of(FEED1);
    tnd_msg_t good = {.kind = TND_MSG_SLICE, .from = BATCH0}, msg;
    good.slice = (tnd_slice_note_t){
        .step = 5, .replica = 3, .rows = 4, .total = 8, .step_rows = 32, .payload = &some_payload};
    cr_assert_null(tnd_validator_link(accept, BATCH0, &good, 0));
#define REFUSES_SLICE(change)                                                                      \
    do {                                                                                           \
        msg = good;                                                                                \
        change;                                                                                    \
        cr_expect_not_null(tnd_validator_link(accept, BATCH0, &msg, 0), #change);                  \
    } while (0)
    REFUSES_SLICE(msg.slice.replica = 1);
    REFUSES_SLICE(msg.slice.replica = 4);
    REFUSES_SLICE(msg.slice.lane = 1);
    REFUSES_SLICE(msg.slice.offset = 5);
    REFUSES_SLICE(msg.slice.offset = UINT32_MAX);
    REFUSES_SLICE(msg.slice.total = 33);
    REFUSES_SLICE(msg.slice.rows = 0);
    REFUSES_SLICE(msg.slice.epoch = 3);
    REFUSES_SLICE(msg.slice.payload = NULL);
    free(accept);
}

Test(message_validator, accepts_values_of_the_senders_own_replicas_only)
{
    tnd_validator_t *accept = accept_of(MEAN);
    tnd_msg_t msg = {.kind = TND_MSG_POST, .from = FEED1};
    msg.post = (tnd_post_note_t){.first = 2, .count = 2, .payload = &some_payload};
    cr_assert_null(tnd_validator_link(accept, FEED1, &msg, 0));
    msg.post.first = 1;
    cr_assert_not_null(tnd_validator_link(accept, FEED1, &msg, 0));
    msg.post.first = UINT32_MAX;
    cr_assert_not_null(tnd_validator_link(accept, FEED1, &msg, 0));
    msg.post.first = 2;
    msg.post.payload = NULL;
    cr_assert_not_null(tnd_validator_link(accept, FEED1, &msg, 0));
    free(accept);
}

Test(message_validator, takes_tickets_and_marks_of_their_own_lane)
{
    tnd_validator_t *reader = accept_of(READ0), *join = accept_of(BATCH1);
    tnd_msg_t ticket = {.kind = TND_MSG_TICKET, .from = BATCH0};
    ticket.ticket.count = 1000;
    cr_assert_null(tnd_validator_control(reader, &ticket, 0));
    ticket.ticket.first = 1;
    cr_assert_not_null(tnd_validator_control(reader, &ticket, 0),
                       "it ends after the end of the lane");
    ticket.ticket.first = 0;
    ticket.from = BATCH1;
    cr_assert_not_null(tnd_validator_control(reader, &ticket, 0), "of another lane's join");
    tnd_msg_t mark = {.kind = TND_MSG_MARK, .from = BATCH0, .mark = {.rows = 6000, .epoch = 2}};
    cr_assert_null(tnd_validator_control(join, &mark, 0));
    mark.mark.rows = 6002;
    cr_assert_not_null(tnd_validator_control(join, &mark, 0), "more rows than the lane can have");
    mark.mark.rows = 1;
    mark.mark.lane = 1;
    cr_assert_not_null(tnd_validator_control(join, &mark, 0));
    free(reader);
    free(join);
}

Test(message_validator, lets_a_host_send_for_its_own_actors_only)
{
    tnd_msg_t held = {.kind = TND_MSG_HELD, .from = FEED1, .to = TND_LEADER};
    cr_assert_null(tnd_validator_relay(&membership, 0, 1, &held));
    held.from = FEED0;
    cr_assert_not_null(tnd_validator_relay(&membership, 0, 1, &held));
    held.from = TND_LEADER;
    cr_assert_not_null(tnd_validator_relay(&membership, 0, 1, &held));
    tnd_msg_t rewind = {.kind = TND_MSG_REWIND, .from = TND_LEADER, .to = READ1};
    cr_assert_null(tnd_validator_relay(&membership, 1, 0, &rewind));
    cr_assert_not_null(tnd_validator_relay(&membership, 0, 1, &rewind),
                       "only the leader's host has it");
    rewind.to = READ0;
    cr_assert_not_null(tnd_validator_relay(&membership, 1, 0, &rewind), "not here");
    rewind.to = TND_NOBODY;
    cr_assert_not_null(tnd_validator_relay(&membership, 1, 0, &rewind));
    tnd_msg_t mark = {.kind = TND_MSG_MARK, .from = BATCH1, .to = BATCH0, .mark.lane = 1};
    cr_assert_null(tnd_validator_relay(&membership, 0, 1, &mark));
    mark.mark.lane = 0;
    cr_assert_not_null(tnd_validator_relay(&membership, 0, 1, &mark));
    tnd_msg_t facts = {.kind = TND_MSG_FACTS, .from = HOST_ID + 1, .to = TND_LEADER};
    cr_assert_null(tnd_validator_relay(&membership, 0, 1, &facts));
    facts.from = HOST_ID + 2;
    cr_assert_not_null(tnd_validator_relay(&membership, 0, 1, &facts));
}

/* --- parameters -------------------------------------------------------------------------------- */

enum { JOIN, HOLD, TRAIN0, TRAIN1, DEALT_PARTIES };

static tnd_validator_t *accept_dealt(tnd_actor_id_t self)
{
    static const tnd_party_t dealt[DEALT_PARTIES] = {
        [JOIN] = {.role = TND_ROLE_JOIN, .host = 0},
        [HOLD] = {.role = TND_ROLE_PARAMETERS, .host = 0},
        [TRAIN0] = {.role = TND_ROLE_REPLICA, .host = 0, .replica_first = 0, .replica_count = 3},
        [TRAIN1] = {.role = TND_ROLE_REPLICA, .host = 1, .replica_first = 3, .replica_count = 1}};
    tnd_validator_config_t config = {.membership = {.parties = dealt,
                                                    .party_count = DEALT_PARTIES,
                                                    .host_count = 2,
                                                    .lanes = 1,
                                                    .host_id = HOST_ID},
                                     .bounds = bounds,
                                     .self = self};
    return tnd_validator_init(calloc(1, tnd_validator_bytes(&config)), &config);
}

Test(message_validator, a_replica_asks_and_pushes_for_itself_alone)
{
    tnd_validator_t *accept = accept_dealt(HOLD);
    tnd_msg_t read = {.kind = TND_MSG_READ, .from = TRAIN1, .parameters = {.replica = 3}};
    cr_assert_null(tnd_validator_link(accept, TRAIN1, &read, 0));
    read.parameters.replica = 2;
    cr_assert_str_eq(tnd_validator_link(accept, TRAIN1, &read, 0),
                     "it names a lane or replicas that are not its own");
    tnd_msg_t initial = {.kind = TND_MSG_INITIAL,
                         .from = TRAIN0,
                         .parameters = {.replica = 0, .payload = &some_payload}};
    cr_assert_null(tnd_validator_link(accept, TRAIN0, &initial, 0));
    initial.parameters.payload = NULL;
    cr_assert_str_eq(tnd_validator_link(accept, TRAIN0, &initial, 0),
                     "parameters without their values");
    initial.parameters.replica = 3;
    cr_assert_str_eq(tnd_validator_link(accept, TRAIN0, &initial, 0),
                     "it names a lane or replicas that are not its own");
    tnd_msg_t push = {.kind = TND_MSG_PUSH,
                      .from = TRAIN0,
                      .push = {.replica = 2, .rows = 1, .epoch = 2, .payload = &some_payload}};
    cr_assert_null(tnd_validator_link(accept, TRAIN0, &push, 0));
    push.push.epoch = 3;
    cr_assert_str_eq(tnd_validator_link(accept, TRAIN0, &push, 0), "its numbers are out of range");
    push.push.epoch = 2;
    push.push.rows = 0;
    cr_assert_str_eq(tnd_validator_link(accept, TRAIN0, &push, 0), "its numbers are out of range");
    push.push.rows = 1;
    push.push.payload = NULL;
    cr_assert_str_eq(tnd_validator_link(accept, TRAIN0, &push, 0), "a gradient without its values");
    push.push.replica = 3;
    cr_assert_str_eq(tnd_validator_link(accept, TRAIN0, &push, 0),
                     "it names a lane or replicas that are not its own");
    read.from = JOIN;
    cr_assert_str_eq(tnd_validator_link(accept, JOIN, &read, 0),
                     "it may not send this message here");
    free(accept);
}

Test(message_validator, a_replica_is_served_parameters_of_its_own_with_their_values)
{
    tnd_validator_t *accept = accept_dealt(TRAIN0);
    tnd_msg_t serve = {.kind = TND_MSG_SERVE,
                       .from = HOLD,
                       .parameters = {.replica = 2, .payload = &some_payload}};
    cr_assert_null(tnd_validator_link(accept, HOLD, &serve, 0));
    serve.parameters.payload = NULL;
    cr_assert_str_eq(tnd_validator_link(accept, HOLD, &serve, 0),
                     "parameters without their values");
    serve.kind = TND_MSG_TAKEN;
    cr_assert_null(tnd_validator_link(accept, HOLD, &serve, 0));
    serve.parameters.replica = 3;
    cr_assert_str_eq(tnd_validator_link(accept, HOLD, &serve, 0),
                     "it names a lane or replicas that are not its own");
    free(accept);
}

Test(message_validator, steps_are_dealt_by_the_holder_to_replicas_that_exist_or_to_none)
{
    tnd_validator_t *accept = accept_dealt(JOIN);
    tnd_msg_t deal = {.kind = TND_MSG_DEAL, .from = HOLD, .to = JOIN, .deal = {.replica = 3}};
    cr_assert_null(tnd_validator_control(accept, &deal, 0));
    deal.deal.replica = TND_NOBODY;
    cr_assert_null(tnd_validator_control(accept, &deal, 0));
    deal.deal.replica = 4;
    cr_assert_str_eq(tnd_validator_control(accept, &deal, 0), "its numbers are out of range");
    deal.deal.replica = 0;
    deal.from = TRAIN0;
    cr_assert_str_eq(tnd_validator_control(accept, &deal, 0), "it may not send this message here");
    free(accept);
}

Test(message_validator, only_the_leader_says_that_a_life_is_over)
{
    tnd_validator_t *accept = accept_dealt(HOLD);
    tnd_msg_t gone = {.kind = TND_MSG_GONE, .from = TND_LEADER, .to = HOLD, .gone = {.life = 1}};
    cr_assert_null(tnd_validator_control(accept, &gone, 0));
    gone.gone.life = 0;
    cr_assert_str_eq(tnd_validator_control(accept, &gone, 0), "its numbers are out of range");
    gone.gone.life = 1;
    gone.from = TRAIN0;
    cr_assert_str_eq(tnd_validator_control(accept, &gone, 0), "it may not send this message here");
    free(accept);
}
