/*  Covers actors/reader/stream_reader.h: rows of a sequential source that are needed again.
 *
 *  The source counts; the tests ask for positions as lost tickets and rewinds do. */
#include "actors/reader/stream_reader.h"

#include <criterion/criterion.h>

#include "runtime/core/stream/position.h"

enum { END = 100 };

typedef struct {
    uint64_t next;
    uint32_t starts, read;
} counter_t;

static tnd_status_t counter_fill(void *state, const uint64_t *index, tnd_rows_t *rows,
                                 tnd_error_t *error)
{
    counter_t *self = state;
    size_t count = rows->count;
    (void)error;
    if (index[0] == 0) {
        self->next = 0;
        self->starts++;
    }
    for (rows->count = 0; rows->count < count && self->next < END; rows->count++) {
        cr_assert_eq(index[rows->count], self->next);
        uint64_t value = self->next++;
        *(uint32_t *)tnd_rows_at(rows, 0, rows->count) = (uint32_t)value;
        *(uint8_t *)tnd_rows_at(rows, 1, rows->count) = (uint8_t)(value * 3);
        self->read++;
    }
    return rows->count < count ? TND_END : TND_OK;
}

static const tnd_source_t counter = {.state_bytes = sizeof(counter_t), .fill = counter_fill};

typedef struct {
    counter_t state;
    tnd_schema_t schema;
    tnd_block_pool_t *block_pool;
    tnd_stream_reader_t *stream_reader;
} bench_t;

static void begin(bench_t *self, uint32_t caps, uint64_t retain_bytes)
{
    *self = (bench_t){.block_pool = tnd_block_pool_new()};
    cr_assert(tnd_schema_add(&self->schema, "a", TND_U32, 0, NULL, NULL) == TND_OK);
    cr_assert(tnd_schema_add(&self->schema, "b", TND_U8, 0, NULL, NULL) == TND_OK);
    tnd_stream_reader_config_t config = {.source = &counter,
                                         .state = &self->state,
                                         .schema = &self->schema,
                                         .name = "read",
                                         .caps = caps,
                                         .retain_bytes = retain_bytes};
    self->stream_reader = tnd_stream_reader_new(&config);
}

static void end(bench_t *self)
{
    tnd_stream_reader_destroy(&self->stream_reader);
    tnd_block_pool_destroy(&self->block_pool);
}

static tnd_status_t ask(bench_t *self, uint32_t epoch, uint64_t first, uint32_t asked,
                        uint32_t wanted, tnd_error_t *error)
{
    uint64_t index[END];
    bool ended = false;
    uint32_t count = asked;
    for (uint32_t i = 0; i < asked; i++)
        index[i] = first + i;
    tnd_block_t *block = tnd_block_pool_take(self->block_pool, &self->schema);
    tnd_status_t status =
        tnd_stream_reader_read(self->stream_reader, epoch, index, &count, block, &ended, error);
    if (status == TND_OK) {
        tnd_block_seal(block);
        cr_expect_eq(count, wanted, "%u rows from %llu", count, (unsigned long long)first);
        cr_expect_eq(ended, wanted < asked);
        for (uint32_t i = 0; i < count; i++) {
            cr_expect_eq(*(const uint32_t *)tnd_block_row(block, 0, i), first + i);
            cr_expect_eq(*(const uint8_t *)tnd_block_row(block, 1, i), (uint8_t)((first + i) * 3));
        }
    }
    tnd_block_drop(&block);
    return status;
}

static void gets(bench_t *self, uint32_t epoch, uint64_t first, uint32_t asked, uint32_t wanted)
{
    tnd_error_t error;
    cr_expect(ask(self, epoch, first, asked, wanted, &error) == TND_OK, "%s", error.text);
}

Test(stream_reader, a_source_that_rewinds_is_read_again_from_its_start)
{
    bench_t bench;
    begin(&bench, TND_SOURCE_REWINDS, 0);
    gets(&bench, 0, 0, 10, 10);
    gets(&bench, 0, 10, 10, 10);
    cr_expect_eq(bench.state.read, 20);
    gets(&bench, 0, 5, 10, 10); /* another cut than before */
    cr_expect_eq(bench.state.starts, 2);
    gets(&bench, 0, 20, 10, 10); /* five rows are skipped on the way */
    cr_expect_eq(bench.state.starts, 2);
    end(&bench);
}

Test(stream_reader, every_ticket_after_the_end_reports_it_and_the_next_epoch_begins)
{
    bench_t bench;
    begin(&bench, TND_SOURCE_REWINDS, 0);
    gets(&bench, 0, 0, 60, 60);
    gets(&bench, 0, 60, 60, 40);
    gets(&bench, 0, 120, 60, 0);
    gets(&bench, 1, 0, 60, 60);
    cr_expect_eq(bench.state.starts, 2);
    gets(&bench, 0, 60, 60, 40); /* the epoch before, once more */
    gets(&bench, 1, 60, 60, 40);
    end(&bench);
}

Test(stream_reader, rows_of_a_source_that_cannot_rewind_are_kept)
{
    bench_t bench;
    begin(&bench, 0, 1 << 20);
    gets(&bench, 0, 0, 30, 30);
    gets(&bench, 0, 30, 30, 30);
    gets(&bench, 0, 0, 60, 60);  /* of two buffers */
    gets(&bench, 0, 25, 20, 20); /* across their border */
    gets(&bench, 0, 50, 20, 20); /* half kept, half new */
    gets(&bench, 0, 55, 15, 15);
    gets(&bench, 0, 70, 50, 30);
    gets(&bench, 0, 90, 30, 10);
    cr_expect_eq(bench.state.starts, 1);
    cr_expect_eq(bench.state.read, END);
    end(&bench);
}

Test(stream_reader, rows_no_longer_kept_are_an_error_with_a_remedy)
{
    bench_t bench;
    tnd_error_t error;
    begin(&bench, 0, 1024); /* a buffer of 20 rows takes 192 bytes */
    for (uint32_t i = 0; i < 5; i++)
        gets(&bench, 0, i * 20, 20, 20);
    gets(&bench, 0, 80, 20, 20);
    end(&bench);

    begin(&bench, 0, 400);
    for (uint32_t i = 0; i < 5; i++)
        gets(&bench, 0, i * 20, 20, 20);
    gets(&bench, 0, 60, 40, 40);
    cr_expect(ask(&bench, 0, 0, 20, 20, &error) == TND_FAILED);
    cr_expect_str_eq(error.text,
                     "read: row 0 of the source is needed again, which can be read only once and "
                     "of which the last 400 bytes were kept: raise `retain:`");
    end(&bench);
}

Test(stream_reader, a_run_that_begins_in_the_middle_skips_earlier_records)
{
    bench_t bench;
    tnd_error_t error;
    begin(&bench, TND_SOURCE_REWINDS, 0);
    gets(&bench, 0, 70, 20, 20);
    cr_expect_eq(bench.state.read, 90);
    end(&bench);

    begin(&bench, 0, 1 << 20); /* another process may have read it */
    cr_expect(ask(&bench, 0, 70, 20, 20, &error) == TND_FAILED);
    cr_expect_str_eq(error.text, "read: the run resumes at row 70 of the source, which can be read "
                                 "only once, from its start: start the run from the beginning");
    end(&bench);
}

/*  Rows of n % 7 bytes of value n, of a source that can be read once. */
static tnd_status_t ragged_fill(void *state, const uint64_t *index, tnd_rows_t *rows,
                                tnd_error_t *error)
{
    (void)state, (void)error;
    for (uint32_t row = 0; row < rows->count; row++) {
        uint64_t length = index[row] % 7;
        memset(tnd_rows_room(rows, 0, row, length), (int)index[row], length);
    }
    return TND_OK;
}

/*  Rows of 1,000 bytes, where 16 MiB are possible. */
static tnd_status_t long_fill(void *state, const uint64_t *index, tnd_rows_t *rows,
                              tnd_error_t *error)
{
    (void)state, (void)error;
    for (uint32_t row = 0; row < rows->count; row++)
        memset(tnd_rows_room(rows, 0, row, 1000), (int)index[row], 1000);
    return TND_OK;
}

Test(stream_reader, rows_take_the_memory_of_their_bytes_not_of_the_longest_possible)
{
    static const tnd_source_t source = {.fill = long_fill};
    tnd_schema_t schema = {0};
    cr_assert(tnd_schema_add_ragged(&schema, "t", TND_U8, 1, (uint64_t[]){16 << 20}, NULL) ==
              TND_OK);
    tnd_stream_reader_config_t config = {.source = &source,
                                         .schema = &schema,
                                         .name = "read",
                                         .first = 300,
                                         .retain_bytes = 1 << 20};
    tnd_block_pool_t *block_pool = tnd_block_pool_new();
    tnd_stream_reader_t *stream_reader = tnd_stream_reader_new(&config);
    for (uint64_t first = 300; first < 301; first -= 300) { /* then the skipped rows again */
        uint32_t count = 1;
        bool ended;
        tnd_error_t error;
        tnd_block_t *block = tnd_block_pool_take(block_pool, &schema);
        cr_assert(tnd_stream_reader_read(stream_reader, 0, &first, &count, block, &ended, &error) ==
                      TND_OK,
                  "%s", error.text);
        block->note.rows = 1;
        cr_assert_eq(tnd_block_row_bytes(block, 0, 0), 1000);
        cr_assert_eq(*(const uint8_t *)tnd_block_row(block, 0, 0), (uint8_t)first);
        tnd_block_drop(&block);
    }
    tnd_stream_reader_destroy(&stream_reader);
    tnd_block_pool_destroy(&block_pool);
}

Test(stream_reader, ragged_rows_that_are_needed_again_have_their_lengths)
{
    static const tnd_source_t source = {.fill = ragged_fill};
    static const uint64_t firsts[] = {0, 5, 3, 12};
    tnd_schema_t schema = {0};
    cr_assert(tnd_schema_add_ragged(&schema, "t", TND_U8, 1, (uint64_t[]){6}, NULL) == TND_OK);
    tnd_stream_reader_config_t config = {
        .source = &source, .schema = &schema, .name = "read", .retain_bytes = 1 << 20};
    tnd_block_pool_t *block_pool = tnd_block_pool_new();
    tnd_stream_reader_t *stream_reader = tnd_stream_reader_new(&config);
    for (size_t ask = 0; ask < 4; ask++) {
        uint64_t index[12];
        uint32_t count = ask == 2 ? 12 : 5;
        bool ended;
        tnd_error_t error;
        for (uint32_t i = 0; i < count; i++)
            index[i] = firsts[ask] + i;
        tnd_block_t *block = tnd_block_pool_take(block_pool, &schema);
        cr_assert(tnd_stream_reader_read(stream_reader, 0, index, &count, block, &ended, &error) ==
                      TND_OK,
                  "%s", error.text);
        block->note.rows = count;
        tnd_block_seal(block);
        for (uint32_t i = 0; i < count; i++) {
            const uint8_t *row = tnd_block_row(block, 0, i);
            cr_assert_eq(tnd_block_row_bytes(block, 0, i), index[i] % 7);
            cr_assert(index[i] % 7 == 0 || row[index[i] % 7 - 1] == index[i]);
        }
        tnd_block_drop(&block);
    }
    tnd_stream_reader_destroy(&stream_reader);
    tnd_block_pool_destroy(&block_pool);
}

/*  Counts, but refuses every number that ends in 7. */
static tnd_status_t picky_fill(void *state, const uint64_t *index, tnd_rows_t *rows,
                               tnd_error_t *error)
{
    counter_t *self = state;
    size_t count = rows->count;
    if (index[0] == 0)
        self->next = 0;
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(index[i], self->next);
        uint64_t value = self->next++;
        if (value % 10 == 7) {
            (void)tnd_fail(error, "%llu ends in 7", (unsigned long long)value);
            rows->count = i;
            return TND_REFUSED;
        }
        *(uint32_t *)tnd_rows_at(rows, 0, i) = (uint32_t)value;
    }
    return TND_OK;
}

static const tnd_source_t picky = {.state_bytes = sizeof(counter_t), .fill = picky_fill};

/*  Rows [first, first + count): those that do not end in 7, and reasons for the others. */
static void check_picky(tnd_stream_reader_t *stream_reader, tnd_block_pool_t *pool,
                        const tnd_schema_t *schema, uint64_t first, uint32_t count)
{
    uint64_t index[END];
    uint32_t asked = count, good = 0, bad = 0, refused;
    bool ended;
    tnd_error_t error;
    for (uint32_t i = 0; i < count; i++)
        index[i] = first + i;
    tnd_block_t *block = tnd_block_pool_take(pool, schema);
    cr_assert(tnd_stream_reader_read(stream_reader, 0, index, &asked, block, &ended, &error) ==
              TND_OK);
    cr_expect_eq(asked, count);
    tnd_block_seal(block);
    const tnd_stream_refusal_t *list = tnd_stream_reader_refused(stream_reader, &refused);
    for (uint32_t i = 0; i < count; i++) {
        char why[32];
        snprintf(why, sizeof why, "%llu ends in 7", (unsigned long long)(first + i));
        if ((first + i) % 10 != 7) {
            cr_expect_eq(*(const uint32_t *)tnd_block_row(block, 0, good++), first + i);
            continue;
        }
        cr_assert_lt(bad, refused);
        cr_expect_eq(list[bad].offset, i);
        cr_expect_str_eq(list[bad++].why, why);
    }
    cr_expect_eq(bad, refused);
    tnd_block_drop(&block);
}

Test(stream_reader, rows_that_are_refused_are_left_out_also_when_they_are_needed_again)
{
    for (uint32_t caps = 0; caps <= TND_SOURCE_REWINDS; caps += TND_SOURCE_REWINDS) {
        counter_t state = {0};
        tnd_schema_t schema = {0};
        cr_assert(tnd_schema_add(&schema, "a", TND_U32, 0, NULL, NULL) == TND_OK);
        tnd_block_pool_t *pool = tnd_block_pool_new();
        tnd_stream_reader_config_t config = {.source = &picky,
                                             .state = &state,
                                             .schema = &schema,
                                             .name = "read",
                                             .caps = caps,
                                             .retain_bytes = 1 << 20};
        tnd_stream_reader_t *stream_reader = tnd_stream_reader_new(&config);
        check_picky(stream_reader, pool, &schema, 0, 8);   /* the last one is bad */
        check_picky(stream_reader, pool, &schema, 27, 1);  /* rows before it are skipped */
        check_picky(stream_reader, pool, &schema, 28, 30); /* several, and good ones at the end */
        check_picky(stream_reader, pool, &schema, 5, 53);  /* all of it again */
        check_picky(stream_reader, pool, &schema, 40, 40); /* half of it again */
        tnd_stream_reader_destroy(&stream_reader);
        tnd_block_pool_destroy(&pool);
    }
}

Test(stream_reader, a_source_that_seeks_begins_where_it_is_asked_to)
{
    bench_t bench;
    begin(&bench, TND_SOURCE_REWINDS | TND_SOURCE_SEEKS, 0);
    bench.state.next = 40;
    gets(&bench, 0, 40, 10, 10);
    bench.state.next = 20;
    gets(&bench, 0, 20, 10, 10);
    cr_expect_eq(bench.state.read, 20);
    end(&bench);
}
