/*  Covers runtime/core/protocol/heartbeat.h: how long a process has been silent, by arithmetic. */
#include "runtime/core/protocol/heartbeat.h"

#include <criterion/criterion.h>

Test(heartbeat, silence_counts_from_the_look_that_saw_the_last_beat)
{
    tnd_heartbeat_t self = {0};
    cr_assert_eq(tnd_heartbeat_look(&self, 90, 10, 100), 0);
    cr_assert_eq(tnd_heartbeat_look(&self, 90, 10, 110), 10);
    cr_assert_eq(tnd_heartbeat_look(&self, 90, 10, 120), 20);
    cr_assert_eq(tnd_heartbeat_look(&self, 125, 10, 131), 0);
    cr_assert_eq(tnd_heartbeat_look(&self, 125, 10, 141), 10);
}

Test(heartbeat, a_process_that_begins_or_ends_is_not_silent)
{
    tnd_heartbeat_t self = {0};
    cr_assert_eq(tnd_heartbeat_look(&self, 0, 10, 100), 0);
    cr_assert_eq(tnd_heartbeat_look(&self, 0, 10, 110), 0);
    cr_assert_eq(tnd_heartbeat_look(&self, 105, 10, 120), 0);
    cr_assert_eq(tnd_heartbeat_look(&self, 105, 10, 130), 10);
    cr_assert_eq(tnd_heartbeat_look(&self, 0, 10, 140), 0);
}

Test(heartbeat, time_in_which_the_parent_was_away_is_not_counted)
{
    tnd_heartbeat_t self = {0};
    (void)tnd_heartbeat_look(&self, 90, 10, 100);
    cr_assert_eq(tnd_heartbeat_look(&self, 90, 10, 110), 10);
    cr_assert_eq(tnd_heartbeat_look(&self, 90, 10, 121), 20, "one interval counts");
    cr_assert_eq(tnd_heartbeat_look(&self, 90, 10, 5000), 30);
    cr_assert_eq(tnd_heartbeat_look(&self, 90, 10, 5010), 40);
}

Test(heartbeat, the_leader_has_lost_a_process_before_it_is_replaced)
{
    cr_assert_eq(tnd_heartbeat_limit(1000, 10000), 12000);
}
