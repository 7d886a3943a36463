/*  Covers runtime/core/protocol/restart.h: the waits after each death, by arithmetic. */
#include "runtime/core/protocol/restart.h"

#include <criterion/criterion.h>

static const tnd_limits_t limits = {.max = 6, .first_ns = 100, .most_ns = 1000, .calm_ns = 50000};

Test(restart, the_back_off_doubles_up_to_its_most)
{
    const uint64_t waits[] = {100, 200, 400, 800, 1000, 1000};
    tnd_restart_policy_t self = {0};
    uint64_t now = 7;

    for (int i = 0; i < 6; i++) {
        uint64_t again = 0;
        tnd_restart_policy_born(&self, now);
        now += 10;
        cr_assert(tnd_restart_policy_died(&self, &limits, now, &again));
        cr_assert_eq(again, now + waits[i], "death %d", i);
        now = again;
    }
}

Test(restart, one_death_more_than_max_is_the_limit)
{
    tnd_restart_policy_t self = {0};
    uint64_t again;

    for (int i = 0; i < 6; i++)
        cr_assert(tnd_restart_policy_died(&self, &limits, 10, &again));
    again = 77;
    cr_assert_not(tnd_restart_policy_died(&self, &limits, 10, &again));
    cr_assert_eq(again, 77, "nothing is written at the limit");
}

Test(restart, a_calm_life_starts_the_count_and_the_back_off_anew)
{
    tnd_restart_policy_t self = {0};
    uint64_t again;

    for (int i = 0; i < 6; i++)
        cr_assert(tnd_restart_policy_died(&self, &limits, 10, &again));
    tnd_restart_policy_born(&self, 2000);
    cr_assert(tnd_restart_policy_died(&self, &limits, 2000 + limits.calm_ns, &again));
    cr_assert_eq(again, 2000 + limits.calm_ns + 100);
}

Test(restart, a_life_as_long_as_the_longest_wait_starts_the_back_off_anew)
{
    tnd_restart_policy_t self = {0};
    uint64_t again;

    cr_assert(tnd_restart_policy_died(&self, &limits, 10, &again));
    tnd_restart_policy_born(&self, again);
    uint64_t now = again + limits.most_ns - 1;
    cr_assert(tnd_restart_policy_died(&self, &limits, now, &again));
    cr_assert_eq(again, now + 200);
    tnd_restart_policy_born(&self, again);
    now = again + limits.most_ns;
    cr_assert(tnd_restart_policy_died(&self, &limits, now, &again));
    cr_assert_eq(again, now + 100);
}

Test(restart, a_life_just_short_of_calm_counts_but_is_not_waited_for)
{
    tnd_restart_policy_t self = {0};
    uint64_t now = 10, again = 0;

    for (int i = 0; i < 6; i++) {
        cr_assert(tnd_restart_policy_died(&self, &limits, now, &again));
        cr_assert_eq(again, now + 100, "death %d", i);
        tnd_restart_policy_born(&self, again);
        now = again + limits.calm_ns - 1;
    }
    cr_assert_not(tnd_restart_policy_died(&self, &limits, now, &again));
}

Test(restart, no_restarts_are_allowed_when_max_is_zero)
{
    const tnd_limits_t none = {.max = 0, .first_ns = 1, .most_ns = 1, .calm_ns = 5};
    tnd_restart_policy_t self = {0};
    uint64_t again;

    cr_assert_not(tnd_restart_policy_died(&self, &none, 1000, &again));
}
