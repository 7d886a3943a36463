/*  actors/source/columns.c - columns whose rows lie one after the other.  */
#include "actors/source/columns.h"

#include <assert.h>
#include <string.h>

#include <xxhash.h>

enum { IDENTITY_BYTES = 64 * 1024 };

uint64_t tnd_columns_identity(const void *data, size_t size)
{
    size_t end = size < IDENTITY_BYTES ? size : IDENTITY_BYTES;
    uint64_t hash = XXH3_64bits_withSeed(data, end, size);
    return XXH3_64bits_withSeed((const uint8_t *)data + size - end, end, hash);
}

void tnd_stored_close(tnd_stored_t *self)
{
    tnd_buffer_drop(&self->buffer);
    tnd_mapping_destroy(&self->mapping);
}

static tnd_status_t check_rows(const tnd_columns_t *self, const tnd_stored_t *stored,
                               tnd_error_t *error)
{
    if (self->schema.count == 0 || stored->rows == self->stored[0].rows)
        return TND_OK;
    return tnd_fail(error,
                    "%s has %llu rows, but %s has %llu: columns of one source need equal counts; "
                    "do these files belong together?",
                    stored->path, (unsigned long long)stored->rows, self->stored[0].path,
                    (unsigned long long)self->stored[0].rows);
}

tnd_status_t tnd_columns_add(tnd_columns_t *self, const char *name, tnd_stored_t *stored,
                             tnd_error_t *error)
{
    uint32_t at = self->schema.count;
    tnd_error_t why;
    tnd_status_t status = check_rows(self, stored, error);
    if (status == TND_OK && tnd_schema_add(&self->schema, name, stored->dtype, stored->rank,
                                           stored->shape, &why) != TND_OK)
        status = tnd_fail(error, "%s: %s", stored->path, why.text);
    if (status != TND_OK) {
        tnd_stored_close(stored);
        return status;
    }
    self->row_bytes[at] = tnd_column_bytes(&self->schema.columns[at]);
    assert(stored->offset + stored->rows * self->row_bytes[at] <= tnd_buffer_size(stored->buffer));
    self->stored[at] = *stored;
    return TND_OK;
}

tnd_status_t tnd_columns_open(tnd_columns_t *self, const tnd_pairs_t *files,
                              tnd_stored_open_fn *open, tnd_source_facts_t *facts,
                              tnd_error_t *error)
{
    tnd_status_t status = TND_OK;
    if (files->count == 0)
        status = tnd_fail(error, "the source names no file; write `COLUMN: PATH` for each column");
    for (size_t i = 0; i < files->count && status == TND_OK; i++) {
        tnd_stored_t stored = {0};
        status = open(&stored, files->items[i].text, error);
        if (status != TND_OK)
            break;
        stored.path = files->items[i].text;
        status = tnd_columns_add(self, files->items[i].name, &stored, error);
    }
    if (status != TND_OK) {
        tnd_columns_close(self);
        return status;
    }
    tnd_columns_facts(self, facts);
    return TND_OK;
}

void tnd_columns_facts(const tnd_columns_t *self, tnd_source_facts_t *facts)
{
    assert(self->schema.count > 0);
    facts->schema = self->schema;
    facts->count = self->stored[0].rows;
    facts->identity = facts->count;
    for (uint32_t i = 0; i < self->schema.count; i++)
        facts->identity =
            XXH3_64bits_withSeed(&self->stored[i].identity, sizeof(uint64_t), facts->identity);
}

/*  Whether the rows stand in one run, which needs no index list.  TND_FAILED: there is no such
 *  row.
 */
static tnd_status_t look_at_index(const tnd_columns_t *self, const uint64_t *index, uint32_t count,
                                  bool *run_p, tnd_error_t *error)
{
    uint64_t rows = self->stored[0].rows;
    bool run = true;
    for (uint32_t i = 0; i < count; i++) {
        if (index[i] >= rows)
            return tnd_fail(error, "%s: row %llu was asked for, but there are only %llu",
                            self->stored[0].path, (unsigned long long)index[i],
                            (unsigned long long)rows);
        run &= index[i] == index[0] + i;
    }
    *run_p = run;
    return TND_OK;
}

/*  Waits here for the pages of the rows, so that nobody downstream does. */
static tnd_status_t fault_in(tnd_stored_t *stored, size_t row_bytes, const uint64_t *index,
                             uint32_t count, bool run, tnd_error_t *error)
{
    if (stored->mapping == NULL)
        return TND_OK;
    TND_TRY(tnd_mapping_check(stored->mapping, error));
    if (run)
        return tnd_mapping_populate(stored->mapping, stored->offset + index[0] * row_bytes,
                                    count * row_bytes, error);
    for (uint32_t i = 0; i < count; i++)
        TND_TRY(tnd_mapping_populate(stored->mapping, stored->offset + index[i] * row_bytes,
                                     row_bytes, error));
    return TND_OK;
}

tnd_status_t tnd_columns_read(tnd_columns_t *self, tnd_buffer_t *index_buffer, uint32_t count,
                              tnd_block_t *block, tnd_error_t *error)
{
    if (count == 0)
        return TND_OK;
    const uint64_t *index = tnd_buffer_data(index_buffer);
    bool run = false;
    TND_TRY(look_at_index(self, index, count, &run, error));
    for (uint32_t i = 0; i < self->schema.count; i++)
        TND_TRY(fault_in(&self->stored[i], self->row_bytes[i], index, count, run, error));
    for (uint32_t i = 0; i < self->schema.count; i++) {
        const tnd_stored_t *stored = &self->stored[i];
        const uint8_t *base = (const uint8_t *)tnd_buffer_data(stored->buffer) + stored->offset;
        block->columns[i] =
            (tnd_block_column_t){.base = run ? base + index[0] * self->row_bytes[i] : base,
                                 .stride = self->row_bytes[i],
                                 .index = run ? NULL : index,
                                 .buffer = tnd_buffer_hold(stored->buffer)};
    }
    if (!run)
        block->index = tnd_buffer_hold(index_buffer);
    return TND_OK;
}

void tnd_columns_close(tnd_columns_t *self)
{
    for (uint32_t i = 0; i < self->schema.count; i++)
        tnd_stored_close(&self->stored[i]);
    *self = (tnd_columns_t){0};
}
