/*  tests/runtime/core/session/best_test.c - which validation is the best, and when there were enough. */
#include "runtime/core/session/best.h"

#include <math.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

/*  Adds values after 10, 20 ... steps and checks which of them are better ('+') and after which the run ends
 *  ('.'); '-': neither. */
static void decides(tnd_best_t best, const double *values, const char *expected)
{
    for (uint64_t i = 0; expected[i] != '\0'; i++) {
        bool better = tnd_best_add(&best, 10 * (i + 1), values[i]);
        char found = better ? '+' : tnd_best_ends(&best) ? '.' : '-';
        cr_expect(eq(chr, found, expected[i]), "value %zu of %s", (size_t)i, expected);
        if (better)
            cr_expect(eq(u64, best.step, 10 * (i + 1)));
    }
}

Test(best, is_the_most_or_the_least_value_and_an_equal_one_is_not_better)
{
    static const double values[] = {3, 1, 3, 2, 4, 0.5};
    decides((tnd_best_t){.patience = 0}, values, "+---+-");
    decides((tnd_best_t){.least = true}, values, "++---+");
}

Test(best, ends_after_so_many_without_a_better_one)
{
    static const double values[] = {3, 1, 2, 4, 3, 3, 4};
    decides((tnd_best_t){.patience = 3}, values, "+--+--.");
    decides((tnd_best_t){.patience = 2}, values, "+-.");
    decides((tnd_best_t){.patience = 1}, values, "+.");
}

Test(best, is_never_a_value_that_is_no_number)
{
    double values[] = {(double)NAN, (double)NAN, -(double)INFINITY,
                       (double)NAN, 1,           (double)INFINITY};
    decides((tnd_best_t){.patience = 3}, values, "--+-++");
    decides((tnd_best_t){.patience = 2}, values, "-.");
    decides((tnd_best_t){.least = true, .patience = 2}, values, "-.");
}

Test(best, a_run_without_the_metric_fails_once_its_checkpoint_is_there_or_cannot_come)
{
    tnd_best_t best = {.patience = 1};
    cr_expect(not(tnd_best_fails(&best, 0, false)), "no validation lacked it");
    tnd_best_lack(&best, 20);
    tnd_best_lack(&best, 40);
    cr_expect(eq(u64, best.lacked, 20));
    cr_expect(not(tnd_best_fails(&best, 19, true)), "an earlier one is there");
    cr_expect(tnd_best_fails(&best, 20, true), "it is there");
    cr_expect(tnd_best_fails(&best, 0, false), "it cannot come");
}
