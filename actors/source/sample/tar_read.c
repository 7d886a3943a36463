/*  actors/source/sample/tar_read.c - reads the samples of tar archives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/source/sample/tar_internal.h"
#include "runtime/base/allocation.h"
#include "runtime/data/open_files.h"

/*  As in actors/source/columns_access.c. */
enum { AHEAD_ROWS = 64, AHEAD_BYTES = 8 << 20, IDLE_MOST = 4096 };

/*  The file that contains a row. */
static size_t file_of(const tnd_tar_t *self, uint64_t row)
{
    size_t low = 0, high = self->file_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (self->first[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/*  The places of the columns of a row; *file_p: where they are. */
static const tnd_tar_place_t *places_of(const tnd_tar_t *self, uint64_t row,
                                        const tnd_tar_file_t **file_p, uint64_t *record_p)
{
    size_t file = file_of(self, row);
    *file_p = &self->files[file];
    *record_p = row - self->first[file];
    return (*file_p)->places + *record_p * self->columns.count;
}

void tnd_tar_where(const void *state, uint64_t index, tnd_source_place_t *place)
{
    const tnd_tar_t *self = state;
    const tnd_tar_file_t *file;
    uint64_t record;
    *place = (tnd_source_place_t){.record = index};
    if (!self->random)
        return;
    (void)places_of(self, index, &file, &record);
    *place = (tnd_source_place_t){
        .file = file->content.path, .record = record, .offset = file->rows[record].at};
}

static uint64_t count_files(const void *state)
{
    return ((const tnd_tar_t *)state)->file_count;
}

static void show_file(const void *state, uint64_t number, tnd_source_rows_t *rows)
{
    const tnd_tar_t *self = state;
    snprintf(rows->path, sizeof rows->path, "%s", self->files[number].content.path);
    rows->rows = self->first[number + 1] - self->first[number];
}

static uint64_t find_row(const void *state, uint64_t number, uint64_t record)
{
    return ((const tnd_tar_t *)state)->first[number] + record;
}

const tnd_source_locate_t tnd_tar_locate = {count_files, show_file, find_row};

tnd_status_t tnd_tar_sizes(const void *state, const uint64_t *index, uint32_t count,
                           uint64_t *bytes, tnd_error_t *error)
{
    const tnd_tar_t *self = state;
    (void)error;
    for (uint32_t i = 0; i < count; i++) {
        const tnd_tar_file_t *file;
        uint64_t record;
        const tnd_tar_place_t *places = places_of(self, index[i], &file, &record);
        bytes[i] = 0;
        for (uint32_t c = 0; c < self->columns.count && file->rows[record].why == NULL; c++)
            if (places[c].size <= self->schema.columns[c].shape[0])
                bytes[i] += places[c].size;
    }
    return TND_OK;
}

/*  --------------------------------------------------------------------------------------- access */

static void drop_all(void *owner)
{
    tnd_buffer_t **buffers = owner;
    for (size_t i = 0; buffers[i] != NULL; i++)
        tnd_buffer_drop(&buffers[i]);
    free(buffers);
}

/*  Holds all mapped files together. */
static void bind(tnd_tar_t *self)
{
    tnd_buffer_t **buffers = tnd_allocate_zeroed(self->file_count + 1, sizeof *buffers);
    for (size_t i = 0; i < self->file_count; i++) {
        const uint8_t *data = tnd_buffer_data(self->files[i].buffer);
        buffers[i] = tnd_buffer_hold(self->files[i].buffer);
        if (self->base == NULL || (uintptr_t)data < (uintptr_t)self->base)
            self->base = data;
    }
    self->all =
        tnd_buffer_wrap(TND_BUFFER_MAPPED, (void *)(uintptr_t)self->base, 0, drop_all, buffers);
}

tnd_status_t tnd_tar_settle(tnd_tar_t *self, const tnd_source_scope_t *scope,
                            tnd_source_facts_t *facts, tnd_error_t *error)
{
    tnd_access_case_t found = {.asked = scope->access,
                               .pattern = scope->pattern,
                               .room = scope->room != 0 ? scope->room : UINT64_MAX,
                               .files = self->file_count,
                               .descriptors = tnd_open_files_unreserved() / 2};
    bool mapped = true;
    for (size_t i = 0; i < self->file_count; i++)
        found.bytes += self->files[i].content.size;
    facts->access = tnd_access_choose(&found);
    facts->room = scope->room;
    if (facts->access.load)
        self->loader = tnd_loader_new();
    for (size_t i = 0; i < self->file_count; i++) {
        tnd_tar_file_t *file = &self->files[i];
        if (!facts->access.map && file->content.mapping != NULL)
            TND_TRY(tnd_content_unmap(&file->content, error));
        tnd_content_advise(&file->content, scope->pattern, facts->access.fits);
        if (file->content.mapping != NULL)
            file->buffer = tnd_mapping_buffer(file->content.mapping);
        mapped = mapped && file->buffer != NULL;
        *(file->content.mapping != NULL ? &facts->mapped : &facts->read) += file->content.size;
        if (self->loader != NULL)
            tnd_loader_add(self->loader, file->content.path);
    }
    if (mapped)
        bind(self);
    size_t row = tnd_schema_row_bytes(&self->schema);
    if (scope->pattern != TND_PATTERN_FORWARD)
        self->ahead =
            row < AHEAD_BYTES / AHEAD_ROWS ? AHEAD_ROWS : (uint32_t)(AHEAD_BYTES / row) + 1;
    return TND_OK;
}

uint32_t tnd_tar_ahead_rows(const void *state)
{
    const tnd_tar_t *self = state;
    return atomic_load_explicit(&self->idle, memory_order_relaxed) < IDLE_MOST ? self->ahead : 0;
}

void tnd_tar_ahead(void *state, const uint64_t *index, uint32_t count)
{
    tnd_tar_t *self = state;
    bool found = false;
    if (self->loader != NULL)
        tnd_loader_begin(self->loader);
    for (uint32_t i = 0; i < count; i++) {
        const tnd_tar_file_t *file;
        uint64_t record;
        const tnd_tar_place_t *places = places_of(self, index[i], &file, &record);
        for (uint32_t c = 0; c < self->columns.count && file->rows[record].why == NULL; c++)
            found |= tnd_content_ahead(&file->content, places[c].offset, places[c].size);
    }
    if (found)
        atomic_store_explicit(&self->idle, 0, memory_order_relaxed);
    else
        atomic_fetch_add_explicit(&self->idle, count, memory_order_relaxed);
}

/*  ------------------------------------------------------------------------------------ any row */

static tnd_status_t refuse(const char *why, tnd_error_t *error)
{
    (void)tnd_fail(error, "%s", why);
    return TND_REFUSED;
}

static tnd_status_t refuse_length(const tnd_tar_t *self, uint32_t column, uint64_t size,
                                  tnd_error_t *error)
{
    (void)tnd_fail(error, "column `%s` has %llu bytes, above `max: %llu`",
                   self->schema.columns[column].name, (unsigned long long)size,
                   (unsigned long long)self->schema.columns[column].shape[0]);
    return TND_REFUSED;
}

/*  The columns of one row: `list` has for each column the offsets of all rows, then their lengths.
 *  Files that are read are copied to `room`, from byte *used_p on. */
static tnd_status_t show_row(const tnd_tar_t *self, uint64_t row, uint64_t *list, uint32_t count,
                             uint8_t *room, size_t *used_p, tnd_error_t *error)
{
    const tnd_tar_file_t *file;
    uint64_t record;
    const tnd_tar_place_t *places = places_of(self, row, &file, &record);
    if (file->rows[record].why != NULL)
        return refuse(file->rows[record].why, error);
    for (uint32_t c = 0; c < self->columns.count; c++) {
        uint64_t *offset = list + 2 * (size_t)c * count, size = places[c].size;
        if (size > self->schema.columns[c].shape[0])
            return refuse_length(self, c, size, error);
        offset[count] = size;
        if (file->spooled.path != NULL)
            TND_TRY(tnd_tar_spooled_check(&file->spooled, &file->content, places[c].offset, size,
                                          error));
        const tnd_mapping_part_t part = {file->content.mapping, places[c].offset, size};
        TND_TRY(tnd_mapping_bring(&part, 1, error));
        if (self->all != NULL) {
            *offset =
                (uintptr_t)tnd_buffer_data(file->buffer) - (uintptr_t)self->base + places[c].offset;
            continue;
        }
        *offset = *used_p;
        if (file->buffer == NULL)
            TND_TRY(
                tnd_content_read(&file->content, places[c].offset, size, room + *used_p, error));
        else
            memcpy(room + *used_p, (uint8_t *)tnd_buffer_data(file->buffer) + places[c].offset,
                   size);
        *used_p += size;
    }
    return TND_OK;
}

tnd_status_t tnd_tar_read(void *state, const tnd_source_call_t *call, tnd_block_t *block,
                          tnd_error_t *error)
{
    const tnd_tar_t *self = state;
    uint64_t *index = tnd_buffer_data(call->indices), *list = index + call->count;
    uint8_t *room = call->room != NULL ? tnd_buffer_data(call->room) : NULL;
    size_t used = 0;
    if (call->count == 0)
        return TND_OK;
    for (uint32_t i = 0; i < call->count; i++) {
        if (index[i] >= self->first[self->file_count])
            return tnd_fail(error, "tar: sample %llu was requested, but there are only %llu",
                            (unsigned long long)index[i],
                            (unsigned long long)self->first[self->file_count]);
        TND_TRY(show_row(self, index[i], list + i, call->count, room, &used, error));
    }
    tnd_buffer_seal(call->indices);
    if (call->room != NULL)
        tnd_buffer_seal(call->room);
    tnd_buffer_t *buffer = self->all != NULL ? self->all : call->room;
    for (uint32_t c = 0; c < self->columns.count; c++)
        block->columns[c] =
            (tnd_block_column_t){.base = self->all != NULL ? self->base : room,
                                 .stride = 1,
                                 .index = list + 2 * (size_t)c * call->count,
                                 .lengths = list + (2 * (size_t)c + 1) * call->count,
                                 .buffer = tnd_buffer_hold(buffer)};
    block->index = tnd_buffer_hold(call->indices);
    return TND_OK;
}

/*  ----------------------------------------------------------------------------------- in order */

tnd_status_t tnd_tar_take(void *taker, tnd_tar_members_t *members, uint32_t column, uint64_t size,
                          tnd_error_t *error)
{
    tnd_tar_t *self = taker;
    tnd_tar_bytes_t *bytes = &self->bytes[column];
    uint64_t most = self->schema.count > column ? self->schema.columns[column].shape[0] : self->max;
    if (size > most) {
        (void)tnd_fail(error, "it has %llu bytes, above `max: %llu`", (unsigned long long)size,
                       (unsigned long long)most);
        return TND_REFUSED;
    }
    if (size > bytes->room) {
        bytes->data = tnd_resize(bytes->data, size, 1);
        bytes->room = size;
    }
    bytes->size = size;
    return tnd_tar_members_read(members, bytes->data, size, error);
}

/*  The next sample of all files, in self->bytes. */
static tnd_status_t next_sample(tnd_tar_t *self, tnd_tar_sample_t *sample, tnd_error_t *error)
{
    for (; self->current < self->file_count; self->current++) {
        if (!self->reading)
            tnd_tar_samples_init(&self->samples, &self->columns,
                                 &self->files[self->current].content, NULL);
        self->reading = true;
        tnd_status_t status =
            tnd_tar_samples_next(&self->samples, sample, tnd_tar_take, self, error);
        if (status != TND_END)
            return status;
        tnd_tar_samples_free(&self->samples);
        self->reading = false;
    }
    return TND_END;
}

tnd_status_t tnd_tar_fill(void *state, const uint64_t *index, tnd_rows_t *rows, tnd_error_t *error)
{
    tnd_tar_t *self = state;
    if (index[0] == 0) {
        if (self->reading)
            tnd_tar_samples_free(&self->samples);
        self->reading = false;
        self->current = 0;
    }
    for (size_t i = 0; i < rows->count; i++) {
        tnd_tar_sample_t sample;
        tnd_status_t status = next_sample(self, &sample, error);
        if (status == TND_OK && sample.why != NULL) {
            (void)tnd_fail(error, "%s, at byte %llu of the archive: %.300s",
                           self->files[self->current].content.path, (unsigned long long)sample.at,
                           sample.why);
            status = TND_REFUSED;
        }
        if (status != TND_OK) {
            rows->count = i;
            return status;
        }
        for (uint32_t c = 0; c < self->columns.count; c++) {
            void *to = tnd_rows_room(rows, c, i, self->bytes[c].size);
            if (self->bytes[c].size > 0)
                memcpy(to, self->bytes[c].data, self->bytes[c].size);
        }
    }
    return TND_OK;
}
