/*  tests/runtime/core/leader.h - a leader of four hosts with two feeders, for its tests. */
#ifndef TND_TESTS_RUNTIME_CORE_LEADER_H
#define TND_TESTS_RUNTIME_CORE_LEADER_H

#include "runtime/core/leader.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { READ_0, READ_1, BATCH_0, BATCH_1, PREP, FEED_0, FEED_1, MEMBERS };

static const tnd_member_t members[MEMBERS] = {
    {READ_0, TND_ROLE_READER, 0, 0, "read.0"}, {READ_1, TND_ROLE_READER, 1, 1, "read.1"},
    {BATCH_0, TND_ROLE_JOIN, 0, 0, "batch.0"}, {BATCH_1, TND_ROLE_JOIN, 1, 1, "batch.1"},
    {PREP, TND_ROLE_WORKER, 2, 0, "prep.0"},   {FEED_0, TND_ROLE_FEEDER, 0, 0, "feed.0"},
    {FEED_1, TND_ROLE_FEEDER, 3, 0, "feed.1"},
};
static const char *const hosts[] = {"alpha", "beta", "gamma", "delta"};

#define ms (UINT64_C(1000) * 1000)

static inline tnd_leader_core_t *make_from(const uint8_t *flags, uint64_t steps_max,
                                           uint32_t restarts, uint32_t generation)
{
    tnd_leader_core_config_t config = {.members = members,
                                       .member_count = MEMBERS,
                                       .hosts = hosts,
                                       .host_flags = flags,
                                       .host_count = 4,
                                       .lanes = 2,
                                       .start_timeout_ns = 120000 * ms,
                                       .hung_after_ns = 60000 * ms,
                                       .restart_timeout_ns = 10000 * ms,
                                       .settle_ns = 2000 * ms,
                                       .steps_open_max = 8,
                                       .steps_max = steps_max,
                                       .restarts = {restarts, 10 * ms, 1000 * ms, 60000 * ms},
                                       .generation = generation};
    tnd_cursor_t start;
    tnd_cursor_start(&start, 2);
    return tnd_leader_core_init(calloc(1, tnd_leader_core_bytes(&config)), &config, &start, 0);
}

static inline tnd_leader_core_t *make_of(const uint8_t *flags, uint64_t steps_max,
                                         uint32_t restarts)
{
    return make_from(flags, steps_max, restarts, 0);
}

/*  Of a stream that was fed whole before, up to generation 3. */
static inline tnd_leader_core_t *make_again(void)
{
    return make_from(NULL, TND_UNKNOWN, 5, 3);
}

static inline tnd_leader_core_t *make_with(uint64_t steps_max, uint32_t restarts)
{
    return make_of(NULL, steps_max, restarts);
}

static inline void is_idle(tnd_leader_core_t *self, uint64_t now)
{
    tnd_effect_t effect;
    if (tnd_leader_core_next(self, now, &effect))
        cr_assert_fail("effect %d, message %d", (int)effect.kind, (int)effect.msg.kind);
}

static inline void rewinds(tnd_leader_core_t *self, uint64_t now, uint32_t generation,
                           uint64_t step)
{
    tnd_effect_t effect;
    cr_assert(tnd_leader_core_next(self, now, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_CONTROL);
    cr_assert_eq(effect.msg.kind, TND_MSG_REWIND);
    cr_assert_eq(effect.msg.to, TND_NOBODY);
    cr_assert_eq(effect.msg.generation, generation);
    cr_assert_eq(effect.msg.rewind.cursor->step, step);
}

/*  Skips messages to feeders. */
static inline bool next_but_words(tnd_leader_core_t *self, uint64_t now, tnd_effect_t *effect)
{
    while (tnd_leader_core_next(self, now, effect))
        if (effect->kind != TND_EFFECT_CONTROL || effect->msg.kind == TND_MSG_REWIND)
            return true;
    return false;
}

static inline void tells_last(tnd_leader_core_t *self, uint64_t now, uint64_t step)
{
    tnd_effect_t effect;
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert(tnd_leader_core_next(self, now, &effect));
        cr_assert_eq(effect.msg.kind, TND_MSG_LAST);
        cr_assert_eq(effect.msg.until.step, step);
    }
}

/*  Feeder `i` has started so many steps, it says to the question of that number. */
static inline void answers_halt(tnd_leader_core_t *self, uint32_t i, uint32_t number,
                                uint64_t started, uint64_t now)
{
    tnd_msg_t answer = {.kind = TND_MSG_HALT, .from = FEED_0 + i};
    answer.halt.step = started;
    answer.halt.number = number;
    tnd_leader_core_message(self, &answer, now);
}

static inline void is_limited(tnd_leader_core_t *self, uint64_t now, uint64_t step)
{
    tnd_effect_t effect;
    cr_assert(tnd_leader_core_next(self, now, &effect));
    cr_assert_eq(effect.msg.kind, TND_MSG_LIMIT);
    cr_assert_eq(effect.msg.until.step, step);
}

/*  All its hosts and actors are up, and the stream may begin. */
static inline tnd_leader_core_t *go(tnd_leader_core_t *self)
{
    for (uint32_t i = 0; i < 4; i++)
        tnd_leader_core_host_up(self, i, 0);
    for (uint32_t i = 0; i < MEMBERS; i++)
        tnd_leader_core_actor_up(self, i, 0);
    tnd_leader_core_go(self);
    return self;
}

/*  A feeder that began before it knew the end could pass it. */
static inline tnd_leader_core_t *running_with(uint64_t steps_max, uint32_t restarts)
{
    tnd_leader_core_t *self = go(make_with(steps_max, restarts));
    if (steps_max != TND_UNKNOWN)
        tells_last(self, 0, steps_max);
    rewinds(self, 0, 1, 0);
    return self;
}

static inline tnd_leader_core_t *running(void)
{
    return running_with(TND_UNKNOWN, 5);
}

/*  Each step takes a row of each lane: rank and positions follow. */
static inline tnd_msg_t part(const tnd_leader_core_t *self, uint64_t step, uint32_t lane)
{
    tnd_msg_t msg = {.kind = TND_MSG_PART, .from = BATCH_0 + lane, .to = TND_LEADER};
    msg.generation = tnd_leader_core_generation(self);
    msg.part.step = step;
    msg.part.lane = lane;
    msg.part.step_of_epoch = step + 1;
    msg.part.rank = 2 * (step + 1);
    msg.part.position = (tnd_position_t){.index = step + 1};
    msg.part.ledger = (tnd_ledger_t){.read = 1, .fed = 1};
    return msg;
}

static inline void take_part(tnd_leader_core_t *self, uint64_t step, uint32_t lane)
{
    tnd_msg_t msg = part(self, step, lane);
    tnd_leader_core_message(self, &msg, 0);
}

static inline void commit(tnd_leader_core_t *self, uint64_t step, tnd_actor_id_t feeder)
{
    tnd_msg_t msg = {.kind = TND_MSG_COMMIT, .from = feeder, .to = TND_LEADER};
    msg.commit.step = step;
    msg.commit.rows = 1;
    msg.commit.digest[0] = UINT64_MAX - 1 + (feeder == FEED_1);
    tnd_leader_core_message(self, &msg, 0);
}

static inline void hold(tnd_leader_core_t *self, uint64_t below, tnd_actor_id_t feeder)
{
    tnd_msg_t msg = {.kind = TND_MSG_HELD, .from = feeder, .to = TND_LEADER};
    msg.until.step = below;
    tnd_leader_core_message(self, &msg, 0);
}

static inline void fails_with(tnd_leader_core_t *self, uint64_t now, const char *word)
{
    tnd_effect_t effect;
    cr_assert(next_but_words(self, now, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_OUTCOME);
    cr_assert_eq(tnd_leader_core_state(self), TND_LEADER_CORE_FAILED);
    cr_assert(strstr(tnd_leader_core_why(self), word) != NULL, "%s", tnd_leader_core_why(self));
    is_idle(self, now);
    free(self);
}

#endif
