/*  Covers runtime/core/parameters/holder.h: who gets a step, on which version it computes, when pushes are
 *  applied, and what a death or a rewind changes. */
#include "runtime/core/parameters/holder.h"

#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

enum { WINDOW = 8 };

static alignas(16) unsigned char memory[4096];
static tnd_parameters_core_t *core;
static tnd_error_t error;
static char said[512]; /* what the effects were */

static void make(uint32_t replicas, uint32_t slots, tnd_parameters_order_t order,
                 uint64_t staleness)
{
    const tnd_parameters_core_config_t config = {.replicas = replicas,
                                                 .slots = slots,
                                                 .window = WINDOW,
                                                 .order = order,
                                                 .staleness = staleness};
    memset(memory, 0, sizeof memory);
    cr_assert_leq(tnd_parameters_core_bytes(&config), sizeof memory);
    core = tnd_parameters_core_init(memory, &config);
}

static void say(const tnd_parameters_effect_t *effect)
{
    char word[64];
    unsigned long long step = effect->step, version = effect->version;
    switch (effect->kind) {
    case TND_PARAMETERS_DEAL:
        if (effect->replica == TND_NOBODY)
            snprintf(word, sizeof word, "deal %llu to none", step);
        else
            snprintf(word, sizeof word, "deal %llu to %u.%llu", step, effect->replica,
                     (unsigned long long)effect->life);
        break;
    case TND_PARAMETERS_SERVE:
        snprintf(word, sizeof word, "serve %llu to %u for %llu", version, effect->replica, step);
        break;
    case TND_PARAMETERS_APPLY:
        snprintf(word, sizeof word, "apply %llu to make %llu", step, version);
        break;
    case TND_PARAMETERS_TAKEN:
        snprintf(word, sizeof word, "taken %llu of %u", step, effect->replica);
        break;
    case TND_PARAMETERS_DROP:
        snprintf(word, sizeof word, "drop");
        break;
    case TND_PARAMETERS_HELD:
        snprintf(word, sizeof word, "held %llu", step);
        break;
    case TND_PARAMETERS_COMMIT:
        snprintf(word, sizeof word, "commit %llu", step);
        break;
    case TND_PARAMETERS_REDO:
        snprintf(word, sizeof word, "redo %llu", step);
        break;
    }
    size_t length = strlen(said);
    snprintf(said + length, sizeof said - length, "%s%s", length > 0 ? ", " : "", word);
}

/*  What follows from the events since the last call. */
static const char *effects(void)
{
    tnd_parameters_effect_t effect;
    said[0] = '\0';
    while (tnd_parameters_core_next(core, &effect))
        say(&effect);
    return said;
}

static void begin(uint32_t replicas)
{
    tnd_parameters_core_begin(core, 0, NULL, 0);
    for (uint32_t r = 0; r < replicas; r++)
        tnd_parameters_core_replica_up(core, r, 10 + r);
    tnd_parameters_core_rewind(core, 1, 0);
}

static const char *reads(uint32_t replica, uint64_t step)
{
    cr_assert_eq(tnd_parameters_core_read(core, replica, step, &error), TND_OK, "%s", error.text);
    return effects();
}

static const char *pushes(uint32_t replica, uint64_t step)
{
    static int gradient;
    cr_assert_eq(tnd_parameters_core_push(core, replica, step, &gradient, &error), TND_OK, "%s",
                 error.text);
    return effects();
}

/*  Reads, then pushes; what follows from the push. */
static const char *computes(uint32_t replica, uint64_t step)
{
    (void)reads(replica, step);
    return pushes(replica, step);
}

/* --- dealing ----------------------------------------------------------------------------------- */

Test(parameters, nothing_is_dealt_before_the_first_rewind)
{
    make(1, 1, TND_PARAMETERS_STEPS, 0);
    tnd_parameters_core_begin(core, 0, NULL, 0);
    tnd_parameters_core_replica_up(core, 0, 10);
    cr_expect_str_eq(effects(), "");
    cr_expect_eq(tnd_parameters_core_blocked_on(core), TND_WAIT_LEADER);
    tnd_parameters_core_rewind(core, 1, 0);
    cr_expect_str_eq(effects(), "held 0, deal 0 to 0.10");
}

/*  Two slots each, and one more for step 0 alone, which has a place already. */
Test(parameters, a_step_goes_to_the_replica_that_has_the_fewest)
{
    make(2, 2, TND_PARAMETERS_STEPS, 4);
    begin(2);
    cr_expect_str_eq(effects(), "held 0, deal 0 to 0.10, deal 1 to 1.11, deal 2 to 0.10, "
                                "deal 3 to 1.11");
    cr_expect_str_eq(computes(1, 1), "taken 1 of 1, deal 4 to 1.11");
    cr_expect_str_eq(computes(1, 3), "taken 3 of 1, deal 5 to 1.11");
    cr_expect_str_eq(computes(0, 0),
                     "taken 0 of 0, apply 0 to make 1, apply 1 to make 2, commit 0, "
                     "commit 1, deal 6 to 0.10");
}

Test(parameters, so_many_steps_are_dealt_as_the_window_has_until_they_are_booked)
{
    make(4, 3, TND_PARAMETERS_STEPS, 7);
    begin(4);
    (void)effects();
    cr_expect_eq(tnd_parameters_core_dealt(core), WINDOW);
    for (uint64_t s = 0; s < 3; s++)
        (void)computes((uint32_t)s, s);
    cr_expect_eq(tnd_parameters_core_committed(core), 3);
    cr_expect_eq(tnd_parameters_core_dealt(core), WINDOW);
    tnd_parameters_core_booked(core, 2);
    cr_expect_str_eq(effects(), "deal 8 to 0.10, deal 9 to 1.11");
}

/*  All slots are full of later steps when step 0 is open again. */
Test(parameters, the_least_step_has_a_slot_of_its_own)
{
    make(2, 1, TND_PARAMETERS_STEPS, 0);
    begin(2);
    cr_expect_str_eq(effects(), "held 0, deal 0 to 0.10, deal 1 to 1.11");
    tnd_parameters_core_replica_gone(core, 0, 10);
    cr_expect_str_eq(effects(), "redo 0");
    tnd_parameters_core_rewind(core, 2, 0);
    cr_expect_str_eq(effects(), "held 0, deal 0 to 1.11, deal 1 to 1.11");
    cr_expect_str_eq(computes(1, 0), "taken 0 of 1, apply 0 to make 1, commit 0");
}

/* --- versions ---------------------------------------------------------------------------------- */

Test(parameters, without_staleness_each_step_waits_for_the_one_before)
{
    make(2, 1, TND_PARAMETERS_STEPS, 0);
    begin(2);
    (void)effects();
    cr_expect_str_eq(reads(1, 1), "");
    cr_expect_str_eq(reads(0, 0), "serve 0 to 0 for 0, held 2");
    cr_expect_str_eq(pushes(0, 0), "taken 0 of 0, apply 0 to make 1, serve 1 to 1 for 1, commit 0, "
                                   "deal 2 to 0.10");
}

/*  With staleness 2, steps 0, 1 and 2 compute on version 0, step 3 on version 1. */
Test(parameters, a_step_computes_on_the_version_that_its_number_gives)
{
    make(4, 1, TND_PARAMETERS_STEPS, 2);
    begin(4);
    (void)effects();
    cr_expect_str_eq(reads(3, 3), "");
    cr_expect_str_eq(reads(2, 2), "serve 0 to 2 for 2");
    cr_expect_str_eq(reads(1, 1), "serve 0 to 1 for 1");
    cr_expect_str_eq(pushes(2, 2), "taken 2 of 2, deal 4 to 2.12");
    cr_expect_str_eq(reads(0, 0), "serve 0 to 0 for 0, held 4");
    cr_expect_str_eq(pushes(1, 1), "taken 1 of 1, deal 5 to 1.11");
    cr_expect_str_eq(pushes(0, 0),
                     "taken 0 of 0, apply 0 to make 1, apply 1 to make 2, apply 2 to make 3, "
                     "serve 1 to 3 for 3, commit 0, commit 1, commit 2, deal 6 to 0.10");
    cr_expect_str_eq(reads(2, 4), "serve 2 to 2 for 4, held 5");
    cr_expect_str_eq(reads(1, 5), "serve 3 to 1 for 5, held 6");
    cr_expect_str_eq(reads(0, 6), "held 7"); /* version 4 is missing */
}

Test(parameters, by_arrival_a_step_gets_the_newest_version_once_old_steps_are_applied)
{
    make(3, 1, TND_PARAMETERS_ARRIVAL, 1);
    begin(3);
    (void)effects();
    cr_expect_str_eq(reads(2, 2), "");
    cr_expect_str_eq(reads(1, 1), "serve 0 to 1 for 1");
    cr_expect_str_eq(pushes(1, 1), "taken 1 of 1, apply 1 to make 1, deal 3 to 1.11");
    cr_expect_str_eq(reads(0, 0), "serve 1 to 0 for 0, held 3");
    cr_expect_str_eq(pushes(0, 0), "taken 0 of 0, apply 0 to make 2, serve 2 to 2 for 2, commit 0, "
                                   "commit 1, deal 4 to 0.10");
}

Test(parameters, unbounded_staleness_waits_for_nothing)
{
    make(2, 1, TND_PARAMETERS_ARRIVAL, TND_UNKNOWN);
    begin(2);
    (void)effects();
    for (uint64_t s = 1; s < WINDOW; s++) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "serve %u to 1 for %u", (unsigned)s - 1, (unsigned)s);
        cr_expect_str_eq(reads(1, s), wanted);
        (void)pushes(1, s);
    }
    cr_expect_eq(tnd_parameters_core_version(core), WINDOW - 1);
    cr_expect_eq(tnd_parameters_core_committed(core), 0);
    cr_expect_eq(tnd_parameters_core_dealt(core), WINDOW);
    uint64_t ahead[WINDOW];
    cr_expect_eq(tnd_parameters_core_started(core), WINDOW);
    cr_assert_eq(tnd_parameters_core_ahead(core, ahead), WINDOW - 1);
    cr_expect_eq(ahead[0], 1);
    cr_expect_eq(ahead[WINDOW - 2], WINDOW - 1);
}

/* --- once -------------------------------------------------------------------------------------- */

Test(parameters, a_push_that_is_repeated_is_dropped)
{
    make(2, 2, TND_PARAMETERS_STEPS, 4);
    begin(2);
    (void)effects();
    (void)computes(1, 1);
    tnd_parameters_core_replica_away(core, 1);
    tnd_parameters_core_replica_up(core, 1, 11);
    (void)effects();
    cr_expect_str_eq(pushes(1, 1), "drop, taken 1 of 1"); /* it waits for step 0 */
    cr_expect_str_eq(computes(0, 0),
                     "taken 0 of 0, apply 0 to make 1, apply 1 to make 2, commit 0, "
                     "commit 1, deal 5 to 0.10");
    cr_expect_str_eq(pushes(1, 1), "drop, taken 1 of 1"); /* it is applied */
    tnd_parameters_core_booked(core, 2);
    (void)effects();
    cr_expect_str_eq(pushes(1, 1), "drop, taken 1 of 1"); /* its place may be another step's */
    cr_expect_eq(tnd_parameters_core_version(core), 2);
}

Test(parameters, a_push_of_the_step_of_another_replica_is_dropped)
{
    make(2, 2, TND_PARAMETERS_STEPS, 4);
    begin(2);
    (void)effects();
    cr_expect_str_eq(reads(1, 0), "");
    cr_expect_str_eq(pushes(1, 0), "drop, taken 0 of 1");
    cr_expect_eq(tnd_parameters_core_version(core), 0);
}

Test(parameters, words_that_cannot_be_fail)
{
    int gradient;
    make(2, 1, TND_PARAMETERS_STEPS, 0);
    begin(2);
    (void)effects();
    cr_expect_eq(tnd_parameters_core_read(core, 2, 0, &error), TND_FAILED);
    cr_expect_str_eq(error.text, "replica 2 does not exist: there are 2");
    cr_expect_eq(tnd_parameters_core_read(core, 0, 2, &error), TND_FAILED);
    cr_expect_str_eq(error.text,
                     "replica 0 names step 2, but only steps below 2 were dealt: compare "
                     "the versions of Tundish on both hosts");
    cr_expect_eq(tnd_parameters_core_push(core, 0, 0, &gradient, &error), TND_FAILED);
    cr_expect_str_eq(error.text, "replica 0 pushed step 0 before it had its parameters");
    cr_expect_str_eq(effects(), "drop");
}

/* --- deaths and rewinds ------------------------------------------------------------------------ */

Test(parameters, the_steps_of_another_life_are_dealt_again_after_a_rewind)
{
    make(2, 2, TND_PARAMETERS_STEPS, 4);
    begin(2);
    (void)effects();
    cr_expect_str_eq(reads(0, 0), "serve 0 to 0 for 0, held 1");
    cr_expect_str_eq(reads(1, 1), "serve 0 to 1 for 1, held 2");
    tnd_parameters_core_replica_away(core, 0);
    cr_expect_str_eq(effects(), "");
    tnd_parameters_core_replica_up(core, 0, 20);
    cr_expect_str_eq(effects(), "redo 0, held 0, deal 4 to 0.20, deal 5 to 0.20");
    tnd_parameters_core_rewind(core, 2, 0);
    /* Step 1 is held; step 3 may have reached replica 1 or not; step 2 waits for a slot. */
    cr_expect_str_eq(effects(), "held 0, deal 0 to 0.20, deal 1 to none");
    cr_expect_str_eq(computes(0, 0), "taken 0 of 0, apply 0 to make 1, commit 0");
    cr_expect_str_eq(pushes(1, 1), "taken 1 of 1, apply 1 to make 2, commit 1, deal 2 to 1.11, "
                                   "deal 3 to 1.11, deal 4 to 0.20, deal 5 to 0.20");
}

Test(parameters, the_same_life_keeps_its_steps_and_is_served_again)
{
    make(2, 1, TND_PARAMETERS_STEPS, 4);
    begin(2);
    (void)effects();
    cr_expect_str_eq(reads(0, 0), "serve 0 to 0 for 0, held 1");
    tnd_parameters_core_replica_away(core, 0);
    tnd_parameters_core_replica_up(core, 0, 10);
    cr_expect_str_eq(effects(), "");
    cr_expect_str_eq(reads(0, 0), "serve 0 to 0 for 0");
    cr_expect_str_eq(pushes(0, 0), "taken 0 of 0, apply 0 to make 1, commit 0, deal 2 to 0.10");
}

Test(parameters, nothing_is_dealt_or_served_to_a_replica_that_is_away)
{
    make(2, 1, TND_PARAMETERS_STEPS, 0);
    begin(2);
    (void)effects();
    cr_expect_str_eq(reads(1, 1), "");
    tnd_parameters_core_replica_away(core, 1);
    cr_expect_str_eq(computes(0, 0), "taken 0 of 0, apply 0 to make 1, commit 0, "
                                     "deal 2 to 0.10");
    cr_expect_neq(tnd_parameters_core_blocked_on(core) & TND_WAIT_PEER, 0);
}

/*  A leader that has not heard of a death rewinds to a later step. */
Test(parameters, a_rewind_beyond_a_step_that_is_lacking_asks_for_another)
{
    make(2, 2, TND_PARAMETERS_STEPS, 4);
    begin(2);
    (void)effects();
    (void)reads(0, 0);
    (void)reads(1, 1);
    tnd_parameters_core_replica_gone(core, 1, 11);
    tnd_parameters_core_rewind(core, 2, 2);
    cr_expect_str_eq(effects(), "redo 1, held 1, deal 2 to 0.10");
    tnd_parameters_core_rewind(core, 2, 0); /* of the same generation: it is known */
    cr_expect_str_eq(effects(), "");
    tnd_parameters_core_rewind(core, 3, 1);
    cr_expect_str_eq(effects(), "held 1");
    cr_expect_str_eq(pushes(0, 0), "taken 0 of 0, apply 0 to make 1, commit 0, deal 1 to 0.10, "
                                   "deal 2 to 0.10");
}

/*  The leader counted its host as lost, from which the holder still hears. */
Test(parameters, a_life_that_is_over_gets_nothing_also_if_it_speaks)
{
    make(2, 1, TND_PARAMETERS_STEPS, 4);
    begin(2);
    cr_expect_str_eq(effects(), "held 0, deal 0 to 0.10, deal 1 to 1.11");
    cr_expect_str_eq(reads(0, 0), "serve 0 to 0 for 0, held 1");
    tnd_parameters_core_replica_gone(core, 0, 10);
    cr_expect_str_eq(effects(), "redo 0, held 0");
    cr_expect_str_eq(pushes(0, 0), "drop, taken 0 of 0");
    tnd_parameters_core_replica_up(core, 0, 10); /* it calls again */
    cr_expect_str_eq(reads(0, 0), "");
    tnd_parameters_core_rewind(core, 2, 0);
    cr_expect_str_eq(effects(), "held 0, deal 0 to 1.11, deal 1 to 1.11");
    cr_expect_str_eq(computes(1, 0), "taken 0 of 1, apply 0 to make 1, commit 0");
    tnd_parameters_core_replica_up(core, 0, 20);
    cr_expect_str_eq(effects(), "deal 2 to 0.20");
}

/*  The next life ended before the holder heard of it. */
Test(parameters, the_word_of_a_death_takes_the_steps_of_the_lives_before)
{
    make(2, 1, TND_PARAMETERS_STEPS, 4);
    begin(2);
    (void)effects();
    tnd_parameters_core_replica_away(core, 0);
    tnd_parameters_core_replica_gone(core, 0, 20);
    cr_expect_str_eq(effects(), "redo 0");
    tnd_parameters_core_rewind(core, 2, 0);
    cr_expect_str_eq(effects(), "held 0, deal 0 to 1.11, deal 1 to 1.11");
}

Test(parameters, the_late_word_of_a_death_takes_nothing_from_the_next_life)
{
    make(1, 1, TND_PARAMETERS_STEPS, 4);
    begin(1);
    (void)effects();
    tnd_parameters_core_replica_away(core, 0);
    tnd_parameters_core_replica_up(core, 0, 20);
    cr_expect_str_eq(effects(), "redo 0, deal 1 to 0.20");
    tnd_parameters_core_rewind(core, 2, 0);
    cr_expect_str_eq(effects(), "held 0, deal 0 to 0.20, deal 1 to 0.20");
    tnd_parameters_core_replica_gone(core, 0, 10);
    cr_expect_str_eq(effects(), "");
    cr_expect_str_eq(computes(0, 0), "taken 0 of 0, apply 0 to make 1, commit 0");
}

/*  It had the rows of step 0 before the rewind, so joins have not sent them again when it has pushed. */
Test(parameters, joins_do_not_wait_for_a_dead_replica_that_has_pushed_what_they_send_again)
{
    make(2, 1, TND_PARAMETERS_STEPS, 0);
    begin(2);
    (void)effects();
    tnd_parameters_core_rewind(core, 2, 0);
    cr_expect_str_eq(effects(), "held 0, deal 0 to 0.10, deal 1 to 1.11");
    cr_expect_str_eq(reads(0, 0), "serve 0 to 0 for 0, held 1");
    cr_assert_eq(tnd_parameters_core_push(core, 0, 0, said, &error), TND_OK);
    tnd_parameters_core_replica_gone(core, 0, 10);
    cr_expect_str_eq(effects(), "taken 0 of 0, apply 0 to make 1, redo 1, commit 0");
    tnd_parameters_core_rewind(core, 3, 1);
    cr_expect_str_eq(effects(), "commit 0, held 1, deal 1 to 1.11");

    /* Those that got their rows in this generation were sent them. */
    tnd_parameters_core_replica_up(core, 0, 20);
    cr_expect_str_eq(effects(), "deal 2 to 0.20");
    (void)computes(1, 1);
    cr_expect_str_eq(reads(0, 2), "serve 2 to 0 for 2, held 3");
    cr_assert_eq(tnd_parameters_core_push(core, 0, 2, said, &error), TND_OK);
    tnd_parameters_core_replica_gone(core, 0, 20);
    cr_expect(strstr(effects(), "redo") == NULL, "%s", said);
}

Test(parameters, commits_are_repeated_after_a_rewind_until_they_are_booked)
{
    make(1, 2, TND_PARAMETERS_STEPS, 4);
    begin(1);
    (void)effects();
    (void)computes(0, 0);
    (void)computes(0, 1);
    tnd_parameters_core_booked(core, 1);
    tnd_parameters_core_rewind(core, 2, 1);
    cr_expect_str_eq(effects(), "commit 1, held 2, deal 1 to none, deal 2 to 0.10, deal 3 to 0.10");
    tnd_parameters_core_booked(core, 2);
    tnd_parameters_core_rewind(core, 3, 2);
    cr_expect_str_eq(effects(), "held 2, deal 2 to 0.10, deal 3 to 0.10");
}

Test(parameters, a_run_resumes_with_steps_that_are_applied_ahead)
{
    const uint64_t ahead[2] = {6, 8};
    make(1, 2, TND_PARAMETERS_ARRIVAL, TND_UNKNOWN);
    tnd_parameters_core_begin(core, 5, ahead, 2);
    cr_expect_eq(tnd_parameters_core_started(core), 9);
    tnd_parameters_core_replica_up(core, 0, 10);
    tnd_parameters_core_rewind(core, 1, 5);
    cr_expect_str_eq(effects(), "held 5, deal 5 to 0.10, deal 6 to none, deal 7 to 0.10, "
                                "deal 8 to none");
    cr_expect_str_eq(reads(0, 5), "serve 7 to 0 for 5, held 7");
    cr_expect_str_eq(pushes(0, 5), "taken 5 of 0, apply 5 to make 8, commit 5, commit 6, "
                                   "deal 9 to 0.10");
}

/* --- the end ----------------------------------------------------------------------------------- */

Test(parameters, steps_after_the_end_do_not_exist)
{
    make(1, 3, TND_PARAMETERS_STEPS, 4);
    begin(1);
    cr_expect_str_eq(effects(), "held 0, deal 0 to 0.10, deal 1 to 0.10, deal 2 to 0.10");
    tnd_parameters_core_end(core, 2);
    tnd_parameters_core_end(core, 3); /* a later word does not count */
    cr_expect_str_eq(effects(), "");
    (void)computes(0, 0);
    cr_expect_not(tnd_parameters_core_over(core));
    cr_expect_str_eq(computes(0, 1), "taken 1 of 0, apply 1 to make 2, commit 1");
    cr_expect(tnd_parameters_core_over(core));
    cr_expect_eq(tnd_parameters_core_blocked_on(core), TND_WAIT_ENDED);
}

Test(parameters, no_step_is_served_from_the_limit_on)
{
    make(1, 2, TND_PARAMETERS_STEPS, 4);
    begin(1);
    (void)effects();
    cr_expect_str_eq(reads(0, 0), "serve 0 to 0 for 0, held 1");
    cr_expect_eq(tnd_parameters_core_started(core), 1);
    tnd_parameters_core_limit(core, 1);
    cr_expect_str_eq(reads(0, 1), "held 2");
    cr_expect_neq(tnd_parameters_core_blocked_on(core) & TND_WAIT_LEADER, 0);
    cr_expect_str_eq(pushes(0, 0), "taken 0 of 0, apply 0 to make 1, commit 0, deal 2 to 0.10");
    tnd_parameters_core_limit(core, 2);
    cr_expect_str_eq(effects(), "serve 0 to 0 for 1");
    cr_expect_str_eq(reads(0, 2), "held 3");
    tnd_parameters_core_limit(core, TND_UNKNOWN);
    cr_expect_str_eq(effects(), "serve 0 to 0 for 2");
    cr_expect_eq(tnd_parameters_core_started(core), 3);
}

/*  Steps 4 and 5 have both slots when the run ends before them; the least step has one more. */
Test(parameters, steps_after_the_end_stay_in_their_slots)
{
    make(2, 2, TND_PARAMETERS_STEPS, 4);
    begin(2);
    (void)effects();
    (void)computes(0, 0);
    (void)reads(1, 1);
    (void)reads(1, 3);
    (void)computes(0, 2);
    tnd_parameters_core_limit(core, 4);
    cr_expect_str_eq(reads(0, 4), "held 5");
    tnd_parameters_core_end(core, 4);
    tnd_parameters_core_replica_gone(core, 1, 11);
    tnd_parameters_core_booked(core, 1);
    tnd_parameters_core_rewind(core, 2, 1);
    cr_expect_str_eq(effects(), "held 1, deal 1 to 0.10, deal 2 to none");
    cr_expect_str_eq(computes(0, 1),
                     "taken 1 of 0, apply 1 to make 2, apply 2 to make 3, commit 1, "
                     "commit 2, deal 3 to 0.10");
}

/*  As when a run drains: steps that are held and have not begun are not run. */
/*  The leader heard that steps below 4 are held, then that the run drains after step 1; and a join was lost. */
Test(parameters, a_rewind_beyond_the_end_asks_for_nothing)
{
    make(2, 2, TND_PARAMETERS_STEPS, 0);
    begin(2);
    (void)effects();
    for (uint64_t step = 0; step < 4; step++)
        (void)reads((uint32_t)(step % 2), step);
    tnd_parameters_core_end(core, 2);
    cr_assert_eq(tnd_parameters_core_dealt(core), 4);
    tnd_parameters_core_rewind(core, 2, 4);
    cr_assert_null(strstr(effects(), "redo"), "%s", said);
    cr_assert_eq(tnd_parameters_core_dealt(core), 4);
}

Test(parameters, a_run_ends_with_the_steps_that_have_begun)
{
    make(1, 2, TND_PARAMETERS_STEPS, 4);
    begin(1);
    (void)effects();
    (void)reads(0, 0);
    tnd_parameters_core_limit(core, 1);
    (void)reads(0, 1);
    tnd_parameters_core_end(core, 1);
    cr_expect_str_eq(effects(), "held 1"); /* not 2, which was said */
    cr_expect_str_eq(pushes(0, 0), "taken 0 of 0, apply 0 to make 1, commit 0");
    cr_expect(tnd_parameters_core_over(core));
}

Test(parameters, what_is_not_applied_comes_back_when_it_stops)
{
    make(2, 2, TND_PARAMETERS_STEPS, 4);
    begin(2);
    (void)effects();
    (void)computes(1, 1);
    (void)computes(1, 3);
    tnd_parameters_core_stop(core);
    cr_expect_str_eq(effects(), "drop, drop");
}
