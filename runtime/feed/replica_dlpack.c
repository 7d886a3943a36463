/*  runtime/feed/replica_dlpack.c - a replica's rows as a tensor of DLPack. */
#include <stdlib.h>

#include "runtime/base/allocation.h"
#include "runtime/feed/dlpack.h"
#include "runtime/feed/replica.h"

typedef struct {
    dl_managed_tensor_t tensor;
    tnd_slot_memory_t *memory;
    int64_t shape[1 + TND_RANK_MAX], strides[1 + TND_RANK_MAX];
} export_t;

static const struct {
    uint8_t code, bits;
} types[TND_DTYPE_COUNT] = {
    [TND_U8] = {DL_UINT, 8},      [TND_I8] = {DL_INT, 8},     [TND_U16] = {DL_UINT, 16},
    [TND_I16] = {DL_INT, 16},     [TND_U32] = {DL_UINT, 32},  [TND_I32] = {DL_INT, 32},
    [TND_U64] = {DL_UINT, 64},    [TND_I64] = {DL_INT, 64},   [TND_F16] = {DL_FLOAT, 16},
    [TND_BF16] = {DL_BFLOAT, 16}, [TND_F32] = {DL_FLOAT, 32}, [TND_F64] = {DL_FLOAT, 64},
    [TND_BOOL] = {DL_BOOL, 8},
};

static void release(dl_managed_tensor_t *tensor)
{
    export_t *self = tensor->manager_ctx;
    tnd_slot_memory_release(&self->memory);
    free(self);
}

/*  Describes [rows, shape of the column]: the longest length of the step in place of that of a ragged
 *  column, or [values, rest of the shape] if rows are packed. */
static void describe(export_t *self, const tnd_replica_t *replica, const tnd_column_t *column)
{
    const uint64_t *splits = tnd_replica_splits(replica, column->name);
    dl_tensor_t *tensor = &self->tensor.dl_tensor;
    uint32_t packed = splits != NULL ? 1 : 0;
    int64_t step = 1; /* elements */
    tensor->ndim = (int32_t)(1 + column->rank - packed);
    self->shape[0] = splits != NULL ? (int64_t)splits[replica->rows] : replica->rows;
    for (uint32_t d = column->rank; d > packed; d--) {
        self->shape[d - packed] = (int64_t)column->shape[d - 1];
        self->strides[d - packed] = step;
        step *= self->shape[d - packed];
    }
    self->strides[0] = step;
    if (column->ragged && splits == NULL) {
        self->shape[1] = (int64_t)tnd_replica_longest(replica, column->name);
        self->strides[0] =
            (int64_t)(tnd_replica_stride(replica, column->name) / tnd_dtype_size(column->dtype));
    }
    tensor->shape = self->shape;
    tensor->strides = self->strides;
}

void *tnd_replica_dlpack(tnd_replica_t *replica, const char *name)
{
    int found = tnd_schema_find(replica->schema, name);
    const void *data = tnd_replica_column(replica, name);
    if (found < 0 || data == NULL)
        return NULL;
    const tnd_column_t *column = &replica->schema->columns[found];
    export_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->memory = tnd_slot_memory_hold(replica->memory);
    self->tensor = (dl_managed_tensor_t){.manager_ctx = self, .deleter = release};
    dl_tensor_t *tensor = &self->tensor.dl_tensor;
    tensor->data = (void *)(uintptr_t)data;
    tensor->device.device_type = DL_CPU;
    tensor->dtype.code = types[column->dtype].code;
    tensor->dtype.bits = types[column->dtype].bits;
    tensor->dtype.lanes = 1;
    describe(self, replica, column);
    return &self->tensor;
}
