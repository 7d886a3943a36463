/*  actors/optimizer/arrays.c - what an optimizer keeps, in memory and in a file. */
#include "actors/optimizer/arrays.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actors/stored/npy_column.h"
#include "actors/stored/npy_file.h"

tnd_status_t tnd_optimizer_arrays_open(tnd_optimizer_arrays_t *self, size_t arrays, size_t count,
                                       tnd_error_t *error)
{
    assert(arrays <= TND_OPTIMIZER_ARRAYS_MAX && count > 0);
    *self = (tnd_optimizer_arrays_t){.arrays = arrays, .count = count};
    for (size_t i = 0; i < arrays; i++) {
        self->values[i] = calloc(count, sizeof *self->values[i]);
        if (self->values[i] != NULL)
            continue;
        tnd_optimizer_arrays_close(self);
        return tnd_fail(error, "cannot allocate %zu arrays of %zu numbers for the optimizer",
                        arrays, count);
    }
    return TND_OK;
}

void tnd_optimizer_arrays_close(tnd_optimizer_arrays_t *self)
{
    for (size_t i = 0; i < self->arrays; i++)
        free(self->values[i]);
    *self = (tnd_optimizer_arrays_t){0};
}

static bool write_rows(tnd_npy_column_t *out, const float *const *rows, size_t row_count,
                       size_t count)
{
    bool written = true;
    for (size_t i = 0; i < row_count && written; i++)
        written = tnd_npy_column_add(out, rows[i], count * sizeof *rows[i], 0);
    return written;
}

static bool write_all(const tnd_optimizer_arrays_t *self, const float *const *versions,
                      size_t version_count, int file)
{
    const tnd_column_t column = {.dtype = TND_F32, .rank = 1, .shape = {self->count}};
    tnd_npy_column_t out;
    tnd_npy_column_init(&out, &column);
    out.file = file;
    bool written =
        write_rows(&out, versions, version_count, self->count) &&
        write_rows(&out, (const float *const *)self->values, self->arrays, self->count) &&
        tnd_npy_column_complete(&out) && fsync(file) == 0;
    tnd_npy_column_free(&out);
    return written;
}

tnd_status_t tnd_optimizer_arrays_save(const tnd_optimizer_arrays_t *self,
                                       const float *const *versions, size_t version_count,
                                       const char *file, tnd_error_t *error)
{
    assert(self->arrays + version_count > 0);
    int out = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool written = out >= 0 && write_all(self, versions, version_count, out);
    int reason = errno;
    if (out >= 0 && close(out) != 0 && written) {
        written = false;
        reason = errno;
    }
    return written ? TND_OK : tnd_fail(error, "%s cannot be written: %s", file, strerror(reason));
}

/*  The next row of the file to `row`. */
static tnd_status_t read_row(tnd_stored_t *in, size_t *row_p, float *to, size_t count,
                             tnd_error_t *error)
{
    const uint8_t *row;
    size_t bytes = count * sizeof *to;
    TND_TRY(tnd_content_view(&in->content, in->offset + (*row_p)++ * bytes, bytes, &row, error));
    memcpy(to, row, bytes);
    return TND_OK;
}

/*  The numbers of the file, which is open. */
static tnd_status_t read_all(const tnd_optimizer_arrays_t *self, float *const *versions,
                             size_t version_count, tnd_stored_t *in, tnd_error_t *error)
{
    size_t at = 0, rows = version_count + self->arrays;
    if (in->dtype != TND_F32 || in->rank != 1 || in->shape[0] != self->count || in->rows != rows)
        return tnd_fail(
            error,
            "%s: has %llu rows of %s, rank %u, first axis %llu, but %zu rows of %zu f32 "
            "are kept: name a file that was saved with this optimizer, for as many "
            "parameters",
            in->path, (unsigned long long)in->rows, tnd_dtype_name(in->dtype), in->rank,
            (unsigned long long)(in->rank > 0 ? in->shape[0] : 1), rows, self->count);
    for (size_t i = 0; i < version_count; i++)
        TND_TRY(read_row(in, &at, versions[i], self->count, error));
    for (size_t i = 0; i < self->arrays; i++)
        TND_TRY(read_row(in, &at, self->values[i], self->count, error));
    return tnd_content_intact(&in->content, error);
}

tnd_status_t tnd_optimizer_arrays_load(tnd_optimizer_arrays_t *self, float *const *versions,
                                       size_t version_count, const char *file, tnd_error_t *error)
{
    assert(self->arrays + version_count > 0);
    tnd_stored_t in;
    TND_TRY(tnd_npy_open(&in, file, error));
    tnd_status_t status = read_all(self, versions, version_count, &in, error);
    tnd_stored_close(&in);
    return status;
}
