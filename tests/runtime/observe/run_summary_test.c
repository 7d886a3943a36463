/*  Covers runtime/observe/run_summary.h and epoch_metrics.h: which rows the means of an epoch are
 *  over, also if the run resumes. */
#include "runtime/observe/run_summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

static const tnd_chain_plan_t chain_plan;
static tnd_run_summary_t summary;
static tnd_epoch_metrics_t sums; /* of the leader */

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
    tnd_metric_t loss = {.name = "loss", .sum = 0.1 * (double)(step % 4 + 1), .weight = 128};
    tnd_epoch_metrics_add(&sums, (uint32_t)epoch, last, 128, &loss, 1);
    tnd_step_record_t record = {.step = step,
                                .epoch = (uint32_t)epoch,
                                .rows = 128,
                                .fed = 128,
                                .last_of_epoch = last,
                                .metric_count = 1,
                                .metrics = &loss,
                                .sums = &sums,
                                .cursor = &cursor};
    tnd_run_summary_step(&summary, &record);
}

static void end(void)
{
    tnd_run_summary_fini(&summary);
}

/*  The cursor before `step`. */
static tnd_cursor_t cursor_of(uint64_t step)
{
    return (tnd_cursor_t){.step = step,
                          .epoch = (uint32_t)(step / 4),
                          .step_of_epoch = step % 4,
                          .ledger.fed = step * 128};
}

static void resume(uint64_t step)
{
    tnd_cursor_t cursor = cursor_of(step);
    tnd_run_summary_resume(&summary, 0, &cursor, &sums);
}

/*  What a checkpoint keeps of the sums. */
static void save_and_read(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    tnd_epoch_metrics_write(&sums, out);
    fclose(out);
    memset(&sums, 0, sizeof sums);
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && *line != '\0';) {
        cr_assert_eq(strncmp(line, "metrics ", 8), 0, "%s", line);
        cr_assert(tnd_epoch_metrics_read(&sums, line + 8), "%s", line);
    }
    free(text);
}

Test(run_summary, means_are_over_the_rows_of_one_epoch, .fini = end)
{
    const tnd_run_summary_chain_t *chain = begin();
    for (uint64_t s = 0; s < 6; s++)
        book(s, s % 4);
    cr_assert_eq(chain->sums.ended.rows, 512);
    cr_assert(!chain->sums.ended.partial && !chain->sums.latest.partial);
    cr_assert_eq(chain->sums.latest.rows, 256);
    cr_assert_eq(chain->ledger.fed, 768);
    cr_assert_eq(chain->sums.ended.of[0].sum, 0.1 + 0.2 + 0.1 * 3 + 0.4);
    cr_assert_eq(chain->sums.latest.of[0].sum, 0.1 + 0.2);
}

Test(run_summary, a_run_that_resumes_continues_the_sums_of_its_checkpoint, .fini = end)
{
    for (uint64_t at = 1; at <= 8; at++) {
        const tnd_run_summary_chain_t *chain = begin();
        memset(&sums, 0, sizeof sums);
        for (uint64_t s = 0; s < at; s++)
            book(s, s % 4);
        tnd_epoch_metrics_t saved = sums;
        tnd_run_summary_fini(&summary);
        chain = begin();
        save_and_read();
        resume(at);
        cr_assert_eq(memcmp(&saved, &sums, sizeof sums), 0, "step %d", (int)at);
        cr_assert_eq(chain->before_steps, at);
        for (uint64_t s = at; s < 8; s++)
            book(s, s % 4);
        cr_assert_eq(chain->sums.ended.of[0].sum, 0.1 + 0.2 + 0.1 * 3 + 0.4, "step %d", (int)at);
        cr_assert_eq(chain->sums.ended.rows, 512);
        cr_assert_eq(chain->sums.latest.epoch, 1);
        cr_assert_not(chain->sums.ended.partial);
        if (at < 8)
            tnd_run_summary_fini(&summary);
    }
}

Test(run_summary, an_epoch_of_which_a_checkpoint_has_no_sums_is_known_in_part, .fini = end)
{
    const tnd_run_summary_chain_t *chain = begin();
    tnd_cursor_t cursor = cursor_of(5);
    tnd_epoch_metrics_lose(&sums, &cursor);
    resume(5);
    cr_assert(chain->sums.latest.partial && chain->sums.ended.partial);
    for (uint64_t s = 5; s < 12; s++) {
        book(s, s % 4);
        if (s == 6)
            save_and_read(); /* the next checkpoint knows it too */
        if (s == 7) {
            cr_assert_eq(chain->sums.ended.rows, 384);
            cr_assert(chain->sums.ended.partial);
        }
    }
    cr_assert_eq(chain->sums.ended.rows, 512);
    cr_assert_not(chain->sums.ended.partial);
}

Test(run_summary, an_epoch_that_begins_with_this_run_is_whole, .fini = end)
{
    const tnd_run_summary_chain_t *chain = begin();
    tnd_cursor_t cursor = cursor_of(4);
    tnd_epoch_metrics_lose(&sums, &cursor);
    resume(4);
    cr_assert(chain->sums.latest.partial); /* if no step follows */
    for (uint64_t s = 4; s < 8; s++)
        book(s, s % 4);
    cr_assert_eq(chain->before_steps, 4);
    cr_assert_eq(chain->sums.ended.rows, 512);
    cr_assert_not(chain->sums.ended.partial);
}

Test(run_summary, metrics_are_the_same_in_every_locale_and_damaged_ones_are_refused)
{
    static const struct {
        double value;
        const char *bits; /* IEEE 754 */
    } numbers[] = {{1, "3ff0000000000000"},
                   {-0.0, "8000000000000000"},
                   {INFINITY, "7ff0000000000000"},
                   {0.1, "3fb999999999999a"}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char text[TND_METRIC_TEXT], wanted[TND_METRIC_TEXT];
        tnd_metric_t metric = {.name = "loss", .sum = numbers[i].value, .weight = 2}, found;
        snprintf(wanted, sizeof wanted, "%s 4000000000000000 loss", numbers[i].bits);
        cr_assert_eq(tnd_metric_print(&metric, text), strlen(wanted));
        cr_assert_str_eq(text, wanted);
        cr_assert_eq(tnd_metric_parse(&found, text), strlen(text));
        cr_assert_eq(memcmp(&found, &metric, sizeof found), 0);
    }
    static const char *const not_metrics[] = {
        "3ff0000000000000 4000000000000000",
        "3ff0000000000000 4000000000000000 ",
        "3ff000000000000 4000000000000000 loss",
        "3ff00000000000004000000000000000 loss",
        "3ff0000000000000 400000000000000g loss",
        "0x3ff00000000000 4000000000000000 loss",
        "3ff0000000000000 4000000000000000 a_name_that_has_thirty_two_bytes",
    };
    tnd_metric_t same = {.name = "same", .sum = 1};
    for (size_t i = 0; i < sizeof not_metrics / sizeof not_metrics[0]; i++) {
        cr_assert_eq(tnd_metric_parse(&same, not_metrics[i]), 0, "%s", not_metrics[i]);
        cr_assert_str_eq(same.name, "same");
    }
    cr_assert_eq(tnd_metric_parse(&same, " 3FF0000000000000 4000000000000000 "
                                         "a_name_that_has_thirty_one_byte more"),
                 66);
    cr_assert_str_eq(same.name, "a_name_that_has_thirty_one_byte");
    static const char *const damaged[] = {
        "",
        "latest 1 512",
        "latest 1 512 whole loss",
        "latest 1 512 whole 3ff0000000000000 loss",
        "latest 1 512 whole 3ff0000000000000 4000000000000000 loss 3ff0000000000000",
        "latest -1x 512 whole",
    };
    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++)
        cr_assert_not(tnd_epoch_metrics_read(&sums, damaged[i]), "%s", damaged[i]);
}
