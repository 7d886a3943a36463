/*  tools/capture.c - the rows of one step, copied out of a feed to be shown. */
#include "tools/capture.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/core/numeric.h"

void tnd_capture_init(tnd_capture_t *self, const tnd_schema_t *schema, uint32_t replicas)
{
    *self = (tnd_capture_t){.schema = *schema, .replica_count = replicas};
    self->replicas = calloc(replicas, sizeof *self->replicas);
    if (self->replicas == NULL)
        abort();
}

static void release(tnd_capture_replica_t *replica)
{
    for (uint32_t c = 0; c < TND_COLUMNS_MAX; c++)
        free(replica->columns[c]);
    *replica = (tnd_capture_replica_t){0};
}

void tnd_capture_fini(tnd_capture_t *self)
{
    for (uint32_t r = 0; r < self->replica_count; r++)
        release(&self->replicas[r]);
    free(self->replicas);
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
        size_t bytes = taken->rows * tnd_column_bytes(&self->schema.columns[c]);
        taken->columns[c] = malloc(bytes + 1);
        if (taken->columns[c] == NULL)
            abort();
        if (bytes > 0)
            memcpy(taken->columns[c], tnd_replica_column(replica, self->schema.columns[c].name),
                   bytes);
    }
    return TND_OK;
}

double tnd_capture_number(tnd_dtype_t dtype, const void *data, uint64_t index)
{
    double number;
    tnd_cast(TND_F64, dtype, 1, &number, (const uint8_t *)data + index * tnd_dtype_size(dtype));
    return number;
}
