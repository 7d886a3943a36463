/*  transport/device/cpu.c - the processor as a device: any number, with the host's own memory. */
#include "runtime/interface/device.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/base/allocation.h"
#include "transport/device/cpu_reduction.h"

extern const tnd_device_ops_t tnd_device_cpu;

static uint32_t cpu_count(char *why, size_t room)
{
    (void)why;
    (void)room;
    return TND_DEVICES_ANY;
}

static tnd_status_t cpu_open(tnd_device_t **self_p, uint32_t ordinal,
                             const tnd_device_config_t *config, tnd_error_t *error)
{
    (void)config;
    (void)error;
    tnd_device_t *self = tnd_allocate(1, sizeof *self);
    *self = (tnd_device_t){.ops = &tnd_device_cpu, .ordinal = ordinal};
    *self_p = self;
    return TND_OK;
}

static void cpu_close(tnd_device_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

/*  Returns NULL if the memory cannot be allocated. */
static void *map_zeros(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

static tnd_status_t cpu_stage(tnd_device_t *self, size_t bytes, size_t device_bytes, size_t warm,
                              tnd_stage_t *stage, tnd_error_t *error)
{
    size_t whole = (bytes + TND_STAGE_ALIGN) / TND_STAGE_ALIGN * TND_STAGE_ALIGN;
    bool mapped = warm < bytes;
    void *memory = mapped ? map_zeros(bytes) : aligned_alloc(TND_STAGE_ALIGN, whole);
    if (memory == NULL)
        return tnd_fail(error, "cpu:%" PRIu32 ": cannot allocate %zu bytes for a batch",
                        self->ordinal, whole);
    memset(memory, 0, mapped ? warm : whole);
    *stage = (tnd_stage_t){.host = memory,
                           .device = memory,
                           .host_bytes = bytes,
                           .device_bytes = device_bytes,
                           .own = mapped ? memory : NULL};
    return TND_OK;
}

static void cpu_unstage(tnd_device_t *self, tnd_stage_t *stage)
{
    (void)self;
    if (stage->own != NULL)
        munmap(stage->own, stage->host_bytes);
    else
        free(stage->host);
    *stage = (tnd_stage_t){0};
}

/*  Rows are already where steps read them. */
static tnd_status_t cpu_upload(tnd_device_t *self, tnd_stage_t *stage,
                               const tnd_stage_piece_t *pieces, size_t count, tnd_error_t *error)
{
    (void)self;
    (void)stage;
    (void)pieces;
    (void)count;
    (void)error;
    return TND_OK;
}

/*  Nothing is ever under way. */
static tnd_status_t cpu_done(tnd_device_t *self, tnd_stage_t *stage, tnd_error_t *error)
{
    (void)self;
    (void)stage;
    (void)error;
    return TND_OK;
}

static tnd_stream_handle_t cpu_stream(tnd_device_t *self)
{
    (void)self;
    return 0;
}

static tnd_status_t cpu_order(tnd_device_t *self, tnd_stage_t *stage, tnd_stream_handle_t stream,
                              tnd_error_t *error)
{
    (void)self;
    (void)stage;
    (void)stream;
    (void)error;
    return TND_OK;
}

static void cpu_facts(tnd_device_t *self, tnd_device_facts_t *facts)
{
    (void)self;
    *facts = (tnd_device_facts_t){.numa_node = -1};
}

const tnd_device_ops_t tnd_device_cpu = {
    .name = "cpu",
    .can = TND_DEVICE_POINTERS | TND_DEVICE_ANY_THREAD | TND_DEVICE_REDUCES,
    .dlpack_type = 1, /* kDLCPU */
    .count = cpu_count,
    .open = cpu_open,
    .close = cpu_close,
    .stage = cpu_stage,
    .unstage = cpu_unstage,
    .upload = cpu_upload,
    .uploaded = cpu_done,
    .stream = cpu_stream,
    .await = cpu_order,
    .mark = cpu_order,
    .finished = cpu_done,
    .facts = cpu_facts,
    .reduction = &tnd_cpu_reduction,
};
