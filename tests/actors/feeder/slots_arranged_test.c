/*  Covers actors/feeder/batch_slots.h where ragged rows are arranged by their lengths: padded to the
 *  longest of the step, or packed. */
#include "actors/feeder/batch_slots.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "tests/runtime/feed/device_workers_fixture.h"

enum { DEPTH = 2, ROWS = 8, LONGEST = 100, BOUND = 64 };

typedef struct {
    fixture_t waker;
    tnd_schema_t schema;
    tnd_device_workers_t *workers;
    tnd_statistics_t *statistics;
    tnd_block_pool_t *block_pool;
    tnd_batch_slots_t *slots;
    const tnd_row_check_t *check; /* of blocks that are made */
    tnd_error_t error;
} bench_t;

static bench_t *open_bench(tnd_slot_form_t form)
{
    static const char *const devices[] = {"cpu:0"};
    static const uint64_t pads[] = {'.'};
    bench_t *self = calloc(1, sizeof *self);
    cr_assert(tnd_schema_add_ragged(&self->schema, "x", TND_U8, 1, (uint64_t[]){LONGEST},
                                    &self->error) == TND_OK);
    tnd_device_workers_config_t workers = {.name = "feed",
                                           .schema = &self->schema,
                                           .replicas = 1,
                                           .count = 1,
                                           .devices = devices,
                                           .depth = DEPTH,
                                           .rows_max = ROWS,
                                           .form = form,
                                           .ragged_max = BOUND,
                                           .pads = pads,
                                           .wake = fixture_wake,
                                           .context = &self->waker};
    cr_assert(tnd_device_workers_new(&self->workers, &workers, NULL, &self->error) == TND_OK);
    self->statistics = calloc(1, sizeof *self->statistics);
    self->block_pool = tnd_block_pool_new();
    tnd_error_t slots_error;
    cr_assert(tnd_batch_slots_new(&self->slots,
                                  &(tnd_batch_slots_config_t){.name = "feed",
                                                              .workers = self->workers,
                                                              .schema = &self->schema,
                                                              .statistics = self->statistics,
                                                              .depth = DEPTH,
                                                              .count = 1,
                                                              .rows_max = ROWS,
                                                              .batcher = "batch",
                                                              .ragged_max = BOUND},
                                  &slots_error) == TND_OK);
    return self;
}

static void close_bench(bench_t *self)
{
    tnd_batch_slots_destroy(&self->slots);
    tnd_device_workers_destroy(&self->workers);
    tnd_block_pool_destroy(&self->block_pool);
    free(self->statistics);
    free(self);
}

/*  A block whose row i repeats the letter letters[i] lengths[i] times. */
static tnd_block_t *block_of(bench_t *self, const char *letters, const uint64_t *lengths)
{
    uint32_t rows = (uint32_t)strlen(letters);
    tnd_block_t *block = tnd_block_pool_take(self->block_pool, &self->schema);
    block->index = tnd_buffer_new(2 * rows * sizeof(uint64_t));
    uint64_t *list = tnd_buffer_data(block->index), *offsets = list + rows;
    tnd_buffer_t *values = tnd_buffer_new((size_t)rows * LONGEST);
    uint64_t at = 0;
    for (uint32_t i = 0; i < rows; at += lengths[i++]) {
        list[i] = lengths[i];
        offsets[i] = at;
        memset((char *)tnd_buffer_data(values) + at, letters[i], lengths[i]);
    }
    tnd_buffer_seal(values);
    tnd_buffer_seal(block->index);
    block->columns[0] = (tnd_block_column_t){.base = tnd_buffer_data(values),
                                             .stride = 1,
                                             .index = offsets,
                                             .buffer = values,
                                             .lengths = list,
                                             .check = self->check};
    block->note.rows = rows;
    tnd_block_seal(block);
    return block;
}

/*  Places a slice of a block, which it drops, in slot 0. */
static tnd_status_t place(bench_t *self, uint32_t offset, uint32_t total, uint32_t padded,
                          const char *letters, const uint64_t *lengths, uint32_t generation)
{
    tnd_block_t *block = block_of(self, letters, lengths);
    tnd_slice_note_t note = {.offset = offset, .total = total, .padded = padded, .step = 9};
    note.rows = (uint32_t)strlen(letters);
    tnd_piece_t piece = {block, 0, note.rows, NULL};
    tnd_effect_t effect = {.kind = TND_EFFECT_PLACE, .msg.generation = generation};
    effect.payload = tnd_block_pool_slice(self->block_pool, &self->schema, &note, &piece, 1);
    effect.msg.slice = note;
    tnd_block_drop(&block);
    return tnd_batch_slots_place(self->slots, &effect, &self->error);
}

static const char *row(const bench_t *self, uint64_t number)
{
    return tnd_device_workers_row(self->workers, 0, 0, 0, number);
}

/*  Refuses rows that begin with a question mark. */
static tnd_status_t check_letter(const void *context, const void *data, size_t bytes,
                                 tnd_error_t *error)
{
    (void)context;
    return bytes > 0 && *(const char *)data == '?' ? tnd_fail(error, "row of %zu bytes", bytes)
                                                   : TND_OK;
}

Test(slots_arranged, rows_that_were_not_checked_before_are_checked_as_they_are_copied)
{
    static const tnd_row_check_t check = {.row = check_letter};
    for (int form = TND_SLOT_SPREAD; form <= TND_SLOT_PACKED; form++) {
        bench_t *bench = open_bench((tnd_slot_form_t)form);
        bench->check = &check;
        cr_assert(place(bench, 0, 2, 0, "ab", (uint64_t[]){3, 4}, 1) == TND_OK);
        cr_assert(place(bench, 0, 3, 0, "a?b", (uint64_t[]){3, 4, 5}, 2) == TND_FAILED);
        cr_assert_str_eq(bench->error.text, "feed: row of 4 bytes");
        close_bench(bench);
    }
}

Test(slots_arranged, slices_of_two_lanes_are_padded_to_the_longest_row_of_both)
{
    bench_t *bench = open_bench(TND_SLOT_PADDED);
    cr_assert(place(bench, 2, 3, 1, "c", (uint64_t[]){2}, 1) == TND_OK);
    cr_assert(place(bench, 0, 3, 1, "ab", (uint64_t[]){0, 5}, 1) == TND_OK, "%s",
              bench->error.text);
    cr_assert_arr_eq(row(bench, 0), ".....bbbbbcc........", 20);
    cr_assert(eq(ptr, (void *)(uintptr_t)row(bench, 1), (void *)(uintptr_t)(row(bench, 0) + 5)));
    close_bench(bench);
}

Test(slots_arranged, slices_of_two_lanes_are_packed_in_the_order_of_their_offsets)
{
    bench_t *bench = open_bench(TND_SLOT_PACKED);
    cr_assert(place(bench, 2, 3, 1, "c", (uint64_t[]){60}, 1) == TND_OK);
    cr_assert(place(bench, 0, 3, 1, "ab", (uint64_t[]){1, 3}, 1) == TND_OK, "%s",
              bench->error.text);
    cr_assert_arr_eq(row(bench, 0), "abbbcccc", 8);
    cr_assert(eq(ptr, (void *)(uintptr_t)row(bench, 3), (void *)(uintptr_t)(row(bench, 0) + 64)));
    close_bench(bench);
}

Test(slots_arranged, slices_that_waited_before_a_rewind_are_forgotten)
{
    bench_t *bench = open_bench(TND_SLOT_PACKED);
    cr_assert(place(bench, 2, 3, 0, "z", (uint64_t[]){9}, 1) == TND_OK);
    cr_assert(place(bench, 0, 3, 0, "ab", (uint64_t[]){1, 3}, 2) == TND_OK);
    cr_assert(place(bench, 2, 3, 0, "c", (uint64_t[]){2}, 2) == TND_OK);
    cr_assert_arr_eq(row(bench, 0), "abbbcc", 6);
    close_bench(bench);
}

Test(slots_arranged, a_batch_above_its_bound_is_an_error_that_names_it)
{
    for (int form = TND_SLOT_PADDED; form <= TND_SLOT_PACKED; form++) {
        bench_t *bench = open_bench((tnd_slot_form_t)form);
        cr_assert(place(bench, 0, 2, 0, "ab", (uint64_t[]){32, 33}, 1) == TND_FAILED);
        cr_assert(strstr(bench->error.text, "step 9") != NULL, "%s", bench->error.text);
        cr_assert(strstr(bench->error.text, "`bytes` of batcher `batch`") != NULL);
        close_bench(bench);
    }
}
