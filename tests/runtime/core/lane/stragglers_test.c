/*  Covers what lane/order.h and reader.h do together about slow workers: the machines of a lane,
 *  and workers that take so long a block, in a time of their own. */
#include "runtime/core/lane/order.h"
#include "runtime/core/preprocessor.h"
#include "runtime/core/reader.h"

#include "tests/runtime/core/lane.h"

#include <criterion/criterion.h>

enum { JOIN = 1, READER = 2, WORKER = 10, WORKERS_MAX = 8, ROWS = 10 };

static const uint64_t ms = 1000000, block_ns = 20000000;

typedef struct {
    tnd_preprocessor_core_t *queue;
    tnd_msg_t work;
    bool busy;
    uint64_t ends_ns, cost_ns;
    uint32_t given;
} worker_t;

typedef struct {
    lane_t lane;
    tnd_order_t *order;
    tnd_reader_core_t *dispatch;
    worker_t workers[WORKERS_MAX];
    uint32_t worker_count;
    uint64_t now, rows, most_ns; /* most_ns: the longest time without a row */
    uint64_t recovers_ns;        /* all are fast from then on; 0: never */
    tnd_ledger_t ledger;
} world_t;

static const tnd_actor_id_t reader = READER, join = JOIN;
static const uint32_t lane_0 = 0;

static void world_open(world_t *world, uint32_t workers, uint64_t blocks, bool speculate)
{
    memset(world, 0, sizeof *world);
    world->lane = (lane_t){.seed = 3, .count = blocks * ROWS};
    world->worker_count = workers;
    tnd_order_config_t order = {.self = JOIN,
                                .readers = &reader,
                                .reader_count = 1,
                                .workers_max = WORKERS_MAX,
                                .epochs = 1,
                                .count = world->lane.count,
                                .block_rows = ROWS,
                                .bytes = {.fixed = LANE_BYTES_ROW},
                                .made_max = LANE_BYTES_ROW,
                                .window_bytes = 1 << 20,
                                .window_blocks = 32,
                                .rows_wanted = ROWS,
                                .overdue_ns = speculate ? 250 * ms : 0};
    tnd_reader_core_config_t dispatch = {.self = READER,
                                         .join = JOIN,
                                         .tickets_max = 256,
                                         .workers_max = WORKERS_MAX,
                                         .rest_ns = 4000 * ms};
    tnd_preprocessor_core_config_t queue = {.lanes = 1,
                                            .readers = &reader,
                                            .reader_lane = &lane_0,
                                            .reader_count = 1,
                                            .joins = &join,
                                            .lane_number = &lane_0,
                                            .window_blocks = 8,
                                            .window_bytes = 1 << 20,
                                            .window_ns = 160 * ms};
    world->order = tnd_order_init(calloc(1, tnd_order_bytes(&order)), &order);
    world->dispatch = tnd_reader_core_init(calloc(1, tnd_reader_core_bytes(&dispatch)), &dispatch);
    for (uint32_t i = 0; i < workers; i++) {
        queue.self = WORKER + i;
        world->workers[i].queue =
            tnd_preprocessor_core_init(calloc(1, tnd_preprocessor_core_bytes(&queue)), &queue);
        world->workers[i].cost_ns = block_ns;
        tnd_reader_core_worker_up(world->dispatch, WORKER + i);
        tnd_order_worker_up(world->order, WORKER + i, 1);
        tnd_preprocessor_core_peer_up(world->workers[i].queue, READER);
        tnd_preprocessor_core_peer_up(world->workers[i].queue, JOIN);
        tnd_preprocessor_core_rewind(world->workers[i].queue, 1);
    }
    tnd_reader_core_rewind(world->dispatch, 1);
    tnd_order_rewind(world->order, 1, (tnd_position_t){0});
}

static void world_close(world_t *world)
{
    tnd_effect_t effect;
    tnd_order_rewind(world->order, 2, (tnd_position_t){.epoch = 1});
    while (tnd_order_next(world->order, world->now, &effect))
        if (effect.kind == TND_EFFECT_DROP)
            lane_drop(effect.payload);
    for (uint32_t i = 0; i < world->worker_count; i++)
        free(world->workers[i].queue);
    free(world->dispatch);
    free(world->order);
    cr_assert_eq(lane_live, 0);
}

static void run_order(world_t *world)
{
    tnd_effect_t effect;
    tnd_joined_head_t head;
    while (tnd_joined_rows_head(tnd_order_rows(world->order), &head)) {
        tnd_joined_rows_take(tnd_order_rows(world->order), head.rows, &world->ledger);
        world->rows += head.rows;
    }
    while (tnd_order_next(world->order, world->now, &effect)) {
        if (effect.kind == TND_EFFECT_DROP)
            lane_drop(effect.payload);
        else
            tnd_reader_core_ticket(world->dispatch, &effect.msg);
    }
}

static void run_dispatch(world_t *world)
{
    tnd_effect_t effect;
    while (tnd_reader_core_next(world->dispatch, world->now, &effect)) {
        cr_assert_eq(effect.kind, TND_EFFECT_READ);
        worker_t *worker = &world->workers[effect.msg.to - WORKER];
        tnd_msg_t msg = {.kind = TND_MSG_BLOCK, .generation = 1, .from = READER};
        msg.block.first = effect.msg.ticket.first;
        msg.block.epoch = effect.msg.ticket.epoch;
        msg.block.count = msg.block.asked = effect.msg.ticket.count;
        msg.block.attempt = effect.msg.ticket.attempt;
        msg.block.bytes = 1;
        worker->given++;
        tnd_reader_core_sent(world->dispatch, effect.msg.to, 1);
        tnd_preprocessor_core_block(worker->queue, &msg);
    }
}

static void run_worker(world_t *world, worker_t *worker)
{
    tnd_effect_t effect;
    while (!worker->busy && tnd_preprocessor_core_next(worker->queue, world->now, &effect)) {
        if (effect.kind == TND_EFFECT_LINK && effect.msg.kind == TND_MSG_BEGIN) {
            tnd_msg_t go;
            tnd_order_begin(world->order, &effect.msg);
            cr_assert(tnd_order_go(world->order, &effect.msg, &go));
            tnd_preprocessor_core_go(worker->queue, &go);
        } else if (effect.kind == TND_EFFECT_LINK) {
            tnd_reader_core_credit(world->dispatch, effect.msg.from, effect.msg.credit.blocks,
                                   effect.msg.credit.bytes);
        }
        if (effect.kind != TND_EFFECT_APPLY)
            continue;
        worker->busy = true;
        worker->work = effect.msg;
        bool well = world->recovers_ns != 0 && world->now >= world->recovers_ns;
        worker->ends_ns = world->now + (well ? block_ns : worker->cost_ns);
    }
}

static void answer(world_t *world, worker_t *worker)
{
    tnd_error_t error;
    tnd_msg_t ticket = {.kind = TND_MSG_TICKET, .generation = 1};
    ticket.ticket.first = worker->work.block.first;
    ticket.ticket.epoch = worker->work.block.epoch;
    ticket.ticket.count = worker->work.block.asked;
    ticket.ticket.attempt = worker->work.block.attempt;
    tnd_msg_t block = lane_answer(&world->lane, &ticket);
    worker->busy = false;
    block.from = worker->work.from;
    cr_assert_eq(tnd_order_block(world->order, &block, &error), TND_OK, "%s", error.text);
    tnd_msg_t go;
    if (tnd_order_go(world->order, &block, &go))
        tnd_preprocessor_core_go(worker->queue, &go);
}

static void settle(world_t *world)
{
    uint64_t before;
    do {
        before = world->rows;
        for (int again = 0; again < 3; again++) {
            run_order(world);
            run_dispatch(world);
            for (uint32_t i = 0; i < world->worker_count; i++)
                run_worker(world, &world->workers[i]);
        }
    } while (world->rows != before);
}

/*  Until all rows are taken. */
static void world_run(world_t *world)
{
    uint64_t moved = 0, rows = 0;
    settle(world);
    while (world->rows < world->lane.count) {
        uint64_t next = tnd_order_deadline(world->order);
        uint64_t wake = tnd_reader_core_deadline(world->dispatch);
        next = wake < next ? wake : next;
        for (uint32_t i = 0; i < world->worker_count; i++)
            if (world->workers[i].busy && world->workers[i].ends_ns < next)
                next = world->workers[i].ends_ns;
        cr_assert_neq(next, TND_NEVER, "no actor has anything to do");
        world->now = next > world->now ? next : world->now + 1;
        for (uint32_t i = 0; i < world->worker_count; i++)
            if (world->workers[i].busy && world->workers[i].ends_ns <= world->now)
                answer(world, &world->workers[i]);
        settle(world);
        if (world->rows == rows)
            continue;
        if (rows > 0 && world->now - moved > world->most_ns)
            world->most_ns = world->now - moved;
        rows = world->rows;
        moved = world->now;
    }
    cr_assert_eq(world->ledger.fed, world->lane.count);
}

/*  Seconds that `workers` take for so many blocks, the first `slow` of them `times` as long a
 *  block. */
static double seconds(world_t *world, uint32_t workers, uint32_t slow, uint32_t times,
                      bool speculate)
{
    world_open(world, workers, 2000, speculate);
    for (uint32_t i = 0; i < slow; i++)
        world->workers[i].cost_ns = times * block_ns;
    world_run(world);
    return (double)world->now / 1e9;
}

Test(stragglers, one_of_eight_that_is_twenty_times_slower_leaves_the_throughput_of_seven)
{
    world_t world;
    double seven = seconds(&world, 7, 0, 1, false);
    cr_assert_eq(tnd_order_stale(world.order), 0);
    world_close(&world);
    double late = seconds(&world, 8, 1, 20, true);
    cr_assert_gt(seven / late, 0.9, "%.2f", seven / late);
    cr_assert_lt(world.most_ns, 300 * ms);
    cr_assert_gt(tnd_order_doubled(world.order), 0);
    cr_assert_leq(tnd_order_doubled(world.order), world.workers[0].given);
    world_close(&world);
}

/*  Of few workers each has many tickets in its queue, so that three times as long as usual is
 *  longer than a slow block takes. */
Test(stragglers, one_of_four_is_found_although_queues_are_long)
{
    world_t world;
    double three = seconds(&world, 3, 0, 1, false);
    world_close(&world);
    double late = seconds(&world, 4, 1, 20, true);
    cr_assert_gt(three / late, 0.97, "%.2f", three / late);
    cr_assert_lt(world.most_ns, 300 * ms);
    world_close(&world);
}

Test(stragglers, workers_that_are_alike_do_nothing_twice)
{
    world_t world;
    (void)seconds(&world, 4, 0, 1, true);
    cr_assert_eq(tnd_order_doubled(world.order), 0);
    world_close(&world);
}

Test(stragglers, without_speculation_a_slow_worker_is_given_little)
{
    world_t world;
    double seven = seconds(&world, 7, 0, 1, false);
    world_close(&world);
    double late = seconds(&world, 8, 1, 20, false);
    cr_assert_gt(seven / late, 0.7, "%.2f", seven / late);
    cr_assert_lt(world.workers[0].given, 2000 / 7 / 20);
    cr_assert_eq(tnd_order_doubled(world.order), 0);
    world_close(&world);
    double twice = seconds(&world, 8, 1, 2, false);
    cr_assert_lt(twice, seven);
    world_close(&world);
}

Test(stragglers, a_single_slow_worker_does_nothing_twice)
{
    world_t world;
    (void)seconds(&world, 1, 1, 20, true);
    cr_assert_eq(world.workers[0].given, 2000);
    cr_assert_eq(tnd_order_stale(world.order), 0);
    world_close(&world);
}

Test(stragglers, when_all_are_slow_nothing_is_given_twice)
{
    world_t world;
    (void)seconds(&world, 8, 8, 20, true);
    cr_assert_eq(tnd_order_doubled(world.order), 0);
    world_close(&world);
}

Test(stragglers, a_worker_that_is_fast_again_gets_its_share_again)
{
    world_t world;
    world_open(&world, 8, 20000, true);
    world.workers[0].cost_ns = 20 * block_ns;
    world.recovers_ns = 5000 * ms;
    world_run(&world);
    cr_assert_gt(world.workers[0].given, 20000 / 8 / 2);
    world_close(&world);
}

Test(stragglers, a_worker_that_never_answers_is_overtaken)
{
    world_t world;
    world_open(&world, 8, 2000, true);
    world.workers[0].cost_ns = UINT64_MAX / 2;
    world_run(&world);
    cr_assert_lt(world.now, 7000 * ms);
    world_close(&world);
}
