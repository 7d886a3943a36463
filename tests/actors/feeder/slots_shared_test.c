/*  Covers actors/feeder/batch_slots.h: slices whose rows several threads gather.
 *
 *  A block has rows of 1 KiB of which each has its number in every byte; slices of 300 of them, in
 *  a mixed order, are more than one part. */
#include "actors/feeder/batch_slots.h"
#include "tests/runtime/feed/take_done.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <unistd.h>

#include "runtime/base/limits.h"
#include "runtime/data/mapping.h"

enum { DEPTH = 3, ROWS = 300, ROW_BYTES = 1024, STEPS = 4 * DEPTH, PIECE = 110 };

typedef struct {
    tnd_schema_t schema;
    tnd_device_workers_t *workers;
    tnd_statistics_t *statistics;
    tnd_block_pool_t *block_pool;
    tnd_batch_slots_t *slots;
    tnd_error_t error;
} bench_t;

static void ignore(void *context)
{
    (void)context;
}

static void open_bench(bench_t *self, uint32_t threads)
{
    static const char *const devices[] = {"cpu:0"};
    const uint64_t shape[] = {ROW_BYTES};
    *self = (bench_t){.statistics = calloc(1, sizeof *self->statistics),
                      .block_pool = tnd_block_pool_new()};
    cr_assert(tnd_schema_add(&self->schema, "x", TND_U8, 1, shape, &self->error) == TND_OK);
    tnd_device_workers_config_t workers = {
        .name = "feed",
        .schema = &self->schema,
        .replicas = 1,
        .count = 1,
        .devices = devices,
        .depth = DEPTH,
        .rows_max = ROWS,
        .wake = ignore,
    };
    cr_assert(tnd_device_workers_new(&self->workers, &workers, NULL, &self->error) == TND_OK, "%s",
              self->error.text);
    tnd_batch_slots_config_t slots = {
        .name = "feed",
        .workers = self->workers,
        .schema = &self->schema,
        .statistics = self->statistics,
        .depth = DEPTH,
        .count = 1,
        .rows_max = ROWS,
        .digest = true,
        .threads = threads,
    };
    tnd_error_t slots_error;
    cr_assert(tnd_batch_slots_new(&self->slots, &slots, &slots_error) == TND_OK);
}

static void close_bench(bench_t *self)
{
    tnd_device_workers_stop(self->workers);
    tnd_batch_slots_destroy(&self->slots);
    tnd_device_workers_destroy(&self->workers);
    tnd_block_pool_destroy(&self->block_pool);
    free(self->statistics);
}

/*  The row of the data at place `at` of a step. */
static uint64_t chosen(uint64_t step, uint64_t at)
{
    return (step * 31 + at * 7) % ROWS;
}

/*  Some rows of a step, as the data are asked for in that order. */
static tnd_block_t *block_of(bench_t *self, tnd_buffer_t *data, uint64_t step, uint32_t first,
                             uint32_t rows)
{
    tnd_block_t *block = tnd_block_pool_take(self->block_pool, &self->schema);
    tnd_buffer_t *list = tnd_buffer_new(rows * sizeof(uint64_t));
    uint64_t *index = tnd_buffer_data(list);
    for (uint32_t i = 0; i < rows; i++)
        index[i] = chosen(step, first + i);
    tnd_buffer_seal(list);
    block->index = list;
    block->columns[0] = (tnd_block_column_t){.base = tnd_buffer_data(data),
                                             .stride = ROW_BYTES,
                                             .index = index,
                                             .buffer = tnd_buffer_hold(data)};
    block->note.rows = rows;
    tnd_block_seal(block);
    return block;
}

/*  Begins step `step`, in slot `step` % DEPTH. */
static tnd_status_t begin(bench_t *self, tnd_buffer_t *data, uint64_t step)
{
    tnd_piece_t pieces[ROWS / PIECE + 1];
    uint32_t count = 0;
    for (uint32_t first = 0; first < ROWS; first += PIECE) {
        uint32_t rows = ROWS - first < PIECE ? ROWS - first : PIECE;
        pieces[count++] = (tnd_piece_t){block_of(self, data, step, first, rows), 0, rows, NULL};
    }
    tnd_slice_note_t note = {
        .step = step, .rank = step * ROWS, .rows = ROWS, .total = ROWS, .step_rows = ROWS};
    tnd_effect_t effect = {.kind = TND_EFFECT_PLACE, .slot = (uint32_t)(step % DEPTH)};
    effect.msg.slice = note;
    effect.payload = tnd_block_pool_slice(self->block_pool, &self->schema, &note, pieces, count);
    for (uint32_t i = 0; i < count; i++) {
        tnd_block_t *block = pieces[i].payload;
        tnd_block_drop(&block);
    }
    tnd_status_t status = tnd_batch_slots_place(self->slots, &effect, &self->error);
    if (status == TND_OK)
        tnd_batch_slots_ready(self->slots, effect.slot, &note, NULL);
    return status;
}

static tnd_buffer_t *make_data(void)
{
    tnd_buffer_t *data = tnd_buffer_new(ROWS * ROW_BYTES);
    for (uint32_t i = 0; i < ROWS; i++)
        memset((uint8_t *)tnd_buffer_data(data) + i * ROW_BYTES, (int)(i % 251), ROW_BYTES);
    tnd_buffer_seal(data);
    return data;
}

static tnd_digest_t digest_of(uint64_t step)
{
    tnd_digest_t digest = {0};
    uint8_t row[ROW_BYTES];
    for (uint64_t i = 0; i < ROWS; i++) {
        memset(row, (int)(chosen(step, i) % 251), sizeof row);
        tnd_digest_column_t column = {.data = row, .bytes = sizeof row};
        tnd_digest_row(&digest, step * ROWS + i, &column, 1);
    }
    return digest;
}

/*  DEPTH steps are under way at a time. */
static void check_stream(uint32_t threads)
{
    bench_t bench;
    open_bench(&bench, threads);
    tnd_device_workers_discard(bench.workers);
    tnd_buffer_t *data = make_data();
    for (uint64_t step = 0; step < STEPS; step += DEPTH) {
        for (uint64_t next = step; next < step + DEPTH; next++)
            cr_assert(begin(&bench, data, next) == TND_OK, "%s", bench.error.text);
        cr_assert(tnd_batch_slots_settle(bench.slots, &bench.error) == TND_OK, "%s",
                  bench.error.text);
        for (uint64_t next = step; next < step + DEPTH; next++) {
            tnd_done_t done;
            cr_assert(take_done(bench.workers, &done), "step %d", (int)next);
            cr_assert(eq(u64, done.step, next));
            tnd_digest_t digest = tnd_batch_slots_digest(bench.slots, &done),
                         expected = digest_of(next);
            cr_assert(tnd_digest_equal(&digest, &expected), "%u threads, step %d", threads,
                      (int)next);
            for (uint32_t row = 0; row < ROWS; row++) {
                const uint8_t *at = tnd_device_workers_row(bench.workers, done.slot, 0, 0, row);
                cr_assert(eq(u8, at[ROW_BYTES - 1], (uint8_t)(chosen(next, row) % 251)));
            }
            cr_assert(tnd_batch_slots_free(bench.slots, done.slot, &bench.error) == TND_OK);
        }
    }
    cr_assert(eq(u64, bench.statistics->bytes_copied, (uint64_t)STEPS * ROWS * ROW_BYTES));
    close_bench(&bench);
    tnd_buffer_drop(&data);
}

Test(slots_shared, any_number_of_threads_gathers_the_same_rows_with_the_same_digest)
{
    for (uint32_t threads = 1; threads <= 4; threads++)
        check_stream(threads);
}

Test(slots_shared, unfinished_parts_are_discarded_at_the_end)
{
    bench_t bench;
    open_bench(&bench, 2);
    tnd_buffer_t *data = make_data();
    for (uint64_t step = 0; step < DEPTH; step++)
        cr_assert(begin(&bench, data, step) == TND_OK);
    close_bench(&bench); /* asan sees what is left */
    tnd_buffer_drop(&data);
}

Test(slots_shared, rows_of_a_file_that_shrinks_are_an_error_on_any_thread)
{
    char path[] = "/tmp/tundish-gatherers-XXXXXX";
    int file = mkstemp(path);
    bench_t bench;
    tnd_mapping_t *mapping;
    open_bench(&bench, 3);
    cr_assert(file >= 0 && ftruncate(file, ROWS * ROW_BYTES) == 0);
    cr_assert(tnd_mapping_open(&mapping, path, &bench.error) == TND_OK, "%s", bench.error.text);
    tnd_buffer_t *data = tnd_mapping_buffer(mapping);
    cr_assert(ftruncate(file, 0) == 0);

    cr_assert(begin(&bench, data, 0) == TND_OK, "%s", bench.error.text);
    cr_assert(tnd_batch_slots_settle(bench.slots, &bench.error) == TND_FAILED);

    cr_assert(strstr(bench.error.text, "shrank") != NULL, "%s", bench.error.text);
    tnd_done_t done;
    tnd_device_workers_discard(bench.workers);
    cr_assert(not(take_done(bench.workers, &done)), "a step was handed over all the same");
    close_bench(&bench);
    tnd_buffer_drop(&data);
    tnd_mapping_destroy(&mapping);
    close(file);
    unlink(path);
}

Test(slots_shared, auto_counts_the_bytes_of_a_batch)
{
    cr_assert(eq(u32, tnd_gather_threads(3, 1), 3));
    cr_assert(eq(u32, tnd_gather_threads(TND_GATHER_AUTO, 200 << 10), 1));
    uint32_t two = tnd_processors_allowed() > 1 ? 2 : 1;
    cr_assert(eq(u32, tnd_gather_threads(TND_GATHER_AUTO, 256 << 10), two));
    cr_assert(tnd_gather_threads(TND_GATHER_AUTO, UINT64_C(1) << 40) <= 8);
}
