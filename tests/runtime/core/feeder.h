/*  tests/runtime/core/feeder.h - a feeder of two joins and two replicas, and what it does next. */
#ifndef TND_TESTS_RUNTIME_CORE_FEEDER_H
#define TND_TESTS_RUNTIME_CORE_FEEDER_H

#include "runtime/core/feeder.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

enum { SELF = 1, JOIN = 20, JOINS = 2, FIRST = 4, REPLICAS = 2, DEPTH = 3, UNBOOKED = 4 };

static const tnd_actor_id_t joins[JOINS] = {JOIN, JOIN + 1};
static const uint64_t digest[2] = {5, 6};

static inline tnd_feeder_core_config_t config_with(uint32_t depth)
{
    return (tnd_feeder_core_config_t){.self = SELF,
                                      .joins = joins,
                                      .join_count = JOINS,
                                      .first_replica = FIRST,
                                      .replicas = REPLICAS,
                                      .depth = depth,
                                      .unbooked_max = UNBOOKED};
}

static inline tnd_feeder_core_t *make_bare(void)
{
    const tnd_feeder_core_config_t config = config_with(DEPTH);
    return tnd_feeder_core_init(calloc(1, tnd_feeder_core_bytes(&config)), &config);
}

static inline tnd_effect_t does(tnd_feeder_core_t *self, tnd_effect_kind_t kind)
{
    tnd_effect_t effect;
    cr_assert(tnd_feeder_core_next_effect(self, 0, &effect));
    cr_assert_eq(effect.kind, kind, "effect %d", (int)effect.kind);
    cr_assert_eq(effect.msg.from, SELF);
    return effect;
}

static inline tnd_effect_t says(tnd_feeder_core_t *self, tnd_msg_kind_t kind, uint64_t step)
{
    tnd_effect_t effect = does(self, kind == TND_MSG_WINDOW ? TND_EFFECT_LINK : TND_EFFECT_CONTROL);
    cr_assert_eq(effect.msg.kind, kind, "message %d", (int)effect.msg.kind);
    cr_assert_eq(kind == TND_MSG_COMMIT ? effect.msg.commit.step : effect.msg.until.step, step);
    if (kind != TND_MSG_WINDOW)
        cr_assert_eq(effect.msg.to, TND_LEADER);
    return effect;
}

static inline void is_idle(tnd_feeder_core_t *self)
{
    tnd_effect_t effect;
    cr_assert_not(tnd_feeder_core_next_effect(self, 0, &effect), "effect %d", (int)effect.kind);
}

/*  Starts at step 10, with both joins up and their windows sent. */
static inline tnd_feeder_core_t *make(void)
{
    tnd_feeder_core_t *self = make_bare();
    for (int i = 0; i < JOINS; i++)
        tnd_feeder_core_join_up(self, joins[i]);
    tnd_feeder_core_rewind_to(self, 1, 10, 0, 0);
    for (int i = 0; i < JOINS; i++)
        cr_assert_eq(says(self, TND_MSG_WINDOW, 10 + DEPTH).msg.to, joins[i]);
    says(self, TND_MSG_HELD, 10);
    is_idle(self);
    return self;
}

/*  Replica `replica` of `step` has 4 rows, two from each lane. */
static inline tnd_msg_t slice(uint64_t step, uint32_t replica, uint32_t lane)
{
    tnd_msg_t msg = {.kind = TND_MSG_SLICE, .generation = 1, .from = joins[lane], .to = SELF};
    msg.slice.step = msg.slice.step_of_epoch = step;
    msg.slice.lane = lane;
    msg.slice.replica = replica;
    msg.slice.offset = 2 * lane;
    msg.slice.rows = 2;
    msg.slice.total = 4;
    msg.slice.step_rows = 16;
    msg.slice.payload = (void *)(uintptr_t)(1000 + step * 10 + replica);
    return msg;
}

static inline tnd_effect_t put_as(tnd_feeder_core_t *self, const tnd_msg_t *msg,
                                  tnd_effect_kind_t kind)
{
    tnd_error_t error;
    cr_assert_eq(tnd_feeder_core_slice(self, msg, &error), TND_OK, "%s", error.text);
    tnd_effect_t effect = does(self, kind);
    cr_assert_eq(effect.payload, msg->slice.payload);
    return effect;
}

static inline void put_step(tnd_feeder_core_t *self, uint64_t step)
{
    for (uint32_t lane = 0; lane < JOINS; lane++)
        for (uint32_t i = 0; i < REPLICAS; i++) {
            tnd_msg_t msg = slice(step, FIRST + i, lane);
            put_as(self, &msg, TND_EFFECT_PLACE);
        }
}

static inline void is_ready(tnd_feeder_core_t *self, uint64_t step)
{
    cr_assert_eq(does(self, TND_EFFECT_READY).msg.slice.step, step);
}

#endif
