/*  Covers runtime/core/host/presence.h: who comes, returns, leaves and is lost, by arithmetic. */
#include "runtime/core/host/presence.h"

#include <criterion/criterion.h>

static const tnd_absence_limits_t limits = {.grace_ns = 150, .dead_after_ns = 1000};

static tnd_host_presence_t present(tnd_life_t life)
{
    tnd_host_presence_t self = {0};
    cr_assert_eq(tnd_host_presence_up(&self, life, false, 100), TND_HOST_JOINS);
    return self;
}

static bool lost(const tnd_host_presence_t *self, tnd_fate_t fate, uint64_t now)
{
    return tnd_host_presence_is_over(self, fate, false, now);
}

Test(presence, the_first_process_joins_and_is_no_restart)
{
    tnd_host_presence_t self = {0};
    cr_assert_not(tnd_host_presence_is_expected(&self));
    cr_assert_eq(tnd_host_presence_up(&self, 7, true, 100), TND_HOST_JOINS);
    cr_assert(self.up);
    cr_assert_eq(self.restarts, 0);
    cr_assert_eq(tnd_host_presence_deadline(&self, 100), UINT64_MAX, "it is not away");
}

Test(presence, a_process_that_returns_is_the_same)
{
    tnd_host_presence_t self = present(7);
    for (uint64_t now = 200; now < 1000; now += 200) {
        cr_assert(tnd_host_presence_away(&self, &limits, TND_LOSS_SILENT, now));
        cr_assert_not(self.up);
        cr_assert(tnd_host_presence_is_expected(&self));
        cr_assert_eq(tnd_host_presence_up(&self, 7, true, now + 100), TND_HOST_RETURNS);
    }
    cr_assert_eq(self.restarts, 0);
}

Test(presence, another_process_replaces_it_and_counts_once_the_run_has_begun)
{
    tnd_host_presence_t self = present(7);
    cr_assert_eq(tnd_host_presence_up(&self, 8, false, 200), TND_HOST_REPLACES);
    cr_assert_eq(self.restarts, 0);
    cr_assert_eq(tnd_host_presence_up(&self, 9, true, 300), TND_HOST_REPLACES);
    cr_assert_eq(tnd_host_presence_up(&self, 9, true, 400), TND_HOST_RETURNS);
    cr_assert_eq(self.restarts, 1);
}

Test(presence, one_that_left_is_not_away_and_its_next_process_joins)
{
    tnd_host_presence_t self = present(7);
    tnd_host_presence_leave(&self);
    cr_assert_not(tnd_host_presence_away(&self, &limits, TND_LOSS_ENDED, 200));
    cr_assert_not(tnd_host_presence_is_expected(&self));
    cr_assert_not(lost(&self, TND_FATE_DEAD, 100000), "nothing waits for it");
    cr_assert_eq(tnd_host_presence_up(&self, 8, true, 300), TND_HOST_JOINS);
    cr_assert_eq(self.restarts, 0);
    cr_assert_not(self.left);
}

Test(presence, one_that_is_away_is_lost_after_dead_after_or_the_grace)
{
    tnd_host_presence_t self = present(7);
    cr_assert(tnd_host_presence_away(&self, &limits, TND_LOSS_ENDED, 200));
    cr_assert_not(lost(&self, TND_FATE_DEAD, 349));
    cr_assert(lost(&self, TND_FATE_DEAD, 350));
    cr_assert_not(lost(&self, TND_FATE_ALIVE, 1199));
    cr_assert(lost(&self, TND_FATE_ALIVE, 1200));
    tnd_host_presence_lose(&self, 1200);
    cr_assert_not(lost(&self, TND_FATE_DEAD, 9000), "it is lost once");
    cr_assert_eq(self.lost_ns, 1200);
    cr_assert_not(tnd_host_presence_is_expected(&self));
    cr_assert_eq(tnd_host_presence_up(&self, 7, true, 9000), TND_HOST_RETURNS, "it lives");
    cr_assert_eq(self.lost_ns, 0);
}

Test(presence, time_in_which_the_leader_was_away_is_not_counted)
{
    tnd_host_presence_t self = present(7);
    cr_assert(tnd_host_presence_away(&self, &limits, TND_LOSS_SILENT, 200));
    tnd_host_presence_excuse(&self, 5000, 5300);
    cr_assert_not(lost(&self, TND_FATE_UNKNOWN, 6199));
    cr_assert(lost(&self, TND_FATE_UNKNOWN, 6200));
}

Test(presence, it_knows_that_a_process_opened_another_connection)
{
    tnd_host_presence_t self = present(7);
    (void)tnd_host_presence_away(&self, &limits, TND_LOSS_REPLACED, 200);
    cr_assert(self.replaced);
    (void)tnd_host_presence_up(&self, 7, true, 300);
    (void)tnd_host_presence_away(&self, &limits, TND_LOSS_SILENT, 400);
    cr_assert_not(self.replaced);
}

Test(presence, a_place_is_free_if_nothing_is_or_will_be_there)
{
    tnd_host_presence_t self = {0};
    cr_assert(tnd_host_presence_is_free(&self, 500, 0));
    self.reserved_until_ns = 100;
    cr_assert_not(tnd_host_presence_is_free(&self, 500, 99));
    cr_assert(tnd_host_presence_is_free(&self, 500, 100));
    (void)tnd_host_presence_up(&self, 7, true, 100);
    cr_assert_not(tnd_host_presence_is_free(&self, 500, 200));
    (void)tnd_host_presence_away(&self, &limits, TND_LOSS_SILENT, 200);
    cr_assert_not(tnd_host_presence_is_free(&self, 500, 1300), "it may return");
    tnd_host_presence_lose(&self, 1200);
    cr_assert_not(tnd_host_presence_is_free(&self, 500, 1699));
    cr_assert(tnd_host_presence_is_free(&self, 500, 1700));
    (void)tnd_host_presence_up(&self, 8, true, 1800);
    tnd_host_presence_leave(&self);
    cr_assert_not(tnd_host_presence_is_free(&self, 500, 1900), "it is still connected");
    (void)tnd_host_presence_away(&self, &limits, TND_LOSS_ENDED, 1900);
    cr_assert(tnd_host_presence_is_free(&self, 500, 1900));
}
