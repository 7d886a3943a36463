/*  actors/parameters/held_values.c - the parameters that an actor holds. */
#include "actors/parameters/held_values.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/stored/npy_file.h"
#include "actors/stored/npy_header.h"
#include "runtime/base/allocation.h"
#include "runtime/base/dtype.h"
#include "runtime/feed/replica.h"

uint32_t tnd_held_values_versions(const tnd_parameters_options_t *options)
{
    return options->staleness == TND_STALENESS_UNBOUNDED ? 1 : (uint32_t)options->staleness + 1;
}

static float *values_of(tnd_buffer_t *buffer)
{
    return tnd_buffer_data(buffer);
}

/*  Of an array of any shape. */
static uint64_t numbers_of(const tnd_stored_t *in)
{
    uint64_t found = in->rows;
    for (uint32_t axis = 0; axis < in->rank; axis++)
        found *= in->shape[axis];
    return found;
}

tnd_status_t tnd_held_values_count(const tnd_parameters_options_t *options, size_t *count_p,
                                   tnd_error_t *error)
{
    tnd_stored_t in;
    TND_TRY(tnd_npy_open(&in, options->initial, error));
    uint64_t found = numbers_of(&in);
    tnd_stored_close(&in);
    *count_p = found;
    return found > 0 && found <= TND_PARAMETERS_MOST
               ? TND_OK
               : tnd_fail(error, "%s has %" PRIu64 " numbers: it can have 1 to %d",
                          options->initial, found, TND_PARAMETERS_MOST);
}

static tnd_status_t read_numbers(tnd_stored_t *in, float *values, size_t count, tnd_error_t *error)
{
    uint64_t found = numbers_of(in);
    const uint8_t *bytes;
    if (in->dtype != TND_F32 || found != count)
        return tnd_fail(error, "%s has %" PRIu64 " %s, but `count` is %zu f32", in->path, found,
                        tnd_dtype_name(in->dtype), count);
    TND_TRY(tnd_content_view(&in->content, in->offset, count * sizeof *values, &bytes, error));
    memcpy(values, bytes, count * sizeof *values);
    return tnd_content_intact(&in->content, error);
}

static tnd_status_t read_initial(const char *file, float *values, size_t count, tnd_error_t *error)
{
    tnd_stored_t in;
    TND_TRY(tnd_npy_open(&in, file, error));
    tnd_status_t status = read_numbers(&in, values, count, error);
    tnd_stored_close(&in);
    return status;
}

/*  The versions that are kept, from the oldest on; room for `kept`. */
static void list_versions(const tnd_held_values_t *self, float **rows)
{
    for (uint32_t i = 0; i < self->kept; i++)
        rows[i] = values_of(self->versions[(self->newest + 1 + i) % self->kept]);
}

static tnd_status_t load(tnd_held_values_t *self, const char *file, tnd_error_t *error)
{
    float **rows = tnd_allocate_zeroed(self->kept, sizeof *rows);
    list_versions(self, rows);
    tnd_status_t status = self->ops->load(self->optimizer, rows, self->kept, file, error);
    free(rows);
    return status;
}

static tnd_status_t fill(tnd_held_values_t *self, const tnd_held_values_config_t *config,
                         tnd_error_t *error)
{
    if (config->checkpoint != NULL)
        return load(self, config->checkpoint, error);
    float *first = values_of(self->versions[0]);
    if (config->options->initial != NULL)
        TND_TRY(read_initial(config->options->initial, first, self->count, error));
    else
        memcpy(first, config->first, self->count * sizeof *first);
    for (uint32_t i = 1; i < self->kept; i++)
        memcpy(values_of(self->versions[i]), first, self->count * sizeof *first);
    return TND_OK;
}

tnd_status_t tnd_held_values_open(tnd_held_values_t *self, const tnd_held_values_config_t *config,
                                  tnd_error_t *error)
{
    const tnd_parameters_options_t *options = config->options;
    *self = (tnd_held_values_t){.ops = tnd_optimizer_of(options->optimizer.table),
                                .count = config->count,
                                .kept = tnd_held_values_versions(options),
                                .newest = config->version};
    self->pool = tnd_pool_new(self->count * sizeof(float));
    self->versions = tnd_allocate_zeroed(self->kept, sizeof(tnd_buffer_t *));
    for (uint32_t i = 0; i < self->kept; i++)
        self->versions[i] = tnd_pool_take(self->pool);
    void *optimizer = tnd_allocate_zeroed(1, self->ops->state_bytes);
    if (self->ops->open(optimizer, options->optimizer.options, self->count, error) != TND_OK) {
        free(optimizer);
        return TND_FAILED;
    }
    self->optimizer = optimizer;
    TND_TRY(fill(self, config, error));
    for (uint32_t i = 0; i < self->kept; i++)
        tnd_buffer_seal(self->versions[i]);
    return TND_OK;
}

void tnd_held_values_close(tnd_held_values_t *self)
{
    if (self->optimizer != NULL)
        self->ops->close(self->optimizer);
    free(self->optimizer);
    for (uint32_t i = 0; i < self->kept; i++)
        tnd_buffer_drop(&self->versions[i]);
    free(self->versions);
    free(self->aligned);
    tnd_pool_destroy(&self->pool);
    *self = (tnd_held_values_t){0};
}

tnd_buffer_t *tnd_held_values_of(const tnd_held_values_t *self, uint64_t version)
{
    assert(version <= self->newest && self->newest - version < self->kept);
    return tnd_buffer_hold(self->versions[version % self->kept]);
}

static const float *align(tnd_held_values_t *self, const void *gradient)
{
    if ((uintptr_t)gradient % _Alignof(float) == 0)
        return gradient;
    if (self->aligned == NULL)
        self->aligned = tnd_allocate_zeroed(self->count, sizeof *self->aligned);
    memcpy(self->aligned, gradient, self->count * sizeof *self->aligned);
    return self->aligned;
}

void tnd_held_values_apply(tnd_held_values_t *self, const void *gradient)
{
    tnd_buffer_t *before = self->versions[self->newest % self->kept];
    tnd_buffer_t *after = tnd_pool_take(self->pool);
    const tnd_update_t update = {.number = ++self->newest,
                                 .count = self->count,
                                 .gradient = align(self, gradient),
                                 .before = values_of(before),
                                 .after = values_of(after)};
    self->ops->apply(self->optimizer, &update);
    tnd_buffer_seal(after);
    tnd_buffer_t **oldest = &self->versions[self->newest % self->kept];
    tnd_buffer_drop(oldest);
    *oldest = after;
}

/* --- files ------------------------------------------------------------------------------------- */

tnd_status_t tnd_held_values_keep(const tnd_held_values_t *self, const char *file,
                                  tnd_error_t *error)
{
    float **rows = tnd_allocate_zeroed(self->kept, sizeof *rows);
    list_versions(self, rows);
    tnd_status_t status =
        self->ops->save(self->optimizer, (const float *const *)rows, self->kept, file, error);
    free(rows);
    return status;
}

static bool write_array(const tnd_held_values_t *self, FILE *out)
{
    char head[TND_NPY_HEADER_MAX];
    const tnd_column_t column = {.dtype = TND_F32};
    size_t size = tnd_npy_header(head, &column, self->count, 64);
    const float *values = values_of(self->versions[self->newest % self->kept]);
    return fwrite(head, 1, size, out) == size &&
           fwrite(values, sizeof *values, self->count, out) == self->count;
}

tnd_status_t tnd_held_values_write(const tnd_held_values_t *self, const char *file,
                                   tnd_error_t *error)
{
    FILE *out = fopen(file, "wbe");
    bool written = out != NULL && write_array(self, out);
    int reason = errno;
    if (out != NULL && fclose(out) != 0 && written) {
        written = false;
        reason = errno;
    }
    return written ? TND_OK : tnd_fail(error, "%s cannot be written: %s", file, strerror(reason));
}
