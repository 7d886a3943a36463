/*  Covers tools/cli/empty_run.h: why a run has fed no step. */
#include "tools/cli/empty_run.h"

#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "runtime/core/lane/batch_room.h"

static void expect_text(const tnd_ledger_t *ledger, const tnd_batcher_options_t *options,
                        const char *expected)
{
    char text[256];
    cr_assert(
        eq(str, (char *)tnd_empty_run_text(ledger, options, text, sizeof text), (char *)expected));
}

Test(empty_run, names_what_became_of_the_rows)
{
    const tnd_batcher_options_t keep = {.size = 8};
    expect_text(&(tnd_ledger_t){0}, &keep, "the source gave no rows");
    expect_text(&(tnd_ledger_t){.read = 1, .filtered = 1}, &keep, "1 row was filtered out");
    expect_text(&(tnd_ledger_t){.read = 2001, .filtered = 1500, .bad = 501}, &keep,
                "1,500 rows were filtered out, 501 rows were bad");
}

Test(empty_run, names_only_the_options_that_drop_rows)
{
    const tnd_ledger_t dropped = {.read = 12, .filtered = 2, .dropped = 10};
    tnd_pack_options_t pack = {.column = "x", .length = 64};
    tnd_bucket_options_t bucket = {.column = "x", .drop_remainder = true};
    tnd_batcher_options_t options = {.size = 8, .pack = &pack, .skip = 2};
    expect_text(&dropped, &options,
                "2 rows were filtered out, 10 rows were dropped by the batcher (`skip`)");
    pack.drop_remainder = true;
    options.remainder = TND_REMAINDER_DROP;
    expect_text(&(tnd_ledger_t){.read = 10, .dropped = 10}, &options,
                "10 rows were dropped by the batcher (`remainder: drop`, `drop_remainder: true` of "
                "`pack`, `skip`)");
    options = (tnd_batcher_options_t){.bucket = &bucket};
    expect_text(&(tnd_ledger_t){.read = 10, .dropped = 10}, &options,
                "10 rows were dropped by the batcher (`drop_remainder: true` of `bucket`)");
}

Test(empty_run, fits_any_room)
{
    const tnd_batcher_options_t options = {.size = 8, .remainder = TND_REMAINDER_DROP};
    const tnd_ledger_t ledger = {.read = 10, .dropped = 10};
    char full[64], text[64];
    (void)tnd_empty_run_text(&ledger, &options, full, sizeof full);
    for (size_t room = 1; room <= strlen(full); room++) {
        memset(text, 'x', sizeof text);
        (void)tnd_empty_run_text(&ledger, &options, text, room);
        cr_assert(eq(sz, strlen(text), room - 1));
        cr_assert(strncmp(text, full, room - 1) == 0);
        cr_assert(text[room] == 'x');
    }
}
