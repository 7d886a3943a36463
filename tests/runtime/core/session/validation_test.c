/*  tests/runtime/core/session/validation_test.c - after which steps a chain is validated. */
#include "runtime/core/session/validation.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

/*  Epochs of three steps.  Returns the place after so many. */
static tnd_cursor_t after_steps(uint64_t steps)
{
    return (tnd_cursor_t){
        .step = steps, .epoch = (uint32_t)(steps / 3), .step_of_epoch = steps % 3};
}

/*  Checks that a validation is due exactly after the steps `due`, which end with 0, of ten. */
static void is_due_after(tnd_validation_t every, const uint64_t *due)
{
    every.made = TND_UNKNOWN;
    for (uint64_t steps = 0; steps <= 10; steps++) {
        tnd_cursor_t cursor = after_steps(steps);
        tnd_validation_place_t place = {
            .cursor = &cursor, .epoch = cursor.epoch, .over = steps == 10};
        uint64_t rest_step = TND_UNKNOWN;
        uint32_t rest_epoch = TND_ENDLESS;
        bool is_due = *due == steps && steps > 0;
        cr_expect(eq(int, tnd_validation_is_due(&every, &place), is_due), "after %zu steps",
                  (size_t)steps);
        every.made = is_due ? steps : every.made;
        due += is_due;
        cr_expect_not(tnd_validation_is_due(&every, &place), "once only after %zu", (size_t)steps);
        tnd_validation_rest(&every, &place, &rest_step, &rest_epoch);
        uint64_t next = *due == 10 && every.steps * every.epochs == 0 ? TND_UNKNOWN : *due;
        if (steps < 10 && *due > 0 && *due < 10 && every.steps > 0)
            cr_expect(eq(u64, rest_step, next));
        if (steps < 10 && *due > 0 && *due < 10 && every.epochs > 0)
            cr_expect(eq(u64, (uint64_t)rest_epoch * 3, next));
    }
}

Test(validation, is_due_after_so_many_steps_or_epochs_and_at_the_end)
{
    is_due_after((tnd_validation_t){.steps = 4}, (const uint64_t[]){4, 8, 10, 0});
    is_due_after((tnd_validation_t){.steps = 1},
                 (const uint64_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0});
    is_due_after((tnd_validation_t){.steps = 5}, (const uint64_t[]){5, 10, 0});
    is_due_after((tnd_validation_t){.steps = 11}, (const uint64_t[]){10, 0});
    is_due_after((tnd_validation_t){.epochs = 1}, (const uint64_t[]){3, 6, 9, 10, 0});
    is_due_after((tnd_validation_t){.epochs = 2}, (const uint64_t[]){6, 10, 0});
    is_due_after((tnd_validation_t){.epochs = 4}, (const uint64_t[]){10, 0});
    is_due_after((tnd_validation_t){.steps = 0}, (const uint64_t[]){10, 0});
}

Test(validation, epochs_without_steps_are_one_with_those_before_them)
{
    tnd_validation_t every = {.epochs = 2, .made = TND_UNKNOWN};
    tnd_cursor_t cursor = {.step = 3, .epoch = 1};
    tnd_validation_place_t place = {.cursor = &cursor, .epoch = 1};
    uint64_t step = TND_UNKNOWN;
    uint32_t epoch = TND_ENDLESS;
    cr_expect_not(tnd_validation_is_due(&every, &place));
    place.epoch = 3; /* of the next step */
    cr_expect(tnd_validation_is_due(&every, &place));
    every.made = 3;
    cr_expect_not(tnd_validation_is_due(&every, &place));
    tnd_validation_rest(&every, &place, &step, &epoch);
    cr_expect(eq(u64, step, TND_UNKNOWN));
    cr_expect(eq(u32, epoch, 4));
}

Test(validation, a_run_that_resumes_where_one_is_due_rests_there)
{
    tnd_validation_t every = {.steps = 4, .made = TND_UNKNOWN};
    tnd_cursor_t cursor = after_steps(8);
    tnd_validation_place_t place = {.cursor = &cursor, .epoch = cursor.epoch};
    uint64_t step = TND_UNKNOWN;
    uint32_t epoch = TND_ENDLESS;
    tnd_validation_rest(&every, &place, &step, &epoch);
    cr_expect(eq(u64, step, 8));
    every.made = 8;
    step = TND_UNKNOWN;
    tnd_validation_rest(&every, &place, &step, &epoch);
    cr_expect(eq(u64, step, 12));
}
