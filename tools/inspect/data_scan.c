/*  tools/inspect/data_scan.c - reads all rows of a source. */
#include "tools/inspect/data_scan.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/reader/stream_reader.h"
#include "runtime/text/printable.h"
#include "tools/new/file_head.h"

enum { ROWS = 256 };

/*  The bytes of ragged rows that are read at once, unless one row has more. */
static const uint64_t bytes_at_once = (uint64_t)4 << 20;

typedef struct {
    tnd_data_scan_t *scan;
    tnd_data_source_t *data;
    tnd_block_pool_t *pool;
    uint64_t most;
    void (*progress)(void *context, uint64_t done, uint64_t all);
    void *context;
    size_t fixed;    /* bytes of the columns of one size */
    uint32_t ragged; /* the first ragged column; the number of columns if it is not one of bytes */
} scanner_t;

bool tnd_data_scan_needed(const tnd_data_source_t *data)
{
    return tnd_schema_ragged(&data->facts.schema) > 0;
}

static bool is_text(const uint8_t *row, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!tnd_is_text_byte(row[i]))
            return false;
    return true;
}

/*  Keeps the first rows if the first of them is text; what cannot be printed becomes `?`. */
static void keep_line(tnd_data_scan_t *scan, const uint8_t *row, size_t size)
{
    char *line = scan->lines[scan->line_count];
    size_t kept = size < sizeof scan->lines[0] - 1 ? size : sizeof scan->lines[0] - 1;
    if (scan->line_count == 0 && (scan->keys.records > 1 || !is_text(row, kept)))
        return;
    if (kept < size) /* not in the middle of a character */
        for (kept -= 3; kept > 0 && (row[kept] & 0xc0) == 0x80;)
            kept--;
    for (size_t i = 0; i < kept; i++)
        line[i] = (char)(isspace(row[i]) ? ' ' : row[i] != 0 ? row[i] : '?');
    strcpy(line + kept, kept < size ? "..." : "");
    tnd_printable(line, sizeof scan->lines[0]);
    scan->line_count++;
}

static void note_damage(scanner_t *self, uint64_t index, const char *why)
{
    tnd_data_scan_t *scan = self->scan;
    if (scan->damaged++ >= TND_SCAN_DAMAGE_MAX)
        return;
    tnd_scan_damage_t *damage = &scan->damage[scan->damaged - 1];
    damage->place = (tnd_source_place_t){.record = index};
    if (self->data->source->where != NULL)
        self->data->source->where(self->data->state, index, &damage->place);
    snprintf(damage->why, sizeof damage->why, "%s", why);
}

/*  Reads the header of a picture. */
static void take_picture(scanner_t *self, uint64_t index, const uint8_t *bytes, size_t size)
{
    tnd_data_scan_t *scan = self->scan;
    uint32_t height, width;
    tnd_error_t error;
    if (tnd_decoder_open(scan->pictures, bytes, size, &height, &width, &error) != TND_OK) {
        note_damage(self, index, error.text);
    } else if ((uint64_t)height * width > scan->pixels_max) {
        scan->pixels_max = (uint64_t)height * width;
        scan->pixels_row = index;
    }
}

/*  Gives a row to the caller.  Lines are counted, because sources know offsets only. */
static void give_row(scanner_t *self, uint64_t index, const uint8_t *row, size_t size)
{
    tnd_data_scan_t *scan = self->scan;
    tnd_source_place_t place = {.file = ""};
    if (self->data->source->where != NULL)
        self->data->source->where(self->data->state, index, &place);
    bool first = scan->next_line == 0 || place.file != scan->place.file;
    uint64_t line = first ? 1 : scan->next_line;
    scan->place = (tnd_record_place_t){.file = place.file, .line = line, .first = first};
    scan->next_line = line + 1;
    for (const uint8_t *at = row, *end = row + size;
         at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
        scan->next_line++;
    scan->take(scan->taker, &scan->place, row, size);
}

/*  Takes row `row` of a block, which is row `index` of the source. */
static void take_row(scanner_t *self, const tnd_block_t *block, uint32_t row, uint64_t index)
{
    tnd_data_scan_t *scan = self->scan;
    tnd_size_counts_add(&scan->sizes, self->fixed + tnd_block_row_ragged(block, row));
    if (self->ragged == block->column_count)
        return;
    const uint8_t *bytes = tnd_block_row(block, self->ragged, row);
    size_t size = tnd_block_row_bytes(block, self->ragged, row);
    if (scan->take != NULL)
        give_row(self, index, bytes, size);
    if (scan->pictures != NULL)
        take_picture(self, index, bytes, size);
    if (scan->keys.records >= TND_SCAN_FIRST_RECORDS && scan->keys.examples < scan->keys.records)
        return;
    (void)tnd_example_keys_add(&scan->keys, bytes, size);
    if (scan->line_count < TND_SCAN_LINES)
        keep_line(scan, bytes, size);
}

/*  Reads `count` rows from `first` on into a block. */
static tnd_status_t read_rows(scanner_t *self, uint64_t first, uint32_t count, uint64_t ragged,
                              tnd_block_t **block_p, tnd_error_t *error)
{
    const tnd_source_facts_t *facts = &self->data->facts;
    size_t room = facts->copied > 0 ? self->fixed * count + ragged + TND_COLUMNS_MAX * 64 : 0;
    tnd_source_call_t call = {
        .indices = tnd_buffer_new((1 + (size_t)facts->lists) * count * sizeof(uint64_t)),
        .room = room > 0 ? tnd_buffer_new(room) : NULL,
        .count = count};
    uint64_t *index = tnd_buffer_data(call.indices);
    for (uint32_t i = 0; i < count; i++)
        index[i] = first + i;
    *block_p = tnd_block_pool_take(self->pool, &facts->schema);
    (*block_p)->note.rows = count;
    tnd_status_t status = self->data->source->read(self->data->state, &call, *block_p, error);
    tnd_buffer_drop(&call.indices);
    tnd_buffer_drop(&call.room);
    tnd_block_seal(*block_p);
    if (status == TND_OK)
        return TND_OK;
    tnd_block_drop(block_p);
    return status;
}

/*  Takes `count` rows, one by one if one of them is damaged. */
static tnd_status_t take_rows(scanner_t *self, uint64_t first, uint32_t count,
                              const uint64_t *sizes, tnd_error_t *error)
{
    tnd_block_t *block = NULL;
    uint64_t ragged = 0;
    for (uint32_t i = 0; i < count; i++)
        ragged += sizes[i];
    tnd_status_t status = read_rows(self, first, count, ragged, &block, error);
    if (status == TND_OK) {
        for (uint32_t i = 0; i < count; i++)
            take_row(self, block, i, first + i);
        status = tnd_block_intact(block, 0, count, error);
        tnd_block_drop(&block);
    } else if (status == TND_REFUSED && count == 1) {
        note_damage(self, first, error->text);
        status = TND_OK;
    } else if (status == TND_REFUSED) {
        status = TND_OK;
        for (uint32_t i = 0; i < count && status == TND_OK; i++)
            status = take_rows(self, first + i, 1, &sizes[i], error);
    }
    return status;
}

static void report(const scanner_t *self)
{
    if (self->progress != NULL)
        self->progress(self->context, self->scan->records, self->data->facts.count);
}

/*  Of a source that gives any row. */
static tnd_status_t scan_random(scanner_t *self, tnd_error_t *error)
{
    uint64_t index[ROWS], sizes[ROWS], all = self->most;
    for (uint64_t first = 0; first < all;) {
        uint32_t count = 0, most = all - first < ROWS ? (uint32_t)(all - first) : ROWS;
        for (uint32_t i = 0; i < most; i++)
            index[i] = first + i;
        TND_TRY(self->data->source->sizes(self->data->state, index, most, sizes, error));
        for (uint64_t bytes = 0;
             count < most && (count == 0 || bytes + sizes[count] <= bytes_at_once);)
            bytes += sizes[count++];
        TND_TRY(take_rows(self, first, count, sizes, error));
        first += count;
        self->scan->records = first;
        report(self);
    }
    return TND_OK;
}

/*  Of a source that writes its rows one after the other. */
static tnd_status_t scan_stream(scanner_t *self, tnd_stream_reader_t *reader, tnd_error_t *error)
{
    uint64_t index[ROWS];
    for (bool end = false; !end;) {
        uint64_t first = self->scan->records, longest = self->scan->sizes.max + 1;
        uint64_t fits = bytes_at_once / longest;
        uint32_t count = first == 0 || fits == 0 ? 1 : fits < ROWS ? (uint32_t)fits : ROWS;
        for (uint32_t i = 0; i < count; i++)
            index[i] = first + i;
        if (self->most - first < count)
            count = (uint32_t)(self->most - first);
        if (count == 0)
            break;
        tnd_block_t *block = tnd_block_pool_take(self->pool, &self->data->facts.schema);
        tnd_status_t status = tnd_stream_reader_read(reader, 0, index, &count, block, &end, error);
        uint32_t refused_count = 0;
        const tnd_stream_refusal_t *refused = tnd_stream_reader_refused(reader, &refused_count);
        block->note.rows = count - refused_count;
        tnd_block_seal(block);
        for (uint32_t i = 0; status == TND_OK && i < block->note.rows; i++)
            take_row(self, block, i, first + i);
        for (uint32_t i = 0; status == TND_OK && i < refused_count; i++)
            note_damage(self, first + refused[i].offset, refused[i].why);
        tnd_block_drop(&block);
        TND_TRY(status);
        self->scan->records += count;
        report(self);
    }
    return TND_OK;
}

/*  The column of bytes of this name; NULL: the first one. */
static uint32_t find_bytes(const tnd_schema_t *schema, const char *name)
{
    uint32_t c = 0;
    while (c < schema->count && !(schema->columns[c].ragged && schema->columns[c].rank == 1 &&
                                  schema->columns[c].dtype == TND_U8 &&
                                  (name == NULL || strcmp(schema->columns[c].name, name) == 0)))
        c++;
    return c;
}

tnd_status_t tnd_data_scan_run(tnd_data_scan_t *self, tnd_data_source_t *data, uint64_t most,
                               void (*progress)(void *context, uint64_t done, uint64_t all),
                               void *context, tnd_error_t *error)
{
    const tnd_schema_t *schema = &data->facts.schema;
    scanner_t scanner = {.scan = self,
                         .data = data,
                         .pool = tnd_block_pool_new(),
                         .most = most < data->facts.count ? most : data->facts.count,
                         .progress = progress,
                         .context = context,
                         .fixed = tnd_schema_row_bytes(schema) - tnd_schema_ragged_bytes(schema),
                         .ragged = find_bytes(schema, self->column)};
    tnd_status_t status;
    if (data->source->sizes != NULL && (data->facts.caps & TND_SOURCE_RANDOM) != 0) {
        status = scan_random(&scanner, error);
    } else {
        const tnd_stream_reader_config_t config = {.source = data->source,
                                                   .state = data->state,
                                                   .schema = schema,
                                                   .name = "inspect",
                                                   .caps = data->facts.caps};
        tnd_stream_reader_t *reader = tnd_stream_reader_new(&config);
        status = scan_stream(&scanner, reader, error);
        tnd_stream_reader_destroy(&reader);
    }
    tnd_block_pool_destroy(&scanner.pool);
    return status;
}

void tnd_data_scan_free(tnd_data_scan_t *self)
{
    tnd_size_counts_free(&self->sizes);
}
