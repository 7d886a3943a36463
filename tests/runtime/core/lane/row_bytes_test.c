/*  Covers runtime/core/lane/row_bytes.h, and what lane/order.h does about rows of
 *  different sizes: short answers, rows above the budget, the room of the floor. */

#include "tests/runtime/core/lane/world.h"

enum { BUDGET = 100, LARGEST = 1000 };

static const tnd_row_bytes_t ragged = {.fixed = 2, .ragged_max = LARGEST, .budget = BUDGET};

static const tnd_order_config_t texts = {.self = 3,
                                         .reader_count = 2,
                                         .epochs = 1,
                                         .count = 100,
                                         .block_rows = 10,
                                         .bytes = ragged,
                                         .made_max = LANE_BYTES_ROW,
                                         .window_bytes = 10000,
                                         .window_blocks = 8,
                                         .rows_wanted = 20};

/*  The answer to a ticket that covers only `count` positions; 0: the first one takes `size`. */
static tnd_msg_t part_of(const lane_t *lane, tnd_msg_t ticket, uint32_t count, uint64_t size)
{
    uint32_t asked = ticket.ticket.count;
    ticket.ticket.count = count;
    tnd_msg_t msg = lane_answer(lane, &ticket);
    msg.block.asked = asked;
    msg.block.ragged = size;
    return msg;
}

static void answer_part(world_t *world, const tnd_msg_t *ticket, uint32_t count, uint64_t size)
{
    tnd_error_t error;
    tnd_msg_t msg = part_of(&world->lane, *ticket, count, size);
    cr_assert_eq(tnd_order_block(world->order, &msg, &error), TND_OK, "%s", error.text);
    world_drain(world);
}

static void is_ticket(const tnd_msg_t *msg, uint64_t first, uint32_t count, uint64_t budget)
{
    cr_assert(msg->ticket.first == first && msg->ticket.count == count &&
                  msg->ticket.budget == budget,
              "%llu + %u, %llu bytes", (unsigned long long)msg->ticket.first, msg->ticket.count,
              (unsigned long long)msg->ticket.budget);
}

static uint64_t ready(const world_t *world)
{
    return tnd_order_rows(world->order)->ready;
}

Test(row_bytes, a_ticket_takes_its_fixed_columns_and_its_budget)
{
    cr_assert_eq(tnd_row_bytes_most(&ragged, 0, BUDGET), 0);
    cr_assert_eq(tnd_row_bytes_most(&ragged, 10, BUDGET), 10 * 2 + BUDGET);
    cr_assert_eq(tnd_row_bytes_most(&ragged, 1, LARGEST), 2 + LARGEST);
    tnd_row_bytes_t little = {.fixed = 1, .ragged_max = 3, .budget = BUDGET};
    cr_assert_eq(tnd_row_bytes_most(&little, 4, BUDGET), 4 * (1 + 3));
    tnd_row_bytes_t large = {.ragged_max = 1ull << 40, .budget = 1ull << 40};
    cr_assert_eq(tnd_row_bytes_most(&large, UINT32_MAX, large.budget), 1ull << 40);
    cr_assert_eq(tnd_row_bytes_budget_max(&ragged), LARGEST);
    cr_assert_eq(tnd_row_bytes_budget_max(&little), BUDGET);
}

Test(row_bytes, the_rest_of_a_short_answer_is_asked_for_at_its_place)
{
    static world_t world;
    world_open(&world, &plain, &texts);
    world_rewind(&world, 1, (tnd_position_t){0});
    is_ticket(&world.out[0], 0, 10, BUDGET);
    is_ticket(&world.out[1], 10, 10, BUDGET);
    tnd_msg_t floor = world.out[0], second = world.out[1];
    world.out_count = 0;

    answer_part(&world, &second, 3, BUDGET);
    cr_assert_eq(ready(&world), 0, "the floor is missing");
    is_ticket(&world.out[0], 13, 7, BUDGET);
    cr_assert(world.out[0].to == second.to && world.out[0].ticket.attempt == 0);
    answer_part(&world, &floor, 4, BUDGET);
    cr_assert_eq(ready(&world), 4, "rows 10 to 13 must wait for rows 4 to 10");
    is_ticket(&world.out[1], 4, 6, BUDGET);
    answer_part(&world, &world.out[1], 6, BUDGET);
    cr_assert_eq(ready(&world), 13);
    world_close(&world);
}

Test(row_bytes, a_row_above_the_budget_is_asked_for_alone_when_it_is_the_floor)
{
    static world_t world;
    world_open(&world, &plain, &texts);
    world_rewind(&world, 1, (tnd_position_t){0});
    tnd_msg_t floor = world.out[0], second = world.out[1];
    world.out_count = 0;

    answer_part(&world, &second, 0, 700);
    cr_assert_eq(world.out_count, 1);
    is_ticket(&world.out[0], 11, 9, BUDGET);
    answer_part(&world, &floor, 9, BUDGET);
    is_ticket(&world.out[1], 9, 1, BUDGET);
    answer_part(&world, &world.out[1], 0, LARGEST);
    is_ticket(&world.out[2], 9, 1, LARGEST);
    cr_assert_eq(world.out_count, 3, "one such reservation at a time");
    cr_assert_eq(world.out[2].ticket.attempt, 1);
    answer_part(&world, &world.out[2], 1, LARGEST);
    cr_assert_eq(ready(&world), 10);
    is_ticket(&world.out[3], 10, 1, 700);
    world_close(&world);
}

Test(row_bytes, the_floor_is_issued_however_much_waits_after_it)
{
    static world_t world;
    tnd_order_config_t config = texts;
    config.window_bytes = 0; /* the least that is possible */
    config.made_max = 2 + LARGEST;
    world_open(&world, &plain, &config);
    world_rewind(&world, 1, (tnd_position_t){0});
    cr_assert_eq(world.out_count, 1, "what is left belongs to the floor and to a batch");
    while (ready(&world) < config.rows_wanted) {
        cr_assert_geq(world.out_count, 1);
        tnd_msg_t floor = world_remove(&world, 0);
        bool large = floor.ticket.budget == BUDGET;
        answer_part(&world, &floor, !large, large ? LARGEST : 900);
    }
    world_close(&world);
}

Test(row_bytes, short_answers_leave_a_place_for_the_floor)
{
    static world_t world;
    static const lane_t lane = {.count = 2000};
    tnd_order_config_t config = texts;
    config.count = lane.count;
    config.block_rows = 1000;
    config.bytes.fixed = LANE_BYTES_ROW;
    config.rows_wanted = 1500;
    config.window_blocks = 2;
    config.window_bytes = 1 << 20;
    world_open(&world, &lane, &config);
    world_rewind(&world, 1, (tnd_position_t){0});
    tnd_msg_t floor = world_remove(&world, 0);
    uint32_t answers = 0;
    for (; world.out_count > 0; answers++) {
        tnd_msg_t ticket = world_remove(&world, 0);
        answer_part(&world, &ticket, 1, BUDGET);
    }
    cr_assert(answers > 200 && answers < 2 + TND_ORDER_SPARE, "%u", answers);
    answer_part(&world, &floor, 1, BUDGET);
    is_ticket(&world.out[0], 1, 999, BUDGET);
    tnd_msg_t rest = world_remove(&world, 0);
    answer_part(&world, &rest, 999, BUDGET);
    cr_assert_geq(ready(&world), 1000 + answers - 1);
    cr_assert_geq(world.out_count, 1);
    world_close(&world);
}

Test(row_bytes, late_answers_to_a_ticket_with_another_budget_are_dropped)
{
    static world_t world;
    world_open(&world, &plain, &texts);
    world_rewind(&world, 1, (tnd_position_t){0});
    tnd_msg_t first = world_remove(&world, 0);
    answer_part(&world, &first, 1, BUDGET); /* asks for one row at a time now */
    tnd_msg_t whole = world_remove(&world, 0);
    answer_part(&world, &whole, 0, 300);
    uint64_t stale = tnd_order_stale(world.order);
    answer_part(&world, &whole, 0, 300);
    cr_assert_eq(tnd_order_stale(world.order), stale + 1);
    world_close(&world);
}

Test(row_bytes, answers_that_do_not_fit_their_ticket_are_refused)
{
    static const struct {
        uint32_t count;
        uint64_t size;
        const char *text;
    } cases[] = {{0, BUDGET, "the size of its first position cannot be right"},
                 {0, LARGEST + 1, "the size of its first position cannot be right"}};
    static world_t world;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tnd_error_t error = {.text = ""};
        world_open(&world, &plain, &texts);
        world_rewind(&world, 1, (tnd_position_t){0});
        tnd_msg_t msg = part_of(&plain, world.out[0], cases[i].count, cases[i].size);
        cr_assert_eq(tnd_order_block(world.order, &msg, &error), TND_FAILED);
        cr_assert_not_null(strstr(error.text, cases[i].text), "%s", error.text);
        world_close(&world);
    }
    tnd_error_t error = {.text = ""};
    world_open(&world, &plain, &small);
    world_rewind(&world, 1, (tnd_position_t){0});
    tnd_msg_t msg = part_of(&plain, world.out[0], 3, 0);
    cr_assert_eq(tnd_order_block(world.order, &msg, &error), TND_FAILED, "all rows have one size");
    cr_assert_not_null(strstr(error.text, "does not cover its ticket"), "%s", error.text);
    world_close(&world);
}

Test(row_bytes, an_answer_that_is_shorter_than_the_first_must_have_the_same_rows)
{
    static world_t world;
    tnd_error_t error = {.text = ""};
    lane_t lane = {.count = 100, .kind = LANE_EXPANDED, .seed = 1}, other = lane;
    other.seed = 2;
    tnd_order_config_t config = texts;
    config.bytes.fixed = config.made_max = LANE_ROWS_MAX * LANE_BYTES_ROW;
    world_open(&world, &lane, &config);
    world_rewind(&world, 1, (tnd_position_t){0});
    tnd_msg_t ticket = world.out[1];
    world_answer(&world, &ticket);
    tnd_msg_t same = part_of(&lane, ticket, 6, BUDGET),
              differs = part_of(&other, ticket, 6, BUDGET);
    cr_assert_eq(tnd_order_block(world.order, &same, &error), TND_OK, "%s", error.text);
    cr_assert_eq(tnd_order_block(world.order, &differs, &error), TND_FAILED);
    world_close(&world);
}
