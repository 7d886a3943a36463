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

static bool write_arrays(const tnd_optimizer_arrays_t *self, int file)
{
    const tnd_column_t column = {.dtype = TND_F32, .rank = 1, .shape = {self->count}};
    tnd_npy_column_t out;
    bool written = true;
    tnd_npy_column_init(&out, &column);
    out.file = file;
    for (size_t i = 0; i < self->arrays && written; i++)
        written =
            tnd_npy_column_add(&out, self->values[i], self->count * sizeof *self->values[i], 0);
    written = written && tnd_npy_column_complete(&out) && fsync(file) == 0;
    tnd_npy_column_free(&out);
    return written;
}

tnd_status_t tnd_optimizer_arrays_save(const tnd_optimizer_arrays_t *self, const char *file,
                                       tnd_error_t *error)
{
    assert(self->arrays > 0);
    int out = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool written = out >= 0 && write_arrays(self, out);
    int reason = errno;
    if (out >= 0 && close(out) != 0 && written) {
        written = false;
        reason = errno;
    }
    return written ? TND_OK : tnd_fail(error, "%s cannot be written: %s", file, strerror(reason));
}

/*  The numbers of the file, which is open. */
static tnd_status_t read_arrays(const tnd_optimizer_arrays_t *self, tnd_stored_t *in,
                                tnd_error_t *error)
{
    if (in->dtype != TND_F32 || in->rank != 1 || in->shape[0] != self->count ||
        in->rows != self->arrays)
        return tnd_fail(
            error,
            "%s: has %llu rows of %s, rank %u, first axis %llu, but the optimizer keeps "
            "%zu rows of %zu f32: name a file that it saved, for as many parameters",
            in->path, (unsigned long long)in->rows, tnd_dtype_name(in->dtype), in->rank,
            (unsigned long long)(in->rank > 0 ? in->shape[0] : 1), self->arrays, self->count);
    size_t bytes = self->count * sizeof(float);
    for (size_t i = 0; i < self->arrays; i++) {
        const uint8_t *row;
        TND_TRY(tnd_content_view(&in->content, in->offset + i * bytes, bytes, &row, error));
        memcpy(self->values[i], row, bytes);
    }
    return tnd_content_intact(&in->content, error);
}

tnd_status_t tnd_optimizer_arrays_load(tnd_optimizer_arrays_t *self, const char *file,
                                       tnd_error_t *error)
{
    assert(self->arrays > 0);
    tnd_stored_t in;
    TND_TRY(tnd_npy_open(&in, file, error));
    tnd_status_t status = read_arrays(self, &in, error);
    tnd_stored_close(&in);
    return status;
}
