/*  Covers runtime/core/host/run_touches.h: who is told and answered what, in which order, and what holds then. */
#include "runtime/core/host/run_touches.h"

#include <criterion/criterion.h>

enum { HOSTS = 3, INSTANCES = 6, NOW = 70 };

static uint32_t awake[INSTANCES];

static tnd_run_touches_t begin(void)
{
    for (uint32_t i = 0; i < INSTANCES; i++)
        awake[i] = 0;
    return (tnd_run_touches_t){.awake = awake, .instance_count = INSTANCES, .host_count = HOSTS};
}

static tnd_touches_step_t step_of(tnd_run_touches_t *self, tnd_touches_step_kind_t kind)
{
    tnd_touches_step_t step;
    cr_assert(tnd_run_touches_next(self, &step));
    cr_assert_eq(step.kind, kind, "step %d instead of %d", (int)step.kind, (int)kind);
    return step;
}

static void is_idle(tnd_run_touches_t *self)
{
    tnd_touches_step_t step;
    cr_assert_not(tnd_run_touches_next(self, &step));
}

static void is_answered(tnd_run_touches_t *self, uint32_t host, uint64_t client,
                        tnd_touch_result_t result)
{
    tnd_touches_step_t step = step_of(self, TND_TOUCHES_ANSWER);
    cr_assert_eq(step.host, host);
    cr_assert_eq(step.client, client);
    cr_assert_eq(step.result, result);
    is_idle(self);
}

static void all_hear(tnd_run_touches_t *self)
{
    for (uint32_t h = 0; h < HOSTS; h++)
        cr_assert_eq(step_of(self, TND_TOUCHES_NEWS).host, h);
}

/*  Client 9 of host 2 asks for it, and it is done. */
static void does(tnd_run_touches_t *self, tnd_verb_t verb)
{
    tnd_run_touches_take(self, verb, 2, 9, false);
    (void)step_of(self, TND_TOUCHES_TRY);
    tnd_run_touches_tried(self, true, NULL, NOW);
    all_hear(self);
    is_answered(self, 2, 9, TND_TOUCH_DONE);
}

Test(run_touches, a_user_is_answered_last_and_only_at_his_host)
{
    tnd_run_touches_t self = begin();
    is_idle(&self);
    tnd_run_touches_take(&self, TND_TOUCH_PAUSE, 1, 40, false);
    (void)step_of(&self, TND_TOUCHES_TRY);
    cr_assert_eq(self.paused_ns, 0, "it was not carried out yet");
    tnd_run_touches_tried(&self, true, NULL, NOW);
    cr_assert_eq(self.paused_ns, NOW);
    all_hear(&self);
    is_answered(&self, 1, 40, TND_TOUCH_DONE);
}

Test(run_touches, what_is_refused_is_told_to_the_user_alone)
{
    tnd_run_touches_t self = begin();
    for (uint32_t verb = 0; verb < TND_TOUCH_KINDS; verb++) {
        tnd_run_touches_take(&self, (tnd_verb_t)verb, 2, 1, false);
        (void)step_of(&self, TND_TOUCHES_TRY);
        tnd_run_touches_tried(&self, false, &(tnd_touch_scale_t){3, 1}, NOW);
        is_answered(&self, 2, 1, TND_TOUCH_REFUSED);
    }
    cr_assert_eq(self.paused_ns, 0);
    cr_assert_eq(awake[3], 0);
    cr_assert(tnd_run_touches_goes_on(&self));
    tnd_run_touches_greet(&self, 0);
    is_idle(&self);
}

Test(run_touches, a_run_that_has_ended_tries_nothing)
{
    tnd_run_touches_t self = begin();
    tnd_run_touches_take(&self, TND_TOUCH_PAUSE, 0, 1, true);
    is_answered(&self, 0, 1, TND_TOUCH_ENDED);
}

Test(run_touches, a_pause_holds_until_the_run_continues_or_drains)
{
    tnd_run_touches_t self = begin();
    does(&self, TND_TOUCH_PAUSE);
    does(&self, TND_TOUCH_SET);
    does(&self, TND_TOUCH_RESTART);
    cr_assert_eq(self.paused_ns, NOW);
    does(&self, TND_TOUCH_RESUME);
    cr_assert_eq(self.paused_ns, 0);
    does(&self, TND_TOUCH_PAUSE);
    does(&self, TND_TOUCH_DRAIN);
    cr_assert_eq(self.paused_ns, 0);
}

Test(run_touches, a_run_drains_once_and_no_chain_follows)
{
    tnd_run_touches_t self = begin();
    cr_assert(tnd_run_touches_goes_on(&self));
    does(&self, TND_TOUCH_DRAIN);
    cr_assert(self.drains);
    cr_assert_not(tnd_run_touches_goes_on(&self));
    tnd_run_touches_take(&self, TND_TOUCH_DRAIN, 0, 2, false);
    is_answered(&self, 0, 2, TND_TOUCH_DRAINS);

    self = begin();
    tnd_run_touches_drain(&self); /* by a signal */
    tnd_run_touches_take(&self, TND_TOUCH_DRAIN, 0, 3, false);
    is_answered(&self, 0, 3, TND_TOUCH_DRAINS);

    self = begin();
    tnd_run_touches_finish(&self);
    cr_assert_not(tnd_run_touches_goes_on(&self));
    cr_assert_not(self.drains);
}

static void scales(tnd_run_touches_t *self, uint32_t first, uint32_t workers)
{
    tnd_run_touches_take(self, TND_TOUCH_SCALE, 2, 5, false);
    (void)step_of(self, TND_TOUCHES_TRY);
    tnd_run_touches_tried(self, true, &(tnd_touch_scale_t){first, workers}, NOW);
    for (uint32_t h = 0; h < HOSTS; h++) {
        tnd_touches_step_t step = step_of(self, TND_TOUCHES_SCALE);
        cr_assert_eq(step.host, h);
        cr_assert_eq(step.scale.first, first);
        cr_assert_eq(step.scale.workers, workers);
    }
    all_hear(self);
    is_answered(self, 2, 5, TND_TOUCH_DONE);
}

Test(run_touches, a_host_that_comes_is_told_what_holds_now)
{
    tnd_run_touches_t self = begin();
    tnd_run_touches_greet(&self, 1);
    is_idle(&self);
    scales(&self, 0, 3);
    scales(&self, 5, 4);
    scales(&self, 0, 1);
    does(&self, TND_TOUCH_SET);
    for (uint32_t again = 0; again < 2; again++) {
        tnd_run_touches_greet(&self, 1);
        cr_assert_eq(step_of(&self, TND_TOUCHES_OPTIONS).host, 1);
        tnd_touches_step_t step = step_of(&self, TND_TOUCHES_SCALE);
        cr_assert_eq(step.host, 1);
        cr_assert_eq(step.scale.first, 0);
        cr_assert_eq(step.scale.workers, 1);
        step = step_of(&self, TND_TOUCHES_SCALE);
        cr_assert_eq(step.scale.first, 5);
        cr_assert_eq(step.scale.workers, 4);
        is_idle(&self);
    }
}
