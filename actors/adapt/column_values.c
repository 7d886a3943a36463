/*  actors/adapt/column_values.c - which rows of a column have the same value. */
#include "actors/adapt/column_values.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "actors/reader/part_words.h"
#include "runtime/base/allocation.h"

enum { SLOTS_FIRST = 1024 };

void tnd_column_values_init(tnd_column_values_t *self, uint64_t rows, bool named)
{
    *self = (tnd_column_values_t){.row_count = rows, .slot_count = SLOTS_FIRST};
    self->of_row = tnd_allocate(rows + 1, sizeof *self->of_row);
    memset(self->of_row, 0xff, rows * sizeof *self->of_row);
    self->slots = tnd_allocate_zeroed(self->slot_count, sizeof *self->slots);
    if (named) {
        self->names = tnd_allocate_zeroed(TND_PART_CLASSES_MAX, sizeof *self->names);
        self->name_sizes = tnd_allocate_zeroed(TND_PART_CLASSES_MAX, sizeof *self->name_sizes);
    }
}

void tnd_column_values_free(tnd_column_values_t *self)
{
    for (uint32_t v = 0; self->names != NULL && v < self->count; v++)
        free(self->names[v]);
    free(self->names);
    free(self->name_sizes);
    free(self->values);
    free(self->slots);
    free(self->of_row);
}

bool tnd_column_values_fits(const tnd_column_t *column)
{
    if (column->ragged)
        return column->dtype == TND_U8 && column->rank == 1;
    return column->rank == 0 && !tnd_dtype_is_float(column->dtype);
}

static bool is_value(const tnd_column_values_t *self, uint32_t v, uint64_t hash, const char *name,
                     size_t size)
{
    if (self->values[v].hash != hash)
        return false;
    return self->names == NULL ||
           (self->name_sizes[v] == size && memcmp(self->names[v], name, size) == 0);
}

/*  The slot of a value, or where it would be. */
static uint32_t *slot_of(tnd_column_values_t *self, uint64_t hash, const char *name, size_t size)
{
    uint64_t at = hash % self->slot_count;
    while (self->slots[at] != 0 && !is_value(self, self->slots[at] - 1, hash, name, size))
        at = (at + 1) % self->slot_count;
    return &self->slots[at];
}

/*  At most half of the slots are used. */
static void grow_slots(tnd_column_values_t *self)
{
    free(self->slots);
    self->slot_count *= 2;
    self->slots = tnd_allocate_zeroed(self->slot_count, sizeof *self->slots);
    for (uint32_t v = 0; v < self->count; v++) {
        uint64_t at = self->values[v].hash % self->slot_count;
        while (self->slots[at] != 0)
            at = (at + 1) % self->slot_count;
        self->slots[at] = v + 1;
    }
}

static tnd_status_t add_value(tnd_column_values_t *self, uint64_t hash, const char *name,
                              size_t size, uint32_t *value_p, tnd_error_t *error)
{
    if (self->names != NULL && size > TND_PART_NAME_MAX)
        return tnd_fail(error, "it has a text of %zu bytes, and a class has at most %d", size,
                        TND_PART_NAME_MAX);
    if (self->names != NULL && self->count == TND_PART_CLASSES_MAX)
        return tnd_fail(error, "it has more than %d different values", TND_PART_CLASSES_MAX);
    if (2 * (uint64_t)self->count >= self->slot_count)
        grow_slots(self);
    self->values = tnd_grow(self->values, self->count, &self->room, sizeof *self->values);
    self->values[self->count] = (tnd_division_value_t){.hash = hash};
    if (self->names != NULL) {
        self->names[self->count] = tnd_allocate(size + 1, 1);
        memcpy(self->names[self->count], name, size);
        self->name_sizes[self->count] = size;
    }
    *value_p = self->count++;
    *slot_of(self, hash, name, size) = self->count;
    return TND_OK;
}

static tnd_status_t add_text(tnd_column_values_t *self, uint64_t position, const char *text,
                             size_t size, tnd_error_t *error)
{
    uint64_t hash = XXH3_64bits(text, size);
    uint32_t value = *slot_of(self, hash, text, size);
    if (value > 0)
        value--;
    else
        TND_TRY(add_value(self, hash, text, size, &value, error));
    self->values[value].rows++;
    self->of_row[position] = value;
    return TND_OK;
}

/*  An integer as text. */
static size_t write_integer(const tnd_column_t *of, const void *at, char text[32])
{
    size_t size = tnd_dtype_size(of->dtype);
    uint64_t wide = 0;
    memcpy(&wide, at, size);
    if (!tnd_dtype_is_signed(of->dtype))
        return (size_t)snprintf(text, 32, "%" PRIu64, wide);
    int shift = (int)(64 - 8 * size);
    return (size_t)snprintf(text, 32, "%" PRId64, (int64_t)(wide << shift) >> shift);
}

tnd_status_t tnd_column_values_add(tnd_column_values_t *self, uint64_t position,
                                   const tnd_block_t *block, uint32_t column, uint32_t row,
                                   tnd_error_t *error)
{
    const tnd_column_t *of = &block->schema->columns[column];
    const void *at = tnd_block_row(block, column, row);
    char text[32];
    if (of->ragged)
        return add_text(self, position, at != NULL ? at : "", block->columns[column].lengths[row],
                        error);
    return add_text(self, position, text, write_integer(of, at, text), error);
}
