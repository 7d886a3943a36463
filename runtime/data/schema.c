/*  runtime/data/schema.c - the columns of a stream: name, element type and shape of each.  */
#include "runtime/data/schema.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

enum { COLUMN_TEXT_SIZE = 256 };

static const uint64_t row_bytes_max = (uint64_t)1 << 40;

uint64_t tnd_column_elements(const tnd_column_t *self)
{
    uint64_t elements = 1;
    for (uint32_t i = 0; i < self->rank; i++)
        elements *= self->shape[i];
    return elements;
}

size_t tnd_column_bytes(const tnd_column_t *self)
{
    return tnd_column_elements(self) * tnd_dtype_size(self->dtype);
}

size_t tnd_column_unit(const tnd_column_t *self)
{
    /* Of each row this is asked: without a division. */
    assert(self->ragged);
    size_t bytes = tnd_dtype_size(self->dtype);
    for (uint32_t i = 1; i < self->rank; i++)
        bytes *= self->shape[i];
    return bytes;
}

uint32_t tnd_schema_ragged(const tnd_schema_t *self)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->count; i++)
        count += self->columns[i].ragged;
    return count;
}

size_t tnd_schema_ragged_bytes(const tnd_schema_t *self)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < self->count; i++)
        bytes += self->columns[i].ragged ? tnd_column_bytes(&self->columns[i]) : 0;
    return bytes;
}

size_t tnd_schema_list_bytes(const tnd_schema_t *self)
{
    return 2 * sizeof(uint64_t) * tnd_schema_ragged(self);
}

size_t tnd_schema_row_bytes(const tnd_schema_t *self)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < self->count; i++)
        bytes += tnd_column_bytes(&self->columns[i]);
    return bytes;
}

int tnd_schema_find(const tnd_schema_t *self, const char *name)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (strcmp(self->columns[i].name, name) == 0)
            return (int)i;
    return -1;
}

/*  False if a row of this column is empty or reaches the limit; no step of it overflows. */
static bool bytes_fit(tnd_dtype_t dtype, uint32_t rank, const uint64_t *shape)
{
    uint64_t bytes = tnd_dtype_size(dtype);
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] == 0 || shape[i] >= row_bytes_max / bytes)
            return false;
        bytes *= shape[i];
    }
    return true;
}

static tnd_status_t add(tnd_schema_t *self, const char *name, tnd_dtype_t dtype, uint32_t rank,
                        const uint64_t *shape, bool ragged, tnd_error_t *error)
{
    size_t length = strlen(name);
    if (length == 0)
        return tnd_fail(error, "a column needs a name");
    if (length >= TND_COLUMN_NAME_MAX)
        return tnd_fail(error, "the name of column `%.*s...` has %zu characters; %d are possible",
                        20, name, length, TND_COLUMN_NAME_MAX - 1);
    if (tnd_schema_find(self, name) >= 0)
        return tnd_fail(error, "there are two columns called `%s`", name);
    if (self->count == TND_COLUMNS_MAX)
        return tnd_fail(error, "column `%s` is one too many: %d are possible", name,
                        TND_COLUMNS_MAX);
    if (rank > TND_RANK_MAX)
        return tnd_fail(error, "column `%s` has %u dimensions a row; %d are possible", name, rank,
                        TND_RANK_MAX);
    if (ragged && rank == 0)
        return tnd_fail(error, "column `%s` is ragged and has no axis that could vary", name);
    if (!bytes_fit(dtype, rank, shape))
        return tnd_fail(error, "a row of column `%s` is empty or has 2^40 bytes or more", name);

    tnd_column_t *column = &self->columns[self->count];
    *column = (tnd_column_t){.dtype = dtype, .rank = rank, .ragged = ragged};
    memcpy(column->name, name, length + 1);
    if (rank > 0)
        memcpy(column->shape, shape, rank * sizeof shape[0]);
    if (tnd_schema_row_bytes(self) + tnd_column_bytes(column) >= row_bytes_max)
        return tnd_fail(error, "with column `%s` a row has 2^40 bytes or more", name);
    self->count++;
    return TND_OK;
}

tnd_status_t tnd_schema_add(tnd_schema_t *self, const char *name, tnd_dtype_t dtype, uint32_t rank,
                            const uint64_t *shape, tnd_error_t *error)
{
    return add(self, name, dtype, rank, shape, false, error);
}

tnd_status_t tnd_schema_add_ragged(tnd_schema_t *self, const char *name, tnd_dtype_t dtype,
                                   uint32_t rank, const uint64_t *shape, tnd_error_t *error)
{
    return add(self, name, dtype, rank, shape, true, error);
}

tnd_status_t tnd_schema_add_like(tnd_schema_t *self, const char *name, const tnd_column_t *column,
                                 tnd_error_t *error)
{
    return add(self, name, column->dtype, column->rank, column->shape, column->ragged, error);
}

uint64_t tnd_schema_hash(const tnd_schema_t *self)
{
    uint64_t hash = self->count;
    for (uint32_t i = 0; i < self->count; i++) {
        const tnd_column_t *column = &self->columns[i];
        uint64_t numbers[2 + TND_RANK_MAX] = {(uint64_t)column->dtype,
                                              column->rank | (uint64_t)column->ragged << 32};
        memcpy(numbers + 2, column->shape, column->rank * sizeof column->shape[0]);
        hash = XXH3_64bits_withSeed(column->name, strlen(column->name), hash);
        hash = XXH3_64bits_withSeed(numbers, (2 + column->rank) * sizeof numbers[0], hash);
    }
    return hash != 0 ? hash : 1;
}

/*  Appends to `text`, which holds `used` characters, as far as there is room. */
__attribute__((format(printf, 4, 5))) static size_t append(char *text, size_t room, size_t used,
                                                           const char *format, ...)
{
    if (used + 1 >= room)
        return used;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text + used, room - used, format, arguments);
    va_end(arguments);
    assert(length >= 0);
    return used + (size_t)length < room ? used + (size_t)length : room - 1;
}

static size_t append_column(const tnd_column_t *column, char *text, size_t room, size_t used)
{
    used = append(text, room, used, "%s %s", column->name, tnd_dtype_name(column->dtype));
    for (uint32_t i = 0; i < column->rank; i++)
        used = append(text, room, used, "%s%llu",
                      i > 0            ? ","
                      : column->ragged ? "[<="
                                       : "[",
                      (unsigned long long)column->shape[i]);
    return column->rank > 0 ? append(text, room, used, "]") : used;
}

static bool columns_equal(const tnd_column_t *a, const tnd_column_t *b)
{
    return strcmp(a->name, b->name) == 0 && a->dtype == b->dtype && a->rank == b->rank &&
           a->ragged == b->ragged && memcmp(a->shape, b->shape, a->rank * sizeof a->shape[0]) == 0;
}

tnd_status_t tnd_schema_compare(const tnd_schema_t *self, const tnd_schema_t *other,
                                tnd_error_t *error)
{
    uint32_t both = self->count < other->count ? self->count : other->count;
    for (uint32_t i = 0; i < both; i++) {
        if (columns_equal(&self->columns[i], &other->columns[i]))
            continue;
        char one[COLUMN_TEXT_SIZE], two[COLUMN_TEXT_SIZE];
        append_column(&self->columns[i], one, sizeof one, 0);
        append_column(&other->columns[i], two, sizeof two, 0);
        return tnd_fail(error, "column %u is `%s` on one side and `%s` on the other", i, one, two);
    }
    if (self->count == other->count)
        return TND_OK;
    const tnd_schema_t *longer = self->count > other->count ? self : other;
    return tnd_fail(error, "%u columns on one side, %u on the other: column `%s` is on one only",
                    self->count, other->count, longer->columns[both].name);
}

const char *tnd_schema_text(const tnd_schema_t *self, char *text, size_t room)
{
    assert(room > 0);
    text[0] = '\0';
    size_t used = 0;
    for (uint32_t i = 0; i < self->count; i++) {
        if (i > 0)
            used = append(text, room, used, ", ");
        used = append_column(&self->columns[i], text, room, used);
    }
    return text;
}
