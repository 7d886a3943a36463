/*  tests/runtime/core/feeder_depth_test.c - another number of slots while the run is under way. */
#include "tests/runtime/core/feeder.h"

static tnd_feeder_core_t *resized(tnd_feeder_core_t *before, uint32_t depth)
{
    const tnd_feeder_core_config_t config = config_with(depth);
    tnd_feeder_core_t *self =
        tnd_feeder_core_resized(before, calloc(1, tnd_feeder_core_bytes(&config)), &config);
    free(before);
    return self;
}

static void finish_step(tnd_feeder_core_t *self, uint64_t step)
{
    is_ready(self, step);
    tnd_feeder_core_done(self, step, digest, 16, NULL);
    cr_assert_eq(does(self, TND_EFFECT_FREE).msg.slice.step, step);
}

Test(feeder, the_number_of_slots_changes_between_two_steps_once_all_are_free)
{
    tnd_feeder_core_t *self = make();
    put_step(self, 10);
    tnd_feeder_core_depth(self, 5);
    says(self, TND_MSG_HELD, 11);
    finish_step(self, 10);
    says(self, TND_MSG_COMMIT, 10);
    is_idle(self); /* no slot of step 13 is given */
    for (uint64_t step = 11; step < 13; step++) {
        put_step(self, step);
        says(self, TND_MSG_HELD, step + 1);
        finish_step(self, step);
        if (step == 11)
            says(self, TND_MSG_COMMIT, step);
    }
    cr_assert_eq(does(self, TND_EFFECT_RESIZE).slot, 5);
    self = resized(self, 5);
    for (int i = 0; i < JOINS; i++)
        cr_assert_eq(says(self, TND_MSG_WINDOW, 18).msg.to, joins[i]);
    says(self, TND_MSG_COMMIT, 12);
    is_idle(self);
    free(self);
}

Test(feeder, it_keeps_its_slots_if_there_is_no_memory_for_more)
{
    tnd_feeder_core_t *self = make_bare();
    tnd_feeder_core_depth(self, 2 * DEPTH);
    cr_assert_eq(does(self, TND_EFFECT_RESIZE).slot, 2 * DEPTH);
    self = resized(self, DEPTH);
    is_idle(self);
    tnd_feeder_core_join_up(self, JOIN);
    tnd_feeder_core_rewind_to(self, 1, 10, 0, 0);
    says(self, TND_MSG_WINDOW, 10 + DEPTH);
    free(self);
}

Test(feeder, only_the_last_wish_for_slots_counts)
{
    tnd_feeder_core_t *self = make();
    tnd_feeder_core_depth(self, 1);
    is_idle(self);
    tnd_feeder_core_depth(self, DEPTH);
    is_idle(self);
    put_step(self, 10);
    says(self, TND_MSG_HELD, 11);
    finish_step(self, 10);
    for (int i = 0; i < JOINS; i++)
        says(self, TND_MSG_WINDOW, 11 + DEPTH);
    says(self, TND_MSG_COMMIT, 10);
    is_idle(self);
    free(self);
}
