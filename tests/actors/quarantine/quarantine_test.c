/*  Covers actors/quarantine/quarantine.h and actors/quarantine/bad_records.h: after a rewind the
 *  quarantined records before its cursor remain, in order, and no others; torn ends are cut off. */
#include "actors/quarantine/quarantine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "actors/quarantine/bad_records.h"

typedef struct {
    char folder[64];
    tnd_schema_t schema;
    tnd_block_pool_t *block_pool;
    tnd_quarantine_t *quarantine;
} world_t;

static void open_world(world_t *world)
{
    *world = (world_t){.folder = "/tmp/quarantine-XXXXXX", .block_pool = tnd_block_pool_new()};
    cr_assert_not_null(mkdtemp(world->folder));
    cr_assert_eq(tnd_schema_add(&world->schema, "x", TND_I64, 0, NULL, NULL), TND_OK);
    world->quarantine = tnd_quarantine_new(world->folder, 2, &world->schema);
}

static void path_of(const world_t *world, const char *name, char path[128])
{
    snprintf(path, 128, "%s/%s", world->folder, name);
}

static void close_world(world_t *world)
{
    static const char *const names[] = {"index.2.jsonl", "x.2.npy"};
    char path[128];
    tnd_quarantine_destroy(&world->quarantine);
    tnd_block_pool_destroy(&world->block_pool);
    for (int i = 0; i < 2; i++) {
        path_of(world, names[i], path);
        unlink(path);
    }
    cr_assert_eq(rmdir(world->folder), 0, "something else was left");
}

static void cut(world_t *world, uint32_t epoch, uint64_t index)
{
    tnd_error_t error;
    tnd_position_t from = {.epoch = epoch, .index = index};
    cr_assert_eq(tnd_quarantine_cut(world->quarantine, from, &error), TND_OK, "%s", error.text);
}

static void add(world_t *world, uint32_t epoch, uint64_t index, bool has_row)
{
    tnd_error_t error;
    tnd_block_t *block = tnd_block_pool_take(world->block_pool, &world->schema);
    tnd_buffer_t *buffer = tnd_buffer_new(sizeof(int64_t));
    *(int64_t *)tnd_buffer_data(buffer) = (int64_t)(100 * epoch + index);
    tnd_buffer_seal(buffer);
    block->columns[0] =
        (tnd_block_column_t){.base = tnd_buffer_data(buffer), .stride = 8, .buffer = buffer};
    block->note.rows = block->note.count = 1;
    tnd_block_seal(block);
    tnd_quarantine_place_t place = {
        .position = {.epoch = epoch, .index = index}, .sample = index, .file = "a \"b\"\\"};
    cr_assert_eq(tnd_quarantine_add(world->quarantine, &place, has_row ? block : NULL, "prep",
                                    "it is\nbad", &error),
                 TND_OK, "%s", error.text);
    cr_assert_eq(tnd_quarantine_sync(world->quarantine, &error), TND_OK, "%s", error.text);
    tnd_block_drop(&block);
}

/*  The numbers in the column, which the header must count, then the lines of the index. */
static void holds(const world_t *world, const int64_t *numbers, uint64_t count, uint64_t lines)
{
    char path[128], shape[32], header[321] = "", line[1024];
    path_of(world, "x.2.npy", path);
    FILE *in = fopen(path, "r");
    cr_assert_not_null(in);
    cr_assert_eq(fread(header, 1, 320, in), 320);
    snprintf(shape, sizeof shape, "'shape': (%llu,)", (unsigned long long)count);
    cr_assert_not_null(strstr(header + 10, shape), "%s", header + 10);
    for (uint64_t i = 0; i < count; i++) {
        int64_t number;
        cr_assert_eq(fread(&number, sizeof number, 1, in), 1);
        cr_assert_eq(number, numbers[i]);
    }
    cr_assert_eq(fgetc(in), EOF);
    fclose(in);
    path_of(world, "index.2.jsonl", path);
    in = fopen(path, "r");
    uint64_t found = 0;
    while (fgets(line, sizeof line, in) != NULL) {
        found++;
        cr_assert_not_null(strstr(line, "\"file\":\"a \\\"b\\\"\\\\\""), "%s", line);
        cr_assert_not_null(strstr(line, "\"reason\":\"it is\\u000abad\"}\n"), "%s", line);
    }
    fclose(in);
    cr_assert_eq(found, lines);
}

Test(quarantine, a_rewind_truncates_later_records)
{
    world_t world;
    open_world(&world);
    cut(&world, 0, 0);
    add(&world, 0, 3, true);
    add(&world, 0, 5, false);
    add(&world, 0, 9, true);
    add(&world, 1, 2, true);
    holds(&world, (const int64_t[]){3, 9, 102}, 3, 4);

    cut(&world, 0, 9);
    holds(&world, (const int64_t[]){3}, 1, 2);
    add(&world, 0, 9, true);
    holds(&world, (const int64_t[]){3, 9}, 2, 3);
    cut(&world, 0, 0);
    close_world(&world);
}

Test(quarantine, a_resumed_run_appends_after_whole_lines)
{
    world_t world;
    char path[128];
    open_world(&world);
    cut(&world, 0, 0);
    add(&world, 0, 3, true);
    add(&world, 0, 5, true);
    tnd_quarantine_destroy(&world.quarantine);
    path_of(&world, "index.2.jsonl", path);
    struct stat now;
    cr_assert_eq(stat(path, &now), 0);
    cr_assert_eq(truncate(path, now.st_size - 4), 0);

    world.quarantine = tnd_quarantine_new(world.folder, 2, &world.schema);
    cut(&world, 0, 6);
    holds(&world, (const int64_t[]){3}, 1, 1);
    add(&world, 0, 5, true);
    holds(&world, (const int64_t[]){3, 5}, 2, 2);
    close_world(&world);
}

Test(quarantine, a_column_that_lost_rows_is_an_error)
{
    world_t world;
    char path[128];
    tnd_error_t error;
    open_world(&world);
    cut(&world, 0, 0);
    add(&world, 0, 3, true);
    path_of(&world, "x.2.npy", path);
    cr_assert_eq(truncate(path, 322), 0);
    tnd_position_t from = {.epoch = 1};
    cr_assert_eq(tnd_quarantine_cut(world.quarantine, from, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "column `x` has fewer rows than its index of lane 2"));
    close_world(&world);
}

Test(bad_records, are_in_order_and_reported_once)
{
    static const uint32_t bad[] = {1, 4};
    tnd_bad_records_t bad_records = {0};
    tnd_block_note_t note = {.first = 10,
                             .bad = bad,
                             .bad_count = 2,
                             .why = "1prep, a\tone\0"
                                    "2prep, b\ttwo",
                             .why_bytes = 29};
    tnd_bad_records_note(&bad_records, &note, TND_BAD_STOP);
    tnd_bad_records_note(&bad_records, &note, TND_BAD_STOP);
    tnd_bad_records_add(&bad_records, (tnd_position_t){.index = 2}, NULL, TND_BAD_SKIP);

    cr_assert_eq(bad_records.count, 3);
    cr_assert(bad_records.items[0].place.index == 2 && bad_records.items[0].way == TND_BAD_SKIP);
    cr_assert(bad_records.items[1].place.index == 11 && bad_records.items[1].way == TND_BAD_SKIP);
    cr_assert_str_eq(bad_records.items[1].who, "prep, a");
    cr_assert_str_eq(bad_records.items[1].what, "one");
    cr_assert_eq(bad_records.items[2].way, TND_BAD_QUARANTINE);
    cr_assert_str_eq(bad_records.items[2].what, "two");
    cr_assert_eq(tnd_bad_records_before(&bad_records, (tnd_position_t){.index = 12}, 9), 2);
    cr_assert_eq(tnd_bad_records_before(&bad_records, (tnd_position_t){.index = 12}, 1), 1);

    tnd_bad_records_pass(&bad_records, (tnd_position_t){.index = 12});
    tnd_bad_records_note(&bad_records, &note, TND_BAD_STOP);
    cr_assert_eq(bad_records.count, 1);
    tnd_bad_records_clear(&bad_records, (tnd_position_t){0});
    tnd_bad_records_note(&bad_records, &note, TND_BAD_STOP);
    cr_assert_eq(bad_records.count, 2);
    tnd_bad_records_free(&bad_records);
}

/*  One row of u16, `length` of them. */
static void add_ragged(world_t *world, uint64_t index, uint64_t length)
{
    tnd_error_t error;
    tnd_block_t *block = tnd_block_pool_take(world->block_pool, &world->schema);
    tnd_buffer_t *buffer = tnd_buffer_new(16);
    for (uint64_t i = 0; i < length; i++)
        ((uint16_t *)tnd_buffer_data(buffer))[i] = (uint16_t)(10 * index + i);
    tnd_buffer_seal(buffer);
    block->columns[0] = (tnd_block_column_t){
        .base = tnd_buffer_data(buffer), .stride = 16, .lengths = &length, .buffer = buffer};
    block->note.rows = block->note.count = 1;
    tnd_block_seal(block);
    tnd_quarantine_place_t place = {.position = {.index = index}, .sample = index};
    cr_assert_eq(tnd_quarantine_add(world->quarantine, &place, block, "prep", "bad", &error),
                 TND_OK, "%s", error.text);
    cr_assert_eq(tnd_quarantine_sync(world->quarantine, &error), TND_OK, "%s", error.text);
    tnd_block_drop(&block);
}

static void file_holds(const world_t *world, const char *name, const char *shape, const void *data,
                       size_t bytes)
{
    char path[128], header[321] = "", got[64];
    path_of(world, name, path);
    FILE *in = fopen(path, "r");
    cr_assert_not_null(in);
    cr_assert_eq(fread(header, 1, 320, in), 320);
    cr_assert_not_null(strstr(header + 10, shape), "%s", header + 10);
    cr_assert_eq(fread(got, 1, sizeof got, in), bytes);
    cr_assert_eq(memcmp(got, data, bytes), 0);
    fclose(in);
    unlink(path);
}

Test(quarantine, ragged_rows_are_kept_as_values_and_splits_which_npy_reads)
{
    world_t world;
    open_world(&world);
    tnd_quarantine_destroy(&world.quarantine);
    world.schema = (tnd_schema_t){0};
    cr_assert_eq(tnd_schema_add_ragged(&world.schema, "t", TND_U16, 1, (uint64_t[]){8}, NULL),
                 TND_OK);
    world.quarantine = tnd_quarantine_new(world.folder, 2, &world.schema);
    cut(&world, 0, 0);
    add_ragged(&world, 1, 2);
    add_ragged(&world, 2, 0);
    add_ragged(&world, 3, 3);
    add_ragged(&world, 4, 8);
    cut(&world, 0, 4);
    add_ragged(&world, 5, 1);

    file_holds(&world, "t.2.npy", "'<u2', 'fortran_order': False, 'shape': (6,)",
               (uint16_t[]){10, 11, 30, 31, 32, 50}, 12);
    file_holds(&world, "t-splits.2.npy", "'<i8', 'fortran_order': False, 'shape': (5,)",
               (int64_t[]){0, 2, 2, 5, 6}, 40);
    close_world(&world);
}
