/*  runtime/feed/replica_dlpack.c - a replica's rows as tensors of DLPack. */
#include <assert.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/feed/dlpack.h"
#include "runtime/feed/replica.h"

/*  One of both structs is what the consumer has. */
typedef struct {
    tnd_slot_reader_t reader; /* first, because the pool frees it */
    bool streams;             /* reader.stream reads the rows */
    dl_managed_tensor_t plain;
    dl_managed_tensor_versioned_t versioned;
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

static void end(export_t *self)
{
    if (self->streams) {
        tnd_slot_memory_return(&self->reader);
        return;
    }
    tnd_slot_memory_release(&self->reader.memory);
    free(self);
}

static void end_plain(dl_managed_tensor_t *tensor)
{
    end(tensor->manager_ctx);
}

static void end_versioned(dl_managed_tensor_versioned_t *tensor)
{
    end(tensor->manager_ctx);
}

/*  Describes [rows, shape of the column]: the longest length of the step in place of that of a ragged
 *  column, or [values, rest of the shape] if rows are packed. */
static void describe(export_t *self, const tnd_replica_t *replica, const tnd_column_t *column)
{
    const uint64_t *splits = tnd_replica_splits(replica, column->name);
    dl_tensor_t *tensor = &self->plain.dl_tensor;
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

static tnd_device_t *device_of(const export_t *self)
{
    return tnd_slot_pool_device(self->reader.memory->pool, self->reader.replica);
}

/*  Makes a tensor of a column without a reference to its memory; false: there is none to read. */
static bool make(export_t *self, const tnd_replica_t *replica, uint32_t index)
{
    const void *data = replica->columns != NULL ? replica->columns[index] : NULL;
    const tnd_column_t *column = &replica->schema->columns[index];
    if (data == NULL)
        return false;
    self->reader.memory = replica->memory;
    self->reader.replica = replica->local;
    self->plain.manager_ctx = self;
    const tnd_device_t *device = device_of(self);
    dl_tensor_t *tensor = &self->plain.dl_tensor;
    tensor->data = (void *)(uintptr_t)data;
    tensor->device.device_type = device->ops->dlpack_type;
    tensor->device.device_id = (int32_t)device->ordinal;
    tensor->dtype.code = types[column->dtype].code;
    tensor->dtype.bits = types[column->dtype].bits;
    tensor->dtype.lanes = 1;
    describe(self, replica, column);
    return true;
}

void *tnd_replica_dlpack(tnd_replica_t *replica, const char *name)
{
    int found = tnd_schema_find(replica->schema, name);
    if (found < 0 || tnd_replica_column(replica, name) == NULL)
        return NULL;
    export_t *self = tnd_allocate_zeroed(1, sizeof *self);
    (void)make(self, replica, (uint32_t)found);
    (void)tnd_slot_memory_hold(replica->memory);
    self->plain.deleter = end_plain;
    return &self->plain;
}

/*  Makes the stream of a consumer wait for the rows, and records that it reads them. */
static tnd_status_t join_stream(export_t *self, int64_t stream, tnd_error_t *error)
{
    tnd_device_t *device = device_of(self);
    bool streams = (device->ops->can & TND_DEVICE_STREAMS) != 0;
    if (stream == TND_STREAM_NONE && streams && device->ops->dlpack_type == DL_CUDA)
        stream = DL_CUDA_LEGACY_STREAM;
    if (stream == TND_STREAM_NONE || stream == TND_STREAM_UNSYNCHRONIZED)
        return TND_OK;
    if (!streams)
        return tnd_fail(error, "device %s:%" PRIu32 " has no streams: pass `stream=None`",
                        device->ops->name, device->ordinal);
    if (stream <= 0)
        return tnd_fail(
            error, "stream %" PRId64 " is ambiguous or invalid: pass None, -1, 1, 2 or a handle",
            stream);
    self->streams = true;
    self->reader.stream = (tnd_stream_handle_t)stream;
    return device->ops->await(device, &self->reader.memory->stages[self->reader.replica],
                              self->reader.stream, error);
}

void *tnd_tensor_share(void *tensor, bool versioned, int64_t stream, tnd_error_t *error)
{
    const dl_managed_tensor_t *of = tensor;
    assert(of->deleter == end_plain || of->deleter == NULL);
    export_t *self = tnd_allocate(1, sizeof *self);
    *self = *(const export_t *)of->manager_ctx;
    (void)tnd_slot_memory_hold(self->reader.memory);
    self->plain.manager_ctx = self;
    self->plain.deleter = end_plain;
    self->plain.dl_tensor.shape = self->shape;
    self->plain.dl_tensor.strides = self->strides;
    self->versioned = (dl_managed_tensor_versioned_t){.version = {1, 0},
                                                      .manager_ctx = self,
                                                      .deleter = end_versioned,
                                                      .flags = DL_READ_ONLY,
                                                      .dl_tensor = self->plain.dl_tensor};
    if (join_stream(self, stream, error) == TND_OK)
        return versioned ? (void *)&self->versioned : (void *)&self->plain;
    tnd_slot_memory_release(&self->reader.memory);
    free(self);
    return NULL;
}

/* --- rows that are taken ---------------------------------------------------------------------- */

struct tnd_taken_rows {
    tnd_slot_memory_t *memory; /* NULL: no column has any */
    uint32_t columns;
    struct {
        export_t tensor;         /* without data: other libraries cannot read it */
        const uint64_t *lengths; /* NULL: it is not ragged */
    } of[];
};

/*  With room for the lengths of ragged columns, which are valid in the step only. */
static tnd_taken_rows_t *new_rows(const tnd_replica_t *replica)
{
    const tnd_schema_t *schema = replica->schema;
    tnd_taken_rows_t *self;
    size_t head = sizeof *self + schema->count * sizeof self->of[0];
    self = tnd_allocate_zeroed(1, head + tnd_schema_ragged(schema) * (size_t)replica->rows *
                                             sizeof(uint64_t));
    self->columns = schema->count;
    uint64_t *room = (uint64_t *)(void *)((char *)self + head);
    for (uint32_t c = 0; c < schema->count; c++) {
        const uint64_t *lengths = replica->columns != NULL ? replica->lengths[c] : NULL;
        if (lengths == NULL)
            continue;
        self->of[c].lengths = memcpy(room, lengths, replica->rows * sizeof *room);
        room += replica->rows;
    }
    return self;
}

void tnd_replica_take(tnd_replica_t *replica, tnd_taken_t *taken)
{
    tnd_taken_rows_t *rows = new_rows(replica);
    bool any = false;
    for (uint32_t c = 0; c < rows->columns; c++)
        any = make(&rows->of[c].tensor, replica, c) || any;
    if (any)
        rows->memory = tnd_slot_memory_hold(replica->memory);
    *taken = (tnd_taken_t){.id = replica->id,
                           .last = replica->note->last_of_epoch,
                           .step = replica->note->step,
                           .epoch = replica->note->epoch,
                           .count = replica->rows,
                           .padded = replica->padded,
                           .rows = rows};
}

void *tnd_taken_tensor(tnd_taken_rows_t *rows, uint32_t column)
{
    if (column >= rows->columns || rows->of[column].tensor.plain.dl_tensor.data == NULL)
        return NULL;
    return &rows->of[column].tensor.plain;
}

const uint64_t *tnd_taken_lengths(const tnd_taken_rows_t *rows, uint32_t column)
{
    return column < rows->columns ? rows->of[column].lengths : NULL;
}

void tnd_taken_release(tnd_taken_rows_t *rows)
{
    tnd_slot_memory_release(&rows->memory);
    free(rows);
}

/*  The functions of Python are found, not linked: only a process of Python has a capsule. */
void tnd_tensor_end_capsule(void *capsule)
{
    int (*is_valid)(void *, const char *);
    void *(*pointer_of)(void *, const char *);
    *(void **)&is_valid = dlsym(RTLD_DEFAULT, "PyCapsule_IsValid");
    *(void **)&pointer_of = dlsym(RTLD_DEFAULT, "PyCapsule_GetPointer");
    if (is_valid == NULL || pointer_of == NULL)
        return;
    if (is_valid(capsule, "dltensor"))
        end_plain(pointer_of(capsule, "dltensor"));
    else if (is_valid(capsule, "dltensor_versioned"))
        end_versioned(pointer_of(capsule, "dltensor_versioned"));
}
