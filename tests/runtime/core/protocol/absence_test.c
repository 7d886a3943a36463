/*  tests/runtime/core/protocol/absence_test.c - when a process that is away counts as lost.  */
#include <criterion/criterion.h>

#include "runtime/core/protocol/absence.h"
#include "runtime/core/protocol/effect.h"

static const tnd_absence_limits_t limits = {.grace_ns = 15, .dead_after_ns = 100};

static tnd_absence_t away(tnd_loss_t loss, uint64_t now)
{
    tnd_absence_t absence = {0};
    tnd_absence_begin(&absence, &limits, loss, now);
    return absence;
}

Test(absence, a_connected_peer_is_never_lost)
{
    tnd_absence_t here = {0};
    cr_assert_not(tnd_absence_is_over(&here, TND_FATE_DEAD, true, UINT64_MAX));
    cr_assert_eq(tnd_absence_deadline(&here, 5), TND_NEVER);
    tnd_absence_excuse(&here, 7, 20);
    cr_assert_eq(here.until_ns, 0);
}

Test(absence, a_process_whose_address_still_accepts_has_not_died)
{
    tnd_absence_t absence = away(TND_LOSS_ENDED, 1000);
    cr_assert_not(tnd_absence_is_over(&absence, TND_FATE_UNKNOWN, true, 1099));
    cr_assert(tnd_absence_is_over(&absence, TND_FATE_UNKNOWN, true, 1100));
}

Test(absence, an_end_and_an_address_that_refuses_are_a_death)
{
    tnd_absence_t absence = away(TND_LOSS_ENDED, 1000);
    cr_assert_not(tnd_absence_is_over(&absence, TND_FATE_DEAD, true, 1014));
    cr_assert(tnd_absence_is_over(&absence, TND_FATE_DEAD, true, 1015));
}

Test(absence, an_end_alone_is_a_death_only_of_a_process_that_the_run_can_do_without)
{
    tnd_absence_t absence = away(TND_LOSS_ENDED, 1000);
    cr_assert_not(tnd_absence_is_over(&absence, TND_FATE_UNKNOWN, false, 1014));
    cr_assert(tnd_absence_is_over(&absence, TND_FATE_UNKNOWN, false, 1015));
    cr_assert_not(tnd_absence_is_over(&absence, TND_FATE_ALIVE, false, 1099));
    cr_assert(tnd_absence_is_over(&absence, TND_FATE_ALIVE, false, 1100));
}

Test(absence, any_other_loss_waits_for_dead_after)
{
    static const tnd_loss_t losses[] = {TND_LOSS_SILENT, TND_LOSS_CLOSED, TND_LOSS_REPLACED,
                                        TND_LOSS_OURS};
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        tnd_absence_t absence = away(losses[i], 1000);
        cr_assert_eq(tnd_absence_deadline(&absence, 1000), 1100);
        cr_assert_not(tnd_absence_is_over(&absence, TND_FATE_DEAD, true, 1099));
        cr_assert(tnd_absence_is_over(&absence, TND_FATE_DEAD, true, 1100));
    }
}

Test(absence, the_silence_before_counts_up_to_half_of_dead_after)
{
    static const struct {
        uint64_t silence_ns, until_ns;
    } cases[] = {{30, 1070}, {50, 1050}, {51, 1050}, {900, 1050}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tnd_absence_limits_t after = limits;
        tnd_absence_t absence = {0};
        after.silence_ns = cases[i].silence_ns;
        tnd_absence_begin(&absence, &after, TND_LOSS_SILENT, 1000);
        cr_assert_eq(tnd_absence_deadline(&absence, 1000), cases[i].until_ns);
        cr_assert_not(tnd_absence_is_over(&absence, TND_FATE_DEAD, false, cases[i].until_ns - 1));
        cr_assert(tnd_absence_is_over(&absence, TND_FATE_ALIVE, true, cases[i].until_ns));
        tnd_absence_begin(&absence, &after, TND_LOSS_OURS, 1000);
        cr_assert_eq(tnd_absence_deadline(&absence, 1000), 1100, "another loss follows no silence");
    }
}

Test(absence, the_time_of_a_caller_that_was_away_does_not_count)
{
    tnd_absence_t absence = away(TND_LOSS_ENDED, 1000);
    tnd_absence_excuse(&absence, 50, 1050);
    cr_assert_eq(tnd_absence_deadline(&absence, 1050), 1065);
    cr_assert_eq(tnd_absence_deadline(&absence, 1065), 1150);
    cr_assert_not(tnd_absence_is_over(&absence, TND_FATE_DEAD, true, 1064));
    cr_assert_not(tnd_absence_is_over(&absence, TND_FATE_UNKNOWN, true, 1149));
}

Test(absence, the_grace_is_never_longer_than_dead_after)
{
    static const tnd_absence_limits_t odd = {.grace_ns = 500, .dead_after_ns = 100};
    tnd_absence_t absence = {0};
    tnd_absence_begin(&absence, &odd, TND_LOSS_ENDED, 1000);
    cr_assert(tnd_absence_is_over(&absence, TND_FATE_DEAD, true, 1100));
}

Test(absence, a_peer_that_comes_back_for_a_moment_has_half_of_its_absence_more)
{
    tnd_absence_t absence = away(TND_LOSS_SILENT, 1000);
    tnd_absence_end(&absence, 1060);
    cr_assert_not(tnd_absence_is_over(&absence, TND_FATE_DEAD, true, UINT64_MAX));
    tnd_absence_begin(&absence, &limits, TND_LOSS_ENDED, 1070);
    cr_assert_not(tnd_absence_is_over(&absence, TND_FATE_DEAD, true, 1070 + 15 + 34));
    cr_assert(tnd_absence_is_over(&absence, TND_FATE_DEAD, true, 1070 + 15 + 35));
    cr_assert_not(tnd_absence_is_over(&absence, TND_FATE_UNKNOWN, true, 1169));
}

Test(absence, a_peer_that_stayed_for_a_while_begins_a_new_absence)
{
    tnd_absence_t absence = away(TND_LOSS_SILENT, 1000);
    tnd_absence_end(&absence, 1060);
    tnd_absence_begin(&absence, &limits, TND_LOSS_ENDED, 1075);
    cr_assert(tnd_absence_is_over(&absence, TND_FATE_DEAD, true, 1075 + 15));
}

Test(absence, a_caller_that_was_away_itself_gives_more_time_to_a_peer_that_is_away_then)
{
    tnd_absence_t absence = {0};
    tnd_absence_excuse(&absence, 60, 1060);
    tnd_absence_begin(&absence, &limits, TND_LOSS_ENDED, 1070);
    cr_assert_not(tnd_absence_is_over(&absence, TND_FATE_DEAD, true, 1070 + 15 + 34));
    cr_assert(tnd_absence_is_over(&absence, TND_FATE_DEAD, true, 1070 + 15 + 35));
}
