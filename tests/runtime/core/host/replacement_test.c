/*  Covers runtime/core/host/replacement.h: from the report of a hang, or a request, to the next life. */
#include "runtime/core/host/replacement.h"

#include <criterion/criterion.h>

static const uint64_t hung_after = 400;

static const tnd_replacement_facts_t starts = {.reaches = true},
                                     binds = {.bound = true, .reaches = true},
                                     runs = {.runs = true, .reaches = true},
                                     ended = {.ended = true, .reaches = true};

static void follows(tnd_replacement_t *self, const tnd_replacement_facts_t *facts,
                    tnd_replacement_step_t step)
{
    cr_assert_eq(tnd_replacement_next(self, facts, 1000), step);
    cr_assert_eq(tnd_replacement_next(self, facts, 1000), TND_REPLACEMENT_WAIT, "once");
}

Test(replacement, an_actor_that_hangs_is_abandoned_when_the_leader_wants_it)
{
    tnd_replacement_t self = {0};
    cr_assert(tnd_replacement_is_watched(&self));
    tnd_replacement_reported(&self);
    cr_assert_not(tnd_replacement_is_watched(&self), "it is reported once");
    follows(&self, &runs, TND_REPLACEMENT_WAIT);
    cr_assert_eq(self.births, 0);
    cr_assert_eq(tnd_replacement_ask(&self, false, hung_after, 100), TND_REPLACEMENT_ABANDON);
    cr_assert_eq(self.births, 1);
    follows(&self, &starts, TND_REPLACEMENT_WAIT);
    follows(&self, &binds, TND_REPLACEMENT_GO);
    follows(&self, &runs, TND_REPLACEMENT_REPORT);
    cr_assert(tnd_replacement_is_watched(&self));
    cr_assert_eq(self.births, 1);
}

Test(replacement, a_user_may_also_want_one_that_hangs)
{
    tnd_replacement_t self = {0};
    tnd_replacement_reported(&self);
    cr_assert_eq(tnd_replacement_ask(&self, true, hung_after, 100), TND_REPLACEMENT_ABANDON);
}

Test(replacement, an_actor_that_works_is_freed_once_it_has_ended)
{
    tnd_replacement_t self = {0};
    cr_assert_eq(tnd_replacement_ask(&self, true, hung_after, 100), TND_REPLACEMENT_STOP);
    cr_assert_not(tnd_replacement_is_watched(&self), "it is waited for anyway");
    cr_assert_eq(tnd_replacement_next(&self, &runs, 499), TND_REPLACEMENT_WAIT);
    cr_assert_eq(self.births, 0);
    cr_assert_eq(tnd_replacement_next(&self, &ended, 499), TND_REPLACEMENT_FREE);
    cr_assert_eq(self.births, 1);
    follows(&self, &binds, TND_REPLACEMENT_GO);
}

Test(replacement, one_that_does_not_end_in_time_is_abandoned)
{
    tnd_replacement_t self = {0};
    (void)tnd_replacement_ask(&self, true, hung_after, 100);
    cr_assert_eq(tnd_replacement_next(&self, &runs, 500), TND_REPLACEMENT_ABANDON);
    cr_assert_eq(self.births, 1);
    self = (tnd_replacement_t){0};
    (void)tnd_replacement_ask(&self, true, hung_after, 100);
    cr_assert_eq(tnd_replacement_next(&self, &ended, 500), TND_REPLACEMENT_FREE, "it has");
}

Test(replacement, what_is_asked_again_meanwhile_changes_nothing)
{
    tnd_replacement_t self = {0};
    (void)tnd_replacement_ask(&self, true, hung_after, 100);
    cr_assert_eq(tnd_replacement_ask(&self, true, hung_after, 300), TND_REPLACEMENT_WAIT);
    cr_assert_eq(tnd_replacement_next(&self, &runs, 500), TND_REPLACEMENT_ABANDON);
    cr_assert_eq(tnd_replacement_ask(&self, false, hung_after, 500), TND_REPLACEMENT_WAIT);
    follows(&self, &binds, TND_REPLACEMENT_GO);
    cr_assert_eq(tnd_replacement_ask(&self, false, hung_after, 600), TND_REPLACEMENT_WAIT);
    cr_assert_eq(self.births, 1);
}

Test(replacement, a_leader_that_missed_the_report_is_told_again)
{
    tnd_replacement_t self = {0};
    cr_assert_eq(tnd_replacement_ask(&self, false, hung_after, 100), TND_REPLACEMENT_REPORT);
    cr_assert(tnd_replacement_is_watched(&self));
    cr_assert_eq(self.births, 0);
}

Test(replacement, a_lost_connection_delays_the_report_of_the_next)
{
    tnd_replacement_t self = {0};
    tnd_replacement_reported(&self);
    (void)tnd_replacement_ask(&self, false, hung_after, 100);
    follows(&self, &(tnd_replacement_facts_t){.bound = true}, TND_REPLACEMENT_GO);
    follows(&self, &(tnd_replacement_facts_t){.runs = true}, TND_REPLACEMENT_WAIT);
    tnd_replacement_forget(&self);
    follows(&self, &runs, TND_REPLACEMENT_REPORT);
}

Test(replacement, a_lost_connection_has_a_hang_reported_again)
{
    tnd_replacement_t self = {0};
    tnd_replacement_reported(&self);
    tnd_replacement_forget(&self);
    cr_assert(tnd_replacement_is_watched(&self));
    (void)tnd_replacement_ask(&self, true, hung_after, 100);
    tnd_replacement_forget(&self);
    cr_assert_not(tnd_replacement_is_watched(&self), "it still ends on request");
}
