/*  actors/reader/stream_reader.c - reads a source that writes its rows, into packed blocks. */
#include "actors/reader/stream_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"
#include "runtime/data/room.h"

enum { SKIP_ROWS = 256 };

/*  Rows that were read: from the `offset`-th on in a block.  One that was refused has none. */
typedef struct {
    tnd_block_t *block;
    char *why;    /* of a row that was refused; else NULL */
    size_t bytes; /* of its buffers */
    uint64_t first;
    uint32_t rows, offset;
} stored_rows_t;

/*  Rows of the block that is being filled: columns of fixed shape and lists of ragged rows in a
 *  buffer of the pool, the bytes of ragged rows in the room. */
typedef struct {
    tnd_buffer_t *buffer;
    uint64_t *index[TND_COLUMNS_MAX], *lengths[TND_COLUMNS_MAX];
    tnd_rows_t rows;
} filled_t;

struct tnd_stream_reader {
    tnd_stream_reader_config_t config;
    size_t bytes[TND_COLUMNS_MAX]; /* of a row, by column of fixed shape */
    tnd_pool_t *pool;
    size_t pool_bytes;
    tnd_room_t room;
    tnd_ragged_t *ragged; /* the rows that are written, column by column */
    size_t ragged_room;
    /* of a source that is not RANDOM */
    tnd_block_pool_t *block_pool;
    bool begun;
    uint32_t epoch;
    uint64_t next, end;  /* the next row to read; TND_UNKNOWN: the end was not reached */
    stored_rows_t *kept; /* ring */
    size_t kept_first, kept_count, kept_room;
    uint64_t kept_bytes;
    tnd_stream_refusal_t *refused; /* of the last read */
    size_t refused_count, refused_room;
};

tnd_stream_reader_t *tnd_stream_reader_new(const tnd_stream_reader_config_t *config)
{
    tnd_stream_reader_t *self = tnd_allocate(1, sizeof *self);
    *self = (tnd_stream_reader_t){
        .config = *config, .block_pool = tnd_block_pool_new(), .end = TND_UNKNOWN};
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
    self->kept_bytes -= kept->bytes;
    tnd_block_drop(&kept->block);
    free(kept->why);
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
    tnd_block_pool_destroy(&self->block_pool);
    tnd_room_fini(&self->room);
    free(self->ragged);
    free(self->kept);
    free(self->refused);
    free(self);
}

const tnd_stream_refusal_t *tnd_stream_reader_refused(const tnd_stream_reader_t *self,
                                                      uint32_t *count_p)
{
    *count_p = (uint32_t)self->refused_count;
    return self->refused;
}

static void add_refused(tnd_stream_reader_t *self, uint32_t offset, const char *why)
{
    self->refused =
        tnd_grow(self->refused, self->refused_count, &self->refused_room, sizeof *self->refused);
    tnd_stream_refusal_t *refusal = &self->refused[self->refused_count++];
    refusal->offset = offset;
    snprintf(refusal->why, sizeof refusal->why, "%s", why);
}

/*  NULL has no other address. */
static void *address(uint8_t *base, size_t offset)
{
    return base != NULL ? base + offset : NULL;
}

/*  Lays out a buffer for `count` rows; with `base` NULL only adds it up. */
static size_t lay_out(tnd_stream_reader_t *self, uint8_t *base, uint32_t count, filled_t *filled)
{
    const tnd_schema_t *schema = self->config.schema;
    size_t list = tnd_round_up(count * sizeof(uint64_t), TND_BUFFER_ALIGN), used = 0, ragged = 0;
    filled->rows = (tnd_rows_t){.count = count, .room = &self->room};
    for (uint32_t i = 0; i < schema->count; i++) {
        filled->index[i] = filled->lengths[i] = NULL;
        if (!schema->columns[i].ragged) {
            filled->rows.columns[i].data = address(base, used);
            filled->rows.columns[i].stride = self->bytes[i];
            used += tnd_round_up(count * self->bytes[i], TND_BUFFER_ALIGN);
            continue;
        }
        filled->rows.columns[i].ragged = self->ragged + count * ragged++;
        filled->index[i] = address(base, used);
        filled->lengths[i] = address(base, used + list);
        used += 2 * list;
    }
    return used;
}

static void begin(tnd_stream_reader_t *self, uint32_t count, filled_t *filled)
{
    size_t ragged = count * (size_t)tnd_schema_ragged(self->config.schema);
    if (ragged > self->ragged_room) {
        free(self->ragged);
        self->ragged = tnd_allocate(ragged, sizeof *self->ragged);
        self->ragged_room = ragged;
    }
    if (ragged > 0)
        memset(self->ragged, 0, ragged * sizeof *self->ragged);
    size_t need = lay_out(self, NULL, count, filled);
    if (need > self->pool_bytes) {
        tnd_pool_destroy(&self->pool);
        self->pool_bytes = need;
        self->pool = tnd_pool_new(need);
    }
    filled->buffer = tnd_pool_take(self->pool);
    (void)lay_out(self, tnd_buffer_data(filled->buffer), count, filled);
    tnd_room_serve(&self->room, self->config.schema, NULL, NULL);
}

/*  Gives `block` the first `count` rows.  Returns the bytes of its buffers. */
static size_t finish(tnd_stream_reader_t *self, filled_t *filled, uint32_t count,
                     tnd_block_t *block)
{
    const tnd_schema_t *schema = self->config.schema;
    tnd_buffer_t *room = tnd_room_buffer(&self->room);
    size_t bytes = tnd_buffer_size(filled->buffer) + (room != NULL ? tnd_buffer_size(room) : 0);
    tnd_buffer_seal(filled->buffer);
    for (uint32_t i = 0; i < schema->count; i++) {
        uint64_t *index = filled->index[i], *lengths = filled->lengths[i];
        if (index == NULL) {
            block->columns[i] = (tnd_block_column_t){.base = filled->rows.columns[i].data,
                                                     .stride = self->bytes[i],
                                                     .buffer = tnd_buffer_hold(filled->buffer)};
            continue;
        }
        for (uint32_t row = 0; row < count; row++) {
            index[row] = (uintptr_t)filled->rows.columns[i].ragged[row].data;
            lengths[row] = filled->rows.columns[i].ragged[row].length;
        }
        bytes += tnd_room_column(index, lengths, count, tnd_column_unit(&schema->columns[i]), room,
                                 &block->columns[i]);
    }
    if (tnd_schema_ragged(schema) > 0)
        block->index = tnd_buffer_hold(filled->buffer);
    return bytes;
}

/*  Drops what `begin` took, but for what a block holds. */
static void clear(tnd_stream_reader_t *self, filled_t *filled)
{
    tnd_buffer_drop(&filled->buffer);
    tnd_room_clear(&self->room);
}

/*  The rows from row `done` on. */
static tnd_rows_t rows_from(const tnd_stream_reader_t *self, const filled_t *filled, uint32_t done)
{
    tnd_rows_t rows = filled->rows;
    rows.count -= done;
    for (uint32_t i = 0; i < self->config.schema->count; i++) {
        if (rows.columns[i].ragged != NULL)
            rows.columns[i].ragged += done;
        else
            rows.columns[i].data = tnd_rows_at(&filled->rows, i, done);
    }
    return rows;
}

/*  How many rows of a ticket were read: with those that were refused, and without. */
typedef struct {
    uint32_t all, good;
} progress_t;

/*  Calls the source once, for the rows from self->next on, whose numbers are index[done->all ...
 *  count).  */
static tnd_status_t fill_some(tnd_stream_reader_t *self, const uint64_t *index, uint32_t count,
                              const filled_t *filled, progress_t *done, tnd_error_t *error)
{
    tnd_rows_t rows = rows_from(self, filled, done->good);
    rows.count = count - done->all;
    tnd_error_t why = {.text = "it is not a valid record"};
    tnd_status_t status =
        self->config.source->fill(self->config.state, index + done->all, &rows, &why);
    if (status == TND_FAILED || status == TND_AGAIN || status == TND_STOPPED) {
        *error = why;
        return TND_FAILED;
    }
    uint32_t got = status == TND_OK ? count - done->all : (uint32_t)rows.count;
    done->good += got;
    done->all += got;
    self->next += got;
    if (status == TND_REFUSED) {
        add_refused(self, done->all++, why.text);
        self->next++;
    } else if (status == TND_END) {
        self->end = self->next;
    }
    return TND_OK;
}

/*  Reads the rows from self->next on, whose numbers are in `index`. */
static tnd_status_t read_on(tnd_stream_reader_t *self, const uint64_t *index, uint32_t count,
                            const filled_t *filled, progress_t *done, tnd_error_t *error)
{
    while (done->all < count && self->next != self->end)
        TND_TRY(fill_some(self, index, count, filled, done, error));
    return TND_OK;
}

/*  Whether rows that may be needed again are kept. */
static bool keeps(const tnd_stream_reader_t *self)
{
    return (self->config.caps & (TND_SOURCE_REWINDS | TND_SOURCE_RANDOM)) == 0;
}

/*  Makes room for one more. */
static stored_rows_t *add_kept(tnd_stream_reader_t *self, size_t bytes)
{
    while (self->kept_count > 0 && self->kept_bytes + bytes > self->config.retain_bytes)
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
    self->kept_bytes += bytes;
    self->kept_count++;
    return kept_at(self, self->kept_count - 1);
}

/*  Keeps `rows` rows of `from`, from row `offset` on, which may be needed again. */
static void keep(tnd_stream_reader_t *self, const tnd_block_t *from, size_t bytes, uint64_t first,
                 uint32_t offset, uint32_t rows)
{
    if (rows == 0)
        return;
    tnd_block_t *block = tnd_block_pool_take(self->block_pool, self->config.schema);
    for (uint32_t i = 0; i < self->config.schema->count; i++) {
        block->columns[i] = from->columns[i];
        tnd_buffer_hold(block->columns[i].buffer);
    }
    if (from->index != NULL)
        block->index = tnd_buffer_hold(from->index);
    tnd_block_seal(block);
    *add_kept(self, bytes) = (stored_rows_t){
        .block = block, .bytes = bytes, .first = first, .rows = rows, .offset = offset};
}

/*  Keeps what was read of a ticket from position `from.all` on, where row `first` is, in runs of
 *  rows between those that were refused. */
static void keep_all(tnd_stream_reader_t *self, const tnd_block_t *block, size_t bytes,
                     uint64_t first, progress_t from, progress_t done)
{
    if (!keeps(self))
        return;
    for (size_t i = 0; i < self->refused_count; i++) {
        const tnd_stream_refusal_t *refusal = &self->refused[i];
        if (refusal->offset < from.all)
            continue;
        uint32_t rows = refusal->offset - from.all;
        keep(self, block, bytes, first, from.good, rows);
        bytes = rows > 0 ? 0 : bytes;
        *add_kept(self, sizeof *refusal) = (stored_rows_t){.why = tnd_copy_string(refusal->why),
                                                           .bytes = sizeof *refusal,
                                                           .first = first + rows,
                                                           .rows = 1};
        first += rows + 1;
        from.good += rows;
        from.all += rows + 1;
    }
    keep(self, block, bytes, first, from.good, done.all - from.all);
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

/*  Copies row `row` of a kept block to row `to`. */
static void copy_row(const tnd_stream_reader_t *self, const tnd_block_t *block, uint32_t row,
                     tnd_rows_t *rows, uint32_t to)
{
    for (uint32_t i = 0; i < self->config.schema->count; i++) {
        size_t bytes = tnd_block_row_bytes(block, i, row);
        void *at = block->columns[i].lengths != NULL
                       ? tnd_rows_room(rows, i, to, block->columns[i].lengths[row])
                       : tnd_rows_at(rows, i, to);
        if (bytes > 0)
            memcpy(at, tnd_block_row(block, i, row), bytes);
    }
}

/*  Copies what is kept of the rows from `first` on. */
static progress_t copy_kept(tnd_stream_reader_t *self, uint64_t first, uint32_t count,
                            tnd_rows_t *rows)
{
    progress_t done = {0, 0};
    while (done.all < count && first + done.all < self->next) {
        const stored_rows_t *kept = find_kept(self, first + done.all);
        if (kept == NULL)
            break;
        if (kept->why != NULL) {
            add_refused(self, done.all++, kept->why);
            continue;
        }
        uint32_t row = (uint32_t)(first + done.all - kept->first);
        for (; row < kept->rows && done.all < count; row++, done.all++)
            copy_row(self, kept->block, kept->offset + row, rows, done.good++);
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
    if ((self->config.caps & TND_SOURCE_SEEKS) != 0)
        self->next = first;
    uint64_t index[SKIP_ROWS];
    while (self->next < first && self->next != self->end) {
        uint32_t some = first - self->next < SKIP_ROWS ? (uint32_t)(first - self->next) : SKIP_ROWS;
        progress_t done = {0, 0};
        uint64_t from = self->next;
        for (uint32_t i = 0; i < some; i++)
            index[i] = from + i;
        filled_t filled;
        begin(self, some, &filled);
        tnd_status_t status = read_on(self, index, some, &filled, &done, error);
        if (status == TND_OK && keeps(self)) {
            tnd_block_t *block = tnd_block_pool_take(self->block_pool, self->config.schema);
            size_t bytes = finish(self, &filled, done.good, block);
            keep_all(self, block, bytes, from, (progress_t){0, 0}, done);
            tnd_block_drop(&block);
        }
        self->refused_count = 0;
        clear(self, &filled);
        TND_TRY(status);
    }
    return TND_OK;
}

/*  Reads rows one after the other, of which those that are kept are copied: up to *from_p. */
static tnd_status_t read_in_order(tnd_stream_reader_t *self, uint32_t epoch, const uint64_t *index,
                                  uint32_t count, filled_t *filled, progress_t *from_p,
                                  progress_t *done_p, tnd_error_t *error)
{
    bool here = self->begun && epoch == self->epoch;
    bool kept = here && (self->config.caps & TND_SOURCE_REWINDS) == 0 && index[0] < self->next &&
                find_kept(self, index[0]) != NULL;
    if (!kept && !(here && index[0] >= self->end))
        TND_TRY(go_to(self, epoch, index[0], error));
    begin(self, count, filled);
    if (kept)
        *done_p = copy_kept(self, index[0], count, &filled->rows);
    *from_p = *done_p;
    if (done_p->all < count && self->next == index[0] + done_p->all)
        TND_TRY(read_on(self, index, count, filled, done_p, error));
    return TND_OK;
}

tnd_status_t tnd_stream_reader_read(tnd_stream_reader_t *self, uint32_t epoch,
                                    const uint64_t *index, uint32_t *count_p, tnd_block_t *block,
                                    bool *end_p, tnd_error_t *error)
{
    uint32_t count = *count_p;
    progress_t done = {0, 0}, from = {0, 0};
    filled_t filled = {.buffer = NULL};
    tnd_status_t status;
    self->refused_count = 0;
    if ((self->config.caps & TND_SOURCE_RANDOM) != 0) {
        begin(self, count, &filled);
        done = (progress_t){count, count};
        status = self->config.source->fill(self->config.state, index, &filled.rows, error);
        if (status == TND_END)
            status =
                tnd_fail(error, "%s: the source ends before the number of rows that it reported",
                         self->config.name);
    } else {
        status = read_in_order(self, epoch, index, count, &filled, &from, &done, error);
    }
    if (status == TND_OK) {
        size_t bytes = finish(self, &filled, done.good, block);
        keep_all(self, block, bytes, index[0] + from.all, from, done);
        *count_p = done.all;
        *end_p = done.all < count;
    }
    clear(self, &filled);
    return status;
}
