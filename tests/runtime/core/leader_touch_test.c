/*  tests/runtime/core/leader_touch_test.c - what a user asks of a run: pause, resume, drain, restart. */
#include "tests/runtime/core/leader.h"

/* --- pause ------------------------------------------------------------------------------------ */

static uint32_t asks_both(tnd_leader_core_t *self)
{
    tnd_effect_t effect;
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert(tnd_leader_core_next(self, 0, &effect));
        cr_assert_eq(effect.msg.kind, TND_MSG_HALT);
        cr_assert_not(effect.msg.halt.ends);
    }
    is_idle(self, 0);
    return effect.msg.halt.number;
}

static void both_limited(tnd_leader_core_t *self, uint64_t step)
{
    for (uint32_t i = 0; i < 2; i++)
        is_limited(self, 0, step);
    is_idle(self, 0);
}

static bool pauses_before(const tnd_leader_core_t *self, uint64_t step)
{
    uint64_t at;
    return tnd_leader_core_is_paused(self, &at) && at == step;
}

Test(leader_touch, a_pause_stops_all_feeders_after_the_last_step_that_one_of_them_started)
{
    tnd_leader_core_t *self = running();
    tnd_error_t error;

    cr_assert_eq(tnd_leader_core_pause(self, &error), TND_OK);
    uint32_t number = asks_both(self);
    cr_assert(pauses_before(self, TND_UNKNOWN));
    answers_halt(self, 0, number, 1, 0);
    is_idle(self, 0);
    answers_halt(self, 1, number, 0, 0);
    both_limited(self, 1);
    cr_assert(pauses_before(self, 1));
    cr_assert_eq(tnd_leader_core_pause(self, &error), TND_FAILED);
    cr_assert(strstr(error.text, "paused already"));

    cr_assert_eq(tnd_leader_core_resume(self, &error), TND_OK);
    both_limited(self, TND_UNKNOWN);
    cr_assert_eq(tnd_leader_core_resume(self, &error), TND_FAILED);
    free(self);
}

Test(leader_touch, the_answer_to_an_earlier_question_does_not_count)
{
    tnd_leader_core_t *self = running();
    tnd_error_t error;

    cr_assert_eq(tnd_leader_core_pause(self, &error), TND_OK);
    uint32_t first = asks_both(self);
    cr_assert_eq(tnd_leader_core_resume(self, &error), TND_OK);
    both_limited(self, TND_UNKNOWN);
    cr_assert_eq(tnd_leader_core_pause(self, &error), TND_OK);
    uint32_t second = asks_both(self);
    answers_halt(self, 0, first, 1, 0);
    answers_halt(self, 1, first, 1, 0);
    is_idle(self, 0);
    answers_halt(self, 0, second, 2, 0);
    answers_halt(self, 1, second, 1, 0);
    both_limited(self, 2);
    free(self);
}

Test(leader_touch, a_drain_of_a_paused_run_ends_where_it_stopped)
{
    tnd_leader_core_t *self = running();
    tnd_effect_t effect;
    tnd_error_t error;

    cr_assert_eq(tnd_leader_core_pause(self, &error), TND_OK);
    uint32_t number = asks_both(self);
    answers_halt(self, 0, number, 1, 0);
    answers_halt(self, 1, number, 1, 0);
    both_limited(self, 1);
    tnd_leader_core_ask_drain(self);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert(tnd_leader_core_next(self, 0, &effect));
        cr_assert_eq(effect.msg.kind, TND_MSG_HALT);
        cr_assert(effect.msg.halt.ends);
        answers_halt(self, i, effect.msg.halt.number, 1, 0);
    }
    cr_assert_eq(tnd_leader_core_pause(self, &error), TND_FAILED);
    for (uint32_t i = 0; i < 2; i++) {
        is_limited(self, 0, 1);
        cr_assert(tnd_leader_core_next(self, 0, &effect));
        cr_assert_eq(effect.msg.kind, TND_MSG_LAST);
        cr_assert_eq(effect.msg.until.step, 1);
    }
    free(self);
}

Test(leader_touch, a_stream_that_is_paused_before_it_begins_begins_when_it_is_resumed)
{
    tnd_leader_core_t *self = make_with(TND_UNKNOWN, 5);
    tnd_effect_t effect;
    tnd_error_t error;

    cr_assert_eq(tnd_leader_core_pause(self, &error), TND_OK);
    for (uint32_t i = 0; i < 4; i++)
        tnd_leader_core_host_up(self, i, 0);
    for (uint32_t i = 0; i < MEMBERS; i++)
        tnd_leader_core_actor_up(self, i, 0);
    tnd_leader_core_go(self);
    /* Longer than start_timeout. */
    is_idle(self, 0);
    is_idle(self, 3600 * 1000 * ms);
    cr_assert_eq(tnd_leader_core_deadline(self), TND_NEVER);
    cr_assert_eq(tnd_leader_core_resume(self, &error), TND_OK);
    cr_assert(tnd_leader_core_next(self, 3600 * 1000 * ms, &effect));
    cr_assert_eq(effect.msg.kind, TND_MSG_REWIND);
    is_idle(self, 3600 * 1000 * ms);
    free(self);
}

Test(leader_touch, a_host_that_is_lost_before_a_paused_start_has_its_whole_time)
{
    const uint64_t lost_ns = 3600 * 1000 * ms;
    tnd_leader_core_t *self = make_with(TND_UNKNOWN, 5);
    tnd_effect_t effect;
    tnd_error_t error;

    cr_assert_eq(tnd_leader_core_pause(self, &error), TND_OK);
    for (uint32_t i = 0; i < 4; i++)
        tnd_leader_core_host_up(self, i, 0);
    for (uint32_t i = 0; i < MEMBERS; i++)
        tnd_leader_core_actor_up(self, i, 0);
    is_idle(self, 0);
    tnd_leader_core_host_lost(self, 1, "it was killed", lost_ns);
    is_idle(self, lost_ns);
    is_idle(self, lost_ns + 119999 * ms);
    cr_assert(tnd_leader_core_next(self, lost_ns + 120000 * ms, &effect));
    cr_assert_eq(tnd_leader_core_state(self), TND_LEADER_CORE_FAILED);
    free(self);
}

/* --- restart on request ----------------------------------------------------------------------- */

Test(leader_touch, a_reader_is_replaced_on_request_and_the_stream_rewinds)
{
    tnd_leader_core_t *self = running();
    tnd_effect_t effect;
    tnd_error_t error;

    cr_assert_eq(tnd_leader_core_ask_restart(self, READ_0, 0, &error), TND_OK);
    cr_assert(tnd_leader_core_next(self, 0, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_RESTART);
    cr_assert_eq(effect.msg.to, READ_0);
    cr_assert_eq(effect.msg.note.number, 1);
    is_idle(self, 0);
    cr_assert_eq(tnd_leader_core_ask_restart(self, READ_0, 0, &error), TND_FAILED);
    cr_assert(strstr(error.text, "being started"));
    tnd_leader_core_actor_up(self, READ_0, 0);
    rewinds(self, 20 * ms, 2, 0);
    free(self);
}

static void restarts_prep(tnd_leader_core_t *self)
{
    tnd_effect_t effect;
    cr_assert(tnd_leader_core_next(self, 0, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_RESTART);
    cr_assert_eq(effect.msg.to, PREP);
    cr_assert_eq(effect.msg.note.number, 1, "on request, although it may work");
}

/*  A stream is fed again, which was over before host 2 had replaced a worker. */
static tnd_leader_core_t *follows(void)
{
    tnd_leader_core_t *before = running(), *self = make_again();
    tnd_actor_id_t actor;
    tnd_error_t error;
    cr_assert_eq(tnd_leader_core_ask_restart(before, PREP, 0, &error), TND_OK);
    restarts_prep(before);
    tnd_leader_core_host_up(before, 2, 0); /* its connection was lost, and RESTART with it */
    cr_assert_not(tnd_leader_core_take_due(before, &actor), "it works");
    tnd_leader_core_follow(self, before);
    free(before);
    return self;
}

/*  The hosts before that one are up with all their actors. */
static void are_up(tnd_leader_core_t *self, uint32_t first, uint32_t end)
{
    for (uint32_t h = first; h < end; h++) {
        tnd_leader_core_host_up(self, h, 0);
        tnd_leader_core_actors_up(self, h, 0);
    }
    tnd_leader_core_go(self);
}

Test(leader_touch, a_worker_that_is_not_replaced_yet_is_where_the_stream_is_fed_again)
{
    tnd_leader_core_t *self = follows();
    are_up(self, 0, 4);
    restarts_prep(self);
    is_idle(self, 0);
    tnd_leader_core_actor_up(self, PREP, 0);
    rewinds(self, 0, 4, 0);
    is_idle(self, 0);
    free(self);
}

Test(leader_touch, a_host_that_the_stream_goes_without_replaces_the_worker_when_it_is_back)
{
    tnd_leader_core_t *self = follows();
    are_up(self, 0, 2);
    are_up(self, 3, 4);
    tnd_leader_core_host_left(self, 2, 0);
    rewinds(self, 0, 4, 0);
    is_idle(self, 0);
    are_up(self, 2, 3);
    restarts_prep(self);
    is_idle(self, 0);
    free(self);
}

Test(leader_touch, another_process_has_no_worker_to_replace)
{
    tnd_leader_core_t *self = follows();
    are_up(self, 0, 2);
    are_up(self, 3, 4);
    tnd_leader_core_host_left(self, 2, 0);
    tnd_leader_core_host_again(self, 2, "its process died", 0);
    are_up(self, 2, 3);
    rewinds(self, 0, 4, 0);
    is_idle(self, 0);
    free(self);
}

Test(leader_touch, a_feeder_is_not_replaced_on_request)
{
    tnd_leader_core_t *self = running();
    tnd_error_t error;

    cr_assert_eq(tnd_leader_core_ask_restart(self, FEED_0, 0, &error), TND_FAILED);
    cr_assert(strstr(error.text, "drain the run"));
    is_idle(self, 0);
    free(self);
}

/* --- another number of slots ------------------------------------------------------------------- */

static void wants_slots(tnd_leader_core_t *self, uint32_t depth)
{
    tnd_effect_t effect;
    cr_assert(tnd_leader_core_next(self, 0, &effect));
    cr_assert_eq(effect.msg.kind, TND_MSG_DEPTH);
    cr_assert_eq(effect.msg.until.step, depth);
}

Test(leader_touch, all_feeders_learn_how_many_slots_are_wanted_also_after_they_were_away)
{
    tnd_leader_core_t *self = running();
    tnd_effect_t effect;
    tnd_error_t error;

    cr_assert_eq(tnd_leader_core_ask_depth(self, 4, &error), TND_OK);
    wants_slots(self, 4);
    wants_slots(self, 4);
    is_idle(self, 0);
    /* One that could not allocate them tries again where the same is asked once more. */
    cr_assert_eq(tnd_leader_core_ask_depth(self, 4, &error), TND_OK);
    wants_slots(self, 4);
    wants_slots(self, 4);
    is_idle(self, 0);
    tnd_leader_core_host_up(self, 3, 0);
    bool again = false;
    while (tnd_leader_core_next(self, 1000 * ms, &effect))
        again = again || effect.msg.kind == TND_MSG_DEPTH;
    cr_assert(again);
    tnd_leader_core_ask_drain(self);
    cr_assert_eq(tnd_leader_core_ask_depth(self, 5, &error), TND_FAILED);
    cr_assert(strstr(error.text, "ends already"));
    free(self);
}

/* --- programs that end their loops ------------------------------------------------------------ */

Test(leader_touch, a_run_ends_with_the_steps_that_programs_ran)
{
    tnd_leader_core_t *self = running();
    tnd_leader_core_finish(self, 0, 0);
    cr_assert(tnd_leader_core_is_finished(self));
    free(self);

    self = running();
    cr_assert_not(tnd_leader_core_is_finished(self));
    tnd_leader_core_finish(self, 3, 2);
    tnd_leader_core_finish(self, 3, 2); /* its host has reached the leader again */
    tnd_leader_core_finish(self, 0, 2);
    cr_assert_not(tnd_leader_core_is_finished(self));
    cr_assert_neq(tnd_leader_core_state(self), TND_LEADER_CORE_FAILED);
    free(self);
}

Test(leader_touch, programs_that_end_after_different_steps_fail_the_run)
{
    tnd_leader_core_t *self = running();
    tnd_leader_core_finish(self, 3, 7);
    tnd_leader_core_finish(self, 0, 5);
    cr_assert_eq(tnd_leader_core_state(self), TND_LEADER_CORE_FAILED);
    cr_assert_str_eq(tnd_leader_core_why(self),
                     "the programs of hosts delta and alpha ended their loops after different "
                     "steps: after 7 and 5 of them");
    cr_assert_not(tnd_leader_core_is_finished(self));
    free(self);
}

Test(leader, feeders_know_where_they_rest_before_they_begin)
{
    tnd_leader_core_t *self = make_with(TND_UNKNOWN, 5);
    tnd_effect_t effect;
    uint32_t epoch;
    for (uint32_t h = 0; h < 4; h++) {
        tnd_leader_core_host_up(self, h, 0);
        tnd_leader_core_actors_up(self, h, 0);
    }
    tnd_leader_core_rest_at(self, 3, 2);
    tnd_leader_core_go(self);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert(tnd_leader_core_next(self, 0, &effect));
        cr_assert_eq(effect.msg.kind, TND_MSG_LIMIT);
        cr_assert_eq(effect.msg.to, FEED_0 + i);
        cr_assert_eq(effect.msg.limit.step, 3);
        cr_assert_eq(effect.msg.limit.epoch, 2);
    }
    rewinds(self, 0, 1, 0);
    cr_assert_not(tnd_leader_core_rests(self, &epoch));
    tnd_leader_core_rest_at(self, 0, TND_ENDLESS);
    cr_assert(tnd_leader_core_rests(self, &epoch));
    cr_assert_eq(epoch, 0);
    free(self);
}

/*  What a feeder knows of its rows comes before the last words of the lanes, or after them. */
Test(leader, a_chain_does_not_rest_where_it_ends)
{
    for (int last = 0; last < 2; last++) {
        tnd_leader_core_t *self = running();
        tnd_effect_t effect;
        uint32_t epoch;
        tnd_leader_core_rest_at(self, 1, TND_ENDLESS);
        for (uint32_t i = 0; i < 2; i++) {
            take_part(self, 0, i);
            tnd_msg_t msg = {.kind = TND_MSG_COMMIT, .from = FEED_0 + i, .to = TND_LEADER};
            msg.commit.rows = 1;
            msg.commit.digest[0] = UINT64_MAX - 1 + i;
            msg.commit.last = last;
            tnd_leader_core_message(self, &msg, 0);
        }
        while (tnd_leader_core_next(self, 0, &effect))
            continue;
        cr_assert_eq(tnd_leader_core_cursor(self)->step, 1);
        cr_assert_eq(tnd_leader_core_rests(self, &epoch), !last);
        cr_assert_eq(tnd_leader_core_state(self), TND_LEADER_CORE_RUNNING);
        free(self);
    }
}

/*  Feeders had started steps 0, 1 and 2 when the run was to drain; then programs end the epoch after step 0,
 *  and the next one is not to begin before a validation. */
Test(leader, a_run_that_drains_ends_where_its_stream_rests)
{
    tnd_leader_core_t *self = running();
    tnd_effect_t effect;
    uint64_t last = TND_UNKNOWN;
    tnd_leader_core_rest_at(self, TND_UNKNOWN, 1);
    tnd_leader_core_ask_drain(self);
    while (tnd_leader_core_next(self, 0, &effect))
        continue;
    for (uint32_t i = 0; i < 2; i++)
        answers_halt(self, i, 1, 3, 0);
    for (uint32_t i = 0; i < 2; i++) {
        take_part(self, 0, i);
        tnd_msg_t msg = {.kind = TND_MSG_COMMIT, .from = FEED_0 + i, .to = TND_LEADER};
        msg.commit.rows = 1;
        msg.commit.digest[0] = UINT64_MAX - 1 + i;
        msg.commit.cut = true;
        tnd_leader_core_message(self, &msg, 0);
    }
    while (tnd_leader_core_next(self, 0, &effect))
        if (effect.msg.kind == TND_MSG_LAST)
            last = effect.msg.until.step;
    cr_assert_eq(tnd_leader_core_cursor(self)->step, 1);
    cr_assert_eq(tnd_leader_core_state(self), TND_LEADER_CORE_DONE);
    cr_assert_eq(last, 1, "feeders know it");
    free(self);
}
