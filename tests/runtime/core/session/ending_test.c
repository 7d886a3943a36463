/*  tests/runtime/core/session/ending_test.c - what signals ask of a process. */
#include "runtime/core/session/ending.h"

#include <criterion/criterion.h>

/*  By signals in order, I: SIGINT, T: one of a launcher. */
static void asks(bool spare, const char *signals, const tnd_ending_step_t *steps)
{
    tnd_ending_t self = {.spare = spare};
    for (unsigned i = 0; signals[i] != '\0'; i++)
        cr_assert_eq(tnd_ending_ask(&self, signals[i] == 'I'), steps[i], "signal %u of %s", i,
                     signals);
}

Test(ending, repeated_signals_of_a_launcher_change_nothing)
{
    asks(false, "TTTTI",
         (tnd_ending_step_t[]){TND_ENDING_DRAIN, TND_ENDING_NOTHING, TND_ENDING_NOTHING,
                               TND_ENDING_NOTHING, TND_ENDING_STOP});
}

Test(ending, each_press_of_ctrl_c_asks_for_more)
{
    asks(
        false, "IIII",
        (tnd_ending_step_t[]){TND_ENDING_DRAIN, TND_ENDING_STOP, TND_ENDING_EXIT, TND_ENDING_EXIT});
    asks(false, "ITITI",
         (tnd_ending_step_t[]){TND_ENDING_DRAIN, TND_ENDING_NOTHING, TND_ENDING_STOP,
                               TND_ENDING_NOTHING, TND_ENDING_EXIT});
}

Test(ending, a_process_that_the_run_can_spare_leaves)
{
    asks(true, "TTI", (tnd_ending_step_t[]){TND_ENDING_LEAVE, TND_ENDING_NOTHING, TND_ENDING_STOP});
}
