/*  actors/cache/sample_files.c - the rows that were made of each sample, in a folder. */
#include "actors/cache/sample_files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "actors/stored/chunk_hashes.h"
#include "actors/stored/npy_file.h"
#include "actors/stored/splits.h"
#include "runtime/base/allocation.h"

typedef struct {
    tnd_stored_t rows;   /* the values, if it is ragged */
    tnd_stored_t splits; /* of a ragged one */
    char *rows_path, *splits_path;
    size_t bytes;              /* of a row, or of a unit of a ragged one */
    tnd_chunk_hashes_t hashes; /* of `rows` */
} column_t;

/*  Of a sample: its rows in the columns. */
typedef struct {
    int64_t first; /* -1: it is not stored */
    int64_t rows;
} record_t;

struct tnd_sample_files {
    const tnd_schema_t *schema;
    uint64_t samples, rows;
    char *index_path, *hashes_path;
    char *advice;
    tnd_chunk_list_t hashes;
    bool hashed; /* `hashes` is open */
    record_t *index;
    uint32_t opened, ragged; /* columns */
    column_t columns[TND_COLUMNS_MAX];
    tnd_pool_t *lists;
};

const tnd_column_t tnd_sample_files_record = {.dtype = TND_I64, .rank = 1, .shape = {2}};

/*  A name of a column may have bytes that a name of a file must not. */
char *tnd_sample_files_column(const char *folder, const tnd_schema_t *schema, uint32_t column,
                              const char *part)
{
    const char *dot = part != NULL ? "." : "";
    char *path = tnd_format_string("%s/%02" PRIu32 "-%s%s%s.npy", folder, column,
                                   schema->columns[column].name, dot, part != NULL ? part : "");
    for (char *at = path + strlen(folder) + 1; *at != '\0'; at++)
        if (*at == '/')
            *at = '_';
    return path;
}

char *tnd_sample_files_index(const char *folder)
{
    return tnd_format_string("%s/samples.npy", folder);
}

char *tnd_sample_files_hashes(const char *folder)
{
    return tnd_format_string("%s/hashes.npy", folder);
}

static const uint8_t *data_of(const tnd_stored_t *stored)
{
    return (const uint8_t *)tnd_buffer_data(stored->buffer) + stored->offset;
}

static const record_t *find(const tnd_sample_files_t *self, uint64_t sample)
{
    static const record_t none = {.first = -1};
    return sample < self->samples ? &self->index[sample] : &none;
}

/*  Takes the hashes of the next file. */
static tnd_status_t take_hashes(tnd_sample_files_t *self, const tnd_stored_t *stored,
                                tnd_chunk_hashes_t *hashes, tnd_error_t *error)
{
    return tnd_chunk_list_take(&self->hashes, hashes, stored->path, self->advice, stored->offset,
                               stored->content.size, error);
}

/*  The same, and compares all of them. */
static tnd_status_t check_all(tnd_sample_files_t *self, const tnd_stored_t *stored,
                              tnd_error_t *error)
{
    tnd_chunk_hashes_t hashes = {0};
    TND_TRY(take_hashes(self, stored, &hashes, error));
    tnd_status_t status = tnd_chunk_hashes_check(&hashes, &stored->content, stored->offset,
                                                 stored->content.size - stored->offset, error);
    tnd_chunk_hashes_free(&hashes);
    return status;
}

/*  Copies the index, because files can change.  *any_p: there are rows. */
static tnd_status_t read_index(tnd_sample_files_t *self, const tnd_stored_t *stored, bool *any_p,
                               tnd_error_t *error)
{
    if (stored->dtype != TND_I64 || stored->rank != 1 || stored->shape[0] != 2 ||
        stored->rows != self->samples)
        return tnd_fail(error, "%s: does not have two integers for each of %" PRIu64 " samples",
                        self->index_path, self->samples);
    TND_TRY(check_all(self, stored, error));
    memcpy(self->index, data_of(stored), self->samples * sizeof *self->index);
    TND_TRY(tnd_content_intact(&stored->content, error));
    for (uint64_t sample = 0; sample < self->samples; sample++)
        *any_p = *any_p || self->index[sample].rows > 0;
    return TND_OK;
}

static tnd_status_t open_index(tnd_sample_files_t *self, bool *any_p, tnd_error_t *error)
{
    tnd_stored_t stored;
    TND_TRY(tnd_npy_open(&stored, self->index_path, error));
    tnd_status_t status = read_index(self, &stored, any_p, error);
    tnd_stored_close(&stored);
    return status;
}

/*  Every sample has rows that the columns have. */
static tnd_status_t check_index(const tnd_sample_files_t *self, tnd_error_t *error)
{
    for (uint64_t sample = 0; sample < self->samples; sample++) {
        const record_t *record = &self->index[sample];
        if (record->first < -1 || record->rows < 0 || (record->first < 0 && record->rows > 0) ||
            (uint64_t)record->rows > self->rows ||
            (record->first >= 0 && (uint64_t)record->first > self->rows - (uint64_t)record->rows))
            return tnd_fail(error, "%s: sample %" PRIu64 " has rows that the columns do not have",
                            self->index_path, sample);
    }
    return TND_OK;
}

static tnd_status_t open_ragged(tnd_sample_files_t *self, const char *folder, uint32_t c,
                                uint64_t *rows_p, tnd_error_t *error)
{
    column_t *column = &self->columns[c];
    uint64_t longest;
    column->splits_path = tnd_sample_files_column(folder, self->schema, c, "splits");
    tnd_status_t status = tnd_npy_open(&column->splits, column->splits_path, error);
    if (status != TND_OK) {
        tnd_stored_close(&column->rows);
        return status;
    }
    self->opened = c + 1;
    self->ragged++;
    TND_TRY(check_all(self, &column->splits, error));
    /* A file needs an element, also where all rows are empty. */
    TND_TRY(tnd_splits_check_index(&column->splits, column->rows.rows, 1, false, &longest, error));
    *rows_p = column->splits.rows - 1;
    if (longest <= self->schema->columns[c].shape[0])
        return TND_OK;
    return tnd_fail(error, "%s: has a row that is longer than those of its column",
                    column->splits_path);
}

static tnd_status_t open_column(tnd_sample_files_t *self, const char *folder, uint32_t c,
                                tnd_error_t *error)
{
    const tnd_column_t *like = &self->schema->columns[c];
    column_t *column = &self->columns[c];
    column->rows_path =
        tnd_sample_files_column(folder, self->schema, c, like->ragged ? "values" : NULL);
    column->bytes = like->ragged ? tnd_column_unit(like) : tnd_column_bytes(like);
    TND_TRY(tnd_npy_open(&column->rows, column->rows_path, error));
    tnd_column_t stored = {.dtype = column->rows.dtype, .rank = column->rows.rank};
    uint64_t rows = column->rows.rows;
    memcpy(stored.shape, column->rows.shape, sizeof stored.shape);
    tnd_status_t status = take_hashes(self, &column->rows, &column->hashes, error);
    if (status != TND_OK) {
        tnd_stored_close(&column->rows);
        return status;
    }
    if (like->ragged)
        TND_TRY(open_ragged(self, folder, c, &rows, error));
    self->opened = c + 1;
    if (tnd_column_bytes(&stored) != column->bytes)
        return tnd_fail(error, "%s: does not have the rows of column `%s`", column->rows_path,
                        like->name);
    if (c > 0 && rows != self->rows)
        return tnd_fail(error, "%s: has %" PRIu64 " rows, and the columns before it have %" PRIu64,
                        column->rows_path, rows, self->rows);
    self->rows = rows;
    for (uint32_t part = 0; part < (like->ragged ? 2 : 1); part++)
        tnd_content_advise(part == 0 ? &column->rows.content : &column->splits.content,
                           TND_PATTERN_ALL, true);
    return TND_OK;
}

/*  Without any rows there are no columns. */
static tnd_status_t open_all(tnd_sample_files_t *self, const char *folder, tnd_error_t *error)
{
    bool any = false;
    TND_TRY(tnd_chunk_list_open(&self->hashes, self->hashes_path, -1, error));
    self->hashed = true;
    TND_TRY(open_index(self, &any, error));
    for (uint32_t c = 0; c < self->schema->count && any; c++)
        TND_TRY(open_column(self, folder, c, error));
    if (any)
        TND_TRY(tnd_chunk_list_end(&self->hashes, error));
    return check_index(self, error);
}

tnd_status_t tnd_sample_files_open(tnd_sample_files_t **self_p, const char *folder,
                                   const tnd_schema_t *schema, uint64_t samples, tnd_error_t *error)
{
    tnd_sample_files_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->schema = schema;
    self->samples = samples;
    self->index = tnd_allocate_zeroed(samples + 1, sizeof *self->index);
    self->index_path = tnd_sample_files_index(folder);
    self->hashes_path = tnd_sample_files_hashes(folder);
    self->advice = tnd_format_string("remove the folder %s, which is then made again", folder);
    tnd_status_t status = open_all(self, folder, error);
    if (status != TND_OK)
        tnd_sample_files_close(&self);
    *self_p = self;
    return status;
}

void tnd_sample_files_close(tnd_sample_files_t **self_p)
{
    tnd_sample_files_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    for (uint32_t c = 0; c < self->schema->count; c++) {
        column_t *column = &self->columns[c];
        if (c < self->opened)
            tnd_stored_close(&column->rows);
        if (c < self->opened && self->schema->columns[c].ragged)
            tnd_stored_close(&column->splits);
        tnd_chunk_hashes_free(&column->hashes);
        free(column->rows_path);
        free(column->splits_path);
    }
    if (self->hashed)
        tnd_chunk_list_close(&self->hashes);
    free(self->index);
    free(self->index_path);
    free(self->hashes_path);
    free(self->advice);
    tnd_pool_destroy(&self->lists);
    free(self);
}

bool tnd_sample_files_has(const tnd_sample_files_t *self, uint64_t sample)
{
    return find(self, sample)->first >= 0;
}

tnd_status_t tnd_sample_files_fit(const tnd_sample_files_t *self, const uint64_t *samples,
                                  uint32_t *count_p, uint64_t budget, uint64_t *ragged_p,
                                  tnd_error_t *error)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < *count_p && self->ragged > 0; i++) {
        const record_t *record = find(self, samples[i]);
        uint64_t first = (uint64_t)record->first, rows = (uint64_t)record->rows, ragged = 0;
        for (uint32_t c = 0; c < self->schema->count && rows > 0; c++) {
            const column_t *column = &self->columns[c];
            uint64_t begin, end, last;
            if (!self->schema->columns[c].ragged)
                continue;
            TND_TRY(tnd_splits_row(&column->splits, &column->rows, first, &begin, &last, error));
            TND_TRY(tnd_splits_row(&column->splits, &column->rows, first + rows - 1, &last, &end,
                                   error));
            ragged += (end > begin ? end - begin : 0) * column->bytes;
        }
        if (ragged > budget - sum) {
            *ragged_p = i > 0 ? sum : ragged;
            *count_p = i;
            return TND_OK;
        }
        sum += ragged;
    }
    *ragged_p = sum;
    return TND_OK;
}

/* --- blocks ----------------------------------------------------------------------------------- */

/*  Finds the values of the rows in `numbers`. */
static tnd_status_t find_ragged(column_t *column, const uint64_t *numbers, uint32_t count,
                                uint64_t *offsets, uint64_t *lengths, tnd_error_t *error)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t begin, end;
        TND_TRY(tnd_splits_row(&column->splits, &column->rows, numbers[i], &begin, &end, error));
        offsets[i] = begin * column->bytes;
        lengths[i] = end - begin;
        size_t offset = column->rows.offset + offsets[i], size = lengths[i] * column->bytes;
        TND_TRY(
            tnd_chunk_hashes_check(&column->hashes, &column->rows.content, offset, size, error));
        if (size > 0)
            TND_TRY(tnd_mapping_populate(column->rows.content.mapping, offset, size, error));
    }
    return TND_OK;
}

/*  The lists of a block: rows of the fixed columns, which are those of the files, an offset and a
 *  length for each ragged one, and the origins. */
typedef struct {
    uint64_t *numbers;
    uint64_t *next; /* the rest */
    uint32_t *origin;
    uint32_t rows;
} lists_t;

static tnd_status_t check_rows(const column_t *column, const uint64_t *numbers, uint32_t count,
                               tnd_error_t *error)
{
    for (uint32_t i = 0; i < count; i++)
        TND_TRY(tnd_chunk_hashes_check(&column->hashes, &column->rows.content,
                                       column->rows.offset + numbers[i] * column->bytes,
                                       column->bytes, error));
    return TND_OK;
}

static tnd_status_t fill_columns(tnd_sample_files_t *self, lists_t *lists, tnd_block_t *block,
                                 tnd_error_t *error)
{
    for (uint32_t c = 0; c < self->schema->count && lists->rows > 0; c++) {
        column_t *column = &self->columns[c];
        tnd_block_column_t *to = &block->columns[c];
        *to = (tnd_block_column_t){.base = data_of(&column->rows),
                                   .stride = column->bytes,
                                   .index = lists->numbers,
                                   .buffer = tnd_buffer_hold(column->rows.buffer)};
        if (!self->schema->columns[c].ragged) {
            TND_TRY(check_rows(column, lists->numbers, lists->rows, error));
            TND_TRY(tnd_mapping_populate_rows(column->rows.content.mapping, column->rows.offset,
                                              column->bytes, lists->numbers, lists->rows, error));
            continue;
        }
        to->stride = 1;
        to->index = lists->next;
        to->lengths = lists->next + lists->rows;
        TND_TRY(find_ragged(column, lists->numbers, lists->rows, lists->next,
                            lists->next + lists->rows, error));
        lists->next += 2 * (size_t)lists->rows;
    }
    return TND_OK;
}

tnd_status_t tnd_sample_files_fill(tnd_sample_files_t *self, const uint64_t *samples,
                                   uint32_t count, tnd_block_t *block, tnd_error_t *error)
{
    uint64_t total = 0;
    bool marked = false;
    for (uint32_t i = 0; i < count; i++) {
        const record_t *record = find(self, samples[i]);
        total += (uint64_t)record->rows;
        marked = marked || record->rows != 1;
    }
    size_t list = total * sizeof(uint64_t);
    tnd_buffer_t *memory = tnd_pool_take_of(&self->lists, (1 + 2 * (size_t)self->ragged) * list +
                                                              total * sizeof(uint32_t) + 1);
    lists_t lists = {.numbers = tnd_buffer_data(memory), .rows = (uint32_t)total};
    lists.next = lists.numbers + total;
    lists.origin = (uint32_t *)(void *)(lists.next + 2 * (size_t)self->ragged * total);
    uint64_t to = 0;
    for (uint32_t i = 0; i < count; i++) {
        const record_t *record = find(self, samples[i]);
        for (int64_t row = 0; row < record->rows; row++, to++) {
            lists.numbers[to] = (uint64_t)(record->first + row);
            lists.origin[to] = i;
        }
    }
    block->note.rows = (uint32_t)total;
    block->note.origin = marked ? lists.origin : NULL;
    block->index = memory;
    tnd_status_t status = fill_columns(self, &lists, block, error);
    tnd_buffer_seal(memory);
    if (marked)
        block->marks = tnd_buffer_hold(memory);
    return status;
}

uint64_t tnd_sample_files_list_bytes(uint64_t samples)
{
    return samples * sizeof(record_t);
}
