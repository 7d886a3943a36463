/*  Covers runtime/core/lane/order.h: random schedules of answers, duplicates and losses against a
 *  walk over the positions one by one; bounds; plain sequences for what must be exact. */
#include "tests/runtime/core/lane/world.h"

static bool same_position(tnd_position_t a, tnd_position_t b)
{
    return tnd_position_compare(a, b) == 0;
}

/*  Takes `rows` of the head: they must be the next of the definition, and so the books. */
static void world_take(world_t *world, uint32_t rows)
{
    tnd_joined_head_t head;
    cr_assert(tnd_joined_rows_head(tnd_order_rows(world->order), &head));
    const lane_block_t *block = head.payload;
    for (uint32_t i = 0; i < rows; i++) {
        lane_row_t row;
        while (!lane_next(&world->lane, &world->walk, &row)) {
            cr_assert(world->config.span_epochs);
            world->walk = (tnd_position_t){.epoch = world->walk.epoch + 1};
        }
        cr_assert_eq(memcmp(&row, &block->row[head.first + i], sizeof row), 0);
    }
    tnd_joined_rows_take(tnd_order_rows(world->order), rows, &world->ledger);
    cr_assert(same_position(tnd_order_rows(world->order)->position, world->walk));
    tnd_ledger_t expected = lane_ledger(&world->lane, world->walk);
    cr_assert_eq(memcmp(&world->ledger, &expected, sizeof expected), 0);
}

/*  One random thing happens; false when the lane is over. */
static bool world_step(world_t *world, uint64_t *random)
{
    uint32_t epoch = world->config.span_epochs ? 0 : world->walk.epoch;
    uint32_t epochs = world->config.span_epochs ? 1 : world->config.epochs;
    if (tnd_order_rows(world->order)->position.epoch >= world->config.epochs)
        return false;
    tnd_joined_head_t head;
    bool ended,
        any = tnd_joined_rows_head(tnd_order_rows(world->order), &head) && head.epoch == epoch;
    tnd_order_joined(world->order, epoch, &ended);
    uint64_t roll = lane_random(random, 10);
    if (ended && !any) {
        tnd_order_close(world->order, epoch, &world->ledger);
        world->walk =
            (tnd_position_t){.epoch = epoch + 1 == epochs ? world->config.epochs : epoch + 1};
        tnd_ledger_t expected = lane_ledger(&world->lane, world->walk);
        cr_assert_eq(memcmp(&world->ledger, &expected, sizeof expected), 0);
    } else if (any && (roll < 3 || world->out_count == 0) &&
               (ended || tnd_order_rows(world->order)->ready >= world->config.rows_wanted)) {
        world_take(world, 1 + (uint32_t)lane_random(random, head.rows));
    } else {
        cr_assert_gt(world->out_count, 0, "stuck: %u", tnd_order_blocked_on(world->order));
        uint32_t at = (uint32_t)lane_random(random, world->out_count);
        if (roll < 4) {
            world_lose(world, at);
        } else if (roll < 5) { /* answered, and reported as lost before the answer came */
            tnd_msg_t ticket = world->out[at];
            world_lose(world, at);
            world_drain(world);
            world_answer(world, &ticket);
        } else {
            tnd_msg_t ticket = world_remove(world, at);
            world_answer(world, &ticket);
            if (roll < 6) {
                world_drain(world);
                world_answer(world, &ticket);
            }
        }
    }
    world_drain(world);
    return true;
}

static void random_lane(uint64_t seed, lane_t *lane, tnd_order_config_t *config)
{
    static const uint64_t counts[] = {0, 1, 3, 7, 20, 60};
    uint64_t random = seed;
    *lane = (lane_t){.seed = seed,
                     .count = counts[lane_random(&random, 6)],
                     .lane = (uint32_t)lane_random(&random, 3),
                     .kind = (lane_kind_t)lane_random(&random, 4)};
    *config = (tnd_order_config_t){.self = 3,
                                   .reader_count = 1 + (uint32_t)lane_random(&random, 3),
                                   .epochs = 1 + (uint32_t)lane_random(&random, 4),
                                   .block_rows = 1 + (uint32_t)lane_random(&random, 9),
                                   .bytes = {.fixed = LANE_ROWS_MAX * LANE_BYTES_ROW},
                                   .made_max = LANE_ROWS_MAX * LANE_BYTES_ROW,
                                   .window_bytes = lane_random(&random, 3000),
                                   .window_blocks = 1 + (uint32_t)lane_random(&random, 12),
                                   .rows_wanted = lane_random(&random, 20),
                                   .span_epochs = lane_random(&random, 4) == 0};
    config->count = lane_random(&random, 2) == 0 ? lane->count : TND_UNKNOWN;
}

Test(order, rows_come_in_order_and_are_booked_once_whatever_the_schedule)
{
    static world_t world;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        lane_t lane;
        tnd_order_config_t config;
        uint64_t random = seed * 77;
        random_lane(seed, &lane, &config);
        world_open(&world, &lane, &config);
        world_rewind(&world, 1, (tnd_position_t){0});
        uint32_t generation = 1;
        for (unsigned n = 0; world_step(&world, &random); n++) {
            cr_assert_lt(n, 100000, "seed %lu never ends", seed);
            if (generation < 8 && lane_random(&random, 50) == 0)
                world_rewind(&world, ++generation, tnd_order_rows(world.order)->position);
        }
        cr_assert(tnd_ledger_balances(&world.ledger));
        cr_assert_eq(world.ledger.read, config.epochs * lane.count);
        cr_assert_eq(tnd_order_used_bytes(world.order), 0);
        cr_assert_eq(tnd_order_used_blocks(world.order), 0);
        cr_assert_eq(tnd_order_blocked_on(world.order), TND_WAIT_ENDED);
        world_close(&world);
    }
}

Test(order, a_ticket_is_issued_only_with_room_for_its_largest_block)
{
    static world_t world;
    world_open(&world, &plain, &small);
    world_rewind(&world, 1, (tnd_position_t){0});

    cr_assert_eq(world.out_count, 3, "350 bytes hold three blocks of 100");
    cr_assert_eq(tnd_order_used_bytes(world.order), 300);
    cr_assert(tnd_order_blocked_on(world.order) & TND_WAIT_MEMORY);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(world.out[i].ticket.first, 10 * i);
        cr_assert_eq(world.out[i].to, readers[i % 2], "tickets are spread over the readers");
    }
    world_close(&world);
}

Test(order, a_lost_ticket_is_issued_again_with_its_reservation_and_the_first_answer_wins)
{
    static world_t world;
    world_open(&world, &plain, &small);
    world_rewind(&world, 1, (tnd_position_t){0});
    tnd_msg_t ticket = world.out[1];

    world_lose(&world, 1);
    world_drain(&world);

    cr_assert_eq(world.out_count, 3);
    cr_assert(world.out[2].ticket.first == 10 && world.out[2].ticket.attempt == 1);
    cr_assert_eq(world.out[2].to, ticket.to);
    cr_assert_eq(tnd_order_used_bytes(world.order), 300);
    ticket.kind = TND_MSG_LOST;
    tnd_order_lost(world.order, &ticket);
    world_drain(&world);
    cr_assert_eq(world.out_count, 3, "an attempt is lost once");

    world_answer(&world, &ticket);
    world_answer(&world, &world.out[2]);
    world_answer(&world, &world.out[0]);
    bool ended;
    cr_assert_eq(tnd_order_joined(world.order, 0, &ended), 20);
    world_close(&world);
}

static uint32_t drain_at(world_t *world, uint64_t now)
{
    tnd_effect_t effect;
    uint32_t tickets = 0;
    while (tnd_order_next(world->order, now, &effect))
        if (effect.kind == TND_EFFECT_DROP) {
            lane_drop(effect.payload);
        } else {
            world->out[world->out_count++] = effect.msg;
            tickets++;
        }
    return tickets;
}

Test(order, an_overdue_ticket_is_issued_once_more_and_its_first_answer_wins)
{
    static const lane_t lane = {.seed = 4, .count = 200};
    tnd_order_config_t config = {.reader_count = 1,
                                 .epochs = 1,
                                 .count = 200,
                                 .block_rows = 10,
                                 .bytes = {.fixed = LANE_BYTES_ROW},
                                 .made_max = LANE_BYTES_ROW,
                                 .window_bytes = 10000,
                                 .window_blocks = 10,
                                 .overdue_ns = 5000000};
    static world_t world;
    world_open(&world, &lane, &config);
    world_rewind(&world, 1, (tnd_position_t){0});
    cr_assert_eq(world.out_count, 10);
    cr_assert_eq(tnd_order_deadline(world.order), TND_NEVER);
    tnd_msg_t late = world_remove(&world, 0), second;
    cr_assert_eq(late.ticket.first, 0);
    for (int i = 0; i < 8; i++) {
        tnd_msg_t ticket = world_remove(&world, 0);
        world_answer(&world, &ticket);
    }
    /*  Three times two milliseconds are more than five. */
    cr_assert_eq(drain_at(&world, 2000000), 0);
    uint64_t due = tnd_order_deadline(world.order);
    cr_assert(due >= 6000000 && due <= 6750000, "%llu", (unsigned long long)due);
    cr_assert_eq(drain_at(&world, due - 1), 0);
    uint64_t used = tnd_order_used_bytes(world.order);
    world.out_count = 0;
    cr_assert_eq(drain_at(&world, due), 2);
    cr_assert_eq(tnd_order_doubled(world.order), 2);
    cr_assert_eq(tnd_order_used_bytes(world.order), used);
    second = world.out[0];
    cr_assert_eq(second.ticket.first, 0);
    cr_assert_eq(second.ticket.attempt, 1);
    cr_assert_eq(drain_at(&world, 100 * due), 0);

    world_answer(&world, &second);
    uint64_t ready = tnd_order_rows(world.order)->ready;
    cr_assert_eq(ready, 10);
    world_answer(&world, &late);
    cr_assert_eq(tnd_order_rows(world.order)->ready, ready);
    cr_assert_eq(tnd_order_stale(world.order), 1);
    world_take(&world, 10);
    world_close(&world);
}

Test(order, the_floor_waits_for_the_missing_block)
{
    static world_t world;
    world_open(&world, &plain, &small);
    world_rewind(&world, 1, (tnd_position_t){0});

    world_answer(&world, &world.out[1]);
    world_answer(&world, &world.out[2]);
    cr_assert_eq(tnd_order_rows(world.order)->ready, 0);
    cr_assert(tnd_order_blocked_on(world.order) & TND_WAIT_ORDER);
    world_lose(&world, 0);
    world_drain(&world);
    cr_assert_eq(world.out[world.out_count - 1].ticket.floor.index, 0);
    tnd_msg_t floor = world_remove(&world, world.out_count - 1);
    world_answer(&world, &floor);
    cr_assert_eq(tnd_order_rows(world.order)->ready, 30);
    world_take(&world, 10);
    world_drain(&world);
    cr_assert_eq(world.out[world.out_count - 1].ticket.first, 30);
    cr_assert_eq(world.out[world.out_count - 1].ticket.floor.index, 30);
    world_close(&world);
}

Test(order, stale_generations_are_dropped)
{
    static world_t world;
    world_open(&world, &plain, &small);
    world_rewind(&world, 1, (tnd_position_t){0});
    tnd_msg_t old = world.out[0];
    world_rewind(&world, 2, (tnd_position_t){.index = 5});

    world_answer(&world, &old);
    world_drain(&world);

    cr_assert_eq(tnd_order_rows(world.order)->ready, 0);
    cr_assert_eq(lane_live, 0);
    cr_assert_eq(world.out[0].ticket.first, 5);
    world_close(&world);
}

Test(order, tickets_after_the_end_of_a_source_are_void)
{
    static world_t world;
    lane_t lane = {.count = 12};
    tnd_order_config_t config = small;
    config.count = TND_UNKNOWN;
    config.epochs = 2;
    world_open(&world, &lane, &config);
    world_rewind(&world, 1, (tnd_position_t){0});
    cr_assert_eq(world.out_count, 3);

    tnd_msg_t beyond = world.out[2], last = world.out[1];
    world.out_count = 1;
    world_answer(&world, &last);
    world_drain(&world);
    cr_assert_eq(world.out[1].ticket.epoch, 1, "the next epoch takes the place of the void");
    world_answer(&world, &beyond);
    world_drain(&world);
    cr_assert_eq(lane_live, 1);
    tnd_msg_t first = world_remove(&world, 0);
    world_answer(&world, &first);
    bool ended;
    cr_assert_eq(tnd_order_joined(world.order, 0, &ended), 12);
    cr_assert(ended);
    world_close(&world);
}

Test(order, a_short_lane_does_not_run_away_from_the_epoch_being_composed)
{
    static world_t world;
    lane_t lane = {.count = 1};
    tnd_order_config_t config = small;
    config.count = 1;
    config.epochs = TND_ENDLESS;
    world_open(&world, &lane, &config);
    world_rewind(&world, 1, (tnd_position_t){0});
    cr_assert_eq(world.out_count, 2, "this epoch and the next");

    world_answer(&world, &world.out[0]);
    world_drain(&world);
    cr_assert_eq(world.out_count, 2);
    world_take(&world, 1);
    tnd_order_close(world.order, 0, &world.ledger);
    world_drain(&world);
    cr_assert_eq(world.out_count, 3);
    cr_assert_eq(world.out[2].ticket.epoch, 2);
    world_close(&world);
}

Test(order, blocks_shrink_when_their_slowest_stage_takes_too_long)
{
    static world_t world;
    tnd_order_config_t config = small;
    config.block_ns = 20000;
    world_open(&world, &plain, &config);
    world_rewind(&world, 1, (tnd_position_t){0});

    tnd_msg_t block = lane_answer(&plain, &world.out[0]);
    block.block.work_ns = 50000; /* 5000 a position: 4 fit */
    cr_assert_eq(tnd_order_block(world.order, &block, NULL), TND_OK);
    world_take(&world, 10);
    world_drain(&world);

    cr_assert_eq(world.out[3].ticket.count, 4);
    world_close(&world);
}

Test(order, a_batch_of_rows_fits_whatever_the_window)
{
    static world_t world;
    lane_t lane = {.count = 10000, .kind = LANE_EMPTYING};
    tnd_order_config_t config = small;
    config.count = lane.count;
    config.window_blocks = 2;
    config.window_bytes = 0;
    config.rows_wanted = 200;
    world_open(&world, &lane, &config);
    world_rewind(&world, 1, (tnd_position_t){0});

    while (world.out_count > 0) {
        tnd_msg_t ticket = world_remove(&world, 0);
        world_answer(&world, &ticket);
        world_drain(&world);
    }

    cr_assert_geq(tnd_order_rows(world.order)->ready, 200);
    world_close(&world);
}

Test(order, an_epoch_that_is_abandoned_leaves_its_place_to_the_next)
{
    const lane_t lane = {.seed = 3, .count = 100, .kind = LANE_PLAIN};
    const tnd_order_config_t config = {.reader_count = 1,
                                       .epochs = 2,
                                       .count = 100,
                                       .block_rows = 10,
                                       .bytes = {.fixed = LANE_BYTES_ROW},
                                       .made_max = LANE_BYTES_ROW,
                                       .window_bytes = 400,
                                       .window_blocks = 4,
                                       .rows_wanted = 5};
    static world_t world;
    world_open(&world, &lane, &config);
    world_rewind(&world, 1, (tnd_position_t){0});
    cr_assert_eq(world.out_count, 4);
    tnd_msg_t first = world_remove(&world, 0), late, third;
    late = world_remove(&world, 1); /* positions 10 and 20 are left and 30 has moved up */
    third = world_remove(&world, 0);
    world_answer(&world, &first);
    world_answer(&world, &third);
    world_drain(&world);
    world_take(&world, 5);

    tnd_order_abandon(world.order, 0);
    uint64_t before = world.issued;
    world.out_count = 0;
    world_drain(&world);

    cr_assert_eq(world.ledger.read, 5);
    cr_assert_eq(world.ledger.fed, 5);
    cr_assert(same_position(tnd_order_rows(world.order)->position, (tnd_position_t){.epoch = 1}));
    cr_assert_eq(world.issued - before, 4, "the whole window is free again");
    cr_assert(world.out[0].ticket.epoch == 1 && world.out[0].ticket.first == 0);
    world_answer(&world, &late);
    world_drain(&world);
    cr_assert_eq(tnd_order_rows(world.order)->ready, 0, "what comes late is dropped");
    world_answer(&world, &world.out[0]);
    cr_assert_eq(tnd_order_rows(world.order)->ready, 10);
    tnd_joined_rows_take(tnd_order_rows(world.order), 10, &world.ledger);
    cr_assert_eq(world.ledger.read, 15);
    world_close(&world);
}

Test(order, tickets_go_out_in_runs_while_rows_enough_wait)
{
    const lane_t lane = {.seed = 5, .count = 1000, .kind = LANE_PLAIN};
    const tnd_order_config_t config = {.reader_count = 1,
                                       .epochs = 1,
                                       .count = 1000,
                                       .block_rows = 10,
                                       .bytes = {.fixed = LANE_BYTES_ROW},
                                       .made_max = LANE_BYTES_ROW,
                                       .window_bytes = 100000,
                                       .window_blocks = 8,
                                       .rows_wanted = 5};
    static world_t world;
    world_open(&world, &lane, &config);
    world_rewind(&world, 1, (tnd_position_t){0});
    cr_assert_eq(world.out_count, 8);
    for (uint32_t left = 8; left > 0; left--) {
        tnd_msg_t ticket = world_remove(&world, 0);
        world_answer(&world, &ticket);
    }

    world_take(&world, 10);
    world_drain(&world);
    cr_assert_eq(world.out_count, 0, "one block does not wake a reader");
    world_take(&world, 10);
    world_drain(&world);
    cr_assert_eq(world.out_count, 2, "a quarter of the window is");
    world_close(&world);
}

Test(order, tickets_are_small_until_a_block_has_shown_how_long_it_takes)
{
    tnd_order_config_t config = small;
    config.block_rows = 40;
    config.first_rows = 10;
    config.block_ns = 1000000;
    config.window_bytes = 10000;
    config.window_blocks = 2;
    static world_t world;
    world_open(&world, &plain, &config);
    world_rewind(&world, 1, (tnd_position_t){0});
    cr_assert_eq(world.out_count, 2);
    for (int i = 0; i < 2; i++) {
        tnd_msg_t ticket = world_remove(&world, 0);
        cr_assert_eq(ticket.ticket.count, 10);
        world_answer(&world, &ticket);
    }
    world_take(&world, 10);
    world_take(&world, 10);
    world_drain(&world);
    for (uint32_t count = 20; count <= 40; count += 20) { /* to the next multiple of 40, and on */
        tnd_msg_t ticket = world_remove(&world, 0);
        cr_assert_eq(ticket.ticket.count, count);
        world_answer(&world, &ticket);
        world_take(&world, count);
        world_drain(&world);
    }
    world_close(&world);
}
