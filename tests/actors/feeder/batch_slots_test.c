/*  Covers actors/feeder/batch_slots.h: where the rows of slices are stored, which are copied, and
 *  their digest.
 *
 *  Rows come in blocks of their own; the device workers are real and use the processor, with slots
 *  of FIXTURE_ROWS rows, and runs no step. */
#include "actors/feeder/batch_slots.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "tests/runtime/feed/device_workers_fixture.h"

enum { DEPTH = 2, ROW_BYTES = FIXTURE_WIDTH * sizeof(float) };

typedef struct {
    fixture_t *fixture;
    tnd_statistics_t *statistics;
    tnd_block_pool_t *block_pool;
    tnd_batch_slots_t *slots;
    tnd_error_t error;
} bench_t;

static void open_bench(bench_t *self)
{
    self->fixture = fixture_new(0, 2, 1, DEPTH);
    self->statistics = calloc(1, sizeof *self->statistics);
    self->block_pool = tnd_block_pool_new();
    tnd_batch_slots_config_t config = {
        .name = "feed",
        .workers = self->fixture->workers,
        .schema = &self->fixture->schema,
        .statistics = self->statistics,
        .depth = DEPTH,
        .count = 2,
        .rows_max = FIXTURE_ROWS,
        .digest = true,
    };
    tnd_error_t slots_error;
    cr_assert(tnd_batch_slots_new(&self->slots, &config, &slots_error) == TND_OK);
}

static void close_bench(bench_t *self)
{
    tnd_batch_slots_destroy(&self->slots);
    tnd_device_workers_stop(self->fixture->workers);
    fixture_destroy(self->fixture);
    tnd_block_pool_destroy(&self->block_pool);
    free(self->statistics);
}

/*  A sealed block of rows `first`, `first` + 1, ...: all numbers of row i are i. */
static tnd_block_t *block_of(bench_t *self, uint32_t first, uint32_t rows)
{
    tnd_block_t *block = tnd_block_pool_take(self->block_pool, &self->fixture->schema);
    tnd_buffer_t *buffer = tnd_buffer_new(rows * ROW_BYTES);
    float *numbers = tnd_buffer_data(buffer);
    for (uint32_t i = 0; i < rows * FIXTURE_WIDTH; i++)
        numbers[i] = (float)(first + i / FIXTURE_WIDTH);
    tnd_buffer_seal(buffer);
    block->columns[0] = (tnd_block_column_t){
        .base = tnd_buffer_data(buffer), .stride = ROW_BYTES, .buffer = buffer};
    block->note.rows = rows;
    tnd_block_seal(block);
    return block;
}

/*  Places a slice over the pieces, whose blocks it drops, in slot 0. */
static tnd_status_t place(bench_t *self, tnd_slice_note_t note, tnd_piece_t *pieces, uint32_t count,
                          uint32_t generation)
{
    tnd_effect_t effect = {.kind = TND_EFFECT_PLACE, .msg.generation = generation};
    effect.payload =
        tnd_block_pool_slice(self->block_pool, &self->fixture->schema, &note, pieces, count);
    effect.msg.slice = note;
    for (uint32_t i = 0; i < count; i++) {
        tnd_block_t *block = pieces[i].payload;
        tnd_block_drop(&block);
    }
    return tnd_batch_slots_place(self->slots, &effect, &self->error);
}

static uint64_t copied(const bench_t *self)
{
    return self->statistics->bytes_copied;
}

/*  The digest of the rows from `first` of block_of() at the ranks from `rank`. */
static tnd_digest_t digest_of(uint32_t first, uint32_t rows, uint64_t rank)
{
    tnd_digest_t digest = {0};
    for (uint32_t i = 0; i < rows; i++) {
        float row[FIXTURE_WIDTH] = {(float)(first + i), (float)(first + i), (float)(first + i)};
        tnd_digest_column_t column = {.data = row, .bytes = sizeof row};
        tnd_digest_row(&digest, rank + i, &column, 1);
    }
    return digest;
}

static bool has_digest(const bench_t *self, uint64_t step, const tnd_digest_t *expected)
{
    tnd_digest_t digest = tnd_batch_slots_digest(self->slots, &(tnd_done_t){.step = step});
    return tnd_digest_equal(&digest, expected);
}

Test(slots, pieces_follow_each_other_and_are_hashed_by_rank)
{
    bench_t bench;
    open_bench(&bench);
    tnd_piece_t pieces[] = {{block_of(&bench, 10, 4), 1, 2, NULL},
                            {block_of(&bench, 30, 3), 0, 3, NULL}};
    tnd_slice_note_t note = {.step = 4, .rank = 100, .replica = 1, .rows = 5, .total = 5};

    cr_assert(place(&bench, note, pieces, 2, 1) == TND_OK, "%s", bench.error.text);

    static const float expected[] = {11, 12, 30, 31, 32};
    for (uint32_t row = 0; row < 5; row++) {
        const float *at = tnd_device_workers_row(bench.fixture->workers, 0, 1, 0, row);
        cr_assert(eq(flt, at[FIXTURE_WIDTH - 1], expected[row]), "row %u", row);
    }
    tnd_digest_t digest = digest_of(11, 2, 100), rest = digest_of(30, 3, 102);
    tnd_digest_add(&digest, &rest);
    cr_assert(has_digest(&bench, 4, &digest));
    cr_assert(eq(u64, copied(&bench), 5 * ROW_BYTES));
    cr_assert(eq(u64, bench.statistics->rows_in, 5));
    close_bench(&bench);
}

Test(slots, slices_of_two_lanes_are_stored_at_their_offsets)
{
    bench_t bench;
    open_bench(&bench);
    tnd_piece_t late[] = {{block_of(&bench, 50, 1), 0, 1, NULL}},
                early[] = {{block_of(&bench, 7, 2), 0, 2, NULL}};
    tnd_slice_note_t note = {.rank = 2, .offset = 2, .rows = 1, .total = 3};

    cr_assert(place(&bench, note, late, 1, 1) == TND_OK);
    note.rank = note.offset = 0;
    note.rows = 2;
    cr_assert(place(&bench, note, early, 1, 1) == TND_OK);

    cr_assert(eq(flt, *(float *)tnd_device_workers_row(bench.fixture->workers, 0, 0, 0, 1), 8));
    cr_assert(eq(flt, *(float *)tnd_device_workers_row(bench.fixture->workers, 0, 0, 0, 2), 50));
    tnd_digest_t digest = digest_of(7, 2, 0), rest = digest_of(50, 1, 2);
    tnd_digest_add(&digest, &rest);
    cr_assert(has_digest(&bench, 0, &digest));
    close_bench(&bench);
}

static void count_release(void *owner)
{
    ++*(uint32_t *)owner;
}

Test(slots, all_rows_of_a_replica_in_one_piece_are_borrowed_until_the_step_is_done)
{
    _Alignas(TND_BUFFER_ALIGN) static float numbers[4 * FIXTURE_WIDTH];
    bench_t bench;
    open_bench(&bench);
    uint32_t released = 0;
    tnd_block_t *block = tnd_block_pool_take(bench.block_pool, &bench.fixture->schema);
    tnd_buffer_t *buffer =
        tnd_buffer_wrap(TND_BUFFER_HEAP, numbers, sizeof numbers, count_release, &released);
    block->columns[0] =
        (tnd_block_column_t){.base = (void *)numbers, .stride = ROW_BYTES, .buffer = buffer};
    block->note.rows = 4;
    tnd_block_seal(block);
    tnd_piece_t pieces[] = {{block, 0, 4, NULL}};
    tnd_slice_note_t note = {.rows = 4, .total = 4};

    cr_assert(place(&bench, note, pieces, 1, 1) == TND_OK);
    cr_assert(eq(u64, copied(&bench), 0));
    cr_assert(eq(u32, released, 0));
    cr_assert(tnd_batch_slots_free(bench.slots, 0, &bench.error) == TND_OK, "%s", bench.error.text);
    cr_assert(eq(u32, released, 1));
    close_bench(&bench);
}

Test(slots, rows_with_padding_after_them_are_copied)
{
    bench_t bench;
    open_bench(&bench);
    tnd_piece_t pieces[] = {{block_of(&bench, 5, 3), 0, 3, NULL}};
    tnd_slice_note_t note = {.rows = 3, .total = 3, .padded = 2};

    cr_assert(place(&bench, note, pieces, 1, 1) == TND_OK);

    cr_assert(eq(u64, copied(&bench), 3 * ROW_BYTES));
    for (uint64_t row = 3; row < 5; row++)
        cr_assert(
            eq(flt, *(float *)tnd_device_workers_row(bench.fixture->workers, 0, 0, 0, row), 0));
    close_bench(&bench);
}

static tnd_status_t do_nothing(void *context, tnd_replica_t *replica)
{
    (void)context, (void)replica;
    return TND_OK;
}

Test(slots, borrowed_rows_are_hashed_even_if_no_step_reads_them)
{
    const tnd_task_t task = {.step = do_nothing};
    for (int runs = 0; runs < 2; runs++) {
        bench_t bench;
        tnd_done_t done;
        open_bench(&bench);
        for (uint32_t replica = 0; replica < 2; replica++) {
            tnd_piece_t pieces[] = {{block_of(&bench, 10 * replica, 3), 0, 3, NULL}};
            tnd_slice_note_t note = {
                .rank = 3 * replica, .replica = replica, .rows = 3, .total = 3};
            cr_assert(place(&bench, note, pieces, 1, 1) == TND_OK);
        }
        cr_assert(eq(u64, copied(&bench), 0));
        if (runs)
            tnd_device_workers_run_all(bench.fixture->workers, &task);
        else
            tnd_device_workers_discard(bench.fixture->workers);
        tnd_device_workers_ready(bench.fixture->workers, 0, &(tnd_slice_note_t){.step = 0}, NULL);
        tnd_device_workers_flush(bench.fixture->workers);
        while (!take_done(bench.fixture->workers, &done))
            sched_yield();

        tnd_digest_t all = digest_of(0, 3, 0), rest = digest_of(10, 3, 3);
        tnd_digest_t digest = tnd_batch_slots_digest(bench.slots, &done);
        tnd_digest_add(&all, &rest);
        cr_assert(tnd_digest_equal(&digest, &all));
        close_bench(&bench);
    }
}

Test(slots, rows_that_do_not_begin_on_a_cache_line_are_copied)
{
    bench_t bench;
    open_bench(&bench);
    tnd_piece_t pieces[] = {{block_of(&bench, 0, 4), 1, 3, NULL}};
    tnd_slice_note_t note = {.rows = 3, .total = 3};

    cr_assert(place(&bench, note, pieces, 1, 1) == TND_OK);

    cr_assert(eq(u64, copied(&bench), 3 * ROW_BYTES));
    close_bench(&bench);
}

Test(slots, a_step_repeated_after_a_rewind_is_hashed_again)
{
    bench_t bench;
    open_bench(&bench);
    tnd_piece_t half[] = {{block_of(&bench, 0, 2), 0, 2, NULL}},
                again[] = {{block_of(&bench, 0, 2), 0, 2, NULL}};
    tnd_slice_note_t note = {.step = 6, .rows = 2, .total = 4};

    cr_assert(place(&bench, note, half, 1, 1) == TND_OK);
    cr_assert(place(&bench, note, again, 1, 2) == TND_OK);

    tnd_digest_t once = digest_of(0, 2, 0);
    cr_assert(has_digest(&bench, 6, &once));
    close_bench(&bench);
}

Test(slots, slices_that_do_not_match_their_header_or_replica_are_refused)
{
    bench_t bench;
    open_bench(&bench);
    tnd_piece_t few[] = {{block_of(&bench, 0, 2), 0, 2, NULL}},
                many[] = {{block_of(&bench, 0, 2), 0, 2, NULL}};
    tnd_slice_note_t note = {.step = 3, .replica = 1, .rows = 3, .total = 3};

    cr_assert(place(&bench, note, few, 1, 1) == TND_FAILED);
    cr_assert(eq(str, bench.error.text,
                 (char *)"feed: a slice of step 3 for replica 1 has 2 rows where its note says 3"));

    note.rows = 2;
    note.total = FIXTURE_ROWS;
    note.padded = 1;
    cr_assert(place(&bench, note, many, 1, 1) == TND_FAILED);
    cr_assert(
        eq(str, bench.error.text,
           (char *)"feed: replica 1 gets 8 rows and 1 padded ones in step 3; it has room for 8"));
    close_bench(&bench);
}
