/*  Covers tools/cli/empty_run.h: why a run has fed no step. */
#include "tools/cli/empty_run.h"

#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static void expect_text(const tnd_ledger_t *ledger, const char *drops, const char *expected)
{
    char text[256];
    cr_assert(
        eq(str, (char *)tnd_empty_run_text(ledger, drops, text, sizeof text), (char *)expected));
}

Test(empty_run, names_what_became_of_the_rows)
{
    expect_text(&(tnd_ledger_t){0}, "", "the source gave no rows");
    expect_text(&(tnd_ledger_t){.read = 1, .filtered = 1}, "`skip`", "1 row was filtered out");
    expect_text(&(tnd_ledger_t){.read = 2001, .filtered = 1500, .bad = 501}, "",
                "1,500 rows were filtered out, 501 rows were bad");
}

Test(empty_run, names_the_options_that_drop_rows)
{
    const tnd_ledger_t dropped = {.read = 12, .filtered = 2, .dropped = 10};
    expect_text(&dropped, "`skip`",
                "2 rows were filtered out, 10 rows were dropped by the batcher (`skip`)");
    expect_text(&dropped, "", "2 rows were filtered out, 10 rows were dropped by the batcher");
}

Test(empty_run, fits_any_room)
{
    const tnd_ledger_t ledger = {.read = 10, .dropped = 10};
    const char *drops = "`remainder: drop`";
    char full[64], text[64];
    (void)tnd_empty_run_text(&ledger, drops, full, sizeof full);
    for (size_t room = 1; room <= strlen(full); room++) {
        memset(text, 'x', sizeof text);
        (void)tnd_empty_run_text(&ledger, drops, text, room);
        cr_assert(eq(sz, strlen(text), room - 1));
        cr_assert(strncmp(text, full, room - 1) == 0);
        cr_assert(text[room] == 'x');
    }
}
