/*  Covers runtime/core/host/leader_presence.h: how long a host waits for its leader, by arithmetic. */
#include "runtime/core/host/leader_presence.h"

#include <criterion/criterion.h>

static const tnd_absence_limits_t limits = {.grace_ns = 150, .dead_after_ns = 1000};

/*  A host that began at 100 and waits for its leader until 600. */
static tnd_leader_presence_t waiting(void)
{
    tnd_leader_presence_t self;
    tnd_leader_presence_begin(&self, false, 500, 100);
    return self;
}

static tnd_leader_presence_t connected(void)
{
    tnd_leader_presence_t self = waiting();
    tnd_leader_presence_up(&self, 200);
    return self;
}

Test(leader_presence, a_leader_that_does_not_come_is_waited_for_until_start_timeout)
{
    tnd_leader_presence_t self = waiting();
    cr_assert_not(tnd_leader_presence_reaches(&self));
    cr_assert_eq(tnd_leader_presence_deadline(&self, 100), 600);
    cr_assert_not(tnd_leader_presence_is_over(&self, false, 599));
    cr_assert_not(tnd_leader_presence_is_over(&self, true, 599), "it may be started later");
    cr_assert(tnd_leader_presence_is_over(&self, false, 600));
}

Test(leader_presence, one_that_has_led_a_meeting_has_ended_when_nothing_listens_for_a_while)
{
    tnd_leader_presence_t self = waiting();
    tnd_leader_presence_met(&self, 50);
    cr_assert_not(tnd_leader_presence_is_over(&self, true, 110));
    cr_assert_eq(tnd_leader_presence_deadline(&self, 110), 160);
    cr_assert_not(tnd_leader_presence_is_over(&self, true, 159));
    cr_assert_not(tnd_leader_presence_is_over(&self, false, 160), "something listens");
    cr_assert_eq(tnd_leader_presence_deadline(&self, 160), 600);
    cr_assert_not(tnd_leader_presence_is_over(&self, true, 200));
    tnd_leader_presence_excuse(&self, 30, 230);
    cr_assert_not(tnd_leader_presence_is_over(&self, true, 279));
    cr_assert_not(tnd_leader_presence_has_ended(&self, 279));
    cr_assert(tnd_leader_presence_is_over(&self, true, 280));
    cr_assert(tnd_leader_presence_has_ended(&self, 280));
    tnd_leader_presence_up(&self, 280);
    cr_assert_not(tnd_leader_presence_is_over(&self, true, 100000));
    cr_assert_not(tnd_leader_presence_has_ended(&self, 100000));
}

Test(leader_presence, one_that_came_is_not_waited_for_by_start_timeout)
{
    tnd_leader_presence_t self = connected();
    cr_assert(tnd_leader_presence_reaches(&self));
    cr_assert_eq(tnd_leader_presence_deadline(&self, 200), UINT64_MAX);
    cr_assert_not(tnd_leader_presence_is_over(&self, true, 100000));
}

Test(leader_presence, one_that_is_away_is_lost_after_dead_after)
{
    tnd_leader_presence_t self = connected();
    tnd_leader_presence_away(&self, &limits, TND_LOSS_SILENT, 300);
    cr_assert_not(tnd_leader_presence_reaches(&self));
    cr_assert_eq(tnd_leader_presence_deadline(&self, 300), 1300);
    cr_assert_not(tnd_leader_presence_is_over(&self, true, 1299));
    cr_assert(tnd_leader_presence_is_over(&self, false, 1300));
    tnd_leader_presence_up(&self, 1300);
    cr_assert_not(tnd_leader_presence_is_over(&self, false, 9000));
}

Test(leader_presence, one_whose_address_refuses_is_lost_after_the_grace)
{
    tnd_leader_presence_t self = connected();
    tnd_leader_presence_away(&self, &limits, TND_LOSS_ENDED, 300);
    cr_assert_not(tnd_leader_presence_is_over(&self, true, 449));
    cr_assert_not(tnd_leader_presence_is_over(&self, false, 450), "it may live");
    cr_assert(tnd_leader_presence_is_over(&self, true, 450));
}

Test(leader_presence, time_in_which_the_host_was_away_is_not_counted)
{
    tnd_leader_presence_t self = waiting();
    tnd_leader_presence_excuse(&self, 4000, 4500);
    cr_assert_not(tnd_leader_presence_is_over(&self, false, 4599));
    cr_assert(tnd_leader_presence_is_over(&self, false, 4600));
    self = connected();
    tnd_leader_presence_away(&self, &limits, TND_LOSS_SILENT, 300);
    tnd_leader_presence_excuse(&self, 4000, 4500);
    cr_assert_not(tnd_leader_presence_is_over(&self, false, 5299));
    cr_assert(tnd_leader_presence_is_over(&self, false, 5300));
}

Test(leader_presence, a_host_that_failed_does_not_wait_long_to_say_why)
{
    tnd_leader_presence_t self = connected();
    cr_assert(tnd_leader_presence_hears(&self, &limits, 300, 300));
    tnd_leader_presence_away(&self, &limits, TND_LOSS_SILENT, 300);
    cr_assert_not(tnd_leader_presence_hears(&self, &limits, 300, 449));
    cr_assert(tnd_leader_presence_hears(&self, &limits, 300, 450));
}

Test(leader_presence,
     a_host_that_said_why_it_failed_stays_until_the_leader_ends_the_run_but_not_long)
{
    tnd_leader_presence_t self = connected();
    cr_assert(tnd_leader_presence_answers(&self, 300, 4000000299));
    cr_assert_not(tnd_leader_presence_answers(&self, 300, 4000000300));
    tnd_leader_presence_away(&self, &limits, TND_LOSS_ENDED, 400);
    cr_assert_not(tnd_leader_presence_answers(&self, 300, 400));
    tnd_leader_presence_begin(&self, true, 500, 100);
    cr_assert(tnd_leader_presence_answers(&self, 300, UINT64_MAX));
}

Test(leader_presence, the_host_that_leads_waits_for_nothing)
{
    tnd_leader_presence_t self;
    tnd_leader_presence_begin(&self, true, 500, 100);
    cr_assert(tnd_leader_presence_reaches(&self));
    cr_assert_not(tnd_leader_presence_is_over(&self, false, 100000));
    tnd_leader_presence_excuse(&self, 4000, 4500);
    cr_assert_eq(tnd_leader_presence_deadline(&self, 4500), UINT64_MAX);
}

Test(leader_presence, who_leaves_at_once_tells_the_leader_if_it_can)
{
    tnd_leader_presence_t self = waiting();
    cr_assert_eq(tnd_leader_presence_leave(&self), TND_LEAVE_UNNOTICED);
    self = connected();
    cr_assert_eq(tnd_leader_presence_leave(&self), TND_LEAVE_TELL);
    tnd_leader_presence_away(&self, &limits, TND_LOSS_ENDED, 300);
    cr_assert_eq(tnd_leader_presence_leave(&self), TND_LEAVE_AS_LOST);
    tnd_leader_presence_begin(&self, true, 500, 100);
    cr_assert_eq(tnd_leader_presence_leave(&self), TND_LEAVE_END_RUN);
}
