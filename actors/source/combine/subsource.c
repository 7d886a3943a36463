/*  actors/source/combine/subsource.c - one of the sources that a combination reads. */
#include "actors/source/combine/subsource.h"

#include <stdlib.h>
#include <string.h>

#include "actors/source/sources.h"
#include "runtime/base/allocation.h"

/*  Rows that are read ahead sequentially: so many, or as many as this. */
enum { ROWS_AT_ONCE = 64, BYTES_AT_ONCE = 1 << 20, SIZES_AT_ONCE = 128 };

tnd_status_t tnd_subsource_open(tnd_subsource_t *self, const tnd_part_t *part,
                                const tnd_source_scope_t *scope, tnd_error_t *error)
{
    const tnd_source_t *source = tnd_source_of(tnd_source_spec_of(part->table));
    *self = (tnd_subsource_t){.source = source, .part = part};
    self->state = tnd_allocate_zeroed(1, source->state_bytes + 1);
    tnd_status_t status = source->open(self->state, part->options, scope, &self->facts, error);
    if (status != TND_OK) {
        if (error->about == NULL)
            error->about = part->value;
        free(self->state);
        return status;
    }
    self->block = tnd_allocate_zeroed(1, sizeof *self->block);
    if (!tnd_source_writes(source, &self->facts))
        return TND_OK;
    const tnd_stream_reader_config_t config = {.source = source,
                                               .state = self->state,
                                               .schema = &self->facts.schema,
                                               .name = part->table->name,
                                               .caps = self->facts.caps};
    self->reader = tnd_stream_reader_new(&config);
    return TND_OK;
}

void tnd_subsource_close(tnd_subsource_t *self)
{
    tnd_subsource_release(self->block);
    free(self->block);
    tnd_stream_reader_destroy(&self->reader);
    self->source->close(self->state);
    free(self->state);
}

void tnd_subsource_release(tnd_block_t *block)
{
    for (uint32_t i = 0; i < block->column_count; i++)
        tnd_buffer_drop(&block->columns[i].buffer);
    tnd_buffer_drop(&block->index);
}

/*  The reader of a source that writes its rows is for one thread, so each call has its own. */
static tnd_status_t read_written(const tnd_subsource_t *self, const uint64_t *index, uint32_t count,
                                 tnd_block_t *block, tnd_error_t *error)
{
    const tnd_stream_reader_config_t config = {.source = self->source,
                                               .state = self->state,
                                               .schema = &self->facts.schema,
                                               .name = self->part->table->name,
                                               .caps = self->facts.caps};
    tnd_stream_reader_t *reader = tnd_stream_reader_new(&config);
    bool end = false;
    tnd_status_t status = tnd_stream_reader_read(reader, 0, index, &count, block, &end, error);
    tnd_stream_reader_destroy(&reader);
    return status;
}

static tnd_status_t room_for(const tnd_subsource_t *self, const uint64_t *index, uint32_t count,
                             size_t *room_p, tnd_error_t *error)
{
    const tnd_source_facts_t *facts = &self->facts;
    size_t longest = tnd_schema_ragged_bytes(&facts->schema);
    uint64_t sizes[SIZES_AT_ONCE];
    *room_p = tnd_source_room(facts, count);
    if (*room_p == 0 || longest == 0 || facts->copied < longest)
        return TND_OK;
    *room_p -= longest * count;
    for (uint32_t i = 0, some; i < count; i += some) {
        some = count - i < SIZES_AT_ONCE ? count - i : SIZES_AT_ONCE;
        TND_TRY(tnd_subsource_sizes(self, index + i, some, sizes, error));
        for (uint32_t k = 0; k < some; k++)
            *room_p += sizes[k];
    }
    return TND_OK;
}

tnd_status_t tnd_subsource_read(const tnd_subsource_t *self, const uint64_t *index, uint32_t count,
                                tnd_block_t *block, tnd_error_t *error)
{
    const tnd_source_facts_t *facts = &self->facts;
    size_t room;
    block->schema = &facts->schema;
    block->column_count = facts->schema.count;
    if (tnd_source_writes(self->source, facts))
        return read_written(self, index, count, block, error);
    TND_TRY(room_for(self, index, count, &room, error));
    tnd_source_call_t call = {
        .indices = tnd_buffer_new((1 + (size_t)facts->lists) * count * sizeof *index),
        .room = room > 0 ? tnd_buffer_new(room) : NULL,
        .count = count};
    memcpy(tnd_buffer_data(call.indices), index, count * sizeof *index);
    tnd_status_t status = self->source->read(self->state, &call, block, error);
    tnd_buffer_drop(&call.indices);
    tnd_buffer_drop(&call.room);
    return status;
}

tnd_status_t tnd_subsource_sizes(const tnd_subsource_t *self, const uint64_t *index, uint32_t count,
                                 uint64_t *bytes, tnd_error_t *error)
{
    const tnd_source_t *source = self->source;
    memset(bytes, 0, count * sizeof *bytes);
    if (tnd_schema_ragged(&self->facts.schema) == 0)
        return TND_OK;
    tnd_status_t status =
        source->sizes != NULL ? source->sizes(self->state, index, count, bytes, error) : TND_AGAIN;
    for (uint32_t i = 0; i < count && status == TND_AGAIN; i++) {
        tnd_block_t *block = tnd_allocate_zeroed(1, sizeof *block);
        tnd_status_t one = tnd_subsource_read(self, index + i, 1, block, error);
        bytes[i] = one == TND_OK ? tnd_block_row_ragged(block, 0) : 0;
        tnd_subsource_release(block);
        free(block);
        if (one != TND_OK && one != TND_REFUSED)
            return one;
    }
    return status == TND_AGAIN ? TND_OK : status;
}

void tnd_subsource_where(const tnd_subsource_t *self, uint64_t row, tnd_source_place_t *place)
{
    *place = (tnd_source_place_t){.record = row};
    if (self->source->where != NULL)
        self->source->where(self->state, row, place);
}

void tnd_subsource_rewind(tnd_subsource_t *self)
{
    tnd_subsource_release(self->block);
    self->row = self->asked = 0;
    self->next = 0;
    self->ended = false;
    self->passes++;
}

static uint32_t rows_at_once(const tnd_subsource_t *self)
{
    size_t rows = BYTES_AT_ONCE / tnd_schema_row_bytes(&self->facts.schema);
    return rows < 1 ? 1 : rows < ROWS_AT_ONCE ? (uint32_t)rows : ROWS_AT_ONCE;
}

/*  Reads rows from self->next on; *count_p becomes less where the source ends.  TND_REFUSED: it
 *  refuses all, because of one. */
static tnd_status_t read_rows(tnd_subsource_t *self, uint32_t *count_p, tnd_error_t *error)
{
    uint64_t index[ROWS_AT_ONCE];
    for (uint32_t i = 0; i < *count_p; i++)
        index[i] = self->next + i;
    tnd_subsource_release(self->block);
    self->block->schema = &self->facts.schema;
    self->block->column_count = self->facts.schema.count;
    if (self->reader == NULL)
        return tnd_subsource_read(self, index, *count_p, self->block, error);
    return tnd_stream_reader_read(self->reader, self->passes, index, count_p, self->block,
                                  &self->ended, error);
}

static tnd_status_t read_on(tnd_subsource_t *self, tnd_error_t *error)
{
    uint64_t left = self->facts.count - self->next;
    uint32_t count = rows_at_once(self);
    count = left < count ? (uint32_t)left : count;
    self->row = self->asked = self->shown = self->refused = 0;
    self->ended = count == 0;
    if (count == 0)
        return TND_OK;
    tnd_status_t status = read_rows(self, &count, error);
    if (status == TND_REFUSED && count > 1) {
        count = 1;
        status = read_rows(self, &count, error);
    }
    if (status == TND_OK || status == TND_REFUSED)
        self->next += count;
    if (status == TND_OK)
        self->asked = count;
    return status;
}

/*  Whether the reader has left out the next row, and why. */
static bool is_refused(tnd_subsource_t *self, tnd_error_t *error)
{
    uint32_t count = 0;
    if (self->reader == NULL)
        return false;
    const tnd_stream_refusal_t *refused = tnd_stream_reader_refused(self->reader, &count);
    if (self->refused == count || refused[self->refused].offset != self->row)
        return false;
    (void)tnd_fail(error, "%s", refused[self->refused++].why);
    return true;
}

tnd_status_t tnd_subsource_next(tnd_subsource_t *self, const tnd_block_t **block_p, uint32_t *row_p,
                                tnd_error_t *error)
{
    while (self->row == self->asked) {
        if (self->ended)
            return TND_END;
        TND_TRY(read_on(self, error));
    }
    bool refused = is_refused(self, error);
    self->row++;
    if (refused)
        return TND_REFUSED;
    *block_p = self->block;
    *row_p = self->shown++;
    return TND_OK;
}

void tnd_subsource_copy(const tnd_block_t *block, uint32_t row, tnd_rows_t *rows, uint32_t column,
                        size_t to)
{
    for (uint32_t i = 0; i < block->column_count; i++) {
        size_t bytes = tnd_block_row_bytes(block, i, row);
        void *at = block->columns[i].lengths != NULL
                       ? tnd_rows_room(rows, column + i, to, block->columns[i].lengths[row])
                       : tnd_rows_at(rows, column + i, to);
        if (bytes > 0)
            memcpy(at, tnd_block_row(block, i, row), bytes);
    }
}
