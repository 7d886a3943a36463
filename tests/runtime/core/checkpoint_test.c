/*  Covers runtime/core/checkpoint.h, message by message; the simulator tests whole runs with
 *  faults. */
#include "runtime/core/checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

enum { REPLICAS = 2, DEPTH = 2, AHEAD = 16, KEEP = 2 };

static const uint64_t second = 1000000000;

static tnd_checkpoint_t *make(uint64_t every_steps, uint64_t every_ns)
{
    tnd_checkpoint_config_t config = {.replicas = REPLICAS,
                                      .every_steps = every_steps,
                                      .every_ns = every_ns,
                                      .keep = KEEP,
                                      .depth = DEPTH,
                                      .ahead = AHEAD};
    tnd_checkpoint_t *self = tnd_checkpoint_init(calloc(1, tnd_checkpoint_bytes(&config)), &config);
    tnd_checkpoint_effect_t effect;
    cr_assert(tnd_checkpoint_next(self, &effect));
    cr_assert_eq(effect.kind, TND_CHECKPOINT_KEEP);
    cr_assert_eq(effect.word.every, every_steps);
    return self;
}

static void is_idle(tnd_checkpoint_t *self)
{
    tnd_checkpoint_effect_t effect;
    cr_assert_not(tnd_checkpoint_next(self, &effect), "effect %d", (int)effect.kind);
}

static tnd_checkpoint_effect_t does(tnd_checkpoint_t *self, tnd_checkpoint_kind_t kind,
                                    uint64_t step)
{
    tnd_checkpoint_effect_t effect;
    cr_assert(tnd_checkpoint_next(self, &effect));
    cr_assert_eq(effect.kind, kind, "effect %d", (int)effect.kind);
    if (kind != TND_CHECKPOINT_KEEP)
        cr_assert_eq(effect.step, step);
    return effect;
}

/*  Feeders are told which checkpoints are decided, because programs wait for that. */
static void is_decided(tnd_checkpoint_t *self, uint64_t written, uint64_t closed)
{
    tnd_keep_note_t word = does(self, TND_CHECKPOINT_KEEP, 0).word;
    cr_assert_eq(word.written, written);
    cr_assert_eq(word.closed, closed);
    is_idle(self);
}

static void part(tnd_checkpoint_t *self, uint64_t step, uint32_t replica)
{
    tnd_saved_t saved = {.bytes = 100 * step + replica};
    tnd_checkpoint_part(self, step, replica, &saved);
}

/*  Writes the complete checkpoint after `step`. */
static void write(tnd_checkpoint_t *self, uint64_t step)
{
    for (uint32_t r = 0; r < REPLICAS; r++)
        part(self, step, r);
    tnd_checkpoint_booked(self, step, 0);
    does(self, TND_CHECKPOINT_WRITE, step);
    is_idle(self);
    tnd_checkpoint_written(self, step);
}

Test(checkpoint, a_manifest_is_asked_for_once_the_step_is_booked_and_all_parts_are_there)
{
    tnd_checkpoint_t *self = make(5, 0);

    part(self, 5, 1);
    part(self, 5, 0);
    part(self, 5, 0);
    is_idle(self);
    tnd_checkpoint_booked(self, 4, 0);
    is_idle(self);
    tnd_checkpoint_booked(self, 5, 0);
    tnd_checkpoint_effect_t effect = does(self, TND_CHECKPOINT_WRITE, 5);
    cr_assert_eq(effect.parts[0].bytes, 500);
    cr_assert_eq(effect.parts[1].bytes, 501);
    /* Reports repeated after a rewind change nothing. */
    part(self, 5, 0);
    tnd_checkpoint_end(self, 5);
    is_idle(self);
    free(self);
}

Test(checkpoint, one_that_lacks_a_part_is_not_written_but_reported)
{
    tnd_checkpoint_t *self = make(5, 0);

    part(self, 5, 1);
    tnd_checkpoint_unkept(self, 5, 0, "the disk is full");
    tnd_checkpoint_booked(self, 5, 0);
    tnd_checkpoint_effect_t effect = does(self, TND_CHECKPOINT_LACKS, 5);
    cr_assert_eq(effect.have, 1);
    cr_assert_str_eq(effect.why, "the disk is full");
    is_decided(self, 0, 5);
    cr_assert_eq(tnd_checkpoint_last(self), 0);
    free(self);
}

Test(checkpoint, older_ones_are_deleted_only_after_a_new_one_is_written)
{
    tnd_checkpoint_t *self = make(5, 0);

    tnd_checkpoint_found(self, 0);
    write(self, 5);
    does(self, TND_CHECKPOINT_FORGET, 0);
    is_decided(self, 5, 5);
    write(self, 10);
    does(self, TND_CHECKPOINT_FORGET, 5);
    cr_assert_eq(does(self, TND_CHECKPOINT_KEEP, 0).word.below, 5);
    /* After a write that failed, the two that there are stay. */
    part(self, 15, 0);
    part(self, 15, 1);
    tnd_checkpoint_booked(self, 15, 0);
    does(self, TND_CHECKPOINT_WRITE, 15);
    tnd_checkpoint_failed(self, 15);
    is_decided(self, 10, 15);
    write(self, 20);
    does(self, TND_CHECKPOINT_FORGET, 10);
    cr_assert_eq(tnd_checkpoint_word(self).below, 10);
    cr_assert_eq(tnd_checkpoint_last(self), 20);
    free(self);
}

Test(checkpoint, by_time_a_step_is_named_that_no_feeder_has_begun)
{
    tnd_checkpoint_t *self = make(0, second);

    tnd_checkpoint_booked(self, 1, second);
    is_idle(self);
    tnd_checkpoint_booked(self, 2, 2 * second);
    tnd_keep_note_t word = does(self, TND_CHECKPOINT_KEEP, 0).word;
    cr_assert(word.step > 2 + DEPTH && word.step <= 2 + AHEAD);
    cr_assert(tnd_checkpoint_asks(&word, word.step, 0));
    cr_assert_not(tnd_checkpoint_asks(&word, word.step - 1, 0));

    /* All were past it: the next is as far ahead as can be, at once. */
    tnd_checkpoint_booked(self, word.step, 2 * second + 1);
    cr_assert_eq(does(self, TND_CHECKPOINT_KEEP, 0).word.step, word.step + AHEAD);
    free(self);
}

Test(checkpoint, models_that_a_program_saves_after_any_step_become_one)
{
    tnd_checkpoint_t *self = make(0, 0);

    part(self, 3, 0);
    part(self, 3, 1);
    part(self, AHEAD + 9, 0); /* too far away to be true */
    part(self, 3, REPLICAS);
    tnd_checkpoint_booked(self, 3, 0);
    does(self, TND_CHECKPOINT_WRITE, 3);
    part(self, 4, 0);
    tnd_checkpoint_booked(self, 4, 0);
    is_idle(self);
    tnd_checkpoint_booked(self, 6, 0);
    does(self, TND_CHECKPOINT_LACKS, 4);
    is_decided(self, 0, 4);
    part(self, 6, 0);
    part(self, 6, 1);
    tnd_checkpoint_end(self, 6);
    does(self, TND_CHECKPOINT_WRITE, 6);
    is_idle(self);
    free(self);
}

Test(checkpoint, after_the_last_step_one_replica_may_save_its_model_before_it_is_recorded)
{
    for (uint64_t every = 0; every <= 5; every += 5) {
        tnd_checkpoint_t *self = make(every, 0);

        part(self, 5, 1);
        tnd_checkpoint_booked(self, 5, 0);
        is_idle(self);
        part(self, 5, 0);
        tnd_checkpoint_end(self, 5);
        does(self, TND_CHECKPOINT_WRITE, 5);
        is_idle(self);
        free(self);
    }
}

Test(checkpoint, a_part_missing_at_the_end_is_reported)
{
    tnd_checkpoint_t *self = make(0, 0);

    part(self, 5, 1);
    tnd_checkpoint_booked(self, 5, 0);
    tnd_checkpoint_end(self, 5);
    cr_assert_eq(does(self, TND_CHECKPOINT_LACKS, 5).have, 1);
    is_decided(self, 0, 5);
    free(self);
}

Test(checkpoint, the_reason_that_the_last_one_is_missing_is_reported_even_after_it_is_booked)
{
    tnd_checkpoint_t *self = make(0, 0);

    part(self, 5, 1);
    tnd_checkpoint_booked(self, 5, 0);
    is_idle(self);
    tnd_checkpoint_unkept(self, 5, 0, "the disk is full");
    tnd_checkpoint_end(self, 5);
    cr_expect_str_eq(does(self, TND_CHECKPOINT_LACKS, 5).why, "the disk is full");
    is_decided(self, 0, 5);
    free(self);
}

/*  The next effects remove what is below a step, but for the best one, and tell feeders of both. */
static void forgets(tnd_checkpoint_t *self, uint64_t below, uint64_t best)
{
    cr_assert_eq(does(self, TND_CHECKPOINT_FORGET, below).best, best);
    tnd_keep_note_t word = does(self, TND_CHECKPOINT_KEEP, 0).word;
    cr_assert_eq(word.below, below);
    cr_assert_eq(word.best, best);
    is_idle(self);
}

Test(checkpoint, the_best_one_stays_until_another_one_is_written)
{
    tnd_checkpoint_t *self = make(5, 0);
    write(self, 5);
    forgets(self, 5, 0);
    tnd_checkpoint_pin(self, 5);
    forgets(self, 5, 5);
    for (uint64_t step = 10; step <= 20; step += 5) {
        write(self, step);
        forgets(self, step > 10 ? step - 5 : 5, 5);
    }

    for (uint32_t r = 0; r < REPLICAS; r++)
        part(self, 25, r);
    tnd_checkpoint_booked(self, 25, 0);
    does(self, TND_CHECKPOINT_WRITE, 25);
    tnd_checkpoint_pin(self, 25);
    is_idle(self);
    tnd_checkpoint_failed(self, 25);
    cr_assert_eq(does(self, TND_CHECKPOINT_KEEP, 0).word.best, 5);
    is_idle(self);

    for (uint32_t r = 0; r < REPLICAS; r++)
        part(self, 30, r);
    tnd_checkpoint_booked(self, 30, 0);
    does(self, TND_CHECKPOINT_WRITE, 30);
    tnd_checkpoint_pin(self, 30);
    tnd_checkpoint_written(self, 30);
    forgets(self, 20, 30);
    free(self);
}

Test(checkpoint, the_best_one_of_an_earlier_run_stays)
{
    tnd_checkpoint_t *self = make(5, 0);
    tnd_checkpoint_pin(self, 1);
    for (uint64_t step = 1; step <= 4; step++)
        tnd_checkpoint_found(self, step);
    forgets(self, 0, 1);
    cr_assert_eq(tnd_checkpoint_last(self), 4);
    write(self, 5);
    forgets(self, 4, 1);
    free(self);
}

Test(checkpoint, feeders_also_save_where_a_validation_is_due)
{
    tnd_keep_note_t word = {.every = 5, .rest_steps = 4};
    for (uint64_t step = 1; step <= 20; step++)
        cr_assert_eq(tnd_checkpoint_asks(&word, step, step / 2), step % 5 == 0 || step % 4 == 0);
    word = (tnd_keep_note_t){.rest_epochs = 2};
    for (uint64_t step = 1; step <= 20; step++)
        cr_assert_eq(tnd_checkpoint_asks(&word, step, step % 3 == 0 ? step / 3 : 0), step % 6 == 0);
}

Test(checkpoint, where_epochs_may_have_no_step_feeders_save_after_each_that_has_some)
{
    tnd_keep_note_t word = {.every = 5, .rest_epochs = 3};
    tnd_keep_note_t even = tnd_checkpoint_word_of_feeder(&word, false);
    tnd_keep_note_t uneven = tnd_checkpoint_word_of_feeder(&word, true);
    for (uint64_t epochs = 0; epochs <= 6; epochs++) {
        cr_expect_eq(tnd_checkpoint_asks(&even, 7, epochs), epochs == 3 || epochs == 6);
        cr_expect_eq(tnd_checkpoint_asks(&uneven, 7, epochs), epochs > 0);
    }
    cr_expect(tnd_checkpoint_asks(&uneven, 5, 0));
    word.rest_epochs = 0;
    uneven = tnd_checkpoint_word_of_feeder(&word, true);
    cr_expect_not(tnd_checkpoint_asks(&uneven, 7, 3), "no validation is due after epochs");
}

/*  Asks for the manifest after `step`, which then waits to be written. */
static void ask(tnd_checkpoint_t *self, uint64_t step)
{
    for (uint32_t r = 0; r < REPLICAS; r++)
        part(self, step, r);
    tnd_checkpoint_booked(self, step, 0);
    does(self, TND_CHECKPOINT_WRITE, step);
}

Test(checkpoint, what_later_ones_would_delete_is_given_up_if_it_waits_to_be_written)
{
    tnd_checkpoint_t *self = make(1, 0);
    for (uint64_t step = 1; step <= KEEP; step++)
        ask(self, step);
    is_idle(self);
    for (uint64_t step = KEEP + 1; step <= 9; step++) {
        ask(self, step);
        does(self, TND_CHECKPOINT_GIVE_UP, step - KEEP);
        is_idle(self);
    }
    tnd_checkpoint_written(self, 1); /* it was being written all the same */
    forgets(self, 1, 0);
    tnd_checkpoint_written(self, 8);
    forgets(self, 1, 0);
    ask(self, 10);
    is_idle(self);
    tnd_checkpoint_failed(self, 9);
    is_decided(self, 8, 9);
    ask(self, 11);
    is_idle(self);
    free(self);
}

Test(checkpoint, that_of_the_best_value_is_not_given_up_while_it_is_the_best)
{
    tnd_checkpoint_t *self = make(1, 0);
    ask(self, 1);
    tnd_checkpoint_pin(self, 1);
    for (uint64_t step = 2; step <= KEEP + 1; step++)
        ask(self, step);
    is_idle(self);
    ask(self, 4);
    does(self, TND_CHECKPOINT_GIVE_UP, 2);
    is_idle(self);
    tnd_checkpoint_pin(self, 4);
    does(self, TND_CHECKPOINT_GIVE_UP, 1);
    is_idle(self);
    free(self);
}
