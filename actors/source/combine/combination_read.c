/*  actors/source/combine/combination_read.c - reads rows of several RANDOM sources as one block. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "actors/source/combine/combination.h"
#include "runtime/base/allocation.h"

enum { AT_ONCE = 128 };

/*  The rows of a call, by source. */
typedef struct {
    uint32_t *of;      /* the source of each */
    uint32_t *at;      /* and its place among the rows of that source */
    uint64_t *index;   /* in the sources: those of the first source, of the second ... */
    uint32_t *first;   /* where those of each begin; and one past the last */
    tnd_block_t *read; /* of each source */
} sorted_t;

static tnd_status_t sort_rows(const tnd_combination_t *self, const uint64_t *index, uint32_t count,
                              sorted_t *sorted, tnd_error_t *error)
{
    uint64_t *row = tnd_allocate(count, sizeof *row);
    *sorted = (sorted_t){.of = tnd_allocate(count, sizeof *sorted->of),
                         .at = tnd_allocate(count, sizeof *sorted->at),
                         .index = tnd_allocate(count, sizeof *sorted->index),
                         .first = tnd_allocate_zeroed(self->count + 1, sizeof *sorted->first),
                         .read = tnd_allocate_zeroed(self->count, sizeof *sorted->read)};
    tnd_status_t status = TND_OK;
    for (uint32_t i = 0; i < count && status == TND_OK; i++) {
        if (index[i] >= self->rows) {
            status = tnd_fail(error, "row %llu was requested, but there are only %llu",
                              (unsigned long long)index[i], (unsigned long long)self->rows);
            break;
        }
        self->find(self, index[i], &sorted->of[i], &row[i]);
        sorted->at[i] = sorted->first[sorted->of[i] + 1]++;
    }
    for (uint32_t s = 0; s < self->count; s++)
        sorted->first[s + 1] += sorted->first[s];
    for (uint32_t i = 0; i < count && status == TND_OK; i++)
        sorted->index[sorted->first[sorted->of[i]] + sorted->at[i]] = row[i];
    free(row);
    return status;
}

static void release(const tnd_combination_t *self, sorted_t *sorted)
{
    for (uint32_t s = 0; s < self->count; s++)
        tnd_subsource_release(&sorted->read[s]);
    free(sorted->of);
    free(sorted->at);
    free(sorted->index);
    free(sorted->first);
    free(sorted->read);
}

/*  Buffers that are dropped at once. */
typedef struct {
    size_t count;
    tnd_buffer_t *buffers[];
} bundle_t;

static void drop_bundle(void *owner)
{
    bundle_t *bundle = owner;
    for (size_t i = 0; i < bundle->count; i++)
        tnd_buffer_drop(&bundle->buffers[i]);
    free(bundle);
}

/*  A buffer that holds those of one column of all blocks. */
static tnd_buffer_t *bind(const tnd_combination_t *self, sorted_t *sorted, uint32_t column,
                          const uint8_t *base)
{
    bundle_t *bundle = tnd_allocate(1, sizeof *bundle + self->count * sizeof bundle->buffers[0]);
    tnd_buffer_kind_t kind = TND_BUFFER_HEAP;
    bundle->count = 0;
    for (uint32_t s = 0; s < self->count; s++) {
        tnd_buffer_t *buffer = sorted->read[s].columns[column].buffer;
        if (buffer == NULL)
            continue;
        if (tnd_buffer_kind(buffer) == TND_BUFFER_MAPPED)
            kind = TND_BUFFER_MAPPED;
        bundle->buffers[bundle->count++] = tnd_buffer_hold(buffer);
    }
    return tnd_buffer_wrap(kind, (void *)(uintptr_t)base, 0, drop_bundle, bundle);
}

/*  Column `column` of the rows of all sources, in the order of the call. */
static void join_column(const tnd_combination_t *self, sorted_t *sorted, uint32_t column,
                        uint32_t count, uint64_t **lists, tnd_block_t *block)
{
    uint64_t *offsets = *lists, *lengths = NULL;
    uint64_t base = UINT64_MAX;
    *lists += count;
    if (self->schema.columns[column].ragged) {
        lengths = *lists;
        *lists += count;
    }
    for (uint32_t i = 0; i < count; i++) {
        const tnd_block_t *from = &sorted->read[sorted->of[i]];
        offsets[i] = (uintptr_t)tnd_block_row(from, column, sorted->at[i]);
        base = offsets[i] < base ? offsets[i] : base;
        if (lengths != NULL)
            lengths[i] = from->columns[column].lengths[sorted->at[i]];
    }
    for (uint32_t i = 0; i < count; i++)
        offsets[i] -= base;
    const uint8_t *first = (const uint8_t *)(uintptr_t)base;
    block->columns[column] = (tnd_block_column_t){.base = first,
                                                  .stride = 1,
                                                  .index = offsets,
                                                  .lengths = lengths,
                                                  .buffer = bind(self, sorted, column, first)};
}

/*  All rows are of one source: its block is the result. */
static tnd_status_t read_one(const tnd_combination_t *self, const sorted_t *sorted, uint32_t count,
                             tnd_block_t *block, tnd_error_t *error)
{
    tnd_block_t *read = &sorted->read[sorted->of[0]];
    TND_TRY(tnd_subsource_read(&self->sources[sorted->of[0]], sorted->index, count, read, error));
    for (uint32_t i = 0; i < self->schema.count; i++) {
        block->columns[i] = read->columns[i];
        read->columns[i].buffer = NULL;
    }
    block->index = read->index;
    read->index = NULL;
    return TND_OK;
}

static tnd_status_t read_sorted(const tnd_combination_t *self, sorted_t *sorted,
                                const tnd_source_call_t *call, tnd_block_t *block,
                                tnd_error_t *error)
{
    uint32_t first = sorted->of[0];
    if (sorted->first[first + 1] - sorted->first[first] == call->count)
        return read_one(self, sorted, call->count, block, error);
    for (uint32_t s = 0; s < self->count; s++) {
        uint32_t some = sorted->first[s + 1] - sorted->first[s];
        if (some > 0)
            TND_TRY(tnd_subsource_read(&self->sources[s], sorted->index + sorted->first[s], some,
                                       &sorted->read[s], error));
    }
    uint64_t *lists = (uint64_t *)tnd_buffer_data(call->indices) + call->count;
    for (uint32_t i = 0; i < self->schema.count; i++)
        join_column(self, sorted, i, call->count, &lists, block);
    tnd_buffer_seal(call->indices);
    block->index = tnd_buffer_hold(call->indices);
    return TND_OK;
}

tnd_status_t tnd_combination_read(void *state, const tnd_source_call_t *call, tnd_block_t *block,
                                  tnd_error_t *error)
{
    const tnd_combination_t *self = state;
    sorted_t sorted;
    if (call->count == 0)
        return TND_OK;
    tnd_status_t status =
        sort_rows(self, tnd_buffer_data(call->indices), call->count, &sorted, error);
    if (status == TND_OK)
        status = read_sorted(self, &sorted, call, block, error);
    release(self, &sorted);
    return status;
}

/*  Calls `visit` for each run of rows of one source. */
static tnd_status_t each_run(const tnd_combination_t *self, const uint64_t *index, uint32_t count,
                             tnd_status_t (*visit)(const tnd_subsource_t *source,
                                                   const uint64_t *rows, uint32_t count,
                                                   uint64_t *bytes, tnd_error_t *error),
                             uint64_t *bytes, tnd_error_t *error)
{
    uint64_t rows[AT_ONCE];
    for (uint32_t i = 0, some; i < count; i += some) {
        uint32_t source, other;
        self->find(self, index[i], &source, &rows[0]);
        for (some = 1; i + some < count && some < AT_ONCE; some++) {
            self->find(self, index[i + some], &other, &rows[some]);
            if (other != source)
                break;
        }
        TND_TRY(visit(&self->sources[source], rows, some, bytes != NULL ? bytes + i : NULL, error));
    }
    return TND_OK;
}

tnd_status_t tnd_combination_sizes(const void *state, const uint64_t *index, uint32_t count,
                                   uint64_t *bytes, tnd_error_t *error)
{
    return each_run(state, index, count, tnd_subsource_sizes, bytes, error);
}

uint32_t tnd_combination_ahead_rows(const void *state)
{
    return ((const tnd_combination_t *)state)->ahead;
}

static tnd_status_t request(const tnd_subsource_t *source, const uint64_t *rows, uint32_t count,
                            uint64_t *bytes, tnd_error_t *error)
{
    (void)bytes, (void)error;
    if (source->source->ahead != NULL && source->source->ahead_rows(source->state) > 0)
        source->source->ahead(source->state, rows, count);
    return TND_OK;
}

void tnd_combination_ahead(void *state, const uint64_t *index, uint32_t count)
{
    tnd_error_t none;
    tnd_status_t status = each_run(state, index, count, request, NULL, &none);
    assert(status == TND_OK);
    (void)status;
}

void tnd_combination_where(const void *state, uint64_t index, tnd_source_place_t *place)
{
    const tnd_combination_t *self = state;
    uint32_t source;
    uint64_t row = index;
    *place = (tnd_source_place_t){.record = index};
    if (!self->random)
        return;
    self->find(self, index, &source, &row);
    tnd_subsource_where(&self->sources[source], row, place);
}

static uint64_t files_of(const tnd_subsource_t *source)
{
    return source->source->locate != NULL && (source->facts.caps & TND_SOURCE_RANDOM) != 0
               ? source->source->locate->files(source->state)
               : 0;
}

static uint64_t count_files(const void *state)
{
    const tnd_combination_t *self = state;
    uint64_t count = 0;
    for (uint32_t s = 0; s < self->count; s++)
        count += files_of(&self->sources[s]);
    return count;
}

/*  The source of a file; *number_p becomes the number that it has there. */
static uint32_t source_of(const tnd_combination_t *self, uint64_t *number_p)
{
    uint32_t s = 0;
    for (; *number_p >= files_of(&self->sources[s]); s++)
        *number_p -= files_of(&self->sources[s]);
    return s;
}

static void show_file(const void *state, uint64_t number, tnd_source_rows_t *rows)
{
    const tnd_combination_t *self = state;
    const tnd_subsource_t *source = &self->sources[source_of(self, &number)];
    source->source->locate->file(source->state, number, rows);
}

/*  The row of the combination that is row `row` of source `s`. */
static uint64_t reverse(const tnd_combination_t *self, uint32_t s, uint64_t row)
{
    uint32_t source;
    uint64_t found;
    if (self->reverse != NULL)
        return self->reverse(self, s, row);
    for (uint64_t index = row; index < self->rows; index++) {
        self->find(self, index, &source, &found);
        if (source == s && found == row)
            return index;
    }
    return TND_UNKNOWN;
}

static uint64_t find_row(const void *state, uint64_t number, uint64_t record)
{
    const tnd_combination_t *self = state;
    uint32_t s = source_of(self, &number);
    const tnd_subsource_t *source = &self->sources[s];
    uint64_t row = source->source->locate->row(source->state, number, record);
    return row == TND_UNKNOWN ? row : reverse(self, s, row);
}

const tnd_source_locate_t tnd_combination_locate = {count_files, show_file, find_row};
