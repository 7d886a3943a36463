/*  Covers tools/events/pace.h: how often work is repeated. */
#include "tools/events/pace.h"

#include <criterion/criterion.h>

Test(pace, cheap_work_is_repeated_at_its_interval)
{
    tnd_pace_t pace = {.every_ns = 1000};
    cr_assert(tnd_pace_is_due(&pace, 0));
    tnd_pace_worked(&pace, 5000, 20);
    cr_assert_not(tnd_pace_is_due(&pace, 5999));
    cr_assert(tnd_pace_is_due(&pace, 6000));
}

Test(pace, costly_work_takes_two_percent_of_the_time)
{
    tnd_pace_t pace = {.every_ns = 1000};
    tnd_pace_worked(&pace, 5000, 100);
    cr_assert_not(tnd_pace_is_due(&pace, 9999));
    cr_assert(tnd_pace_is_due(&pace, 10000), "100 ns of 5,000");
}
