/*  actors/reader/stream_reader.c - reads a source that writes its rows, into packed blocks. */
#include "actors/reader/stream_reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/round_up.h"
#include "runtime/core/stream/position.h"

enum { SKIP_ROWS = 256 };

/*  Rows that were read, from row `offset` on in a buffer with space for `room` rows. */
typedef struct {
    tnd_buffer_t *buffer;
    uint64_t first;
    uint32_t rows, room, offset;
} stored_rows_t;

struct tnd_stream_reader {
    tnd_stream_reader_config_t config;
    size_t bytes[TND_COLUMNS_MAX]; /* size of a row, by column; of the longest row if ragged */
    tnd_pool_t *pool;
    size_t pool_bytes;
    /* of a source that is not RANDOM */
    bool begun;
    uint32_t epoch;
    uint64_t next, end;  /* the next row to read; TND_UNKNOWN: the end was not reached */
    stored_rows_t *kept; /* ring */
    size_t kept_first, kept_count, kept_room;
    uint64_t kept_bytes;
};

tnd_stream_reader_t *tnd_stream_reader_new(const tnd_stream_reader_config_t *config)
{
    tnd_stream_reader_t *self = tnd_allocate(1, sizeof *self);
    *self = (tnd_stream_reader_t){.config = *config, .end = TND_UNKNOWN};
    for (uint32_t i = 0; i < config->schema->count; i++)
        self->bytes[i] = tnd_column_bytes(&config->schema->columns[i]);
    return self;
}

static stored_rows_t *kept_at(const tnd_stream_reader_t *self, size_t place)
{
    return &self->kept[(self->kept_first + place) % self->kept_room];
}

static void forget_first(tnd_stream_reader_t *self)
{
    stored_rows_t *kept = kept_at(self, 0);
    self->kept_bytes -= tnd_buffer_size(kept->buffer);
    tnd_buffer_drop(&kept->buffer);
    self->kept_first = (self->kept_first + 1) % self->kept_room;
    self->kept_count--;
}

void tnd_stream_reader_destroy(tnd_stream_reader_t **self_p)
{
    tnd_stream_reader_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    while (self->kept_count > 0)
        forget_first(self);
    tnd_pool_destroy(&self->pool);
    free(self->kept);
    free(self);
}

/*  Bytes of the list of lengths that follows the rows of a ragged column. */
static size_t lengths_bytes(const tnd_stream_reader_t *self, uint32_t column, uint32_t rows)
{
    return self->config.schema->columns[column].ragged
               ? tnd_round_up(rows * sizeof(uint64_t), TND_BUFFER_ALIGN)
               : 0;
}

static tnd_buffer_t *take_buffer(tnd_stream_reader_t *self, uint32_t rows)
{
    size_t need = 0;
    for (uint32_t i = 0; i < self->config.schema->count; i++)
        need +=
            tnd_round_up(rows * self->bytes[i], TND_BUFFER_ALIGN) + lengths_bytes(self, i, rows);
    if (need > self->pool_bytes) {
        tnd_pool_destroy(&self->pool);
        self->pool_bytes = need;
        self->pool = tnd_pool_new(need);
    }
    return tnd_pool_take(self->pool);
}

/*  Where the columns begin in a buffer with space for `room` rows, from row `first` on. */
static void lay_out(const tnd_stream_reader_t *self, tnd_buffer_t *buffer, uint32_t room,
                    uint32_t first, tnd_source_rows_t *rows)
{
    uint8_t *base = tnd_buffer_data(buffer);
    for (uint32_t i = 0; i < self->config.schema->count; i++) {
        rows->columns[i].base = base + first * self->bytes[i];
        rows->columns[i].stride = self->bytes[i];
        base += tnd_round_up(room * self->bytes[i], TND_BUFFER_ALIGN);
        rows->columns[i].lengths = NULL;
        if (self->config.schema->columns[i].ragged)
            rows->columns[i].lengths = (uint64_t *)(void *)base + first;
        base += lengths_bytes(self, i, room);
    }
}

/*  Reads at most `count` rows from self->next on, whose numbers are in `index`; *got_p: how many
 *  were read. */
static tnd_status_t read_on(tnd_stream_reader_t *self, const uint64_t *index, uint32_t count,
                            tnd_source_rows_t *rows, uint32_t *got_p, tnd_error_t *error)
{
    *got_p = 0;
    if (self->next == self->end)
        return TND_OK;
    rows->count = count;
    tnd_status_t status = self->config.source->fill(self->config.state, index, rows, error);
    if (status != TND_OK && status != TND_END)
        return status;
    *got_p = status == TND_END ? rows->count : count;
    self->next += *got_p;
    if (status == TND_END)
        self->end = self->next;
    return TND_OK;
}

/*  Keeps rows that may be needed again, in a sealed buffer. */
static void keep(tnd_stream_reader_t *self, const stored_rows_t *kept)
{
    tnd_buffer_t *buffer = kept->buffer;
    if ((self->config.caps & TND_SOURCE_REWINDS) != 0 || kept->rows == 0)
        return;
    while (self->kept_count > 0 &&
           self->kept_bytes + tnd_buffer_size(buffer) > self->config.retain_bytes)
        forget_first(self);
    if (self->kept_count == self->kept_room) {
        size_t more = self->kept_room > 0 ? 2 * self->kept_room : 64;
        stored_rows_t *ring = tnd_allocate(more, sizeof *ring);
        for (size_t i = 0; i < self->kept_count; i++)
            ring[i] = *kept_at(self, i);
        free(self->kept);
        self->kept = ring;
        self->kept_room = more;
        self->kept_first = 0;
    }
    self->kept_count++;
    *kept_at(self, self->kept_count - 1) = *kept;
    tnd_buffer_hold(buffer);
    self->kept_bytes += tnd_buffer_size(buffer);
}

/*  The kept rows from `first` on; NULL: none. */
static const stored_rows_t *find_kept(const tnd_stream_reader_t *self, uint64_t first)
{
    for (size_t i = self->kept_count; i > 0; i--) {
        const stored_rows_t *kept = kept_at(self, i - 1);
        if (kept->first <= first)
            return first - kept->first < kept->rows ? kept : NULL;
    }
    return NULL;
}

/*  Copies the first `some` rows of a ragged column to row `done` and those after it. */
static void copy_ragged(const tnd_stream_reader_t *self, uint32_t column,
                        const tnd_source_rows_t *from, uint32_t some, const tnd_source_rows_t *to,
                        uint32_t done)
{
    size_t unit = tnd_column_unit(&self->config.schema->columns[column]);
    for (uint32_t i = 0; i < some; i++) {
        uint64_t length = from->columns[column].lengths[i];
        memcpy(to->columns[column].base + (done + i) * self->bytes[column],
               from->columns[column].base + i * self->bytes[column], length * unit);
        to->columns[column].lengths[done + i] = length;
    }
}

/*  Copies the kept ones of `count` rows from `first` on to `rows`; returns their number. */
static uint32_t copy_kept(const tnd_stream_reader_t *self, uint64_t first, uint32_t count,
                          const tnd_source_rows_t *rows)
{
    uint32_t done = 0;
    while (done < count && first + done < self->next) {
        const stored_rows_t *kept = find_kept(self, first + done);
        if (kept == NULL)
            break;
        tnd_source_rows_t from;
        uint32_t skip = (uint32_t)(first + done - kept->first), some = kept->rows - skip;
        some = some < count - done ? some : count - done;
        lay_out(self, kept->buffer, kept->room, kept->offset + skip, &from);
        for (uint32_t i = 0; i < self->config.schema->count; i++) {
            if (rows->columns[i].lengths != NULL)
                copy_ragged(self, i, &from, some, rows, done);
            else
                memcpy(rows->columns[i].base + done * self->bytes[i], from.columns[i].base,
                       some * self->bytes[i]);
        }
        done += some;
    }
    return done;
}

/*  Advances to row `first` of `epoch`, reading the rows before it. */
static tnd_status_t go_to(tnd_stream_reader_t *self, uint32_t epoch, uint64_t first,
                          tnd_error_t *error)
{
    bool back = !self->begun || epoch != self->epoch || first < self->next;
    /* The process that started the run may have read the rows before. */
    if (!self->begun && first > self->config.first && self->config.caps == 0)
        return tnd_fail(error,
                        "%s: the run resumes at row %" PRIu64 " of the source, which can be read "
                        "only once, from its start: start the run from the beginning",
                        self->config.name, first);
    if (back && self->begun && (self->config.caps & TND_SOURCE_REWINDS) == 0)
        return tnd_fail(error,
                        "%s: row %" PRIu64 " of the source is needed again, which can be read only "
                        "once and of which the last %" PRIu64 " bytes were kept: raise `retain:`",
                        self->config.name, first, self->config.retain_bytes);
    if (back) {
        self->begun = true;
        self->epoch = epoch;
        self->next = 0;
        self->end = TND_UNKNOWN;
    }
    uint64_t index[SKIP_ROWS];
    while (self->next < first && self->next != self->end) {
        uint32_t some = first - self->next < SKIP_ROWS ? (uint32_t)(first - self->next) : SKIP_ROWS;
        uint32_t got = 0;
        uint64_t from = self->next;
        for (uint32_t i = 0; i < some; i++)
            index[i] = from + i;
        tnd_source_rows_t rows;
        tnd_buffer_t *buffer = take_buffer(self, some);
        lay_out(self, buffer, some, 0, &rows);
        tnd_status_t status = read_on(self, index, some, &rows, &got, error);
        tnd_buffer_seal(buffer);
        keep(self, &(stored_rows_t){.buffer = buffer, .first = from, .rows = got, .room = some});
        tnd_buffer_drop(&buffer);
        TND_TRY(status);
    }
    return TND_OK;
}

/*  Reads rows of a sequential source; *fresh: those that were not kept yet. */
static tnd_status_t read_in_order(tnd_stream_reader_t *self, uint32_t epoch, const uint64_t *index,
                                  uint32_t count, tnd_buffer_t *buffer, uint32_t *got_p,
                                  stored_rows_t *fresh, tnd_error_t *error)
{
    uint64_t first = index[0];
    tnd_source_rows_t rows;
    uint32_t done = 0, got = 0;
    bool here = self->begun && epoch == self->epoch;
    if (here && (self->config.caps & TND_SOURCE_REWINDS) == 0) {
        lay_out(self, buffer, count, 0, &rows);
        done = copy_kept(self, first, count, &rows);
    }
    if (done < count && !(here && first + done >= self->end))
        TND_TRY(go_to(self, epoch, first + done, error));
    if (done < count && self->next == first + done) {
        lay_out(self, buffer, count, done, &rows);
        TND_TRY(read_on(self, index + done, count - done, &rows, &got, error));
    }
    *fresh = (stored_rows_t){
        .buffer = buffer, .first = first + done, .rows = got, .room = count, .offset = done};
    *got_p = done + got;
    return TND_OK;
}

tnd_status_t tnd_stream_reader_read(tnd_stream_reader_t *self, uint32_t epoch,
                                    const uint64_t *index, uint32_t *count_p, tnd_block_t *block,
                                    bool *end_p, tnd_error_t *error)
{
    uint32_t count = *count_p, got = count;
    tnd_buffer_t *buffer = take_buffer(self, count);
    tnd_source_rows_t rows = {.count = count};
    stored_rows_t fresh = {.rows = 0};
    tnd_status_t status;
    if ((self->config.caps & TND_SOURCE_RANDOM) != 0) {
        lay_out(self, buffer, count, 0, &rows);
        status = self->config.source->fill(self->config.state, index, &rows, error);
        if (status == TND_END)
            status =
                tnd_fail(error, "%s: the source ends before the number of rows that it reported",
                         self->config.name);
    } else {
        status = read_in_order(self, epoch, index, count, buffer, &got, &fresh, error);
    }
    tnd_buffer_seal(buffer);
    if (status == TND_OK) {
        lay_out(self, buffer, count, 0, &rows);
        for (uint32_t i = 0; i < self->config.schema->count; i++)
            block->columns[i] = (tnd_block_column_t){.base = rows.columns[i].base,
                                                     .stride = self->bytes[i],
                                                     .buffer = tnd_buffer_hold(buffer),
                                                     .lengths = rows.columns[i].lengths};
        if (tnd_schema_ragged(self->config.schema) > 0)
            block->index = tnd_buffer_hold(buffer);
        *count_p = got;
        *end_p = got < count;
        keep(self, &fresh);
    }
    tnd_buffer_drop(&buffer);
    return status;
}
