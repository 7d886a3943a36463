/*  Covers runtime/core/leader.h: a leader of two lanes and two feeders, message by message.  The
 *  simulator tests whole runs with faults. */
#include "tests/runtime/core/leader.h"

Test(leader, the_stream_begins_when_every_host_and_actor_is_there)
{
    tnd_leader_core_t *self = make_with(TND_UNKNOWN, 5);
    uint32_t missing[4];

    tnd_leader_core_go(self);
    for (uint32_t i = 0; i < 3; i++)
        tnd_leader_core_host_up(self, i, 0);
    for (uint32_t i = 0; i < MEMBERS - 1; i++)
        tnd_leader_core_actor_up(self, i, 0);
    is_idle(self, 0);
    cr_assert_eq(tnd_leader_core_missing(self, missing, 4), 1);
    cr_assert_eq(missing[0], 3);
    cr_assert_eq(tnd_leader_core_state(self), TND_LEADER_CORE_JOINING);
    tnd_leader_core_host_up(self, 3, 0);
    is_idle(self, 0);
    cr_assert_eq(tnd_leader_core_state(self), TND_LEADER_CORE_OPENING);
    tnd_leader_core_actor_up(self, FEED_1, 0);
    rewinds(self, 0, 1, 0);
    cr_assert_eq(tnd_leader_core_state(self), TND_LEADER_CORE_RUNNING);
    free(self);
}

Test(leader, hosts_that_do_not_come_are_named)
{
    tnd_leader_core_t *self = make_with(TND_UNKNOWN, 5);

    tnd_leader_core_go(self);
    tnd_leader_core_host_up(self, 0, 0);
    tnd_leader_core_host_up(self, 2, 0);
    is_idle(self, 119999 * ms);
    cr_assert_eq(tnd_leader_core_deadline(self), 120000 * ms);
    fails_with(self, 120000 * ms, "beta, delta did not answer within 120 s");
}

Test(leader, a_start_waits_for_a_host_that_opens_its_data_while_it_reports_progress)
{
    tnd_leader_core_t *self = make_with(TND_UNKNOWN, 5);

    tnd_leader_core_go(self);
    for (uint32_t i = 0; i < 4; i++)
        tnd_leader_core_host_up(self, i, 0);
    tnd_leader_core_host_opening(self, 1, 0, "data/x.rec", 0);
    is_idle(self, 0);
    cr_assert_eq(tnd_leader_core_state(self), TND_LEADER_CORE_OPENING);
    uint64_t now = 0;
    for (uint64_t i = 1; i < 10; i++) {
        now += 80000 * ms;
        tnd_leader_core_host_opening(self, 1, i, "data/y.rec", now);
        is_idle(self, now);
    }
    is_idle(self, now + 90000 * ms);
    cr_assert_eq(tnd_leader_core_deadline(self), now + 91000 * ms);
    fails_with(self, now + 91000 * ms,
               "host beta has reported no progress for more than 60000 ms (hung_after) while it "
               "opens data/y.rec");
}

Test(leader, a_host_that_reports_no_progress_has_start_timeout_to_open_its_data)
{
    tnd_leader_core_t *self = make_with(TND_UNKNOWN, 5);

    tnd_leader_core_go(self);
    for (uint32_t i = 0; i < 4; i++)
        tnd_leader_core_host_up(self, i, 0);
    tnd_leader_core_host_opening(self, 1, 0, "data/x.rec", 100000 * ms);
    fails_with(self, 120000 * ms,
               "host beta has reported no progress for more than 120000 ms (start_timeout) while "
               "it opens data/x.rec");
}

Test(leader, a_step_is_booked_when_all_feeders_committed_it_and_all_lanes_reported_their_part)
{
    tnd_leader_core_t *self = running();
    tnd_effect_t effect;

    take_part(self, 0, 1);
    commit(self, 0, FEED_0);
    commit(self, 0, FEED_1);
    is_idle(self, 0);
    take_part(self, 0, 0);
    cr_assert(tnd_leader_core_next(self, 0, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_BOOK);
    cr_assert_eq(effect.cursor->step, 1);
    cr_assert_eq(effect.cursor->rank, 2);
    cr_assert_eq(effect.cursor->part[1].index, 1);
    cr_assert_eq(effect.cursor->ledger.read, 2);
    cr_assert_eq(effect.cursor->ledger.fed, 2);
    cr_assert_eq(effect.cursor->digest[0], UINT64_MAX - 2, "the sum carries");
    cr_assert_eq(effect.cursor->digest[1], 1);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert(tnd_leader_core_next(self, 0, &effect));
        cr_assert_eq(effect.msg.kind, TND_MSG_BOOKED);
        cr_assert_eq(effect.msg.to, FEED_0 + i);
        cr_assert_eq(effect.msg.until.step, 1);
    }
    is_idle(self, 0);
    free(self);
}

Test(leader, a_repeated_commit_counts_once)
{
    tnd_leader_core_t *self = running();

    take_part(self, 0, 0);
    take_part(self, 0, 1);
    commit(self, 0, FEED_0);
    commit(self, 0, FEED_0);
    is_idle(self, 0);
    free(self);
}

Test(leader, a_rewind_goes_to_the_first_step_that_a_feeder_lacks_or_whose_cursor_is_not_whole)
{
    tnd_leader_core_t *self = running();
    tnd_msg_t broken = {.kind = TND_MSG_BROKEN, .from = BATCH_0, .generation = 1};

    for (uint64_t step = 0; step < 4; step++)
        take_part(self, step, 0);
    for (uint64_t step = 0; step < 3; step++)
        take_part(self, step, 1);
    hold(self, 4, FEED_0);
    hold(self, 2, FEED_1);
    tnd_leader_core_message(self, &broken, 20 * ms);
    tnd_leader_core_message(self, &broken, 20 * ms);
    rewinds(self, 20 * ms, 2, 2);
    is_idle(self, 20 * ms);
    hold(self, 4, FEED_1);
    broken.generation = 2;
    tnd_leader_core_message(self, &broken, 40 * ms);
    rewinds(self, 40 * ms, 3, 3);
    free(self);
}

Test(leader, losses_of_an_older_generation_were_repaired_by_the_newer)
{
    tnd_leader_core_t *self = running();
    tnd_msg_t broken = {.kind = TND_MSG_BROKEN, .from = BATCH_0};

    tnd_leader_core_message(self, &broken, 20 * ms);
    is_idle(self, 20 * ms);
    free(self);
}

Test(leader, rewinds_without_progress_are_delayed_more_each_time)
{
    tnd_leader_core_t *self = running();
    uint64_t now = 0, wait = 10 * ms;

    for (uint32_t generation = 1; generation < 12; generation++) {
        tnd_msg_t broken = {.kind = TND_MSG_BROKEN, .from = BATCH_0, .generation = generation};
        tnd_leader_core_message(self, &broken, now);
        is_idle(self, now + wait - 1);
        cr_assert_eq(tnd_leader_core_deadline(self), now + wait);
        now += wait;
        rewinds(self, now, generation + 1, 0);
        wait = wait < 500 * ms ? 2 * wait : 1000 * ms;
    }
    free(self);
}

Test(leader, other_rows_after_a_rewind_end_the_run)
{
    tnd_leader_core_t *self = running();
    tnd_msg_t broken = {.kind = TND_MSG_BROKEN, .from = BATCH_0, .generation = 1};

    take_part(self, 0, 0);
    take_part(self, 0, 1);
    tnd_leader_core_message(self, &broken, 20 * ms);
    rewinds(self, 20 * ms, 2, 0);
    take_part(self, 0, 0);
    is_idle(self, 20 * ms);
    tnd_msg_t other = part(self, 0, 1);
    other.part.position.index++;
    tnd_leader_core_message(self, &other, 20 * ms);
    fails_with(self, 20 * ms,
               "lane 1 (batch.1) reported other rows than before the last rewind of step 0");
}

Test(leader, a_lane_that_goes_back_ends_the_run_with_its_name)
{
    for (int what = 0; what < 4; what++) {
        tnd_leader_core_t *self = running();
        take_part(self, 0, 1);
        tnd_msg_t back = part(self, 1, 1);
        if (what == 0)
            back.part.position.index = 0;
        else if (what == 1)
            back.part.rank = 1;
        else if (what == 2)
            back.part.step_of_epoch = 3;
        else
            back.part.position = (tnd_position_t){0};
        tnd_leader_core_message(self, &back, 0);
        fails_with(self, 0, "batch.1 reported lane 1 at position");
    }
}

Test(leader, an_account_that_does_not_balance_ends_the_run)
{
    tnd_leader_core_t *self = running();
    tnd_msg_t odd = part(self, 0, 1);

    odd.part.ledger.read = 3;
    tnd_leader_core_message(self, &odd, 0);
    take_part(self, 0, 0);
    commit(self, 0, FEED_0);
    commit(self, 0, FEED_1);
    fails_with(self, 0, "does not balance");
}

Test(leader, a_feeder_that_dies_ends_the_run_with_its_name_and_the_last_cursor)
{
    tnd_leader_core_t *self = running();
    tnd_effect_t effect;

    take_part(self, 0, 0);
    take_part(self, 0, 1);
    commit(self, 0, FEED_0);
    commit(self, 0, FEED_1);
    cr_assert(next_but_words(self, 0, &effect));
    tnd_leader_core_actor_down(self, FEED_1, "killed by signal 9", 5);
    fails_with(self, 5,
               "feed.1 on host delta died: killed by signal 9; the last committed cursor is the "
               "one before step 1");
}

Test(leader, a_reader_that_dies_is_started_after_its_back_off_and_then_all_rewind)
{
    tnd_leader_core_t *self = running();
    tnd_effect_t effect;

    tnd_leader_core_actor_down(self, READ_1, "it was killed", 50 * ms);
    is_idle(self, 50 * ms);
    cr_assert_eq(tnd_leader_core_deadline(self), 60 * ms);
    cr_assert(tnd_leader_core_next(self, 60 * ms, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_RESTART);
    cr_assert_eq(effect.msg.to, READ_1);
    is_idle(self, 60 * ms);
    tnd_leader_core_actor_up(self, READ_1, 70 * ms);
    rewinds(self, 70 * ms, 2, 0);
    free(self);
}

Test(leader, a_worker_that_dies_is_started_and_nothing_rewinds)
{
    tnd_leader_core_t *self = running();
    tnd_effect_t effect;

    tnd_leader_core_actor_down(self, PREP, "it was killed", 50 * ms);
    cr_assert(tnd_leader_core_next(self, 60 * ms, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_RESTART);
    tnd_leader_core_actor_up(self, PREP, 70 * ms);
    is_idle(self, 70 * ms);
    free(self);
}

Test(leader, without_restarts_any_death_ends_the_run)
{
    tnd_leader_core_t *self = running_with(TND_UNKNOWN, 0);

    tnd_leader_core_actor_down(self, PREP, "killed by signal 11", 50 * ms);
    fails_with(self, 50 * ms, "prep.0 on host gamma died: killed by signal 11");
}

Test(leader, a_control_connection_that_came_back_rewinds)
{
    tnd_leader_core_t *self = running();

    tnd_leader_core_host_up(self, 2, 20 * ms);
    is_idle(self, 20 * ms);
    tnd_leader_core_host_up(self, 1, 20 * ms);
    rewinds(self, 20 * ms, 2, 0);
    free(self);
}

Test(leader, a_lost_host_that_the_stream_needs_is_waited_for_and_then_named)
{
    tnd_leader_core_t *self = running();

    tnd_leader_core_host_lost(self, 1, "it is silent", 0);
    is_idle(self, 9999 * ms);
    cr_assert_eq(tnd_leader_core_deadline(self), 10000 * ms);
    fails_with(self, 10000 * ms, "host beta was lost and did not come back");
}

Test(leader, a_leader_that_was_away_gives_a_lost_host_so_much_longer)
{
    tnd_leader_core_t *self = running();

    tnd_leader_core_host_lost(self, 1, "it is silent", 0);
    is_idle(self, 4000 * ms);
    tnd_leader_core_excuse(self, 60000 * ms);
    is_idle(self, 69999 * ms);
    fails_with(self, 70000 * ms, "host beta was lost and did not come back");
}

Test(leader, a_drain_ends_with_the_highest_step_that_any_feeder_started)
{
    tnd_leader_core_t *self = running();
    tnd_effect_t effect;

    tnd_leader_core_ask_drain(self);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert(tnd_leader_core_next(self, 0, &effect));
        cr_assert_eq(effect.msg.kind, TND_MSG_HALT);
        cr_assert(effect.msg.halt.ends);
        answers_halt(self, i, effect.msg.halt.number, 1 - i, 0);
    }
    for (uint32_t i = 0; i < 2; i++) {
        is_limited(self, 0, 1);
        cr_assert(tnd_leader_core_next(self, 0, &effect));
        cr_assert_eq(effect.msg.kind, TND_MSG_LAST);
        cr_assert_eq(effect.msg.until.step, 1);
    }
    is_idle(self, 0);
    cr_assert_eq(tnd_leader_core_state(self), TND_LEADER_CORE_DRAINING);
    for (uint32_t i = 0; i < 2; i++) {
        take_part(self, 0, i);
        commit(self, 0, FEED_0 + i);
    }
    cr_assert(next_but_words(self, 0, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_BOOK);
    cr_assert(next_but_words(self, 0, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_OUTCOME);
    cr_assert_eq(tnd_leader_core_state(self), TND_LEADER_CORE_DONE);
    free(self);
}

Test(leader, a_feeder_that_drains_is_told_no_end_before_all_have_answered)
{
    tnd_leader_core_t *self = running_with(34, 5);
    tnd_effect_t effect;

    cr_assert_not(next_but_words(self, 0, &effect));
    tnd_leader_core_ask_drain(self);
    cr_assert_not(next_but_words(self, 0, &effect));
    tnd_leader_core_actor_down(self, READ_0, "it was killed", 0);
    tnd_leader_core_actor_up(self, READ_0, 0);
    rewinds(self, 20 * ms, 2, 0);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert(tnd_leader_core_next(self, 20 * ms, &effect));
        cr_assert_eq(effect.msg.kind, TND_MSG_HALT);
    }
    is_idle(self, 20 * ms);
    for (uint32_t i = 0; i < 2; i++)
        answers_halt(self, i, 1, 0, 20 * ms);
    tells_last(self, 20 * ms, 0);
    free(self);
}

/*  One step of two feeders, and the stream is over. */
static tnd_leader_core_t *done(void)
{
    tnd_leader_core_t *self = running_with(1, 5);
    tnd_effect_t effect;
    for (uint32_t i = 0; i < 2; i++) {
        take_part(self, 0, i);
        commit(self, 0, FEED_0 + i);
    }
    cr_assert(next_but_words(self, 0, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_BOOK);
    cr_assert(next_but_words(self, 0, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_OUTCOME);
    cr_assert_eq(tnd_leader_core_state(self), TND_LEADER_CORE_DONE);
    return self;
}

Test(leader, the_run_ends_with_a_host_that_carries_replicas_and_may_not_be_started_again)
{
    tnd_leader_core_t *self = running();
    static const bool ends[] = {false, false, false, true};
    for (uint32_t h = 1; h < 4; h++)
        cr_assert_eq(tnd_leader_core_ends_with(self, h), ends[h], "host %u", h);
    free(self);

    self = running_with(TND_UNKNOWN, 0);
    cr_assert(tnd_leader_core_ends_with(self, 1), "nothing is started again");
    free(self);

    self = done();
    cr_assert_not(tnd_leader_core_ends_with(self, 1));
    cr_assert(tnd_leader_core_ends_with(self, 3), "its last word is to come");
    tnd_msg_t model = {.kind = TND_MSG_MODEL, .from = FEED_1};
    tnd_leader_core_message(self, &model, 0);
    cr_assert_not(tnd_leader_core_ends_with(self, 3));
    free(self);
}

Test(leader, a_host_lost_before_its_replicas_sent_model_fails_a_run_that_is_done)
{
    tnd_leader_core_t *self = done();

    tnd_leader_core_host_lost(self, 1, "it was killed", 0);
    cr_assert_eq(tnd_leader_core_state(self), TND_LEADER_CORE_DONE, "it carries no feeder");
    tnd_leader_core_host_again(self, 3, "it was killed", 0);
    cr_assert_eq(tnd_leader_core_state(self), TND_LEADER_CORE_FAILED);
    cr_assert_eq(tnd_leader_core_cause(self), TND_LEADER_CORE_ABSENT);
    cr_assert_not_null(
        strstr(tnd_leader_core_why(self), "host delta was lost before the last word"), "%s",
        tnd_leader_core_why(self));
    free(self);
}

Test(leader, a_host_lost_after_its_replicas_sent_model_is_not_needed)
{
    tnd_leader_core_t *self = done();

    tnd_msg_t model = {.kind = TND_MSG_MODEL, .from = FEED_1};
    tnd_leader_core_message(self, &model, 0);
    tnd_leader_core_host_lost(self, 3, "it was killed", 0);
    cr_assert_eq(tnd_leader_core_state(self), TND_LEADER_CORE_DONE);
    free(self);
}

Test(leader, the_run_is_done_when_all_is_booked_and_all_lanes_reported_the_rest)
{
    tnd_leader_core_t *self = running();
    tnd_effect_t effect;

    for (uint32_t i = 0; i < 2; i++) {
        take_part(self, 0, i);
        commit(self, 0, FEED_0 + i);
    }
    cr_assert(next_but_words(self, 0, &effect));
    for (uint32_t i = 0; i < 2; i++) {
        tnd_msg_t last = part(self, 1, i);
        last.kind = TND_MSG_LAST;
        last.part.ledger = (tnd_ledger_t){.read = 3, .filtered = 3};
        cr_assert_not(next_but_words(self, 0, &effect));
        tnd_leader_core_message(self, &last, 0);
    }
    cr_assert(next_but_words(self, 0, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_OUTCOME);
    cr_assert_eq(tnd_leader_core_state(self), TND_LEADER_CORE_DONE);
    cr_assert_eq(tnd_leader_core_cursor(self)->ledger.read, 8);
    cr_assert_eq(tnd_leader_core_cursor(self)->ledger.filtered, 6);
    free(self);
}

/*  Both lanes report that they have no rows, and then both feeders that they have begun. */
static void ends_without_steps(tnd_leader_core_t *self)
{
    tnd_effect_t effect;
    for (uint32_t i = 0; i < 2; i++) {
        tnd_msg_t last = part(self, 0, i);
        last.kind = TND_MSG_LAST;
        last.part.ledger = (tnd_ledger_t){0};
        tnd_leader_core_message(self, &last, 0);
    }
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert_not(next_but_words(self, 0, &effect));
        tnd_msg_t held = {.kind = TND_MSG_HELD, .from = FEED_0 + i, .to = TND_LEADER};
        held.generation = tnd_leader_core_generation(self);
        tnd_leader_core_message(self, &held, 0);
    }
    cr_assert(next_but_words(self, 0, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_OUTCOME);
    cr_assert_eq(tnd_leader_core_state(self), TND_LEADER_CORE_DONE);
}

Test(leader, a_stream_without_steps_is_done_once_every_feeder_knows_that_it_began)
{
    tnd_leader_core_t *self = running();
    ends_without_steps(self);
    free(self);
}

Test(leader, the_last_word_of_a_feeder_counts_only_where_the_stream_is_fed_now)
{
    tnd_leader_core_t *self = go(make_again());
    tnd_msg_t model = {.kind = TND_MSG_MODEL, .generation = 3, .from = FEED_1};

    rewinds(self, 0, 4, 0);
    tnd_leader_core_message(self, &model, 0);
    ends_without_steps(self);
    cr_assert(tnd_leader_core_is_earlier(self, &model));
    cr_assert(tnd_leader_core_ends_with(self, 3), "a host that was away repeats the word before");
    model.generation = 4;
    cr_assert_not(tnd_leader_core_is_earlier(self, &model));
    tnd_leader_core_message(self, &model, 0);
    cr_assert_not(tnd_leader_core_ends_with(self, 3));
    cr_assert_not(tnd_leader_core_awaits_model(self, FEED_1));
    cr_assert(tnd_leader_core_awaits_model(self, FEED_0));
    cr_assert(tnd_leader_core_awaits_model(self, TND_NOBODY));
    free(self);
}

Test(leader, a_stream_that_does_not_begin_again_has_no_last_word)
{
    tnd_leader_core_t *self = make_again();
    tnd_effect_t effect;

    tnd_leader_core_ask_drain(self);
    cr_assert(next_but_words(self, 0, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_OUTCOME);
    cr_assert_eq(tnd_leader_core_state(self), TND_LEADER_CORE_DONE);
    cr_assert_not(tnd_leader_core_has_begun(self));
    cr_assert_not(tnd_leader_core_awaits_model(self, FEED_0));
    cr_assert_not(tnd_leader_core_awaits_model(self, TND_NOBODY));
    free(self);
}

Test(leader, a_run_of_so_many_steps_is_done_after_them)
{
    tnd_leader_core_t *self = running_with(1, 5);
    tnd_effect_t effect;
    for (uint32_t i = 0; i < 2; i++) {
        take_part(self, 0, i);
        commit(self, 0, FEED_0 + i);
    }
    cr_assert(next_but_words(self, 0, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_BOOK);
    cr_assert(next_but_words(self, 0, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_OUTCOME);
    cr_assert_eq(tnd_leader_core_state(self), TND_LEADER_CORE_DONE);
    free(self);
}

Test(leader, a_host_whose_process_is_replaced_too_often_ends_the_run)
{
    tnd_leader_core_t *self = running_with(TND_UNKNOWN, 2);
    tnd_effect_t effect;

    for (uint64_t i = 1; i <= 2; i++) {
        tnd_leader_core_host_again(self, 2, "the connection ended", 10 * i * ms);
        tnd_leader_core_host_up(self, 2, 10 * i * ms);
        tnd_leader_core_actor_up(self, PREP, 10 * i * ms);
        cr_assert_not(next_but_words(self, 10 * i * ms, &effect));
    }
    tnd_leader_core_host_again(self, 2, "the connection ended", 30 * ms);
    cr_assert_eq(tnd_leader_core_cause(self), TND_LEADER_CORE_ABSENT);
    fails_with(self, 30 * ms,
               "host gamma died 3 times in a short time, last because: the connection ended");
}

Test(leader, a_process_in_the_place_of_another_has_the_time_of_a_start)
{
    tnd_leader_core_t *self = running();

    tnd_leader_core_host_again(self, 1, "the connection ended", 0);
    is_idle(self, 119999 * ms);
    cr_assert_eq(tnd_leader_core_deadline(self), 120000 * ms);
    fails_with(self, 120000 * ms, "host beta was lost and did not come back in time");
}

Test(leader, a_process_in_the_place_of_another_opens_its_data_as_long_as_it_reports_progress)
{
    tnd_leader_core_t *self = running();
    uint64_t now = 0;

    tnd_leader_core_host_again(self, 1, "the connection ended", 0);
    for (uint64_t i = 0; i < 10; i++) {
        tnd_leader_core_host_opening(self, 1, i, "data/x.rec", now);
        is_idle(self, now);
        now += 80000 * ms;
    }
    tnd_leader_core_host_opened(self, 1, now);
    is_idle(self, now + 119999 * ms);
    fails_with(self, now + 120000 * ms, "host beta was lost and did not come back in time");
}

Test(leader, a_host_with_workers_that_left_is_not_waited_for)
{
    tnd_leader_core_t *self = running();
    uint32_t missing[4];

    tnd_leader_core_host_left(self, 2, 0);
    is_idle(self, 1000000 * ms);
    cr_assert_eq(tnd_leader_core_missing(self, missing, 4), 0);
    cr_assert_eq(tnd_leader_core_state(self), TND_LEADER_CORE_RUNNING);
    tnd_leader_core_host_up(self, 2, 1000000 * ms);
    tnd_leader_core_actor_up(self, PREP, 1000000 * ms);
    is_idle(self, 1000000 * ms);
    free(self);
}

Test(leader, the_place_of_a_spare_does_not_hold_up_the_start)
{
    uint8_t flags[4] = {0, 0, TND_HOST_SPARE, 0};
    tnd_leader_core_t *self = make_of(flags, TND_UNKNOWN, 5);
    for (uint32_t i = 0; i < 4; i++)
        if (i != 2)
            tnd_leader_core_host_up(self, i, 0);
    for (uint32_t i = 0; i < MEMBERS; i++)
        if (members[i].host != 2)
            tnd_leader_core_actor_up(self, i, 0);
    tnd_leader_core_go(self);
    rewinds(self, 0, 1, 0);
    free(self);
}

/* --- a holder of parameters -------------------------------------------------------------------- */

enum { HOLDER = MEMBERS, DEALT_MEMBERS };

/*  The feeders of the fixture as replicas, on other hosts than the holder of their parameters; the first one
 *  may have another role. */
static tnd_leader_core_t *dealing_at(tnd_role_t first, uint32_t first_host, uint32_t second_host)
{
    static tnd_member_t dealt[DEALT_MEMBERS];
    memcpy(dealt, members, sizeof members);
    dealt[FEED_0].role = first;
    dealt[FEED_0].host = first_host;
    dealt[FEED_1].role = TND_ROLE_REPLICA;
    dealt[FEED_1].host = second_host;
    dealt[HOLDER] = (tnd_member_t){HOLDER, TND_ROLE_PARAMETERS, 1, 0, "params"};
    tnd_leader_core_config_t config = {.members = dealt,
                                       .member_count = DEALT_MEMBERS,
                                       .hosts = hosts,
                                       .host_count = 4,
                                       .lanes = 2,
                                       .start_timeout_ns = 120000 * ms,
                                       .restart_timeout_ns = 10000 * ms,
                                       .steps_open_max = 8,
                                       .steps_max = TND_UNKNOWN,
                                       .restarts = {5, 10 * ms, 1000 * ms, 60000 * ms}};
    tnd_cursor_t start;
    tnd_cursor_start(&start, 2);
    tnd_leader_core_t *self =
        go(tnd_leader_core_init(calloc(1, tnd_leader_core_bytes(&config)), &config, &start, 0));
    is_idle(self, 0);
    tnd_leader_core_actor_born(self, FEED_1, 70, 0);
    tnd_leader_core_actor_up(self, HOLDER, 0);
    rewinds(self, 0, 1, 0);
    return self;
}

static tnd_leader_core_t *dealing(tnd_role_t first)
{
    return dealing_at(first, 0, 3);
}

Test(leader, a_step_is_booked_when_the_holder_of_the_parameters_has_committed_it)
{
    tnd_effect_t effect;
    tnd_leader_core_t *self = dealing(TND_ROLE_REPLICA);
    take_part(self, 0, 0);
    take_part(self, 0, 1);
    is_idle(self, 0);
    tnd_msg_t msg = {.kind = TND_MSG_COMMIT, .from = MEMBERS, .commit.rows = 2};
    tnd_leader_core_message(self, &msg, 0);
    cr_assert(tnd_leader_core_next(self, 0, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_BOOK);
    cr_assert_eq(effect.cursor->step, 1);
    cr_assert(tnd_leader_core_next(self, 0, &effect));
    cr_assert(effect.msg.kind == TND_MSG_BOOKED && effect.msg.to == MEMBERS);
    is_idle(self, 0);
    cr_assert(tnd_leader_core_awaits_model(self, TND_NOBODY));
    msg = (tnd_msg_t){.kind = TND_MSG_MODEL, .from = MEMBERS};
    tnd_leader_core_message(self, &msg, 0);
    cr_assert_not(tnd_leader_core_awaits_model(self, TND_NOBODY), "replicas have no model");
    free(self);
}

Test(leader, the_death_of_the_holder_ends_the_run_by_name)
{
    tnd_leader_core_t *self = dealing(TND_ROLE_REPLICA);
    tnd_leader_core_actor_down(self, HOLDER, "killed", 0);
    fails_with(self, 0, "params on host beta died: killed; the last committed cursor is");
    self = dealing(TND_ROLE_REPLICA);
    tnd_leader_core_host_lost(self, 1, "cut off", 0);
    fails_with(self, 0, "host beta was lost");
}

static void tells_gone(tnd_leader_core_t *self, tnd_life_t life)
{
    tnd_effect_t effect;
    cr_assert(tnd_leader_core_next(self, 0, &effect));
    cr_assert(effect.kind == TND_EFFECT_CONTROL && effect.msg.kind == TND_MSG_GONE);
    cr_assert_eq(effect.msg.to, HOLDER);
    cr_assert_eq(effect.msg.gone.actor, FEED_1);
    cr_assert_eq(effect.msg.gone.life, life);
    is_idle(self, 0);
}

Test(leader, the_holder_is_told_of_a_replica_that_is_lost_and_its_steps_are_fed_again)
{
    tnd_leader_core_t *self = dealing(TND_ROLE_REPLICA);
    for (uint64_t step = 0; step < 3; step++)
        for (uint32_t lane = 0; lane < 2; lane++)
            take_part(self, step, lane);
    hold(self, 3, HOLDER);
    tnd_leader_core_host_lost(self, 3, "killed", 0);
    tells_gone(self, 70);
    tnd_msg_t redo = {.kind = TND_MSG_REDO, .from = HOLDER, .generation = 1, .until.step = 1};
    tnd_leader_core_message(self, &redo, 0);
    is_idle(self, 9 * ms);
    rewinds(self, 10 * ms, 2, 1);
    tnd_leader_core_message(self, &redo, 0); /* of the generation before */
    is_idle(self, 1000 * ms);

    /* The holder's host was away: what it was told may be lost. */
    tnd_leader_core_host_up(self, 1, 0);
    rewinds(self, 1000 * ms, 3, 1);
    tells_gone(self, 70);
    free(self);
}

/*  Others have its steps, so a life without any takes the place of the one that was counted as dead. */
Test(leader, a_replica_that_was_lost_and_lives_is_restarted)
{
    tnd_effect_t effect;
    tnd_leader_core_t *self = dealing(TND_ROLE_REPLICA);
    tnd_leader_core_host_lost(self, 3, "silent", 0);
    tells_gone(self, 70);
    tnd_leader_core_host_up(self, 3, 0);
    tnd_leader_core_actor_born(self, FEED_1, 70, 0);
    tnd_leader_core_actors_up(self, 3, 0);
    cr_assert(tnd_leader_core_next(self, 0, &effect));
    cr_assert(effect.kind == TND_EFFECT_RESTART && effect.msg.to == FEED_1);
    cr_assert_eq(effect.msg.note.number, TND_LEADER_CORE_OVERTAKEN);
    is_idle(self, 0);
    tnd_leader_core_actor_born(self, FEED_1, 80, 0);
    tnd_leader_core_actor_up(self, FEED_1, 0);
    is_idle(self, 0);

    /* Another process has taken its place. */
    tnd_leader_core_host_again(self, 3, "killed", 0);
    tells_gone(self, 80);
    tnd_leader_core_host_up(self, 3, 0);
    tnd_leader_core_actor_born(self, FEED_1, 90, 0);
    tnd_leader_core_actors_up(self, 3, 0);
    is_idle(self, 1000 * ms);
    free(self);
}

/*  Joins and the holder could not tell the two lives apart. */
Test(leader, a_replica_that_is_born_before_its_last_life_ends_the_run)
{
    tnd_leader_core_t *self = dealing(TND_ROLE_REPLICA);
    tnd_leader_core_host_again(self, 3, "killed", 0);
    tells_gone(self, 70);
    tnd_leader_core_host_up(self, 3, 0);
    tnd_leader_core_actor_born(self, FEED_1, 70, 0);
    cr_assert_not(tnd_leader_core_is_failing(self));
    tnd_leader_core_actor_born(self, FEED_1, 69, 0);
    cr_assert(tnd_leader_core_is_failing(self));
    cr_assert_not_null(strstr(tnd_leader_core_why(self), "the clock of host"), "%s",
                       tnd_leader_core_why(self));
    free(self);
}

/*  No other one has the first values, for which the holder may wait. */
Test(leader, a_run_waits_for_its_first_replica_until_a_step_is_committed)
{
    tnd_msg_t msg = {.kind = TND_MSG_COMMIT, .from = HOLDER, .commit.rows = 2};
    for (int committed = 0; committed < 2; committed++) {
        tnd_leader_core_t *self = dealing_at(TND_ROLE_REPLICA, 3, 0);
        tnd_leader_core_host_lost(self, 3, "killed", 0);
        is_idle(self, 0);
        cr_assert(tnd_leader_core_needs(self, 3));
        if (committed)
            tnd_leader_core_message(self, &msg, 0);
        cr_assert_eq(tnd_leader_core_needs(self, 3), !committed);
        is_idle(self, 9999 * ms);
        if (committed) {
            is_idle(self, 10000 * ms);
            free(self);
        } else {
            fails_with(self, 10000 * ms,
                       "host delta was lost and did not come back in time: killed");
        }
    }
}

Test(leader, a_run_waits_for_its_last_replica_for_restart_timeout)
{
    uint32_t missing[4];
    tnd_leader_core_t *self = dealing(TND_ROLE_REPLICA);
    tnd_leader_core_host_lost(self, 3, "killed", 0);
    tells_gone(self, 70);
    cr_assert_not(tnd_leader_core_needs(self, 3), "one is left");
    free(self);
    self = dealing(TND_ROLE_OBSERVER);
    tnd_leader_core_host_lost(self, 3, "killed", 0);
    tells_gone(self, 70);
    cr_assert(tnd_leader_core_needs(self, 3));
    cr_assert_eq(tnd_leader_core_missing(self, missing, 4), 1);
    is_idle(self, 9999 * ms);
    fails_with(self, 10000 * ms, "host delta was lost and did not come back in time: killed");
}
