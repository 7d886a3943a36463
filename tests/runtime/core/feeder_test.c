/*  Covers runtime/core/feeder.h: each promise in a short scenario, and all together under random
 *  schedules of slices, rewinds, lost messages and slow devices. */
#include "tests/runtime/core/feeder.h"

Test(feeder, nothing_is_sent_before_the_first_rewind)
{
    tnd_feeder_core_t *self = make_bare();
    tnd_feeder_core_join_up(self, JOIN);
    is_idle(self);
    cr_assert(tnd_feeder_core_blocked_on(self) & TND_WAIT_LEADER);
    free(self);
}

Test(feeder, a_step_is_ready_once_every_replica_has_all_its_rows)
{
    tnd_feeder_core_t *self = make();
    tnd_effect_t effect;
    uint32_t slot = UINT32_MAX;
    for (int i = 0; i < 4; i++) {
        tnd_msg_t msg = slice(10, FIRST + (uint32_t)i % 2, (uint32_t)i / 2);
        effect = put_as(self, &msg, TND_EFFECT_PLACE);
        cr_assert(i == 0 || effect.slot == slot);
        slot = effect.slot;
        cr_assert_eq(effect.msg.slice.offset, msg.slice.offset);
        if (i < 3)
            is_idle(self);
    }
    says(self, TND_MSG_HELD, 11);
    effect = does(self, TND_EFFECT_READY);
    cr_assert_eq(effect.slot, slot);
    cr_assert_eq(effect.msg.slice.step, 10);
    cr_assert_eq(effect.msg.slice.step_rows, 16);
    cr_assert_eq(tnd_feeder_core_started(self), 11);
    cr_assert_eq(tnd_feeder_core_held(self), 11);
    cr_assert_eq(tnd_feeder_core_committed(self), 10);
    is_idle(self);
    free(self);
}

Test(feeder, a_replica_without_rows_takes_part)
{
    tnd_feeder_core_t *self = make();
    tnd_msg_t msg = slice(10, FIRST, 0);
    msg.slice.rows = msg.slice.total = 2;
    put_as(self, &msg, TND_EFFECT_PLACE);
    msg = slice(10, FIRST + 1, 0);
    msg.slice.rows = msg.slice.total = msg.slice.offset = 0;
    is_idle(self);
    put_as(self, &msg, TND_EFFECT_PLACE);
    says(self, TND_MSG_HELD, 11);
    is_ready(self, 10);
    free(self);
}

Test(feeder, steps_are_handed_out_in_step_order_from_slots_of_their_own)
{
    tnd_feeder_core_t *self = make();
    put_step(self, 12);
    is_idle(self);
    put_step(self, 11);
    is_idle(self);
    put_step(self, 10);
    says(self, TND_MSG_HELD, 13);
    uint32_t slots = 0;
    for (uint64_t step = 10; step < 13; step++) {
        if (step == 12) { /* only two are begun before any has been done */
            is_idle(self);
            tnd_feeder_core_done(self, 10, digest, 8, NULL);
            does(self, TND_EFFECT_FREE);
            for (int i = 0; i < JOINS; i++)
                says(self, TND_MSG_WINDOW, 11 + DEPTH);
            says(self, TND_MSG_COMMIT, 10);
        }
        tnd_effect_t effect = does(self, TND_EFFECT_READY);
        cr_assert_eq(effect.msg.slice.step, step);
        cr_assert(effect.slot < DEPTH);
        slots |= 1u << effect.slot;
    }
    cr_assert_eq(slots, 7);
    free(self);
}

Test(feeder, a_done_step_is_committed_freed_and_makes_room)
{
    tnd_feeder_core_t *self = make();
    int report;
    put_step(self, 10);
    says(self, TND_MSG_HELD, 11);
    uint32_t slot = does(self, TND_EFFECT_READY).slot;
    cr_assert_eq(tnd_feeder_core_blocked_on(self), TND_WAIT_STEP | TND_WAIT_INPUT);
    tnd_feeder_core_done(self, 10, digest, 8, &report);

    tnd_effect_t effect = does(self, TND_EFFECT_FREE);
    cr_assert_eq(effect.slot, slot);
    cr_assert_eq(effect.msg.slice.step, 10);
    for (int i = 0; i < JOINS; i++)
        says(self, TND_MSG_WINDOW, 11 + DEPTH);
    effect = says(self, TND_MSG_COMMIT, 10);
    cr_assert_eq(effect.msg.commit.rows, 8);
    cr_assert_eq(effect.msg.commit.digest[0], 5);
    cr_assert_eq(effect.msg.commit.digest[1], 6);
    cr_assert_eq(effect.msg.commit.payload, &report);
    is_idle(self);
    tnd_feeder_core_booked(self, 11);
    cr_assert_eq(does(self, TND_EFFECT_DROP).payload, &report);
    is_idle(self);
    free(self);
}

Test(feeder, a_commit_tells_whether_a_step_follows)
{
    for (int last = 0; last < 2; last++) {
        tnd_feeder_core_t *self = make();
        tnd_effect_t effect;
        for (uint32_t i = 0; i < 2 * JOINS; i++) {
            tnd_msg_t msg = slice(10, FIRST + i % 2, i / 2);
            msg.slice.last_of_run = last;
            put_as(self, &msg, TND_EFFECT_PLACE);
        }
        while (tnd_feeder_core_started(self) == 10)
            cr_assert(tnd_feeder_core_next_effect(self, 0, &effect));
        tnd_feeder_core_done(self, 10, digest, 8, NULL);
        do
            cr_assert(tnd_feeder_core_next_effect(self, 0, &effect));
        while (effect.msg.kind != TND_MSG_COMMIT);
        cr_assert_eq(effect.msg.commit.last, last);
        free(self);
    }
}

Test(feeder, a_join_that_comes_up_is_told_the_window)
{
    tnd_feeder_core_t *self = make();
    tnd_feeder_core_join_lost(self, JOIN + 1);
    cr_assert(tnd_feeder_core_blocked_on(self) & TND_WAIT_PEER);
    tnd_feeder_core_join_up(self, JOIN + 1);
    cr_assert_eq(says(self, TND_MSG_WINDOW, 10 + DEPTH).msg.to, JOIN + 1);
    is_idle(self);
    free(self);
}

enum { DEEP = 16 };

/*  A feeder with many slots and one replica, whose steps all have one row, of the first join. */
typedef struct {
    tnd_feeder_core_t *machine;
    uint64_t now, window, started, done; /* as sent to the first join; of the devices */
    uint64_t told;                       /* to the second join */
    uint32_t windows;
} deep_t;

static void run_deep(deep_t *self)
{
    tnd_effect_t effect;
    while (tnd_feeder_core_next_effect(self->machine, self->now, &effect)) {
        if (effect.kind == TND_EFFECT_READY)
            cr_assert_eq(effect.msg.slice.step, self->started++);
        if (effect.msg.kind == TND_MSG_WINDOW && effect.msg.to != JOIN) {
            self->told = effect.msg.until.step;
        } else if (effect.msg.kind == TND_MSG_WINDOW) {
            self->window = effect.msg.until.step;
            self->windows++;
        }
    }
}

static deep_t make_deep(uint32_t join_count)
{
    const tnd_feeder_core_config_t config = {.self = SELF,
                                             .joins = joins,
                                             .join_count = join_count,
                                             .replicas = 1,
                                             .depth = DEEP,
                                             .unbooked_max = 10 * DEEP};
    deep_t self = {.machine =
                       tnd_feeder_core_init(calloc(1, tnd_feeder_core_bytes(&config)), &config)};
    for (uint32_t i = 0; i < join_count; i++)
        tnd_feeder_core_join_up(self.machine, joins[i]);
    tnd_feeder_core_rewind_to(self.machine, 1, 0, 0, 0);
    run_deep(&self);
    return self;
}

/*  Steps [first, until) arrive. */
static void put_deep(deep_t *self, uint64_t first, uint64_t until)
{
    tnd_error_t error;
    for (uint64_t step = first; step < until; step++) {
        tnd_msg_t msg = {.kind = TND_MSG_SLICE, .generation = 1, .from = JOIN, .to = SELF};
        msg.slice.step = msg.slice.step_of_epoch = step;
        msg.slice.rows = msg.slice.total = msg.slice.step_rows = 1;
        cr_assert_eq(tnd_feeder_core_slice(self->machine, &msg, &error), TND_OK, "%s", error.text);
        run_deep(self);
    }
}

static void do_deep(deep_t *self, uint64_t took_ns)
{
    self->now += took_ns;
    tnd_feeder_core_done(self->machine, self->done++, digest, 1, NULL);
    run_deep(self);
}

Test(feeder, a_join_is_told_of_several_slots_at_a_time)
{
    deep_t self = make_deep(1);
    tnd_feeder_core_end(self.machine, 3 * DEEP + 1);
    cr_assert_eq(self.window, DEEP);
    for (uint64_t step = 0; step < 3 * DEEP + 1; step++) {
        cr_assert(step < self.window, "no slot is known for step %u", (unsigned)step);
        put_deep(&self, step, step + 1);
        do_deep(&self, 1000);
    }
    cr_assert_leq(self.windows, 13, "%u times", self.windows);
    cr_assert(tnd_feeder_core_over(self.machine));
    free(self.machine);
}

/*  A join asks for nothing until TND_WINDOW_QUIET steps after the one that it asked for last, and
 *  one whose lane has no rows may be many steps before what is committed. */
Test(feeder, a_join_that_asks_late_is_told_all_that_it_asks_for)
{
    deep_t self = make_deep(2);
    for (uint64_t step = 0; step < 6 * DEEP; step++) {
        put_deep(&self, step, step + 1);
        do_deep(&self, 1000);
    }
    uint64_t asked = self.told;
    cr_assert_lt(asked + TND_WINDOW_QUIET, 6 * DEEP, "it is told unasked");
    tnd_msg_t msg = {.kind = TND_MSG_WINDOW, .generation = 1, .from = JOIN + 1, .to = SELF};
    msg.until.step = asked;
    tnd_feeder_core_asked(self.machine, &msg);
    run_deep(&self);
    cr_assert_geq(self.told, asked + TND_WINDOW_QUIET);
    free(self.machine);
}

/*  How many steps are with the devices while each takes so long. */
static uint64_t steps_ahead(uint64_t took_ns)
{
    deep_t self = make_deep(1);
    uint64_t put = 0;
    for (int i = 0; i < 5 * DEEP; i++) {
        put_deep(&self, put, self.window);
        put = self.window;
        do_deep(&self, took_ns);
    }
    uint64_t ahead = self.started - self.done;
    free(self.machine);
    return ahead;
}

Test(feeder, short_steps_are_started_far_ahead_and_long_ones_are_not)
{
    cr_assert_geq(steps_ahead(1000), DEEP - DEEP / 4);
    cr_assert_eq(steps_ahead(5000000), 4, "what 20 ms have room for, less the rounding");
    cr_assert_eq(steps_ahead(100000000), 2);
}

Test(feeder, a_rewind_drops_partial_steps_and_keeps_held_ones)
{
    tnd_feeder_core_t *self = make();
    put_step(self, 11);
    tnd_msg_t msg = slice(10, FIRST, 0);
    put_as(self, &msg, TND_EFFECT_PLACE);
    tnd_feeder_core_rewind_to(self, 2, 10, 0, 0);
    for (int i = 0; i < JOINS; i++)
        cr_assert_eq(says(self, TND_MSG_WINDOW, 10 + DEPTH).msg.generation, 2);
    says(self, TND_MSG_HELD, 10);
    is_idle(self);

    put_as(self, &msg, TND_EFFECT_DROP);
    for (uint32_t i = 0; i < 4; i++) {
        msg = slice(10, FIRST + i % 2, i / 2);
        msg.generation = 2;
        put_as(self, &msg, TND_EFFECT_PLACE);
        msg = slice(11, FIRST + i % 2, i / 2);
        msg.generation = 2;
        if (i < 3)
            put_as(self, &msg, TND_EFFECT_DROP);
    }
    says(self, TND_MSG_HELD, 12);
    is_ready(self, 10);
    is_ready(self, 11);
    free(self);
}

Test(feeder, a_newer_slice_is_the_rewind)
{
    tnd_feeder_core_t *self = make();
    tnd_msg_t msg = slice(10, FIRST, 0);
    put_as(self, &msg, TND_EFFECT_PLACE);
    msg.generation = 2;
    put_as(self, &msg, TND_EFFECT_PLACE);
    for (int i = 0; i < JOINS; i++)
        says(self, TND_MSG_WINDOW, 10 + DEPTH);
    says(self, TND_MSG_HELD, 10);
    tnd_feeder_core_rewind_to(self, 2, 10, 0, 0);
    says(self, TND_MSG_HELD, 10); /* the first may have met a broken connection */
    is_idle(self);
    for (uint32_t i = 1; i < 4; i++) {
        msg = slice(10, FIRST + i % 2, i / 2);
        msg.generation = 2;
        put_as(self, &msg, TND_EFFECT_PLACE);
    }
    says(self, TND_MSG_HELD, 11);
    is_ready(self, 10);
    free(self);
}

Test(feeder, commits_are_repeated_after_a_rewind_until_they_are_booked)
{
    tnd_feeder_core_t *self = make();
    tnd_effect_t effect;
    for (uint64_t step = 10; step < 13; step++) {
        put_step(self, step);
        while (tnd_feeder_core_next_effect(self, 0, &effect)) {
        }
        tnd_feeder_core_done(self, step, digest, 8, NULL);
        while (tnd_feeder_core_next_effect(self, 0, &effect)) {
        }
    }
    tnd_feeder_core_booked(self, 11);
    tnd_feeder_core_rewind_to(self, 2, 11, 0, 0);
    for (int i = 0; i < JOINS; i++)
        says(self, TND_MSG_WINDOW, 13 + DEPTH);
    says(self, TND_MSG_COMMIT, 11);
    says(self, TND_MSG_COMMIT, 12);
    says(self, TND_MSG_HELD, 13);
    is_idle(self);
    free(self);
}

Test(feeder, no_more_than_unbooked_max_steps_are_started)
{
    tnd_feeder_core_t *self = make();
    tnd_effect_t effect;
    for (uint64_t step = 10; step < 15; step++) {
        put_step(self, step);
        while (tnd_feeder_core_next_effect(self, 0, &effect)) {
        }
        if (step < 14)
            tnd_feeder_core_done(self, step, digest, 8, NULL);
        while (tnd_feeder_core_next_effect(self, 0, &effect)) {
        }
    }
    cr_assert_eq(tnd_feeder_core_started(self), 10 + UNBOOKED);
    cr_assert(tnd_feeder_core_blocked_on(self) & TND_WAIT_LEADER);
    tnd_feeder_core_booked(self, 11);
    is_ready(self, 14);
    free(self);
}

Test(feeder, an_invalid_slice_fails_with_a_text)
{
    const struct {
        uint64_t step;
        uint32_t replica, offset, rows, total, step_rows;
        const char *text;
    } cases[] = {
        {10, FIRST - 1, 0, 2, 4, 16, "replicas 4 to 5"},
        {10, FIRST + REPLICAS, 0, 2, 4, 16, "replicas 4 to 5"},
        {10 + DEPTH, FIRST, 0, 2, 4, 16, "below 13"},
        {10, FIRST, 3, 2, 4, 16, "do not fit"},
        {10, FIRST, UINT32_MAX, 2, 4, 16, "do not fit"},
        {10, FIRST, 0, 2, 4, 3, "do not fit"},
        {10, FIRST, 0, 0, 4, 16, "do not fit"},
        {11, FIRST, 2, 2, 4, 15, "another lane"},
        {11, FIRST, 2, 2, 5, 16, "already"},
        {11, FIRST, 1, 3, 4, 16, "already"},
        {11, FIRST, 1, 2, 4, 16, "two lanes sent the same rows"},
        {11, FIRST, 0, 2, 4, 16, "two lanes sent the same rows"},
    };
    tnd_feeder_core_t *self = make();
    tnd_msg_t msg = slice(11, FIRST, 0);
    put_as(self, &msg, TND_EFFECT_PLACE);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tnd_error_t error;
        msg = slice(cases[i].step, cases[i].replica, 1);
        msg.slice.offset = cases[i].offset;
        msg.slice.rows = cases[i].rows;
        msg.slice.total = cases[i].total;
        msg.slice.step_rows = cases[i].step_rows;
        cr_assert_eq(tnd_feeder_core_slice(self, &msg, &error), TND_FAILED, "case %zu", i);
        cr_assert_not_null(strstr(error.text, cases[i].text), "%s", error.text);
        cr_assert_eq(does(self, TND_EFFECT_DROP).payload, msg.slice.payload);
    }
    free(self);
}

Test(feeder, no_step_starts_after_the_end)
{
    tnd_feeder_core_t *self = make();
    tnd_effect_t effect;
    tnd_feeder_core_end(self, 11);
    put_step(self, 10);
    while (tnd_feeder_core_next_effect(self, 0, &effect)) {
    }
    tnd_msg_t msg = slice(11, FIRST, 0);
    put_as(self, &msg, TND_EFFECT_DROP);
    cr_assert_not(tnd_feeder_core_over(self));
    tnd_feeder_core_done(self, 10, digest, 8, NULL);
    cr_assert(tnd_feeder_core_over(self));
    cr_assert_eq(tnd_feeder_core_blocked_on(self), TND_WAIT_ENDED);
    free(self);
}

/*  Its batchers may be faster than the leader. */
Test(feeder, an_end_that_is_told_before_the_start_is_not_passed)
{
    tnd_feeder_core_t *self = make_bare();
    tnd_effect_t effect;
    tnd_feeder_core_join_up(self, JOIN);
    tnd_feeder_core_end(self, 1);
    tnd_feeder_core_rewind_to(self, 1, 0, 0, 0);
    says(self, TND_MSG_WINDOW, DEPTH);
    says(self, TND_MSG_HELD, 0);
    put_step(self, 0);
    says(self, TND_MSG_HELD, 1);
    is_ready(self, 0);
    tnd_msg_t msg = slice(1, FIRST, 0);
    put_as(self, &msg, TND_EFFECT_DROP);
    is_idle(self);
    tnd_feeder_core_done(self, 0, digest, 8, NULL);
    while (tnd_feeder_core_next_effect(self, 0, &effect)) {
    }
    cr_assert(tnd_feeder_core_over(self));
    free(self);
}

Test(feeder, a_drain_reports_the_steps_started_and_continues_to_the_named_end)
{
    tnd_feeder_core_t *self = make();
    tnd_effect_t effect;
    put_step(self, 10);
    says(self, TND_MSG_HELD, 11);
    is_ready(self, 10);
    put_step(self, 11);
    tnd_feeder_core_halt(self, 7);
    says(self, TND_MSG_HELD, 12);
    cr_assert(tnd_feeder_core_next_effect(self, 0, &effect));
    cr_assert_eq(effect.msg.kind, TND_MSG_HALT);
    cr_assert_eq(effect.msg.halt.step, 11);
    cr_assert_eq(effect.msg.halt.number, 7);
    is_idle(self);
    cr_assert(tnd_feeder_core_blocked_on(self) & TND_WAIT_LEADER);
    tnd_feeder_core_end(self, 12);
    is_idle(self);
    tnd_feeder_core_limit(self, 12, TND_ENDLESS);
    is_ready(self, 11);
    put_as(self,
           &(tnd_msg_t){
               .kind = TND_MSG_SLICE,
               .generation = 1,
               .slice = {.step = 12, .replica = FIRST, .rows = 1, .total = 1, .step_rows = 1}},
           TND_EFFECT_DROP);
    tnd_feeder_core_done(self, 10, digest, 8, NULL);
    tnd_feeder_core_done(self, 11, digest, 8, NULL);
    while (tnd_feeder_core_next_effect(self, 0, &effect)) {
    }
    cr_assert(tnd_feeder_core_over(self));
    free(self);
}

Test(feeder, a_limit_stops_it_until_the_next_one)
{
    tnd_feeder_core_t *self = make();
    tnd_effect_t effect;
    put_step(self, 10);
    says(self, TND_MSG_HELD, 11);
    tnd_feeder_core_halt(self, 1);
    cr_assert(tnd_feeder_core_next_effect(self, 0, &effect));
    cr_assert_eq(effect.msg.halt.step, 10);
    tnd_feeder_core_limit(self, 11, TND_ENDLESS);
    is_ready(self, 10);
    put_step(self, 11);
    says(self, TND_MSG_HELD, 12);
    is_idle(self);
    cr_assert(tnd_feeder_core_blocked_on(self) & TND_WAIT_LEADER);
    tnd_feeder_core_limit(self, TND_UNKNOWN, TND_ENDLESS);
    is_ready(self, 11);
    cr_assert_not(tnd_feeder_core_blocked_on(self) & TND_WAIT_LEADER);
    free(self);
}

Test(feeder, an_epoch_that_may_not_begin_stops_it_until_the_next_limit)
{
    tnd_feeder_core_t *self = make();
    put_step(self, 10);
    says(self, TND_MSG_HELD, 11);
    is_ready(self, 10);
    tnd_feeder_core_limit(self, TND_UNKNOWN, 0); /* all steps here are of epoch 0 */
    put_step(self, 11);
    says(self, TND_MSG_HELD, 12);
    is_idle(self);
    cr_assert(tnd_feeder_core_blocked_on(self) & TND_WAIT_LEADER);
    tnd_feeder_core_limit(self, TND_UNKNOWN, 1);
    is_ready(self, 11);
    free(self);
}

/*  Its stream of one step is over. */
static tnd_feeder_core_t *fed_whole(void)
{
    tnd_feeder_core_t *self = make();
    tnd_effect_t effect;
    put_step(self, 10);
    says(self, TND_MSG_HELD, 11);
    is_ready(self, 10);
    tnd_feeder_core_end(self, 11);
    tnd_feeder_core_done(self, 10, digest, 8, NULL);
    while (tnd_feeder_core_next_effect(self, 0, &effect)) {
    }
    cr_assert(tnd_feeder_core_over(self));
    return self;
}

Test(feeder, a_stream_that_was_fed_whole_begins_again_and_forgets_its_end)
{
    tnd_feeder_core_t *self = fed_whole();
    tnd_feeder_core_rewind_to(self, 2, 11, 1, 0);
    cr_assert_not(tnd_feeder_core_over(self));
    /* Words of the generation before come late. */
    tnd_msg_t late[] = {{.kind = TND_MSG_LAST, .generation = 1, .part.step = 11},
                        {.kind = TND_MSG_LIMIT, .generation = 1, .limit.step = 11},
                        {.kind = TND_MSG_HALT, .generation = 1, .halt.number = 1}};
    for (size_t i = 0; i < sizeof late / sizeof *late; i++)
        tnd_feeder_core_message(self, &late[i]);
    cr_assert_not(tnd_feeder_core_over(self));
    cr_assert_not(tnd_feeder_core_blocked_on(self) & TND_WAIT_LEADER);
    tnd_feeder_core_message(self,
                            &(tnd_msg_t){.kind = TND_MSG_LAST, .generation = 2, .part.step = 11});
    cr_assert(tnd_feeder_core_over(self));
    free(self);
}

/*  A batcher's WINDOW names the generation, but not that the stream begins again. */
Test(feeder, a_stream_that_begins_again_keeps_what_was_said_of_it_before_its_first_rows)
{
    tnd_feeder_core_t *self = fed_whole();
    tnd_msg_t window = {
        .kind = TND_MSG_WINDOW, .generation = 2, .from = joins[0], .until.step = 11};
    tnd_feeder_core_message(self, &window);
    tnd_feeder_core_rewind_to(self, 2, 11, 1, 1);
    cr_assert_not(tnd_feeder_core_over(self));
    tnd_msg_t said[] = {{.kind = TND_MSG_LAST, .generation = 2, .part.step = 12},
                        {.kind = TND_MSG_LIMIT, .generation = 2, .limit = {11, TND_ENDLESS}}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        tnd_feeder_core_message(self, &said[i]);
    tnd_effect_t effect;
    while (tnd_feeder_core_next_effect(self, 0, &effect)) {
    }
    for (uint32_t i = 0; i < REPLICAS * JOINS; i++) {
        tnd_msg_t rows = slice(11, FIRST + i / JOINS, i % JOINS);
        rows.generation = 2;
        rows.slice.cuts = 1;
        put_as(self, &rows, TND_EFFECT_PLACE);
    }
    says(self, TND_MSG_HELD, 12);
    is_idle(self);
    tnd_feeder_core_limit(self, TND_UNKNOWN, TND_ENDLESS);
    is_ready(self, 11);
    tnd_feeder_core_done(self, 11, digest, 8, NULL);
    cr_assert(tnd_feeder_core_over(self));
    free(self);
}

/*  It was restarted when the stream before had ended, and no rewind of that followed. */
Test(feeder, one_that_begins_late_forgets_the_end_of_the_stream_before)
{
    tnd_feeder_core_t *self = make_bare();
    tnd_msg_t last = {.kind = TND_MSG_LAST, .generation = 4, .part.step = 33};
    tnd_feeder_core_message(self, &last);
    tnd_feeder_core_rewind_to(self, 5, 33, 1, 4);
    cr_assert_not(tnd_feeder_core_over(self));
    last.generation = 5;
    tnd_feeder_core_message(self, &last);
    cr_assert(tnd_feeder_core_over(self));
    free(self);
}

Test(feeder, one_that_begins_late_keeps_the_end_of_its_stream)
{
    tnd_feeder_core_t *self = make_bare();
    tnd_msg_t last = {.kind = TND_MSG_LAST, .generation = 5, .part.step = 33};
    tnd_feeder_core_message(self, &last);
    tnd_feeder_core_rewind_to(self, 6, 33, 1, 4);
    cr_assert(tnd_feeder_core_over(self));
    free(self);
}

/*  Random schedules: joins send what the window allows, in any order over replicas and lanes; the
 *  leader loses words until a rewind; slots are watched.  Every step is run once, in order, whole.
 */
static void run(unsigned seed)
{
    enum { STEPS = 60 };
    tnd_feeder_core_t *self = make_bare();
    uint32_t generation = 1;
    uint64_t window[JOINS] = {0}, next[JOINS] = {0}, sub[JOINS] = {0};
    uint64_t running = 0, booked = 0, held = 0;
    bool committed[STEPS] = {false};
    uint64_t owner[DEPTH];
    uint32_t rows[DEPTH][REPLICAS] = {{0}};
    memset(owner, 0xff, sizeof owner);
    for (int i = 0; i < JOINS; i++)
        tnd_feeder_core_join_up(self, joins[i]);
    tnd_feeder_core_rewind_to(self, generation, 0, 0, 0);
    tnd_feeder_core_end(self, STEPS);

    for (int events = 0; booked < STEPS; events++) {
        cr_assert_lt(events, 100000, "seed %u", seed);
        uint32_t i = (uint32_t)rand_r(&seed) % JOINS;
        int dice = rand_r(&seed) % 100;
        if (dice < 2) {
            uint64_t from = held < booked ? held : booked;
            tnd_feeder_core_rewind_to(self, ++generation, from, 0, 0);
            for (int slot = 0; slot < DEPTH; slot++)
                if (rows[slot][0] != 15 || rows[slot][1] != 15)
                    memset(rows[slot], 0, sizeof rows[slot]);
            for (int k = 0; k < JOINS; k++) {
                next[k] = from;
                sub[k] = 0;
            }
        } else if (dice < 40 && tnd_feeder_core_started(self) > running) {
            tnd_feeder_core_done(self, running++, digest, 8, NULL);
        } else if (next[i] < window[i] && next[i] < STEPS) {
            tnd_msg_t msg = slice(next[i], FIRST + (uint32_t)sub[i], i);
            msg.generation = generation - (dice > 97);
            tnd_error_t error;
            cr_assert_eq(tnd_feeder_core_slice(self, &msg, &error), TND_OK, "%s", error.text);
            if (msg.generation == generation && ++sub[i] == REPLICAS) {
                sub[i] = 0;
                next[i]++;
            }
        }
        tnd_effect_t effect;
        while (tnd_feeder_core_next_effect(self, 0, &effect)) {
            uint64_t step = effect.msg.slice.step;
            bool heard = rand_r(&seed) % 10 != 0;
            if (effect.kind == TND_EFFECT_PLACE) {
                cr_assert(owner[effect.slot] == step || owner[effect.slot] == UINT64_MAX);
                owner[effect.slot] = step;
                rows[effect.slot][effect.msg.slice.replica - FIRST] |= 3u
                                                                       << effect.msg.slice.offset;
            } else if (effect.kind == TND_EFFECT_READY) {
                cr_assert_eq(owner[effect.slot], step);
                for (int k = 0; k < REPLICAS; k++)
                    cr_assert_eq(rows[effect.slot][k], 15);
            } else if (effect.kind == TND_EFFECT_FREE) {
                cr_assert_eq(owner[effect.slot], step);
                owner[effect.slot] = UINT64_MAX;
                memset(rows[effect.slot], 0, sizeof rows[effect.slot]);
            } else if (effect.msg.kind == TND_MSG_WINDOW) {
                window[effect.msg.to - JOIN] = effect.msg.until.step;
            } else if (effect.msg.kind == TND_MSG_HELD && heard) {
                held = effect.msg.until.step;
            } else if (effect.msg.kind == TND_MSG_COMMIT && heard) {
                committed[effect.msg.commit.step] = true;
            }
        }
        while (booked < STEPS && committed[booked])
            tnd_feeder_core_booked(self, ++booked);
    }
    cr_assert(tnd_feeder_core_over(self));
    free(self);
}

Test(feeder, random_schedules_run_every_step_once)
{
    for (unsigned seed = 1; seed <= 200; seed++)
        run(seed);
}

/*  Joins that are told of several slots at a time must know each of the last ones, or none of them
 *  would ever be free. */
Test(feeder, a_join_is_told_of_every_slot_before_the_number_changes)
{
    deep_t self = make_deep(1);
    for (uint64_t step = 0; step < 3; step++) {
        put_deep(&self, step, step + 1);
        do_deep(&self, 1000);
    }
    tnd_feeder_core_depth(self.machine, 2);
    run_deep(&self);
    cr_assert_eq(self.window, 3 + DEEP);
    free(self.machine);
}
