/*  tools/rows/capture.c - copies the rows of one step out of a feed. */
#include "tools/rows/capture.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/core/numeric/numeric.h"

void tnd_capture_init(tnd_capture_t *self, const tnd_schema_t *schema, uint32_t replicas)
{
    *self = (tnd_capture_t){.schema = *schema, .replica_count = replicas};
    self->replicas = tnd_allocate_zeroed(replicas, sizeof *self->replicas);
}

static void release(tnd_capture_replica_t *replica)
{
    for (uint32_t c = 0; c < TND_COLUMNS_MAX; c++) {
        free(replica->columns[c]);
        free(replica->splits[c]);
    }
    *replica = (tnd_capture_replica_t){0};
}

void tnd_capture_fini(tnd_capture_t *self)
{
    for (uint32_t r = 0; r < self->replica_count; r++)
        release(&self->replicas[r]);
    free(self->replicas);
}

/*  Copies the rows of a ragged column without their padding. */
static void take_ragged(tnd_capture_replica_t *taken, const tnd_replica_t *replica, uint32_t c,
                        const tnd_column_t *column)
{
    const uint8_t *rows = tnd_replica_column(replica, column->name);
    const uint64_t *lengths = tnd_replica_lengths(replica, column->name);
    const uint64_t *packed = tnd_replica_splits(replica, column->name);
    size_t unit = tnd_column_unit(column), stride = tnd_replica_stride(replica, column->name);
    uint64_t *splits = tnd_allocate(1, (taken->rows + 1) * sizeof *splits + 1);
    splits[0] = 0;
    for (uint64_t row = 0; row < taken->rows; row++)
        splits[row + 1] = splits[row] + lengths[row];
    taken->splits[c] = splits;
    taken->columns[c] = tnd_allocate(1, splits[taken->rows] * unit + 1);
    for (uint64_t row = 0; row < taken->rows; row++)
        memcpy(taken->columns[c] + splits[row] * unit,
               rows + (packed != NULL ? packed[row] * unit : row * stride), lengths[row] * unit);
    taken->padded_to[c] = packed != NULL ? TND_UNKNOWN : tnd_replica_longest(replica, column->name);
}

tnd_status_t tnd_capture_take(tnd_replica_t *replica, void *user)
{
    tnd_capture_t *self = user;
    tnd_capture_replica_t *taken = &self->replicas[tnd_replica_id(replica)];
    release(taken);
    taken->step = tnd_replica_step(replica);
    taken->epoch = tnd_replica_epoch(replica);
    taken->last = tnd_replica_last(replica);
    taken->rows = tnd_replica_rows(replica);
    taken->padded = tnd_replica_padded(replica);
    for (uint32_t c = 0; c < self->schema.count; c++) {
        const tnd_column_t *column = &self->schema.columns[c];
        if (column->ragged) {
            take_ragged(taken, replica, c, column);
            continue;
        }
        size_t bytes = taken->rows * tnd_column_bytes(column);
        taken->columns[c] = tnd_allocate(1, bytes + 1);
        if (bytes > 0)
            memcpy(taken->columns[c], tnd_replica_column(replica, column->name), bytes);
    }
    return TND_OK;
}

const uint8_t *tnd_capture_row(const tnd_capture_t *self, uint32_t replica, uint32_t column,
                               uint64_t row, uint64_t *elements_p)
{
    const tnd_capture_replica_t *taken = &self->replicas[replica];
    const tnd_column_t *of = &self->schema.columns[column];
    const uint64_t *splits = taken->splits[column];
    uint64_t elements = tnd_column_elements(of), first = row * elements;
    if (splits != NULL) {
        elements /= of->shape[0];
        first = splits[row] * elements;
        elements *= splits[row + 1] - splits[row];
    }
    *elements_p = elements;
    return taken->columns[column] + first * tnd_dtype_size(of->dtype);
}

uint64_t tnd_capture_elements(const tnd_capture_t *self, uint32_t replica, uint32_t column)
{
    const tnd_capture_replica_t *taken = &self->replicas[replica];
    const tnd_column_t *of = &self->schema.columns[column];
    const uint64_t *splits = taken->splits[column];
    if (splits == NULL)
        return taken->rows * tnd_column_elements(of);
    return splits[taken->rows] * (tnd_column_elements(of) / of->shape[0]);
}

double tnd_capture_number(tnd_dtype_t dtype, const void *data, uint64_t index)
{
    double number;
    tnd_cast(TND_F64, dtype, 1, &number, (const uint8_t *)data + index * tnd_dtype_size(dtype));
    return number;
}
