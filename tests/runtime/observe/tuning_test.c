/*  Covers runtime/observe/tuning.h: each decision as the user reads it. */
#include "runtime/observe/tuning.h"

#include <criterion/criterion.h>

static void reads(const tnd_tuner_decision_t *decision, uint32_t most, const char *expected)
{
    tnd_tuner_t tuner;
    char text[256];
    tnd_tuner_init(&tuner, most);
    tuner.decision = *decision;
    tuner.workers = decision->workers;
    uint64_t word = tnd_tuning_word(&tuner);
    cr_expect_neq(word, 0);
    cr_expect_str_eq(tnd_tuning_text(word, text, sizeof text), expected);
}

Test(tuning, each_decision_has_its_reason)
{
    reads(&(tnd_tuner_decision_t){.workers = 1}, 4, "1 of 4 workers");
    reads(
        &(tnd_tuner_decision_t){
            .act = TND_TUNER_ADDED, .workers = 2, .tickets_waited = 0.896, .feeder_waited = 1},
        4,
        "2 of 4 workers: one more is tried, because tickets waited for a worker 90 % of the time "
        "and the feeder waited for rows 100 %");
    reads(&(tnd_tuner_decision_t){.act = TND_TUNER_KEPT, .workers = 1024, .gain = 0.942}, 1024,
          "1024 of 1024 workers: the last one gained 94.2 %");
    reads(&(tnd_tuner_decision_t){.act = TND_TUNER_UNDONE, .workers = 1, .gain = 0.011}, 2,
          "1 of 2 workers: one more gained 1.1 %, and 3 % is the least gain");
    reads(&(tnd_tuner_decision_t){.act = TND_TUNER_UNDONE, .workers = 1, .gain = -0.3}, 2,
          "1 of 2 workers: one more lost 30.0 %, and 3 % is the least gain");
    reads(&(tnd_tuner_decision_t){.act = TND_TUNER_REMOVED, .workers = 2, .busy = 0.25}, 3,
          "2 of 3 workers: one less is tried, because they were busy 25 % of the time");
    reads(&(tnd_tuner_decision_t){.act = TND_TUNER_CHECKED, .workers = 2}, 3,
          "2 of 3 workers: one less is tried, because the gain of the last one is not known");
    reads(&(tnd_tuner_decision_t){.act = TND_TUNER_RESTORED, .workers = 3, .gain = -0.5}, 3,
          "3 of 3 workers: one less lost 50.0 %");
    reads(&(tnd_tuner_decision_t){.act = TND_TUNER_SPARED, .workers = 2, .gain = 0}, 3,
          "2 of 3 workers: one less gained 0.0 %");
}

Test(tuning, numbers_that_do_not_fit_are_the_largest_that_do)
{
    reads(&(tnd_tuner_decision_t){.act = TND_TUNER_KEPT, .workers = 2, .gain = 1e9}, 2,
          "2 of 2 workers: the last one gained 3276.7 %");
}

Test(tuning, a_short_buffer_is_not_exceeded)
{
    tnd_tuner_t tuner;
    char text[8];
    tnd_tuner_init(&tuner, 2);
    cr_expect_str_eq(tnd_tuning_text(tnd_tuning_word(&tuner), text, sizeof text), "1 of 2 ");
}
