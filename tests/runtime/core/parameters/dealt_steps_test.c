/*  Covers runtime/core/parameters/dealt_steps.h: what a replica does with the steps it is dealt. */
#include "runtime/core/parameters/dealt_steps.h"

#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

enum { REPLICA = 1, SLOTS = 2, WINDOW = 8 };

static alignas(16) unsigned char memory[4096];
static tnd_dealt_steps_t *steps;
static tnd_error_t error;
static char said[512];
static int values[WINDOW], gradients[WINDOW]; /* what payloads point at */

static void begin(void)
{
    const tnd_dealt_steps_config_t config = {
        .replica = REPLICA, .joins = 2, .slots = SLOTS, .window = WINDOW};
    memset(memory, 0, sizeof memory);
    cr_assert_leq(tnd_dealt_steps_bytes(&config), sizeof memory);
    steps = tnd_dealt_steps_init(memory, &config);
    tnd_dealt_steps_holder_up(steps);
}

TestSuite(dealt_steps, .init = begin);

static void say(const tnd_dealt_steps_effect_t *effect)
{
    static const char *const names[] = {"place", "drop", "read", "run", "push", "forget"};
    char word[64];
    unsigned long long step = effect->step;
    bool slot = effect->kind == TND_DEALT_STEPS_PLACE || effect->kind == TND_DEALT_STEPS_RUN;
    if (effect->kind == TND_DEALT_STEPS_FORGET)
        snprintf(word, sizeof word, "forget");
    else if (slot)
        snprintf(word, sizeof word, "%s %llu in %u", names[effect->kind], step, effect->slot);
    else
        snprintf(word, sizeof word, "%s %llu", names[effect->kind], step);
    if (effect->kind == TND_DEALT_STEPS_RUN)
        cr_expect_eq(effect->payload, &values[step]);
    if (effect->kind == TND_DEALT_STEPS_PUSH)
        cr_expect_eq(effect->payload, &gradients[step]);
    size_t length = strlen(said);
    snprintf(said + length, sizeof said - length, "%s%s", length > 0 ? ", " : "", word);
}

static const char *effects(void)
{
    tnd_dealt_steps_effect_t effect;
    said[0] = '\0';
    while (tnd_dealt_steps_next(steps, &effect))
        say(&effect);
    return said;
}

static tnd_msg_t slice_of(uint32_t generation, uint64_t step, uint32_t offset, uint32_t rows)
{
    tnd_msg_t msg = {.kind = TND_MSG_SLICE, .generation = generation};
    msg.slice = (tnd_slice_note_t){.step = step,
                                   .replica = REPLICA,
                                   .offset = offset,
                                   .rows = rows,
                                   .total = 6,
                                   .step_rows = 6};
    return msg;
}

static const char *comes(uint32_t generation, uint64_t step, uint32_t offset, uint32_t rows)
{
    tnd_msg_t msg = slice_of(generation, step, offset, rows);
    cr_assert_eq(tnd_dealt_steps_slice(steps, &msg, &error), TND_OK, "%s", error.text);
    return effects();
}

static const char *served(uint64_t step)
{
    tnd_dealt_steps_served(steps, step, &values[step]);
    return effects();
}

static const char *done(uint64_t step)
{
    tnd_dealt_steps_done(steps, &gradients[step]);
    return effects();
}

static const char *taken(uint64_t step)
{
    tnd_dealt_steps_taken(steps, step);
    return effects();
}

Test(dealt_steps, a_step_is_read_run_pushed_and_forgotten)
{
    cr_expect_eq(tnd_dealt_steps_blocked_on(steps), TND_WAIT_INPUT);
    cr_expect_str_eq(comes(1, 3, 0, 2), "place 3 in 0");
    cr_expect_not(tnd_dealt_steps_holds(steps, 3));
    cr_expect_str_eq(comes(1, 3, 2, 4), "place 3 in 0, read 3");
    cr_expect(tnd_dealt_steps_holds(steps, 3));
    cr_expect_eq(tnd_dealt_steps_blocked_on(steps), TND_WAIT_CREDIT);
    cr_expect_str_eq(served(3), "run 3 in 0");
    cr_expect_eq(tnd_dealt_steps_blocked_on(steps), TND_WAIT_STEP);
    cr_expect_str_eq(done(3), "push 3");
    cr_expect_not(tnd_dealt_steps_holds(steps, 3));
    cr_expect_str_eq(taken(3), "forget");
    cr_expect_str_eq(taken(3), "");
}

Test(dealt_steps, the_least_step_that_is_served_runs_and_no_other_at_the_same_time)
{
    for (uint64_t s = 5; s < 8; s++)
        (void)comes(1, s, 0, 6);
    cr_expect_str_eq(served(7), "run 7 in 2");
    cr_expect_str_eq(served(6), "");
    cr_expect_str_eq(served(5), "");
    cr_expect_str_eq(done(7), "push 7, run 5 in 0");
    cr_expect_str_eq(done(5), "push 5, run 6 in 1");
    cr_expect_str_eq(done(6), "push 6");
}

Test(dealt_steps, there_is_one_slot_more_than_steps_are_dealt)
{
    for (uint64_t s = 1; s <= SLOTS + 1; s++)
        (void)comes(1, s, 0, 6);
    tnd_msg_t msg = slice_of(1, 0, 0, 6);
    cr_expect_eq(tnd_dealt_steps_slice(steps, &msg, &error), TND_FAILED);
    cr_expect_str_eq(error.text,
                     "rows of step 0 came for replica 1, whose 3 slots have other steps: "
                     "the holder of the parameters exceeded its credit");
    cr_expect_str_eq(effects(), "drop 0");
}

Test(dealt_steps, a_new_connection_to_the_holder_repeats_what_it_may_lack)
{
    (void)comes(1, 1, 0, 6), (void)comes(1, 2, 0, 6), (void)served(1), (void)done(1);
    (void)comes(1, 3, 0, 6), (void)served(3);
    tnd_dealt_steps_holder_lost(steps);
    cr_expect_neq(tnd_dealt_steps_blocked_on(steps) & TND_WAIT_PEER, 0);
    cr_expect_str_eq(done(3), "");
    cr_expect_str_eq(comes(1, 4, 0, 6), "place 4 in 0");
    tnd_dealt_steps_holder_up(steps);
    cr_expect_str_eq(effects(), "push 1, push 3, read 4, read 2");
    (void)taken(1), (void)taken(3);
    tnd_dealt_steps_holder_up(steps);
    cr_expect_str_eq(effects(), "read 4, read 2");
}

Test(dealt_steps, parameters_for_a_step_that_does_not_wait_for_them_are_forgotten)
{
    cr_expect_str_eq(served(1), "forget");
    (void)comes(1, 1, 0, 5);
    cr_expect_str_eq(served(1), "forget");
    cr_expect_str_eq(comes(1, 1, 5, 1), "place 1 in 0, read 1");
    cr_expect_str_eq(served(1), "run 1 in 0");
    cr_expect_str_eq(served(1), "forget");
}

Test(dealt_steps, a_rewind_drops_steps_that_lack_rows_and_no_others)
{
    (void)comes(1, 1, 0, 6), (void)comes(1, 2, 0, 3), (void)comes(1, 3, 0, 5);
    cr_expect_str_eq(comes(2, 2, 0, 3), "place 2 in 1");
    cr_expect_str_eq(comes(1, 3, 5, 1), "drop 3"); /* of the generation before */
    cr_expect_str_eq(comes(2, 2, 3, 3), "place 2 in 1, read 2");
    cr_expect_str_eq(comes(2, 1, 0, 6), "drop 1"); /* it is held */
    cr_expect_str_eq(comes(2, 4, 0, 6), "place 4 in 2, read 4");
}

Test(dealt_steps, rows_of_a_step_that_was_pushed_are_ignored)
{
    (void)comes(1, 1, 0, 6), (void)served(1), (void)done(1);
    cr_expect_str_eq(comes(2, 1, 0, 6), "drop 1");
    (void)taken(1);
    cr_expect_str_eq(comes(3, 1, 0, 6), "drop 1");
    cr_expect_str_eq(comes(3, 1 + WINDOW, 0, 6), "place 9 in 0, read 9");
}

static void refuses(tnd_msg_t msg, const char *text)
{
    cr_expect_eq(tnd_dealt_steps_slice(steps, &msg, &error), TND_FAILED, "%s", text);
    cr_expect_str_eq(error.text, text);
    cr_expect_str_eq(effects(), "drop 1");
}

Test(dealt_steps, rows_that_cannot_be_are_refused)
{
    tnd_msg_t other = slice_of(1, 1, 0, 6);
    other.slice.replica = 0;
    refuses(other, "rows of replica 0, step 1, came to replica 1");
    refuses(slice_of(1, 1, 0, 0),
            "rows 0 + 0 of 6 came for replica 1, step 1, which has 6: they are "
            "not those of a whole step");
    refuses(slice_of(1, 1, 4, 3),
            "rows 4 + 3 of 6 came for replica 1, step 1, which has 6: they are "
            "not those of a whole step");
    refuses(slice_of(1, 1, UINT32_MAX, 1),
            "rows 4294967295 + 1 of 6 came for replica 1, step 1, which "
            "has 6: they are not those of a whole step");
    other = slice_of(1, 1, 0, 6);
    other.slice.step_rows = 12;
    refuses(other,
            "rows 0 + 6 of 6 came for replica 1, step 1, which has 12: they are not those of a "
            "whole step");
    (void)comes(1, 1, 0, 4);
    refuses(slice_of(1, 1, 3, 3),
            "3 of 6 rows of epoch 0 came for replica 1, step 1, which has 4 of 6 "
            "rows of epoch 0 already");
    other = slice_of(1, 1, 4, 2);
    other.slice.epoch = 1;
    refuses(other,
            "2 of 6 rows of epoch 1 came for replica 1, step 1, which has 4 of 6 rows of epoch 0 "
            "already");
    refuses(slice_of(1, 1, 3, 2), "rows 3 + 2 came for replica 1, step 1, which has rows 0 + 4 "
                                  "already: two lanes sent the same rows");
    (void)comes(1, 1, 4, 1);
    refuses(slice_of(1, 1, 5, 1), "replica 1 got more slices for step 1 than there are lanes");
    (void)comes(2, 1, 0, 4); /* what was refused changed nothing */
    cr_expect_str_eq(comes(2, 1, 4, 2), "place 1 in 0, read 1");
}

Test(dealt_steps, what_it_still_has_comes_back_when_it_stops)
{
    for (uint64_t s = 1; s < 4; s++)
        (void)comes(1, s, 0, 6);
    (void)served(1), (void)served(2), (void)done(1); /* step 2 runs: its values are the driver's */
    (void)served(3);
    tnd_dealt_steps_stop(steps);
    cr_expect_str_eq(effects(), "forget, forget");
    cr_expect_str_eq(effects(), "");
}
