/*  Covers runtime/core/lane/suspects.h: rows that kill workers are found, and no other is blamed. */
#include "tests/runtime/core/lane/world.h"

/*  A worker reports that it begins a ticket. */
static void world_begin(world_t *world, uint32_t at, tnd_actor_id_t worker)
{
    tnd_msg_t begin = world->out[at];
    begin.kind = TND_MSG_BEGIN;
    begin.from = worker;
    tnd_order_begin(world->order, &begin);
}

/*  It dies of it if the row is in there, and another takes its place. */
static void world_work(world_t *world, uint32_t at, uint64_t row, uint32_t *deaths)
{
    world_begin(world, at, WORKER);
    if (row - world->out[at].ticket.first < world->out[at].ticket.count) {
        ++*deaths;
        world_lose(world, at);
        tnd_order_worker_up(world->order, WORKER, ++world->births);
    } else {
        tnd_msg_t ticket = world_remove(world, at);
        world_answer(world, &ticket);
    }
}

/*  Returns how many rows were found to be bad. */
static uint32_t world_poison(world_t *world)
{
    tnd_effect_t effect;
    uint32_t said = 0;
    while (tnd_order_next(world->order, 0, &effect)) {
        if (effect.kind == TND_EFFECT_DROP)
            lane_drop(effect.payload);
        else if (effect.msg.kind == TND_MSG_TICKET)
            world->out[world->out_count++] = effect.msg;
        else
            said += effect.msg.kind == TND_MSG_BAD;
    }
    return said;
}

Test(suspects, a_row_that_kills_its_workers_is_found_and_only_that_row_is_bad)
{
    static const uint32_t sizes[] = {1, 2, 64, 100, 4096};
    static world_t world;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        lane_t lane = {.seed = 1, .count = 2 * (uint64_t)sizes[i], .kind = LANE_PLAIN};
        tnd_order_config_t config = {.reader_count = 1,
                                     .epochs = 1,
                                     .count = lane.count,
                                     .block_rows = sizes[i],
                                     .bytes = {.fixed = 10},
                                     .made_max = 10,
                                     .window_bytes = 100 * lane.count,
                                     .window_blocks = 4,
                                     .rows_wanted = 1};
        uint64_t row = sizes[i] / 3;
        uint32_t deaths = 1, said = 0;
        world_open(&world, &lane, &config);
        world_rewind(&world, 1, (tnd_position_t){0});
        world_lose(&world, 0);
        tnd_order_worker_up(world.order, WORKER, ++world.births);
        while (said == 0) {
            tnd_effect_t effect;
            while (tnd_order_next(world.order, 0, &effect)) {
                if (effect.kind == TND_EFFECT_DROP)
                    lane_drop(effect.payload);
                else if (effect.msg.kind == TND_MSG_TICKET)
                    world.out[world.out_count++] = effect.msg;
                else if (effect.msg.kind == TND_MSG_BAD) {
                    cr_assert_eq(effect.msg.bad.position, row);
                    cr_assert_eq(effect.msg.to, readers[0]);
                    said++;
                }
            }
            if (said == 0)
                world_work(&world, world.out_count - 1, row, &deaths);
        }
        cr_assert_eq(deaths, 5, "%u deaths in blocks of %u", deaths, sizes[i]);
        for (; world.out_count > 0;) {
            tnd_msg_t ticket = world_remove(&world, 0);
            world_answer(&world, &ticket);
            cr_assert_eq(world_poison(&world), 0);
        }
        tnd_joined_head_t head;
        while (tnd_joined_rows_head(tnd_order_rows(world.order), &head))
            tnd_joined_rows_take(tnd_order_rows(world.order), head.rows, &world.ledger);
        tnd_order_close(world.order, 0, &world.ledger);
        cr_assert_eq(world.ledger.bad, 1);
        cr_assert_eq(world.ledger.fed, lane.count - 1);
        cr_assert_eq(world.ledger.filtered, 0);
        cr_assert(tnd_ledger_balances(&world.ledger));
        world_close(&world);
    }
}

static const tnd_order_config_t alone = {.self = 3,
                                         .reader_count = 1,
                                         .epochs = 1,
                                         .count = 3,
                                         .block_rows = 1,
                                         .bytes = {.fixed = 10},
                                         .made_max = 10,
                                         .window_bytes = 100,
                                         .window_blocks = 1,
                                         .rows_wanted = 1};
static const lane_t three = {.seed = 1, .count = 3, .kind = LANE_PLAIN};

static void world_alone(world_t *world)
{
    world_open(world, &three, &alone);
    world_rewind(world, 1, (tnd_position_t){0});
    for (uint32_t i = 0; i < WORKERS; i++)
        tnd_order_worker_up(world->order, WORKER + i, ++world->births);
    world_lose(world, 0);
    cr_assert_eq(world_poison(world), 0);
}

Test(suspects, rows_with_failures_are_under_way_one_at_a_time)
{
    static world_t world;
    tnd_order_config_t config = alone;
    config.window_blocks = 3;
    world_open(&world, &three, &config);
    world_rewind(&world, 1, (tnd_position_t){0});
    cr_assert_eq(world.out_count, 3);
    for (uint32_t i = 0; i < 3; i++)
        tnd_order_worker_up(world.order, WORKER + i, ++world.births);
    for (uint32_t i = 0; i < 3; i++)
        world_lose(&world, 0);
    cr_assert_eq(world_poison(&world), 0);
    cr_assert_eq(world.out_count, 3, "no worker is known to have died");

    /* They end together; the first row is to blame. */
    for (uint32_t i = 0; i < 3; i++)
        world_begin(&world, i, WORKER + i);
    while (world.out_count > 0)
        world_lose(&world, 0);
    for (uint32_t i = 0; i < 3; i++)
        tnd_order_worker_up(world.order, WORKER + i, ++world.births);
    for (uint32_t deaths = 2, said = 0; said == 0; deaths++) {
        said = world_poison(&world);
        cr_assert_eq(world.out_count, 1);
        cr_assert_eq(world.out[0].ticket.first, said);
        cr_assert_eq(said, deaths == 5);
        if (said == 0) {
            world_begin(&world, 0, WORKER);
            world_lose(&world, 0);
            tnd_order_worker_up(world.order, WORKER, ++world.births);
        }
    }
    for (uint64_t row = 1; row < 3; row++) {
        cr_assert_eq(world.out[0].ticket.first, row);
        tnd_msg_t ticket = world_remove(&world, 0);
        world_answer(&world, &ticket);
        cr_assert_eq(world_poison(&world), 0);
    }
    cr_assert_eq(tnd_order_rows(world.order)->ready, 2);
    world_close(&world);
}

Test(suspects, a_row_whose_worker_survives_is_never_bad)
{
    static world_t world;
    world_alone(&world);
    for (int i = 0; i < 20; i++) {
        world_begin(&world, 0, WORKER);
        world_lose(&world, 0);
        tnd_order_worker_up(world.order, WORKER, 1);
        cr_assert_eq(world_poison(&world), 0);
        cr_assert_eq(world.out_count, 1);
        cr_assert_eq(world.out[0].ticket.attempt, 2 + i);
    }
    world_close(&world);
}

/*  Four workers get the row alone, one after the other, and are lost with it. */
static void world_lose_four(world_t *world)
{
    world_alone(world);
    for (uint32_t i = 0; i < WORKERS - 1; i++) {
        cr_assert_eq(world->out_count, 1);
        world_begin(world, 0, WORKER + i);
        world_lose(world, 0);
        cr_assert_eq(world_poison(world), 0);
    }
    cr_assert_eq(world->out_count, 0, "a fifth one may be killed for nothing");
}

Test(suspects, a_row_waits_until_the_deaths_of_its_workers_are_counted)
{
    static world_t world;
    world_lose_four(&world);
    for (uint32_t i = 0; i < WORKERS - 1; i++) {
        tnd_order_worker_up(world.order, WORKER + i, ++world.births);
        tnd_order_worker_up(world.order, WORKER + i, ++world.births);
        cr_assert_eq(world_poison(&world), i == WORKERS - 2);
        cr_assert_eq(world.out_count, i == WORKERS - 2);
    }
    cr_assert_eq(world.out[0].ticket.first, 1, "the next row");
    world_close(&world);
}

Test(suspects, a_row_is_issued_again_when_one_of_its_workers_is_alive)
{
    static world_t world;
    world_lose_four(&world);
    tnd_order_worker_up(world.order, WORKER, 1);
    cr_assert_eq(world_poison(&world), 0);
    cr_assert_eq(world.out_count, 1);
    cr_assert_eq(world.out[0].ticket.first, 0);
    for (uint32_t i = 1; i < WORKERS - 1; i++)
        tnd_order_worker_up(world.order, WORKER + i, ++world.births);
    cr_assert_eq(world_poison(&world), 0, "three died");
    world_close(&world);
}

Test(suspects, a_row_waits_for_its_workers_only_so_long)
{
    static world_t world;
    tnd_effect_t effect;
    world_lose_four(&world);
    uint64_t due = tnd_order_deadline(world.order);
    cr_assert(due > 0 && due < TND_NEVER);
    cr_assert_not(tnd_order_next(world.order, due - 1, &effect));
    cr_assert(tnd_order_next(world.order, due, &effect));
    cr_assert(effect.msg.kind == TND_MSG_TICKET && effect.msg.ticket.first == 0);
    cr_assert_gt(tnd_order_deadline(world.order), due);
    for (uint32_t i = 0; i < WORKERS - 1; i++)
        tnd_order_worker_up(world.order, WORKER + i, ++world.births);
    cr_assert_eq(world_poison(&world), 0, "what is learnt too late is not counted");
    world_close(&world);
}

Test(suspects, a_row_that_killed_alone_is_found_whichever_death_is_learnt_last)
{
    static world_t world;
    tnd_order_config_t config = alone;
    config.block_rows = 3;
    config.window_blocks = 4;
    world_open(&world, &three, &config);
    world_rewind(&world, 1, (tnd_position_t){0});
    for (uint32_t i = 0; i < WORKERS; i++)
        tnd_order_worker_up(world.order, WORKER + i, ++world.births);
    world_lose(&world, 0);
    cr_assert_eq(world_poison(&world), 0);
    world_begin(&world, 0, WORKER);
    world_lose(&world, 0); /* three rows, cut to one each */
    cr_assert_eq(world_poison(&world), 0);
    cr_assert_eq(world.out_count, 3);
    for (uint32_t i = 1; i < WORKERS - 1; i++) {
        uint32_t at = 0;
        while (world.out[at].ticket.first != 1)
            at++;
        world_begin(&world, at, WORKER + i);
        world_lose(&world, at);
        tnd_order_worker_up(world.order, WORKER + i, ++world.births);
        cr_assert_eq(world_poison(&world), 0);
    }
    tnd_order_worker_up(world.order, WORKER, ++world.births);
    cr_assert_eq(world_poison(&world), 1);
    world_close(&world);
}

Test(suspects, a_row_that_was_answered_meanwhile_has_no_failure)
{
    static world_t world;
    world_alone(&world);
    for (uint32_t i = 0; i < WORKERS - 1; i++) {
        world_begin(&world, 0, WORKER + i);
        world_lose(&world, 0);
        cr_assert_eq(world_poison(&world), 0);
    }
    world_answer(&world, &world.out[0]);
    for (uint32_t i = 0; i < WORKERS - 1; i++)
        tnd_order_worker_up(world.order, WORKER + i, ++world.births);
    cr_assert_eq(world_poison(&world), 0);
    cr_assert_eq(tnd_order_rows(world.order)->ready, 1);
    world_close(&world);
}

Test(suspects, a_worker_that_has_answered_has_finished_what_it_began)
{
    static world_t world;
    tnd_error_t error;
    world_alone(&world);
    for (int i = 0; i < 6; i++) {
        world_begin(&world, 0, WORKER);
        tnd_msg_t old = lane_answer(&world.lane, &world.out[0]), go;
        old.from = WORKER;
        cr_assert(tnd_order_go(world.order, &old, &go));
        cr_assert(go.to == WORKER && go.ticket.attempt == world.out[0].ticket.attempt);
        old.generation--; /* so that the row stays open */
        cr_assert_eq(tnd_order_block(world.order, &old, &error), TND_OK);
        world_lose(&world, 0);
        tnd_order_worker_up(world.order, WORKER, ++world.births);
        cr_assert_eq(world_poison(&world), 0);
    }
    world_close(&world);
}

Test(suspects, a_block_that_was_lost_without_having_begun_is_not_cut)
{
    static world_t world;
    world_open(&world, &plain, &small);
    world_rewind(&world, 1, (tnd_position_t){0});
    uint32_t tickets = world.out_count;
    for (int i = 0; i < 10; i++) {
        world_lose(&world, 0);
        world_drain(&world);
        cr_assert_eq(world.out_count, tickets);
    }
    world_close(&world);
}
