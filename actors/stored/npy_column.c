/*  actors/stored/npy_column.c - writes columns to .npy files. */
#include "actors/stored/npy_column.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/stored/npy_header.h"
#include "runtime/base/allocation.h"

enum { PENDING_BYTES = 1 << 18 };

void tnd_npy_column_init(tnd_npy_column_t *self, const tnd_column_t *column)
{
    *self = (tnd_npy_column_t){.column = column, .file = -1, .splits = -1};
}

void tnd_npy_column_collect(tnd_npy_column_t *self)
{
    self->pending.bytes = tnd_allocate(1, PENDING_BYTES);
    if (self->column->ragged)
        self->pending_splits.bytes = tnd_allocate(1, PENDING_BYTES);
}

void tnd_npy_column_free(tnd_npy_column_t *self)
{
    free(self->pending.bytes);
    free(self->pending_splits.bytes);
    self->pending = self->pending_splits = (tnd_npy_pending_t){0};
}

static uint64_t end_of_rows(const tnd_npy_column_t *self)
{
    const tnd_column_t *column = self->column;
    return TND_NPY_COLUMN_HEADER + (column->ragged ? self->values * tnd_column_unit(column)
                                                   : self->rows * tnd_column_bytes(column));
}

static uint64_t end_of_splits(const tnd_npy_column_t *self)
{
    return TND_NPY_COLUMN_HEADER + (self->rows + 1) * sizeof(uint64_t);
}

static bool write_at(int file, const void *data, size_t size, uint64_t offset)
{
    for (size_t done = 0; done < size;) {
        ssize_t put =
            pwrite(file, (const uint8_t *)data + done, size - done, (off_t)(offset + done));
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        done += (size_t)put;
    }
    return true;
}

/*  Appends bytes, at `offset`. */
static bool write_all(const tnd_npy_pending_t *self, int file, const void *data, size_t size,
                      uint64_t offset)
{
    if (self->hasher != NULL)
        tnd_chunk_hasher_add(self->hasher, data, size);
    return write_at(file, data, size, offset);
}

/*  Writes what is pending; the file then ends at `end`. */
static bool flush(tnd_npy_pending_t *self, int file, uint64_t end)
{
    bool written = write_all(self, file, self->bytes, self->count, end - self->count);
    self->count = written ? 0 : self->count;
    return written;
}

/*  Appends to a file that ends at `end`, with what is pending. */
static bool append(tnd_npy_pending_t *self, int file, uint64_t end, const void *data, size_t size)
{
    if (self->bytes != NULL && size > PENDING_BYTES - self->count && !flush(self, file, end))
        return false;
    if (self->bytes == NULL || size > PENDING_BYTES)
        return write_all(self, file, data, size, end);
    if (size > 0)
        memcpy(self->bytes + self->count, data, size);
    self->count += size;
    return true;
}

bool tnd_npy_column_add(tnd_npy_column_t *self, const void *row, size_t bytes, uint64_t length)
{
    if (!append(&self->pending, self->file, end_of_rows(self), row, bytes))
        return false;
    if (self->column->ragged) {
        const uint64_t split[2] = {self->values, self->values + length};
        uint64_t end = end_of_splits(self) - sizeof split[0];
        bool first = self->rows == 0;
        /* The split where a row begins is there, but for the first. */
        if (!append(&self->pending_splits, self->splits, end + (first ? 0 : sizeof split[0]),
                    first ? split : split + 1, first ? sizeof split : sizeof split[0]))
            return false;
        self->values += length;
    }
    self->rows++;
    return true;
}

static bool write_header(int file, const tnd_column_t *column, uint64_t rows)
{
    char head[TND_NPY_HEADER_MAX];
    size_t bytes = tnd_npy_header(head, column, rows, TND_NPY_COLUMN_HEADER);
    assert(bytes == TND_NPY_COLUMN_HEADER);
    return write_at(file, head, bytes, 0);
}

static bool write_headers(const tnd_npy_column_t *self)
{
    static const tnd_column_t split = {.dtype = TND_I64};
    if (self->column->ragged && !write_header(self->splits, &split, self->rows + 1))
        return false;
    return write_header(self->file, self->column, self->column->ragged ? self->values : self->rows);
}

bool tnd_npy_column_complete(tnd_npy_column_t *self)
{
    static const uint64_t none = 0;
    if (!flush(&self->pending, self->file, end_of_rows(self)))
        return false;
    if (self->column->ragged &&
        !(self->rows > 0 ? flush(&self->pending_splits, self->splits, end_of_splits(self))
                         : write_all(&self->pending_splits, self->splits, &none, sizeof none,
                                     TND_NPY_COLUMN_HEADER)))
        return false;
    return write_headers(self);
}

static bool cut_file(int file, uint64_t size)
{
    return ftruncate(file, (off_t)size) == 0 && fsync(file) == 0;
}

bool tnd_npy_column_pad(tnd_npy_column_t *self)
{
    if (self->values > 0 || !self->column->ragged)
        return true;
    size_t unit = tnd_column_unit(self->column);
    uint8_t *zeros = tnd_allocate_zeroed(unit, 1);
    bool written = write_all(&self->pending, self->file, zeros, unit, TND_NPY_COLUMN_HEADER);
    free(zeros);
    self->values = 1;
    return written;
}

bool tnd_npy_column_cut(tnd_npy_column_t *self, uint64_t rows, bool *has_p)
{
    struct stat now;
    self->rows = rows;
    if (self->column->ragged) {
        uint64_t end = end_of_splits(self), *values = &self->values;
        *has_p = self->splits >= 0 && pread(self->splits, values, sizeof *values,
                                            (off_t)(end - sizeof *values)) == sizeof *values;
        if (!*has_p)
            return true;
        if (!cut_file(self->splits, end))
            return false;
    }
    uint64_t size = end_of_rows(self);
    *has_p = self->file >= 0 && fstat(self->file, &now) == 0 && (uint64_t)now.st_size >= size;
    return !*has_p || (write_headers(self) && cut_file(self->file, size));
}
