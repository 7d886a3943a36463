/*  Covers runtime/option/option_change.h: what `tundish set` may change, and why not. */
#include "runtime/option/option_change.h"

#include <string.h>

#include <criterion/criterion.h>

typedef struct {
    uint64_t depth, spare, size;
    const char *where, *key;
} options_t;

static const tnd_option_t rows[] = {
    {TND_OPTION(options_t, depth, U64, TUNE), .unit = "batches", .fallback = "auto",
     .range = "1..1024", .choices = "auto=0", .live = TND_LIVE_DEPTH},
    {TND_OPTION(options_t, spare, U64, TUNE), .fallback = "2", .range = "0..8"},
    {TND_OPTION(options_t, size, U64, GRAPH), .unit = "rows", .range = "1.."},
    {TND_OPTION(options_t, where, STRING, PLACE), .fallback = ""},
    {TND_OPTION(options_t, key, STRING, SECURE), .fallback = ""},
};

static const tnd_table_t table = {.name = "feeder", TND_OPTIONS(rows, options_t)};
static const tnd_table_t dead = {
    .name = "batcher", .options = rows + 2, .option_count = 1, .size = sizeof(options_t)};

static options_t now(void)
{
    return (options_t){.depth = 0, .spare = 2, .size = 64, .where = "here", .key = "k"};
}

static void refuses(const tnd_table_t *of, const char *name, const char *text, const char *words)
{
    options_t options = now();
    tnd_option_change_t change;
    tnd_error_t error;
    cr_assert_eq(tnd_option_change_read(&change, of, &options, name, text, &error), TND_FAILED);
    cr_assert(strstr(error.text, words) != NULL, "%s %s: %s", name, text, error.text);
}

Test(option_change, a_value_in_its_range_is_applied_to_that_option_only)
{
    options_t options = now(), expected = now();
    tnd_option_change_t change;
    tnd_error_t error;
    expected.depth = 1024;
    cr_assert(tnd_option_change_read(&change, &table, &options, "depth", "1024", &error) == TND_OK,
              "%s", error.text);
    tnd_option_change_apply(&change, &options);
    cr_assert_eq(memcmp(&options, &expected, sizeof options), 0);
}

Test(option_change, a_refusal_names_the_reason_the_value_and_what_is_taken)
{
    refuses(&table, "depth", "0", "a whole number of batches from 1 to 1024, not `0`");
    refuses(&table, "depth", "1025", "it is auto");
    refuses(&table, "depth", "4MiB", "not `4MiB`");
    refuses(&table, "depth", "", "not ``");
    refuses(&table, "depth", "99999999999999999999", "not `9999");
    refuses(&table, "depth", "auto", "only when the run starts");
    refuses(&table, "spare", "3", "read when the run starts");
    refuses(&table, "spare", "3", "it is 2, and takes a whole number from 0 to 8");
    refuses(&table, "size", "3", "changes the stream");
    refuses(&table, "size", "3", "it is 64");
    refuses(&table, "where", "x", "where actors run");
    refuses(&table, "key", "x", "which peers may connect");
    refuses(&table, "*", "x", "no option `*`; what can be set in a run: depth");
    refuses(&dead, "depth", "3", "none of its options");
}
