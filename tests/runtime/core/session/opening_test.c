/*  Covers runtime/core/session/opening.h: when a start in which hosts open their data takes too long. */
#include "runtime/core/session/opening.h"

#include <criterion/criterion.h>
#include <string.h>

enum { HOSTS = 3, A = 0, B = 1 };

static const uint64_t s = 1000000000;

/*  start_timeout is 10 s; a host stalls after hung_after, half of it again and one second: 7 s. */
static const uint64_t stalls_after = 7;

static tnd_opening_t opening;
static tnd_opening_host_t hosts[HOSTS];

static void begin(void)
{
    memset(hosts, 0, sizeof hosts);
    cr_assert_leq(tnd_opening_bytes(HOSTS), sizeof hosts);
    tnd_opening_init(&opening, hosts, HOSTS, 10 * s, 4 * s, 0);
}

TestSuite(opening, .init = begin);

static bool late(uint64_t seconds, bool all_here, uint32_t *host_p, bool *stalled_p)
{
    return tnd_opening_is_late(&opening, all_here, seconds * s, host_p, stalled_p);
}

static bool is_late(uint64_t seconds)
{
    uint32_t host;
    bool stalled;
    return late(seconds, true, &host, &stalled);
}

Test(opening, without_reports_the_start_is_late_after_start_timeout)
{
    uint32_t host;
    bool stalled;
    cr_assert_not(is_late(9));
    cr_assert_eq(tnd_opening_deadline(&opening), 10 * s);
    cr_assert(late(10, true, &host, &stalled));
    cr_assert_eq(host, HOSTS);
    cr_assert_not(stalled);
}

Test(opening, the_time_does_not_pass_while_a_host_reports_progress)
{
    for (uint64_t i = 1; i <= 30; i++) {
        cr_assert(tnd_opening_report(&opening, B, i, "x.rec", i * s));
        cr_assert_not(is_late(i));
        cr_assert_eq(tnd_opening_deadline(&opening), (i + stalls_after) * s);
    }
    tnd_opening_end(&opening, B, 31 * s);
    cr_assert_not(is_late(40), "the time begins when it has opened its data");
    cr_assert(is_late(41));
}

Test(opening, a_report_that_is_repeated_is_no_progress)
{
    uint32_t host;
    bool stalled;
    cr_assert(tnd_opening_report(&opening, B, 1, "x.rec", 1 * s));
    cr_assert_not(tnd_opening_report(&opening, B, 1, "y.rec", 5 * s));
    cr_assert_not(is_late(7));
    cr_assert(late(8, true, &host, &stalled));
    cr_assert_eq(host, B);
    cr_assert(stalled);
    cr_assert_str_eq(opening.hosts[B].what, "y.rec");
}

Test(opening, a_host_that_stalls_is_named_while_another_reports)
{
    uint32_t host;
    bool stalled;
    cr_assert(tnd_opening_report(&opening, B, 1, "x.rec", 2 * s));
    for (uint64_t i = 1; i < 9; i++)
        cr_assert(tnd_opening_report(&opening, A, i, "y.rec", i * s));
    cr_assert_not(is_late(8));
    cr_assert(late(9, false, &host, &stalled));
    cr_assert_eq(host, B);
    cr_assert(stalled);
}

Test(opening, a_host_that_never_reports_is_named_after_the_shorter_time)
{
    uint32_t host;
    bool stalled;
    cr_assert_not(tnd_opening_report(&opening, B, 0, "x.rec", 5 * s));
    cr_assert_not(late(9, true, &host, &stalled));
    cr_assert(late(10, true, &host, &stalled));
    cr_assert_eq(host, B);
    cr_assert_not(stalled);
    cr_assert(late(10, false, &host, &stalled));
    cr_assert_eq(host, HOSTS, "the hosts that are missing are to be named");
    cr_assert(late(12, true, &host, &stalled));
    cr_assert(stalled);
}

Test(opening, a_host_that_is_lost_or_started_again_gives_the_others_a_whole_start)
{
    cr_assert(tnd_opening_report(&opening, B, 3, "x.rec", 20 * s));
    tnd_opening_drop(&opening, B);
    cr_assert_not(is_late(29));
    cr_assert(is_late(30));
    cr_assert(tnd_opening_report(&opening, B, 4, "x.rec", 25 * s));
    cr_assert_not(tnd_opening_report(&opening, B, 0, "x.rec", 26 * s), "another process");
    cr_assert_eq(tnd_opening_deadline(&opening), 33 * s);
    cr_assert(is_late(35));
}

Test(opening, the_absence_of_the_caller_does_not_count)
{
    cr_assert(tnd_opening_report(&opening, B, 1, "x.rec", 1 * s));
    tnd_opening_excuse(&opening, 100 * s);
    cr_assert_not(is_late(107));
    cr_assert(is_late(108));
    tnd_opening_drop(&opening, B);
    cr_assert_not(is_late(110));
    cr_assert(is_late(111));
}
