/*  tests/runtime/feed/replica_dlpack_test.c - the tensors of a replica, and their streams.
 *
 *  The devices are the test's: "cuda" has streams and counts what they are told, "cpu" has none. */
#include "runtime/feed/dlpack.h"
#include "runtime/feed/replica.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static int awaited, marked;
static tnd_stream_handle_t stream;
static bool lost; /* the device is */
static const tnd_device_ops_t cuda, cpu;

static uint32_t test_count(char *why, size_t room)
{
    (void)why;
    (void)room;
    return 4;
}

static tnd_status_t open_as(tnd_device_t **self_p, uint32_t ordinal, const tnd_device_ops_t *ops)
{
    *self_p = calloc(1, sizeof **self_p);
    **self_p = (tnd_device_t){.ops = ops, .ordinal = ordinal};
    return TND_OK;
}

static tnd_status_t open_cuda(tnd_device_t **self_p, uint32_t ordinal,
                              const tnd_device_config_t *config, tnd_error_t *error)
{
    (void)config;
    (void)error;
    return open_as(self_p, ordinal, &cuda);
}

static tnd_status_t open_cpu(tnd_device_t **self_p, uint32_t ordinal,
                             const tnd_device_config_t *config, tnd_error_t *error)
{
    (void)config;
    (void)error;
    return open_as(self_p, ordinal, &cpu);
}

static void test_close(tnd_device_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

static tnd_status_t test_stage(tnd_device_t *self, size_t bytes, size_t device_bytes, size_t warm,
                               tnd_stage_t *stage, tnd_error_t *error)
{
    (void)self;
    (void)warm;
    (void)error;
    *stage =
        (tnd_stage_t){.host = calloc(1, bytes), .host_bytes = bytes, .device_bytes = device_bytes};
    stage->device = stage->host;
    return TND_OK;
}

static void test_unstage(tnd_device_t *self, tnd_stage_t *stage)
{
    (void)self;
    free(stage->host);
    *stage = (tnd_stage_t){0};
}

static tnd_status_t test_await(tnd_device_t *self, tnd_stage_t *stage, tnd_stream_handle_t of,
                               tnd_error_t *error)
{
    (void)stage;
    if (lost)
        return tnd_fail(error, "cuda:%u: the device was lost", self->ordinal);
    awaited++;
    stream = of;
    return TND_OK;
}

static tnd_status_t test_mark(tnd_device_t *self, tnd_stage_t *stage, tnd_stream_handle_t of,
                              tnd_error_t *error)
{
    (void)self;
    (void)stage;
    (void)error;
    marked++;
    stream = of;
    return TND_OK;
}

static const tnd_device_ops_t cuda = {
    .name = "cuda",
    .can = TND_DEVICE_POINTERS | TND_DEVICE_STREAMS,
    .dlpack_type = 2, /* kDLCUDA */
    .count = test_count,
    .open = open_cuda,
    .close = test_close,
    .stage = test_stage,
    .unstage = test_unstage,
    .await = test_await,
    .mark = test_mark,
};

static const tnd_device_ops_t cpu = {
    .name = "cpu",
    .can = TND_DEVICE_POINTERS,
    .dlpack_type = 1, /* kDLCPU */
    .count = test_count,
    .open = open_cpu,
    .close = test_close,
    .stage = test_stage,
    .unstage = test_unstage,
};

const tnd_device_ops_t *const *tnd_registry_devices(size_t *count_p)
{
    static const tnd_device_ops_t *const all[] = {&cpu, &cuda};
    *count_p = 2;
    return all;
}

/*  The second of two replicas, with five rows of f32[3]. */
typedef struct {
    tnd_slot_pool_t *pool;
    tnd_slot_memory_t *memory;
    tnd_schema_t schema;
    const void *columns[TND_COLUMNS_MAX];
    tnd_replica_t replica;
    dl_managed_tensor_t *tensor;
} rows_t;

static rows_t *new_rows(const char *device)
{
    rows_t *self = calloc(1, sizeof *self);
    const char *const names[] = {"cpu:0", device};
    const uint64_t shape[] = {3};
    tnd_slot_pool_config_t config = {
        .devices = names, .count = 2, .bytes = 64, .warm = 64, .spare = 1};
    tnd_error_t error;
    cr_assert(tnd_slot_pool_new(&self->pool, &config, NULL, &error) == TND_OK, "%s", error.text);
    cr_assert(tnd_slot_pool_take(self->pool, &self->memory, NULL, &error) == TND_OK, "%s",
              error.text);
    cr_assert(tnd_schema_add(&self->schema, "x", TND_F32, 1, shape, &error) == TND_OK);
    self->columns[0] = self->memory->stages[1].device;
    self->replica = (tnd_replica_t){.id = 9,
                                    .local = 1,
                                    .schema = &self->schema,
                                    .columns = self->columns,
                                    .memory = self->memory,
                                    .rows = 5};
    self->tensor = tnd_replica_dlpack(&self->replica, "x");
    return self;
}

static void *share(rows_t *self, bool versioned, int64_t of)
{
    tnd_error_t error = {.text = "none"};
    void *tensor = tnd_tensor_share(self->tensor, versioned, of, &error);
    cr_assert(tensor != NULL, "%s", error.text);
    return tensor;
}

static void release(void *tensor)
{
    ((dl_managed_tensor_t *)tensor)->deleter(tensor);
}

static void destroy(rows_t *self)
{
    release(self->tensor);
    tnd_slot_memory_release(&self->memory);
    tnd_slot_pool_destroy(&self->pool);
    free(self);
}

Test(replica_dlpack, a_tensor_is_on_the_device_of_its_replica)
{
    rows_t *rows = new_rows("cuda:3");
    cr_assert(eq(i32, rows->tensor->dl_tensor.device.device_type, 2));
    cr_assert(eq(i32, rows->tensor->dl_tensor.device.device_id, 3));
    destroy(rows);
    rows = new_rows("cpu:2");
    cr_assert(eq(i32, rows->tensor->dl_tensor.device.device_type, 1));
    cr_assert(eq(i32, rows->tensor->dl_tensor.device.device_id, 2));
    destroy(rows);
}

Test(replica_dlpack, both_kinds_describe_the_same_rows_and_outlive_the_first_tensor)
{
    rows_t *rows = new_rows("cpu:0");
    const void *data = rows->columns[0];
    dl_managed_tensor_t *plain = share(rows, false, TND_STREAM_NONE);
    dl_managed_tensor_versioned_t *versioned = share(rows, true, TND_STREAM_NONE);
    destroy(rows);
    const dl_tensor_t *both[] = {&plain->dl_tensor, &versioned->dl_tensor};
    for (int i = 0; i < 2; i++) {
        cr_assert(eq(ptr, both[i]->data, (void *)(uintptr_t)data));
        cr_assert(eq(i32, both[i]->ndim, 2));
        cr_assert(both[i]->shape[0] == 5 && both[i]->shape[1] == 3);
        cr_assert(both[i]->strides[0] == 3 && both[i]->strides[1] == 1);
        cr_assert(both[i]->dtype.code == 2 && both[i]->dtype.bits == 32);
    }
    cr_assert(eq(u32, versioned->version.major, 1));
    cr_assert(eq(u64, versioned->flags, 1), "read-only");
    plain->deleter(plain);
    versioned->deleter(versioned);
}

/*  https://data-apis.org/array-api/latest, `__dlpack__`: CUDA. */
Test(replica_dlpack, a_stream_of_cuda_waits_for_the_rows)
{
    static const struct {
        int64_t given;
        tnd_stream_handle_t means;
    } cases[] = {{TND_STREAM_NONE, 1}, {1, 1}, {2, 2}, {0x7f0012345678, 0x7f0012345678}};
    rows_t *rows = new_rows("cuda:0");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        void *tensor = share(rows, i % 2 == 0, cases[i].given);
        cr_assert(eq(int, awaited, (int)i + 1));
        cr_assert(eq(sz, stream, cases[i].means));
        if (i % 2 == 0)
            ((dl_managed_tensor_versioned_t *)tensor)->deleter(tensor);
        else
            release(tensor);
        cr_assert(eq(int, marked, (int)i), "the deleter calls no device");
        (void)tnd_slot_memory_shared(rows->memory);
        cr_assert(eq(int, marked, (int)i + 1));
        cr_assert(eq(sz, stream, cases[i].means));
    }
    release(share(rows, false, TND_STREAM_UNSYNCHRONIZED));
    (void)tnd_slot_memory_shared(rows->memory);
    cr_assert(eq(int, awaited, 4));
    cr_assert(eq(int, marked, 4));
    destroy(rows);
}

Test(replica_dlpack, a_stream_that_is_none_of_the_device_is_refused)
{
    tnd_error_t error;
    rows_t *rows = new_rows("cuda:1");
    cr_assert(tnd_tensor_share(rows->tensor, false, 0, &error) == NULL);
    cr_assert(strstr(error.text, "stream 0") != NULL, "%s", error.text);
    cr_assert(tnd_tensor_share(rows->tensor, false, -2, &error) == NULL);
    lost = true;
    cr_assert(tnd_tensor_share(rows->tensor, true, 2, &error) == NULL);
    cr_assert(strcmp(error.text, "cuda:1: the device was lost") == 0, "%s", error.text);
    cr_assert(eq(int, marked, 0));
    destroy(rows);
    rows = new_rows("cpu:1");
    cr_assert(tnd_tensor_share(rows->tensor, false, 2, &error) == NULL);
    cr_assert(strstr(error.text, "cpu:1 has no streams") != NULL, "%s", error.text);
    release(share(rows, false, TND_STREAM_UNSYNCHRONIZED));
    destroy(rows);
}
