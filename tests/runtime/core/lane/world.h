/*  tests/runtime/core/lane/world.h - the order of a lane with a source, readers and workers made of
 *  arithmetic. */
#ifndef TND_TESTS_RUNTIME_CORE_LANE_WORLD_H
#define TND_TESTS_RUNTIME_CORE_LANE_WORLD_H

#include "runtime/core/lane/order.h"

#include "tests/runtime/core/lane.h"

#include <criterion/criterion.h>

enum { OUT_MAX = 4096, WORKER = 20, WORKERS = 5 };

typedef struct {
    lane_t lane;
    tnd_order_config_t config;
    void *memory;
    tnd_order_t *order;
    tnd_msg_t out[OUT_MAX]; /* tickets at the readers */
    uint32_t out_count;
    uint64_t issued;
    tnd_ledger_t ledger;
    tnd_position_t walk; /* of the definition */
    tnd_life_t births;   /* of workers, so far */
} world_t;

static const tnd_actor_id_t readers[] = {7, 8, 9};

static inline void world_open(world_t *world, const lane_t *lane, const tnd_order_config_t *config)
{
    memset(world, 0, sizeof *world);
    world->lane = *lane;
    world->config = *config;
    world->config.readers = readers;
    world->config.lane = lane->lane;
    world->config.workers_max = WORKERS;
    world->memory = calloc(1, tnd_order_bytes(&world->config));
    world->order = tnd_order_init(world->memory, &world->config);
}

static inline void world_drain(world_t *world)
{
    tnd_effect_t effect;
    while (tnd_order_next(world->order, 0, &effect)) {
        if (effect.kind == TND_EFFECT_DROP) {
            lane_drop(effect.payload);
            continue;
        }
        cr_assert(effect.kind == TND_EFFECT_CONTROL && effect.msg.kind == TND_MSG_TICKET);
        cr_assert_lt(world->out_count, OUT_MAX);
        tnd_position_t start = {.epoch = effect.msg.ticket.epoch, .index = effect.msg.ticket.first};
        cr_assert_leq(tnd_position_compare(effect.msg.ticket.floor, start), 0);
        world->out[world->out_count++] = effect.msg;
        world->issued++;
        cr_assert_leq(tnd_order_used_bytes(world->order), tnd_order_window_bytes(world->order));
    }
}

static inline void world_rewind(world_t *world, uint32_t generation, tnd_position_t from)
{
    tnd_order_rewind(world->order, generation, from);
    world->out_count = 0;
    world->walk = from;
    world->ledger = lane_ledger(&world->lane, from);
    world_drain(world);
}

static inline void world_close(world_t *world)
{
    tnd_order_rewind(world->order, 1000, (tnd_position_t){.epoch = world->config.epochs});
    world_drain(world);
    free(world->memory);
    cr_assert_eq(lane_live, 0);
}

static inline tnd_msg_t world_remove(world_t *world, uint32_t at)
{
    tnd_msg_t ticket = world->out[at];
    world->out[at] = world->out[--world->out_count];
    return ticket;
}

static inline void world_answer(world_t *world, const tnd_msg_t *ticket)
{
    tnd_error_t error;
    tnd_msg_t block = lane_answer(&world->lane, ticket);
    cr_assert_eq(tnd_order_block(world->order, &block, &error), TND_OK, "%s", error.text);
}

static inline void world_lose(world_t *world, uint32_t at)
{
    tnd_msg_t ticket = world_remove(world, at);
    ticket.kind = TND_MSG_LOST;
    tnd_order_lost(world->order, &ticket);
}

static const lane_t plain = {.count = 100};
static const tnd_order_config_t small = {.self = 3,
                                         .reader_count = 2,
                                         .epochs = 1,
                                         .count = 100,
                                         .block_rows = 10,
                                         .bytes = {.fixed = LANE_BYTES_ROW},
                                         .made_max = LANE_BYTES_ROW,
                                         .window_bytes = 350,
                                         .window_blocks = 4,
                                         .rows_wanted = 5};

#endif
