/*  Covers runtime/base/status.h: names are distinct words, failing texts are cut and never overrun.
 */
#include "runtime/base/status.h"

#include <string.h>

#include <criterion/criterion.h>

Test(status, a_failure_reads_as_one_expression)
{
    tnd_error_t error;

    tnd_status_t status = tnd_fail(&error, "%s:%d: no such column", "a.yaml", 7);

    cr_assert_eq(status, TND_FAILED);
    cr_assert_str_eq(error.text, "a.yaml:7: no such column");
}

Test(status, a_long_text_is_cut_at_its_end)
{
    tnd_error_t error;
    char text[2 * sizeof error.text];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';

    (void)tnd_fail(&error, "%s", text);

    cr_assert_eq(strlen(error.text), sizeof error.text - 1);
}

Test(status, a_caller_that_needs_no_text_passes_null)
{
    cr_assert_eq(tnd_fail(NULL, "lost"), TND_FAILED);
}
