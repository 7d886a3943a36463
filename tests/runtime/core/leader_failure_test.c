/*  Covers runtime/core/leader.h: what is booked before a run fails, how long it waits for that, and which reason
 *  counts. */
#include "tests/runtime/core/leader.h"

/*  Both feeders have done a step, and lane 1 has not reported where it is after it. */
static tnd_leader_core_t *lacks_a_part(void)
{
    tnd_leader_core_t *self = running();
    take_part(self, 0, 0);
    commit(self, 0, FEED_0);
    commit(self, 0, FEED_1);
    is_idle(self, 0);
    return self;
}

/*  Nothing but messages to feeders follows. */
static void waits(tnd_leader_core_t *self, uint64_t now)
{
    tnd_effect_t effect;
    cr_assert_not(next_but_words(self, now, &effect), "effect %d", (int)effect.kind);
    cr_assert(tnd_leader_core_is_failing(self));
}

static void books(tnd_leader_core_t *self, uint64_t now, uint64_t step)
{
    tnd_effect_t effect;
    cr_assert(next_but_words(self, now, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_BOOK);
    cr_assert_eq(effect.cursor->step, step + 1);
}

Test(leader_failure, steps_that_were_done_before_a_feeder_died_are_booked_first)
{
    tnd_leader_core_t *self = lacks_a_part();

    tnd_leader_core_actor_down(self, FEED_1, "killed by signal 9", 5 * ms);
    is_idle(self, 5 * ms);
    cr_assert_eq(tnd_leader_core_state(self), TND_LEADER_CORE_RUNNING);
    cr_assert(tnd_leader_core_is_failing(self));
    take_part(self, 0, 1);
    books(self, 6 * ms, 0);
    fails_with(self, 6 * ms,
               "feed.1 on host delta died: killed by signal 9; the last committed cursor is the "
               "one before step 1");
}

Test(leader_failure, what_does_not_come_is_waited_for_no_longer_than_settle_ns)
{
    tnd_leader_core_t *self = lacks_a_part();

    tnd_leader_core_actor_down(self, FEED_1, "killed by signal 9", 5 * ms);
    cr_assert_eq(tnd_leader_core_deadline(self), 2005 * ms);
    is_idle(self, 2005 * ms - 1);
    tnd_leader_core_excuse(self, 300 * ms);
    is_idle(self, 2305 * ms - 1);
    fails_with(self, 2305 * ms, "the last committed cursor is the one before step 0");
}

Test(leader_failure, a_feeder_that_is_late_does_the_steps_before_the_one_that_failed)
{
    tnd_leader_core_t *self = running();

    for (uint64_t step = 0; step < 2; step++) {
        take_part(self, step, 0);
        take_part(self, step, 1);
        commit(self, step, FEED_1);
    }
    cr_assert(tnd_leader_core_host_failed(self, 3, 5 * ms));
    is_idle(self, 5 * ms);
    commit(self, 0, FEED_0);
    books(self, 6 * ms, 0);
    waits(self, 6 * ms);
    commit(self, 1, FEED_0);
    books(self, 7 * ms, 1);
    fails_with(self, 7 * ms, "host delta has failed");
}

Test(leader_failure, steps_of_feeders_that_are_ahead_are_not_waited_for)
{
    tnd_leader_core_t *self = running();

    for (uint64_t step = 0; step < 3; step++) {
        take_part(self, step, 0);
        commit(self, step, FEED_0);
    }
    take_part(self, 0, 1);
    commit(self, 0, FEED_1);
    cr_assert(tnd_leader_core_host_failed(self, 3, 5 * ms));
    books(self, 5 * ms, 0);
    fails_with(self, 5 * ms, "one before step 1");
}

Test(leader_failure, a_host_without_replicas_leaves_all_to_be_booked_that_all_have_done)
{
    tnd_leader_core_t *self = lacks_a_part();

    commit(self, 1, FEED_0);
    cr_assert(tnd_leader_core_host_failed(self, 2, 5 * ms));
    is_idle(self, 5 * ms);
    take_part(self, 0, 1);
    books(self, 6 * ms, 0);
    fails_with(self, 6 * ms, "host gamma has failed");
}

Test(leader_failure, lanes_and_feeders_that_are_gone_are_not_waited_for)
{
    tnd_leader_core_t *self = lacks_a_part();
    tnd_leader_core_actor_down(self, BATCH_1, "it was killed", 4 * ms);
    tnd_leader_core_actor_down(self, FEED_1, "killed by signal 9", 5 * ms);
    fails_with(self, 5 * ms, "feed.1 on host delta died");

    self = lacks_a_part();
    tnd_leader_core_actor_down(self, FEED_1, "killed by signal 9", 5 * ms);
    is_idle(self, 5 * ms);
    tnd_leader_core_host_lost(self, 1, "it is silent", 6 * ms);
    fails_with(self, 6 * ms, "feed.1 on host delta died");

    self = running();
    take_part(self, 0, 0);
    take_part(self, 0, 1);
    commit(self, 0, FEED_1);
    tnd_leader_core_actor_down(self, FEED_1, "killed by signal 9", 5 * ms);
    is_idle(self, 5 * ms);
    tnd_leader_core_actor_down(self, FEED_0, "killed by signal 11", 6 * ms);
    fails_with(self, 6 * ms, "feed.1 on host delta died");
}

Test(leader_failure, a_lane_on_the_host_that_was_lost_does_not_report)
{
    tnd_leader_core_t *self = running();

    take_part(self, 0, 1);
    commit(self, 0, FEED_0);
    commit(self, 0, FEED_1);
    is_idle(self, 0);
    tnd_leader_core_host_lost(self, 3, "its process was killed", 5 * ms);
    is_idle(self, 5 * ms);
    take_part(self, 0, 0);
    books(self, 6 * ms, 0);
    fails_with(self, 6 * ms, "host delta was lost with the replicas that it carried");
}

Test(leader_failure, only_the_first_reason_counts)
{
    tnd_leader_core_t *self = lacks_a_part();
    tnd_leader_core_actor_down(self, FEED_1, "killed by signal 9", 5 * ms);
    cr_assert(tnd_leader_core_host_failed(self, 3, 6 * ms));
    tnd_leader_core_host_lost(self, 3, "it is silent", 6 * ms);
    tnd_leader_core_finish(self, 0, 1);
    tnd_leader_core_finish(self, 3, 2);
    is_idle(self, 6 * ms);
    cr_assert_not(tnd_leader_core_is_finished(self));
    tnd_msg_t odd = part(self, 0, 0);
    odd.part.position.index = 9;
    tnd_leader_core_message(self, &odd, 7 * ms);
    cr_assert_eq(tnd_leader_core_cause(self), TND_LEADER_CORE_BROKEN);
    cr_assert_not(tnd_leader_core_host_failed(self, 3, 7 * ms));
    fails_with(self, 7 * ms, "feed.1 on host delta died");
}

Test(leader_failure, nothing_else_is_done_for_a_run_that_fails)
{
    tnd_leader_core_t *self = lacks_a_part();
    tnd_error_t error;
    uint32_t epoch;

    tnd_leader_core_rest_at(self, 0, TND_ENDLESS);
    tnd_leader_core_actor_down(self, READ_1, "it was killed", 1 * ms);
    tnd_leader_core_actor_up(self, READ_1, 2 * ms);
    cr_assert(tnd_leader_core_host_failed(self, 3, 5 * ms));
    cr_assert_not(tnd_leader_core_rests(self, &epoch));
    cr_assert_eq(tnd_leader_core_pause(self, &error), TND_FAILED);
    cr_assert_eq(tnd_leader_core_ask_depth(self, 4, &error), TND_FAILED);
    cr_assert_eq(tnd_leader_core_ask_restart(self, READ_0, 5 * ms, &error), TND_FAILED);
    tnd_leader_core_ask_drain(self);
    tnd_leader_core_actor_down(self, PREP, "it was killed", 6 * ms);
    waits(self, 1000 * ms);
    take_part(self, 0, 1);
    books(self, 1001 * ms, 0);
    fails_with(self, 1001 * ms, "host delta has failed");
}

Test(leader_failure, a_host_that_fails_once_the_stream_is_over_fails_the_run_at_once)
{
    tnd_leader_core_t *self = running_with(0, 5);
    tnd_effect_t effect;

    hold(self, 0, FEED_0);
    hold(self, 0, FEED_1);
    cr_assert(next_but_words(self, 0, &effect));
    cr_assert_eq(effect.kind, TND_EFFECT_OUTCOME);
    cr_assert_eq(tnd_leader_core_state(self), TND_LEADER_CORE_DONE);
    cr_assert_not(tnd_leader_core_host_failed(self, 3, 5 * ms));
    free(self);
}
