/*  Covers runtime/observe/run_summary.h: which rows the means of an epoch are over. */
#include "runtime/observe/run_summary.h"

#include <criterion/criterion.h>

static const tnd_chain_plan_t chain_plan;
static tnd_run_summary_t summary;

static const tnd_run_summary_chain_t *begin(void)
{
    static tnd_plan_t plan;
    plan.chains = (tnd_chain_plan_t *)&chain_plan;
    plan.chain_count = 1;
    tnd_run_summary_init(&summary, &plan);
    return &summary.chains[0];
}

/*  Step `step` of 128 rows, which is `of_epoch` of an epoch of four. */
static void book(uint64_t step, uint64_t of_epoch)
{
    bool last = of_epoch == 3;
    uint64_t epoch = step / 4;
    tnd_cursor_t cursor = {.step = step + 1,
                           .epoch = (uint32_t)epoch + last,
                           .step_of_epoch = last ? 0 : of_epoch + 1,
                           .ledger.fed = (step + 1) * 128};
    tnd_metric_t loss = {.name = "loss", .sum = 128, .weight = 128};
    tnd_step_record_t record = {.step = step,
                                .epoch = (uint32_t)epoch,
                                .rows = 128,
                                .fed = 128,
                                .last_of_epoch = last,
                                .metric_count = 1,
                                .metrics = &loss,
                                .cursor = &cursor};
    tnd_run_summary_step(&summary, &record);
}

static void end(void)
{
    tnd_run_summary_fini(&summary);
}

Test(run_summary, means_are_over_the_rows_of_one_epoch, .fini = end)
{
    const tnd_run_summary_chain_t *chain = begin();
    for (uint64_t s = 0; s < 6; s++)
        book(s, s % 4);
    cr_assert_eq(chain->ended_rows, 512);
    cr_assert(!chain->ended_part && !chain->metric_part);
    cr_assert_eq(chain->metric_rows, 256);
    cr_assert_eq(chain->ledger.fed, 768);
}

Test(run_summary, an_epoch_that_another_run_has_begun_is_known_in_part, .fini = end)
{
    const tnd_run_summary_chain_t *chain = begin();
    for (uint64_t s = 5; s < 12; s++) {
        book(s, s % 4);
        if (s == 7) {
            cr_assert_eq(chain->ended_rows, 384);
            cr_assert(chain->ended_part);
        }
    }
    cr_assert_eq(chain->ended_rows, 512);
    cr_assert_not(chain->ended_part);
}

Test(run_summary, an_epoch_that_begins_with_this_run_is_whole, .fini = end)
{
    const tnd_run_summary_chain_t *chain = begin();
    for (uint64_t s = 4; s < 8; s++)
        book(s, s % 4);
    cr_assert_eq(chain->before_steps, 4);
    cr_assert_eq(chain->ended_rows, 512);
    cr_assert_not(chain->ended_part);
}
