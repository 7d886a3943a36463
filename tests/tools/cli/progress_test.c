/*  Covers tools/cli/progress.h: the numbers of a resumed run. */
#include "runtime/topology/best_options.h"
#include "tools/cli/progress.h"

#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/redirect.h>

#include "runtime/base/clock.h"
#include "tools/cli/load.h"

static const uint64_t second_ns = 1000000000;

static tnd_chain_plan_t chain_plan = {.feeder = "feed"};
static tnd_plan_t plan = {.chains = &chain_plan, .chain_count = 1, .host_count = 1};
static tnd_run_summary_t summary;
static tnd_progress_t progress;

/*  For a chain with steps no rate in bytes is shown. */
bool tnd_load_steps(const tnd_plan_t *of, uint32_t chain)
{
    return of == &plan && chain == 0;
}

/*  The run before fed 9,000,000 rows in 90 steps, this one 5,000 more in 5 steps and 10 s. */
static void begin(void)
{
    cr_redirect_stdout();
    tnd_run_summary_init(&summary, &plan);
    tnd_progress_init(&progress, &summary, TND_UNKNOWN, false);
    progress.plain_ns = 0;
    tnd_run_summary_chain_t *chain = &summary.chains[0];
    chain->steps = 95;
    chain->here = 5;
    chain->before_steps = 90;
    chain->before_fed = 9000000;
    chain->ledger.read = chain->ledger.fed = 9005000;
    chain->state = TND_LEADER_CORE_RUNNING;
    chain->last_ns = tnd_clock_now();
    chain->begun_ns = chain->last_ns - 10 * second_ns;
}

static void end(void)
{
    tnd_run_summary_fini(&summary);
}

TestSuite(progress, .init = begin, .fini = end);

static const char *said(void)
{
    static char text[2048];
    fflush(stdout);
    FILE *out = cr_get_redirected_stdout();
    size_t size = fread(text, 1, sizeof text - 1, out);
    text[size] = '\0';
    return text;
}

static void expect(const char *text, const char *part)
{
    cr_assert_not_null(strstr(text, part), "'%s' is not in:\n%s", part, text);
}

Test(progress, the_rate_of_a_run_counts_its_own_rows)
{
    /* Long enough ago that the moment between has no part in what is rounded; the clock begins when the
     * machine starts. */
    tnd_run_summary_chain_t *chain = &summary.chains[0];
    chain->begun_ns = chain->last_ns - 60 * second_ns;
    chain->ledger.read = chain->ledger.fed = chain->before_fed + 300;
    tnd_progress_tick(&progress);
    fclose(stdout);
    expect(said(), "  5 rows/s");
}

Test(progress, a_host_is_missed_until_the_run_has_failed)
{
    plan.host_count = 3;
    summary.chains[0].steps = 0;
    tnd_run_summary_state(&summary, 0, TND_LEADER_CORE_JOINING, "b, c");
    tnd_progress_tick(&progress);
    tnd_run_summary_state(&summary, 0, TND_LEADER_CORE_JOINING, "c");
    tnd_progress_stop(&progress);
    tnd_progress_tick(&progress);
    fclose(stdout);
    cr_assert_str_eq(said(), "waiting for b, c\n");
}

Test(progress, hosts_that_open_their_data_have_a_line_each)
{
    tnd_plan_host_t hosts[] = {{.name = "a"}, {.name = "b"}};
    tnd_open_progress_t opening = {.actor = "read", .doing = "indexing", .file = "x.rec"};
    tnd_open_progress_count(&opening, 3, 16, "files");
    plan.host_count = 2;
    plan.hosts = hosts;
    summary.chains[0].steps = 0;
    tnd_run_summary_state(&summary, 0, TND_LEADER_CORE_OPENING, "");
    tnd_run_summary_opening(&summary, 0, &opening);
    tnd_open_progress_count(&opening, 41, 100, "bytes");
    tnd_run_summary_opening(&summary, 1, &opening);
    progress.open_ns = 1; /* long ago */
    tnd_progress_tick(&progress);
    tnd_progress_tick(&progress);
    progress.open_ns = 1;
    tnd_run_summary_opening(&summary, 0, NULL);
    summary.openings[0].pace.begun_ns -= 50 * second_ns;
    summary.openings[0].pace.since = 0.01;
    tnd_progress_tick(&progress);
    fclose(stdout);
    cr_assert_str_eq(said(), "read on a: indexing 3 of 16 files, 19 %\n"
                             "read on b: indexing 3 of 16 files, 41 %\n"
                             "read on b: indexing 3 of 16 files, 41 %, 74 s left\n");
}

Test(progress, the_last_line_counts_all_rows_and_the_rate_its_own)
{
    tnd_progress_end(&progress, false);
    fclose(stdout);
    const char *text = said();
    expect(text, "done: 95 steps, 9,005,000 rows, 0 epochs in 10.0 s (500 rows/s)\n");
    expect(text, "of these, 90 steps before this run, which resumed after them\n");
}

Test(progress, an_epoch_that_ended_has_a_line_with_its_number_and_means)
{
    tnd_run_summary_chain_t *chain = &summary.chains[0];
    chain->epochs = 7;
    chain->ended_ns = chain->begun_ns + 4 * second_ns;
    chain->ended_fed = 9004096;
    chain->sums.ended.count = 1;
    chain->sums.ended.of[0] = (tnd_metric_t){.name = "loss", .sum = 3, .weight = 8};
    tnd_progress_tick(&progress);
    fclose(stdout);
    expect(said(), "epoch 6  loss 0.3750  9,004,096 rows, 4.0 s\n");
}

Test(progress, epochs_are_numbered_from_0)
{
    tnd_run_summary_chain_t *chain = &summary.chains[0];
    chain->stream_known = true;
    chain->stream.epochs = 3;
    for (chain->epochs = 0; chain->epochs <= 3; chain->epochs++) {
        progress.plain_ns = 0;
        tnd_progress_tick(&progress);
    }
    fclose(stdout);
    const char *text = said();
    expect(text, "epoch 0 of 3  ");
    expect(text, "epoch 1 of 3  ");
    expect(text, "epoch 2 of 3  ");
    cr_assert_null(strstr(text, "epoch 3"), "%s", text);
}

/*  A second chain evaluates the models, which reported that before. */
static void has_validations(void)
{
    static tnd_chain_plan_t both[] = {{.feeder = "feed"},
                                      {.feeder = "test", .every = {.epochs = 1}}};
    static tnd_plan_t two;
    tnd_run_summary_chain_t before = summary.chains[0];
    tnd_run_summary_fini(&summary);
    two = plan;
    two.chains = both;
    two.chain_count = 2;
    tnd_run_summary_init(&summary, &two);
    before.plan = &both[0];
    summary.chains[0] = before;
    tnd_validated_t made = {.chain = 1, .steps = 90, .sums = {.count = 1}};
    made.sums.of[0] = (tnd_metric_t){.name = "accuracy", .sum = 1, .weight = 2};
    tnd_run_summary_validated(&summary, &made);
    made.steps = 95;
    made.sums.of[0].sum = 1.5;
    tnd_run_summary_validated(&summary, &made);
}

Test(progress, a_validation_has_a_line_and_stays_beside_what_is_trained)
{
    has_validations();
    tnd_progress_tick(&progress);
    fclose(stdout);
    const char *text = said();
    expect(text, "test after step 94  accuracy 0.7500\n");
    cr_assert_null(strstr(text, "after step 89"), "an earlier run made it:\n%s", text);
    expect(text, " | test accuracy 0.7500\n");
}

Test(progress, a_chain_that_is_validated_is_shown_where_the_first_one_rests)
{
    has_validations();
    summary.chains[0].sums.latest = (tnd_metric_sums_t){.count = 1};
    summary.chains[0].sums.latest.of[0] = (tnd_metric_t){.name = "loss", .sum = 1, .weight = 4};
    summary.chain = 1;
    summary.chains[1].steps = 3;
    summary.chains[1].begun_ns = tnd_clock_now();
    summary.chains[1].sums.latest = (tnd_metric_sums_t){.count = 1};
    summary.chains[1].sums.latest.of[0] = (tnd_metric_t){.name = "accuracy", .sum = 1, .weight = 8};
    tnd_progress_tick(&progress);
    fclose(stdout);
    expect(said(), "after step 94  loss 0.2500 | test  accuracy 0.1250");
}

Test(progress, the_best_validation_is_named_at_the_end)
{
    static const tnd_best_options_t wanted = {.metric = "accuracy"};
    has_validations();
    ((tnd_chain_plan_t *)(uintptr_t)summary.chains[1].plan)->best = &wanted;
    tnd_best_t best = {.patience = 2, .step = 93, .value = 0.8125, .without = 2};
    tnd_run_summary_best(&summary, 1, &best, true);
    tnd_progress_end(&progress, false);
    fclose(stdout);
    expect(
        said(),
        "best:  accuracy 0.8125 of test after step 92, its checkpoint is kept (--resume best); no "
        "better one followed, so the run has ended\n");
}
