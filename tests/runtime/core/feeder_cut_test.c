/*  Covers the cuts of runtime/core/feeder.h: what a feeder does when its program ends an epoch early. */
#include "tests/runtime/core/feeder.h"

/*  Takes all effects; returns the last COMMIT, or one of step UINT64_MAX. */
static tnd_effect_t last_commit(tnd_feeder_core_t *self)
{
    tnd_effect_t effect, commit = {.msg.commit.step = UINT64_MAX};
    while (tnd_feeder_core_next_effect(self, 0, &effect))
        if (effect.msg.kind == TND_MSG_COMMIT && effect.kind == TND_EFFECT_CONTROL)
            commit = effect;
    return commit;
}

/*  Both steps are with the devices. */
static tnd_feeder_core_t *make_started(void)
{
    tnd_feeder_core_t *self = make();
    put_step(self, 10);
    says(self, TND_MSG_HELD, 11);
    is_ready(self, 10);
    put_step(self, 11);
    says(self, TND_MSG_HELD, 12);
    is_ready(self, 11);
    return self;
}

/*  Of the next epoch, which the leader has announced to the batchers. */
static tnd_msg_t slice_after_cut(uint64_t step, uint32_t replica, uint32_t lane)
{
    tnd_msg_t msg = slice(step, replica, lane);
    msg.generation = 2;
    msg.slice.step_of_epoch = 0;
    msg.slice.epoch = 1;
    msg.slice.cuts = 1;
    return msg;
}

Test(feeder_cut, the_leader_hears_of_it_when_all_other_steps_are_back)
{
    tnd_feeder_core_t *self = make_started();
    tnd_feeder_core_cut(self, 10);
    tnd_feeder_core_done(self, 10, digest, 8, NULL);
    cr_assert(tnd_feeder_core_is_cutting(self));
    cr_assert_eq(last_commit(self).msg.commit.step, UINT64_MAX);
    tnd_feeder_core_withdrawn(self, 11);
    cr_assert_not(tnd_feeder_core_is_cutting(self));
    tnd_effect_t commit = last_commit(self);
    cr_assert_eq(commit.msg.commit.step, 10);
    cr_assert(commit.msg.commit.cut);
    cr_assert_eq(tnd_feeder_core_started(self), 11);
    cr_assert_eq(tnd_feeder_core_held(self), 11, "what it held of the epoch is dropped");
    free(self);
}

Test(feeder_cut, rows_of_the_rest_of_the_epoch_are_dropped_and_those_of_the_next_one_taken)
{
    tnd_feeder_core_t *self = make_started();
    tnd_feeder_core_cut(self, 10);
    tnd_feeder_core_done(self, 10, digest, 8, NULL);
    tnd_feeder_core_withdrawn(self, 11);
    (void)last_commit(self);
    tnd_msg_t late = slice(11, FIRST, 0);
    put_as(self, &late, TND_EFFECT_DROP);
    for (uint32_t lane = 0; lane < JOINS; lane++)
        for (uint32_t i = 0; i < REPLICAS; i++) {
            tnd_error_t error;
            tnd_msg_t msg = slice_after_cut(11, FIRST + i, lane);
            cr_assert_eq(tnd_feeder_core_slice(self, &msg, &error), TND_OK, "%s", error.text);
        }
    tnd_effect_t effect;
    uint32_t placed = 0, ready = 0;
    while (tnd_feeder_core_next_effect(self, 0, &effect)) {
        placed += effect.kind == TND_EFFECT_PLACE;
        ready += effect.kind == TND_EFFECT_READY;
        cr_assert_neq(effect.kind, TND_EFFECT_DROP);
    }
    cr_assert_eq(placed, JOINS * REPLICAS);
    cr_assert_eq(ready, 1);
    free(self);
}

/*  The end is that of a drain, or of the steps that are wanted: an epoch that is cut does not move it. */
Test(feeder_cut, no_step_after_the_end_starts_in_the_next_epoch)
{
    tnd_feeder_core_t *self = make();
    put_step(self, 10);
    says(self, TND_MSG_HELD, 11);
    is_ready(self, 10);
    tnd_feeder_core_end(self, 11);
    tnd_feeder_core_cut(self, 10);
    tnd_feeder_core_done(self, 10, digest, 8, NULL);
    (void)last_commit(self);
    tnd_error_t error;
    tnd_msg_t msg = slice_after_cut(11, FIRST, 0);
    cr_assert_eq(tnd_feeder_core_slice(self, &msg, &error), TND_OK, "%s", error.text);
    does(self, TND_EFFECT_DROP);
    cr_assert(tnd_feeder_core_over(self));
    free(self);
}
