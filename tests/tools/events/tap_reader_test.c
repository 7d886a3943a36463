/*  Covers runtime/observe/tap.h and tools/events/tap_reader.h: rows are copied while an inspector asks, and at no
 *  other time; copies of garbage are refused. */
#include "tools/events/tap_reader.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "runtime/base/clock.h"
#include "runtime/core/protocol/message.h"
#include "runtime/data/block.h"
#include "runtime/observe/pages.h"

enum { ROWS = 100 };

static char folder[] = "/tmp/tundish-test-XXXXXX";
static tnd_pages_t *pages;
static tnd_inspection_t *made;
static const tnd_inspected_t *process;
static tnd_tap_source_t source;

static void begin(void)
{
    tnd_error_t error;
    tnd_pages_shape_t shape = {.actors = 2, .hosts = 1, .histories = 1, .rings = 1};
    cr_assert_not_null(mkdtemp(folder));
    setenv("XDG_RUNTIME_DIR", folder, 1);
    cr_assert_eq(tnd_pages_new(&pages, "fashion", "a", 1, shape, &error), TND_OK);
    made = tnd_inspection_new(TND_LOOK_NOW);
    for (uint32_t p = 0; p < made->count; p++)
        if (strncmp(made->processes[p].path, folder, strlen(folder)) == 0)
            process = &made->processes[p];
    cr_assert_not_null(process);
    source = (tnd_tap_source_t){
        .tap = tnd_pages_tap(pages), .instance = "prep.1", .actor = "prep", .id = 1};
}

static void end(void)
{
    tnd_inspection_destroy(&made);
    tnd_pages_destroy(&pages);
    cr_assert_eq(rmdir(folder), 0, "no file is left");
}

TestSuite(tap, .init = begin, .fini = end);

static tnd_tap_reader_t *ask(const char *name, uint64_t every)
{
    tnd_tap_reader_t *reader = NULL;
    tnd_error_t error;
    cr_assert_eq(tnd_tap_reader_new(&reader, process, name, every, &error), TND_OK, "%s",
                 error.text);
    return reader;
}

/*  Sends a block of rows of `size` bytes: those of row i are i, as seen in `data`. */
static void pass(uint64_t first, size_t size, uint64_t now)
{
    static uint8_t data[ROWS * 8192];
    tnd_error_t error;
    tnd_schema_t schema = {.count = 0};
    uint64_t shape[] = {size};
    cr_assert_eq(tnd_schema_add(&schema, "x", TND_U8, 1, shape, &error), TND_OK);
    for (size_t row = 0; row < ROWS; row++)
        memset(data + row * size, (int)(row + first), size);
    tnd_block_t block = {.schema = &schema, .column_count = 1};
    block.columns[0] = (tnd_block_column_t){.base = data, .stride = size};
    tnd_msg_t msg = {.kind = TND_MSG_BLOCK, .to = 7};
    msg.block = (tnd_block_note_t){
        .first = first, .count = ROWS, .rows = ROWS, .lane = 2, .epoch = 3, .payload = &block};
    tnd_tap_pass(&source, &msg, TND_CARRY_BLOCK, now);
}

Test(tap, the_first_rows_of_a_block_are_copied)
{
    tnd_tap_reader_t *reader = ask("prep.1", 1);
    cr_assert_null(tnd_tap_reader_take(reader), "nothing has passed");
    pass(64, 16, tnd_clock_now());
    const tnd_tap_t *copy = tnd_tap_reader_take(reader);
    cr_assert_not_null(copy);
    const tnd_tap_note_t *note = &copy->note;
    cr_assert(note->first == 64 && note->count == ROWS && note->lane == 2 && note->epoch == 3);
    cr_assert(note->from == 1 && note->to == 7 && note->slice == 0);
    cr_assert(note->rows == TND_TAP_ROWS && note->of_rows == ROWS);
    cr_assert_str_eq(copy->schema.columns[0].name, "x");
    for (uint32_t row = 0; row < TND_TAP_ROWS; row++)
        cr_assert(copy->rows[row * 16] == 64 + row && copy->rows[row * 16 + 15] == 64 + row);
    cr_assert_null(tnd_tap_reader_take(reader), "it is taken once");
    tnd_tap_reader_destroy(&reader);
}

Test(tap, large_rows_are_copied_as_far_as_there_is_room)
{
    tnd_tap_reader_t *reader = ask("prep", 1);
    pass(0, 8192, tnd_clock_now());
    const tnd_tap_t *copy = tnd_tap_reader_take(reader);
    cr_assert_not_null(copy);
    cr_assert_eq(copy->note.rows, sizeof copy->rows / 8192, "whole rows");
    cr_assert_eq(copy->rows[8192 * 5], 5);
    tnd_tap_reader_destroy(&reader);
}

Test(tap, nothing_is_copied_without_a_valid_request)
{
    uint64_t now = tnd_clock_now();
    pass(0, 16, now);
    cr_assert_eq(source.tap->made, 0, "there is none");
    tnd_tap_reader_t *reader = ask("read", 1);
    pass(0, 16, now);
    cr_assert_eq(source.tap->made, 0, "it is for another actor");
    tnd_tap_reader_destroy(&reader);
    reader = ask("prep", 1);
    pass(0, 16, now + TND_TAP_LEASE_NS + 1000000000);
    cr_assert_eq(source.tap->made, 0, "it has expired");
    source.tap->until_ns = UINT64_MAX;
    pass(0, 16, now);
    cr_assert_eq(source.tap->made, 0, "no request is valid for so long");
    tnd_tap_reader_renew(reader);
    pass(0, 16, tnd_clock_now());
    cr_assert_eq(source.tap->made, 1);
    tnd_tap_reader_destroy(&reader);
    pass(0, 16, tnd_clock_now());
    cr_assert_eq(source.tap->made, 1, "it was taken back");
}

Test(tap, one_block_in_so_many_and_none_before_the_last_copy_was_taken)
{
    tnd_tap_reader_t *reader = ask("prep", 3);
    uint64_t now = tnd_clock_now();
    for (uint64_t block = 0; block < 7; block++) {
        pass(block, 16, now);
        const tnd_tap_t *copy = tnd_tap_reader_take(reader);
        cr_assert_eq(copy != NULL, block % 3 == 0, "block %d", (int)block);
        cr_assert(copy == NULL || copy->note.first == block);
    }
    for (uint64_t block = 7; block < 16; block++)
        pass(block, 16, now);
    const tnd_tap_t *copy = tnd_tap_reader_take(reader);
    cr_assert_eq(copy->note.first, 9);
    cr_assert_null(tnd_tap_reader_take(reader), "12 and 15 were skipped");
    source.tap->busy = 1;
    pass(18, 16, now);
    cr_assert_null(tnd_tap_reader_take(reader), "another actor copies");
    tnd_tap_reader_destroy(&reader);
}

Test(tap, a_second_inspector_is_refused_until_the_first_one_is_silent)
{
    tnd_tap_reader_t *reader = ask("prep", 1), *second = NULL;
    tnd_error_t error;
    source.tap->inspector = (uint64_t)getpid() + 1;
    cr_assert_eq(tnd_tap_reader_new(&second, process, "prep", 1, &error), TND_FAILED);
    cr_assert_not_null(strstr(error.text, "another tap"));
    source.tap->until_ns = tnd_clock_now();
    cr_assert_eq(tnd_tap_reader_new(&second, process, "prep", 1, &error), TND_OK);
    tnd_tap_reader_destroy(&second);
    tnd_tap_reader_destroy(&reader);
}

Test(tap, the_file_of_another_user_is_not_written)
{
    tnd_inspected_t foreign = *process;
    tnd_tap_reader_t *reader = NULL;
    tnd_error_t error;
    foreign.foreign = true;
    cr_assert_eq(tnd_tap_reader_new(&reader, &foreign, "prep", 1, &error), TND_FAILED);
    cr_assert_eq(source.tap->until_ns, 0);
}

Test(tap, ragged_rows_have_their_lengths)
{
    static const uint8_t data[] = {1, 2, 3, 4, 5, 6};
    static const uint64_t index[] = {0, 2, 2}, lengths[] = {2, 0, 4};
    tnd_error_t error;
    tnd_schema_t schema = {.count = 0};
    uint64_t longest[] = {5};
    cr_assert_eq(tnd_schema_add_ragged(&schema, "t", TND_U8, 1, longest, &error), TND_OK);
    tnd_block_t block = {.schema = &schema, .column_count = 1};
    block.columns[0] =
        (tnd_block_column_t){.base = data, .stride = 1, .index = index, .lengths = lengths};
    tnd_msg_t msg = {.kind = TND_MSG_BLOCK};
    msg.block = (tnd_block_note_t){.count = 3, .rows = 3, .payload = &block};
    tnd_tap_reader_t *reader = ask("prep", 1);
    tnd_tap_pass(&source, &msg, TND_CARRY_BLOCK, tnd_clock_now());
    tnd_tap_t *copy = (tnd_tap_t *)(uintptr_t)tnd_tap_reader_take(reader);
    cr_assert(copy != NULL && copy->note.rows == 3 && copy->note.bytes == 3 * 8 + 6);
    cr_assert(copy->rows[0] == 2 && copy->rows[8] == 1 && copy->rows[10] == 0 &&
              copy->rows[18] == 4 && copy->rows[26] == 3);
    copy->rows[0] = 6; /* longer than the schema allows */
    cr_assert_not(tnd_tap_bound(copy));
    tnd_tap_reader_destroy(&reader);
}

Test(tap, garbage_is_refused)
{
    uint64_t seed = 1;
    tnd_tap_t *copy = aligned_alloc(64, sizeof *copy);
    for (int round = 0; round < 100; round++) {
        for (size_t word = 0; word < sizeof *copy / 8; word++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            memcpy((uint8_t *)copy + word * 8, &seed, 8);
        }
        copy->note.rows %= 40;
        copy->note.bytes %= sizeof copy->rows + 100;
        copy->schema.count %= 3;
        if (round % 2 == 0 && copy->schema.count > 0)
            copy->schema.columns[0].dtype = TND_U8;
        bool good = tnd_tap_bound(copy);
        cr_assert(!good ||
                  (copy->schema.count <= TND_COLUMNS_MAX && copy->note.bytes <= sizeof copy->rows));
    }
    free(copy);
}
