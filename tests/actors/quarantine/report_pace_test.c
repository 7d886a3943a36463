/*  Covers actors/quarantine/report_pace.h: which bad records of many are reported. */
#include "actors/quarantine/report_pace.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const uint64_t second_ns = 1000000000;

Test(report_pace, the_first_eight_are_shown_then_one_a_second_is_kept)
{
    tnd_report_pace_t pace = {0};
    for (int i = 0; i < 7; i++)
        cr_assert_eq(tnd_report_pace_take(&pace, "prep", 5), TND_REPORT_SHOWN);
    cr_assert_eq(tnd_report_pace_take(&pace, "prep", 5), TND_REPORT_SHOWN_LAST);
    cr_assert_eq(tnd_report_pace_take(&pace, "prep", 5), TND_REPORT_COUNTED);
    cr_assert_eq(tnd_report_pace_take(&pace, "prep", second_ns + 4), TND_REPORT_COUNTED);
    cr_assert_eq(tnd_report_pace_take(&pace, "prep", second_ns + 5), TND_REPORT_KEPT);
    cr_assert_eq(tnd_report_pace_take(&pace, "prep", second_ns + 6), TND_REPORT_COUNTED);
}

Test(report_pace, the_first_of_each_reason_is_shown_for_eight_reasons)
{
    tnd_report_pace_t pace = {0};
    char who[32];
    for (int i = 0; i < 20; i++)
        (void)tnd_report_pace_take(&pace, "read", 5);
    for (int i = 1; i < 8; i++) {
        snprintf(who, sizeof who, "prep, operation %d", i);
        cr_assert_eq(tnd_report_pace_take(&pace, who, 5), TND_REPORT_SHOWN);
        cr_assert_eq(tnd_report_pace_take(&pace, who, 5), TND_REPORT_COUNTED);
    }
    cr_assert_eq(tnd_report_pace_take(&pace, "prep, operation 8", 5), TND_REPORT_COUNTED);
}
