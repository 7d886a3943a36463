/*  Covers runtime/option/option_parse.h, option.h, quantity.h, value.h, option_print.h and
 *  overlay.h: tables fill structs, bad values are refused with what was expected, equal meanings
 *  print equally. */
#include "runtime/option/option_parse.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "runtime/option/option_print.h"
#include "runtime/text/quantity.h"
#include "runtime/text/yaml.h"
#include "runtime/topology/overlay.h"

typedef struct {
    uint64_t size;
    uint64_t epochs;
    double rate;
    bool digest;
    int remainder;
    uint64_t memory;
    uint64_t header;
    uint64_t wait;
    tnd_extent_t block;
    tnd_strings_t devices;
    tnd_numbers_t range;
    const char *file;
    tnd_part_list_t ops;
} batch_t;

typedef struct {
    const char *column;
} flip_t;

static const tnd_option_t flip_options[] = {
    {.name = "column",
     .type = TND_OPTION_COLUMN,
     .role = TND_ROLE_GRAPH,
     .fallback = "image",
     .offset = offsetof(flip_t, column),
     .help = "the column to flip"},
};

static const tnd_table_t flip = {
    .name = "flip", .help = "flips", TND_OPTIONS(flip_options, flip_t)};

typedef struct {
    uint64_t width, height;
} cut_t;

static const tnd_option_t cut_options[] = {
    {.name = "width",
     .type = TND_OPTION_U64,
     .role = TND_ROLE_GRAPH,
     .offset = offsetof(cut_t, width),
     .help = "columns that stay"},
    {.name = "height",
     .type = TND_OPTION_U64,
     .role = TND_ROLE_GRAPH,
     .offset = offsetof(cut_t, height),
     .help = "lines that stay"},
};

static const tnd_table_t cut = {.name = "cut", .help = "cuts", TND_OPTIONS(cut_options, cut_t)};

static const tnd_table_t *part_at(size_t index)
{
    return index == 0 ? &flip : index == 1 ? &cut : NULL;
}

#define ROW(field, kind, part, text, ...)                                                          \
    {                                                                                              \
        .name = #field, .type = kind, .role = part, .fallback = text,                              \
        .offset = offsetof(batch_t, field), .help = "the " #field, __VA_ARGS__                     \
    }

static const tnd_option_t batch_options[] = {
    ROW(size, TND_OPTION_U64, TND_ROLE_GRAPH, NULL, .unit = "rows", .range = "1..1000"),
    ROW(epochs, TND_OPTION_U64, TND_ROLE_GRAPH, "1", .range = "1..", .choices = "forever=99999"),
    ROW(rate, TND_OPTION_F64, TND_ROLE_GRAPH, "0.5", .range = "0..1"),
    ROW(digest, TND_OPTION_BOOL, TND_ROLE_TUNE, "true", .unit = NULL),
    ROW(remainder, TND_OPTION_ENUM, TND_ROLE_GRAPH, "keep", .choices = "keep|drop|pad"),
    ROW(memory, TND_OPTION_BYTES, TND_ROLE_TUNE, "64MiB", .range = "1MiB..1TiB"),
    ROW(header, TND_OPTION_BYTES, TND_ROLE_GRAPH, "0B", .unit = NULL),
    ROW(wait, TND_OPTION_DURATION, TND_ROLE_TUNE, "10s", .unit = NULL),
    ROW(block, TND_OPTION_EXTENT, TND_ROLE_TUNE, "", .unit = NULL),
    ROW(devices, TND_OPTION_STRINGS, TND_ROLE_PLACE, "", .unit = NULL),
    ROW(range, TND_OPTION_F64S, TND_ROLE_GRAPH, "", .unit = NULL),
    ROW(file, TND_OPTION_PATH, TND_ROLE_PLACE, "", .unit = NULL),
    ROW(ops, TND_OPTION_PARTS, TND_ROLE_GRAPH, "", .parts = part_at),
};

static const tnd_table_t batch = {
    .name = "batch", .help = "a batch", TND_OPTIONS(batch_options, batch_t)};

typedef struct {
    tnd_options_context_t context;
    const batch_t *options;
    char *errors;
    char *print;
} parsed_t;

static parsed_t parse(const char *text)
{
    tnd_arena_t *arena = tnd_arena_new();
    tnd_diagnostics_t *diagnostics = tnd_diagnostics_new(arena);
    tnd_origin_t *origin = tnd_arena_take(arena, sizeof *origin);
    *origin = (tnd_origin_t){.name = "test.yaml", .text = text, .size = strlen(text)};
    parsed_t parsed = {
        .context = {.arena = arena, .diagnostics = diagnostics, .variables = {.data = "/d"}}};
    tnd_value_t *value = tnd_yaml_parse(arena, diagnostics, origin, 0);
    if (value != NULL)
        parsed.options = tnd_options_parse(&parsed.context, &batch, value, "batch",
                                           (tnd_mark_t){.origin = origin, .line = 1, .column = 1});
    size_t size = 0;
    FILE *out = open_memstream(&parsed.errors, &size);
    tnd_diagnostics_print(diagnostics, out);
    fclose(out);
    out = open_memstream(&parsed.print, &size);
    if (parsed.options != NULL)
        tnd_options_print(&batch, parsed.options, TND_ROLE_GRAPH, out);
    fclose(out);
    return parsed;
}

static void release(parsed_t *parsed)
{
    free(parsed->errors);
    free(parsed->print);
    tnd_arena_destroy(&parsed->context.arena);
}

static void expect_error(const char *text, const char *part)
{
    parsed_t parsed = parse(text);
    cr_expect_null(parsed.options, "`%s` passed", text);
    cr_expect(strstr(parsed.errors, part) != NULL, "`%s` gave\n%s", text, parsed.errors);
    release(&parsed);
}

Test(options, a_table_fills_a_struct)
{
    parsed_t parsed = parse(
        "{size: 128, epochs: forever, rate: 1e-1, digest: false, remainder: pad,\n"
        " memory: 1.5GiB, wait: 250 ms, block: 100 rows, devices: [cpu:0, 'cpu:1'],\n"
        " range: [0, -2.5], file: \"${data}/a/${data}.gz\", ops: [flip, {flip: {column: x}}]}");

    cr_assert_not_null(parsed.options, "%s", parsed.errors);
    const batch_t *options = parsed.options;
    cr_expect_eq(options->size, 128);
    cr_expect_eq(options->epochs, 99999);
    cr_expect_eq(options->rate, 0.1);
    cr_expect_not(options->digest);
    cr_expect_eq(options->remainder, 2);
    cr_expect_eq(options->memory, UINT64_C(3) << 29);
    cr_expect_eq(options->wait, 250000000);
    cr_expect_eq(options->block.rows, 100);
    cr_expect_eq(options->block.bytes, 0);
    cr_expect_eq(options->devices.count, 2);
    cr_expect_str_eq(options->devices.items[0], "cpu:0");
    cr_expect_str_eq(options->devices.items[1], "cpu:1");
    cr_expect_eq(options->range.items[1], -2.5);
    cr_expect_str_eq(options->file, "/d/a//d.gz");
    cr_expect_eq(options->ops.count, 2);
    cr_expect_str_eq(((const flip_t *)options->ops.items[0].options)->column, "image");
    cr_expect_str_eq(((const flip_t *)options->ops.items[1].options)->column, "x");
    release(&parsed);
}

Test(options, what_is_not_given_is_the_default)
{
    parsed_t parsed = parse("size: 1\nepochs: null\n");

    cr_assert_not_null(parsed.options);
    cr_expect_eq(parsed.options->epochs, 1);
    cr_expect_eq(parsed.options->rate, 0.5);
    cr_expect(parsed.options->digest);
    cr_expect_eq(parsed.options->memory, 64 << 20);
    cr_expect_eq(parsed.options->wait, UINT64_C(10000000000));
    cr_expect_null(parsed.options->file);
    cr_expect_eq(parsed.options->devices.count, 0);
    release(&parsed);
}

Test(options, every_error_of_a_map_is_reported)
{
    parsed_t parsed = parse("sise: 1\nrate: 2\nremainder: dorp\nmemory: 64\nwait: 3MiB\n");

    cr_assert_null(parsed.options);
    cr_expect(strstr(parsed.errors, "did you mean `size`?") != NULL, "%s", parsed.errors);
    cr_expect(strstr(parsed.errors, "batch needs `size`") == NULL, "one slip, one error");
    cr_expect(strstr(parsed.errors, "a number from 0 to 1, not 2") != NULL);
    cr_expect(strstr(parsed.errors, "did you mean `drop`?") != NULL);
    cr_expect(strstr(parsed.errors, "64 lacks a unit") != NULL);
    cr_expect(strstr(parsed.errors, "not known here") != NULL);
    cr_expect(strstr(parsed.errors, "5 errors") != NULL);
    release(&parsed);
}

Test(options, numbers_that_could_be_misread_are_refused)
{
    expect_error("{}", "batch needs `size`: the size");
    expect_error("size: 012", "write 12");
    expect_error("size: 1_000", "write 1000");
    expect_error("size: 0x10", "expects a whole number of rows from 1 to 1000, not `0x10`");
    expect_error("size: 12:30", "not `12:30`");
    expect_error("size: 1.5", "not `1.5`");
    expect_error("size: -1", "not -1");
    expect_error("size: 0", "not 0");
    expect_error("size: 1001", "not 1001");
    expect_error("size: 99999999999999999999", "too large");
    expect_error("{size: 1, digest: no}", "write false");
    expect_error("{size: 1, rate: nan}", "not `nan`");
    expect_error("{size: 1, rate: 0x1p-1}", "not `0x1p-1`");
    expect_error("{size: 1, block: 100}", "write `100 rows` or `100KiB`");
    expect_error("{size: 1, block: 0 rows}", "at least one row");
    expect_error("{size: 1, memory: 1kiB}", "write `1KiB`");
    expect_error("{size: 1, memory: 2TiB}", "from 1MiB to 1TiB");
    expect_error("{size: 1, memory: 64}", "write `64MiB` or `64GiB`");
    expect_error("{size: 1, memory: 536870912}", "write `536870912B`\n");
    expect_error("{size: 1, wait: 3}", "write `3s` or `3ms`");
    expect_error("{size: 1, header: 3}", "write `3B`\n");
}

Test(options, parts_are_checked_in_place)
{
    expect_error("{size: 1, ops: [{flop: {}}]}", "did you mean `flip`?");
    expect_error("{size: 1, ops: [{flip: {colum: a}}]}", "did you mean `column`?");
    expect_error("{size: 1, ops: [{flip: {}, flop: {}}]}", "one name is expected");
    expect_error("{size: 1, ops: {flip: {}}}", "not a map");
    expect_error("{size: 1, ops: [{flip: {column: a b}}]}", "cannot be the name of a column");
    expect_error("{size: 1, ops: [[]]}", "not a list");
    expect_error("{size: 1, ops: flip}", "write `ops: [flip]`");
    expect_error("{size: 1, ops: cut}", "write `ops: [{cut: {width: ..., height: ...}}]`");
}

Test(options, only_data_is_substituted)
{
    expect_error("{size: 1, file: \"${HOME}/x\"}", "only `${data}`");
    expect_error("{size: 1, file: \"${rank}/${data}/${ranks}/x\"}", "not `${ranks}`");
    expect_error("{size: 1, file: \"${data/x\"}", "only `${data}`");
}

Test(options, equal_meanings_print_equally)
{
    parsed_t spelt = parse("{rate: 0.50, size: 128, epochs: 1, memory: 1GiB, remainder: keep}");
    parsed_t silent = parse("size: 128\n");
    parsed_t other = parse("{size: 128, rate: 0.25}");

    cr_expect_str_eq(spelt.print, silent.print);
    cr_expect_str_neq(other.print, silent.print);
    release(&spelt);
    release(&silent);
    release(&other);
}

Test(options, printed_values_parse_to_the_same)
{
    const char *texts[] = {
        "{size: 128, epochs: forever, rate: 0.1, memory: 1536MiB, wait: 90s, block: 128KiB}",
        "{size: 1, memory: 3000kB, wait: 2min, block: 7 rows, range: [0.5, -3], ops: [flip]}",
    };
    const char *parts[][5] = {
        {"epochs: forever", "rate: 0.1,", "memory: 1536MiB", "wait: 90s", "block: 128KiB"},
        {"epochs: 1,", "memory: 3MB", "header: 0B", "wait: 2min", "range: [0.5, -3]"},
    };
    for (int i = 0; i < 2; i++) {
        char *shown = NULL;
        size_t size = 0;
        parsed_t parsed = parse(texts[i]);
        cr_assert_not_null(parsed.options, "%s", parsed.errors);
        FILE *out = open_memstream(&shown, &size);
        tnd_options_show(&batch, parsed.options, out);
        fclose(out);
        for (int j = 0; j < 5; j++)
            cr_expect_not_null(strstr(shown, parts[i][j]), "%s in %s", parts[i][j], shown);

        parsed_t again = parse(shown);

        cr_assert_not_null(again.options, "%s gave\n%s", shown, again.errors);
        cr_expect_str_eq(again.print, parsed.print);
        release(&parsed);
        release(&again);
        free(shown);
    }
}

Test(options, an_overlay_may_change_all_but_the_graph)
{
    parsed_t base = parse("{size: 128, ops: [{flip: {column: x}}]}");
    parsed_t over = parse("{size: 64, memory: 1GiB, devices: cpu:0, epochs: 1}");
    tnd_arena_t *arena = tnd_arena_new();
    tnd_diagnostics_t *diagnostics = tnd_diagnostics_new(arena);
    tnd_options_context_t context = {.arena = arena, .diagnostics = diagnostics};
    const char *texts[] = {"{size: 128, ops: [flip]}",
                           "{size: 64, memory: 1GiB, devices: cpu:0, ops: [flip]}"};
    tnd_value_t *values[2];
    for (int i = 0; i < 2; i++) {
        tnd_origin_t *origin = tnd_arena_take(arena, sizeof *origin);
        *origin = (tnd_origin_t){.name = "t", .text = texts[i], .size = strlen(texts[i])};
        values[i] = tnd_yaml_parse(arena, diagnostics, origin, 0);
    }
    cr_assert(base.options != NULL && over.options != NULL);

    tnd_overlay_check_options(&context, &batch, values[0], values[1], "batch");

    cr_expect_eq(tnd_diagnostics_count(diagnostics, TND_SEVERITY_ERROR), 1);
    cr_expect(tnd_diagnostics_has(diagnostics, TND_T032_OVERLAY));
    release(&base);
    release(&over);
    tnd_arena_destroy(&arena);
}

Test(options, maps_merge_lists_are_replaced_and_null_restores_the_default)
{
    tnd_arena_t *arena = tnd_arena_new();
    tnd_diagnostics_t *diagnostics = tnd_diagnostics_new(arena);
    const char *texts[] = {"{a: {x: 1, y: 2}, b: [1, 2], c: 3}", "{a: {y: 4, z: 5}, b: [6], c: ~}",
                           "{a: {x: 1, y: 4, z: 5}, b: [6], c: }"};
    tnd_value_t *values[3];
    for (int i = 0; i < 3; i++) {
        tnd_origin_t *origin = tnd_arena_take(arena, sizeof *origin);
        *origin = (tnd_origin_t){.name = "t", .text = texts[i], .size = strlen(texts[i])};
        values[i] = tnd_yaml_parse(arena, diagnostics, origin, 0);
    }

    tnd_value_t *merged = tnd_value_merge(arena, values[0], values[1]);

    cr_expect(tnd_value_equal(merged, values[2]));
    cr_expect_not(tnd_value_equal(merged, values[0]));
    cr_expect_eq(tnd_value_get(tnd_value_get(values[0], "a"), "y")->text[0], '2');
    tnd_arena_destroy(&arena);
}

Test(options, quantities_are_exact)
{
    uint64_t value = 0;

    cr_expect_eq(tnd_quantity_bytes("16777216TiB", &value), TND_QUANTITY_TOO_LARGE);
    cr_expect_eq(tnd_quantity_bytes("16777215TiB", &value), TND_QUANTITY_OK);
    cr_expect_eq(value, UINT64_C(16777215) << 40);
    cr_expect_eq(tnd_quantity_bytes("0", &value), TND_QUANTITY_OK);
    cr_expect_eq(tnd_quantity_duration("1.5ms", &value), TND_QUANTITY_OK);
    cr_expect_eq(value, 1500000);
    cr_expect_eq(tnd_quantity_u64("18446744073709551615", &value), TND_QUANTITY_OK);
    cr_expect_eq(value, UINT64_MAX);
    cr_expect_eq(tnd_quantity_u64("18446744073709551616", &value), TND_QUANTITY_TOO_LARGE);
    cr_expect_eq(tnd_quantity_u64("", &value), TND_QUANTITY_NOT_A_NUMBER);
    cr_expect_eq(tnd_quantity_u64("1 ", &value), TND_QUANTITY_NOT_A_NUMBER);
    cr_expect_eq(tnd_quantity_rows("7 rows", &value), TND_QUANTITY_OK);
    cr_expect_eq(value, 7);
}
