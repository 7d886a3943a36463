/*  Covers runtime/core/session/refusal_log.h: what a log shows of connections that are refused. */
#include "runtime/core/session/refusal_log.h"

#include <stdio.h>

#include <criterion/criterion.h>

static const uint64_t minute_ns = 60000000000, start_ns = 1;

static uint64_t more;

static bool takes(tnd_refusal_log_t *self, const char *address, const char *why, uint64_t now)
{
    return tnd_refusal_log_takes(self, address, why, now, &more);
}

Test(refusal_log, a_reason_of_an_address_is_logged_once_a_minute_and_then_counted)
{
    tnd_refusal_log_t self = {0};
    cr_expect(takes(&self, "10.0.0.1", "it runs another graph", start_ns));
    cr_expect_eq(more, 0);
    cr_expect_not(takes(&self, "10.0.0.1", "it runs another graph", start_ns + 1));
    cr_expect_not(takes(&self, "10.0.0.1", "it runs another graph", start_ns + minute_ns - 1));
    cr_expect(takes(&self, "10.0.0.1", "it runs another graph", start_ns + minute_ns));
    cr_expect_eq(more, 2);
    cr_expect(takes(&self, "10.0.0.1", "it runs another graph", start_ns + 2 * minute_ns));
    cr_expect_eq(more, 0);
}

Test(refusal_log, another_address_and_another_reason_are_logged_and_numbers_make_no_other_reason)
{
    tnd_refusal_log_t self = {0};
    cr_expect(takes(&self, "10.0.0.1", "read.0 does not expect actor 7 here", start_ns));
    cr_expect_not(takes(&self, "10.0.0.1", "read.0 does not expect actor 4711 here", start_ns));
    cr_expect(takes(&self, "10.0.0.2", "read.0 does not expect actor 7 here", start_ns));
    cr_expect(takes(&self, "10.0.0.1", "the user alice may not connect", start_ns));
    cr_expect(takes(&self, "10.0.0.1", "the user bob may not connect", start_ns));
    cr_expect(takes(&self, "", "the user bob may not connect", start_ns));
}

Test(refusal_log, any_number_of_addresses_makes_a_bounded_number_of_lines)
{
    tnd_refusal_log_t self = {0};
    uint32_t lines = 0;
    char address[32];
    for (uint32_t i = 0; i < 1000; i++) {
        snprintf(address, sizeof address, "fe80::%x", i);
        lines += takes(&self, address, "it runs another graph", start_ns + i);
    }
    cr_expect_eq(lines, TND_REFUSALS_KEPT + 1);
    /* A minute later they make room for others. */
    cr_expect(takes(&self, "10.0.0.1", "it runs another graph", start_ns + 1000 + minute_ns));
    cr_expect_eq(more, 0);
    cr_expect_not(takes(&self, "10.0.0.1", "it runs another graph", start_ns + 1000 + minute_ns));
}
