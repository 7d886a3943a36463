/*  transport/cuda/cuda_memory.c - allocates memory in blocks, and deals it to stages. */
#include "transport/cuda/cuda_memory.h"

#include <linux/mempolicy.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"

/*  The host's parts begin at pages, those of the device as all that its driver allocates. */
enum { HOST_ALIGN = 4096, DEVICE_ALIGN = 256, PARTS_MOST = 64 };

/*  Of the host's and the device's memory together; a larger stage has a block of its own. */
static const size_t block_most = 4 << 20;

struct tnd_cuda_block {
    tnd_cuda_block_t *next;
    tnd_cuda_memory_size_t size; /* of a part */
    uint32_t parts;
    uint64_t taken; /* by part: a stage has it */
    uint64_t stale; /* a stage had it */
    void *host;
    CUdeviceptr device, raw;
};

/* --- blocks ----------------------------------------------------------------------------------- */

enum { NODES = 1024, NODE_BITS = 8 * sizeof(unsigned long) };

typedef struct {
    int mode;
    unsigned long nodes[NODES / NODE_BITS];
} memory_policy_t;

/*  Page-locked memory is taken from the node that the calling thread prefers.  Where the system
 *  forbids to choose one, the memory is only slower. */
static bool prefer_node(int32_t node, memory_policy_t *before)
{
    memory_policy_t wanted = {.nodes = {0}};
    if (node < 0 || node >= NODES ||
        syscall(SYS_get_mempolicy, &before->mode, before->nodes, NODES, NULL, 0) != 0)
        return false;
    wanted.nodes[node / NODE_BITS] = 1ul << node % NODE_BITS;
    return syscall(SYS_set_mempolicy, MPOL_PREFERRED, wanted.nodes, NODES) == 0;
}

static tnd_status_t allocate_host(tnd_cuda_context_t *context, size_t bytes, int32_t node,
                                  void **memory_p, tnd_error_t *error)
{
    memory_policy_t before;
    bool changed = prefer_node(node, &before);
    tnd_status_t status =
        TND_CUDA(context, error, cuMemHostAlloc, memory_p, bytes, CU_MEMHOSTALLOC_PORTABLE);
    if (status == TND_OK)
        memset(*memory_p, 0, bytes);
    if (changed)
        (void)syscall(SYS_set_mempolicy, before.mode, before.nodes, NODES);
    return status;
}

static size_t host_step(const tnd_cuda_memory_size_t *size)
{
    return tnd_round_up(size->host, HOST_ALIGN);
}

static size_t device_step(size_t bytes)
{
    return tnd_round_up(bytes, DEVICE_ALIGN);
}

/*  The last part has nothing after it: a write beyond its end is one beyond the allocation. */
static size_t bytes_of(uint32_t parts, size_t step, size_t last)
{
    return (parts - 1) * step + last;
}

static tnd_status_t clear(tnd_cuda_context_t *context, CUstream stream, CUdeviceptr at,
                          size_t bytes, tnd_error_t *error)
{
    TND_TRY(TND_CUDA(context, error, cuMemsetD8Async, at, 0, bytes, stream));
    return TND_CUDA(context, error, cuStreamSynchronize, stream);
}

static tnd_status_t allocate(tnd_cuda_block_t *self, tnd_cuda_context_t *context, int32_t node,
                             tnd_error_t *error)
{
    const tnd_cuda_memory_size_t *size = &self->size;
    TND_TRY(allocate_host(context, bytes_of(self->parts, host_step(size), size->host), node,
                          &self->host, error));
    TND_TRY(TND_CUDA(context, error, cuMemAlloc_v2, &self->device,
                     bytes_of(self->parts, device_step(size->device), size->device)));
    return size->raw == 0 ? TND_OK
                          : TND_CUDA(context, error, cuMemAlloc_v2, &self->raw,
                                     bytes_of(self->parts, device_step(size->raw), size->raw));
}

static void free_block(tnd_cuda_block_t *self, tnd_cuda_context_t *context)
{
    if (self->raw != 0)
        (void)TND_CUDA(context, NULL, cuMemFree_v2, self->raw);
    if (self->device != 0)
        (void)TND_CUDA(context, NULL, cuMemFree_v2, self->device);
    if (self->host != NULL)
        (void)TND_CUDA(context, NULL, cuMemFreeHost, self->host);
    free(self);
}

static tnd_status_t make_block(tnd_cuda_block_t **made_p, tnd_cuda_context_t *context,
                               CUstream stream, int32_t node, const tnd_cuda_memory_size_t *size,
                               uint32_t parts, tnd_error_t *error)
{
    tnd_cuda_block_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->size = *size;
    self->parts = parts;
    tnd_status_t status = allocate(self, context, node, error);
    if (status == TND_OK)
        status = clear(context, stream, self->device,
                       bytes_of(parts, device_step(size->device), size->device), error);
    if (status == TND_OK)
        *made_p = self;
    else if (tnd_cuda_context_drain_stream(context, stream))
        free_block(self, context);
    else
        free(self);
    return status;
}

/* --- parts ------------------------------------------------------------------------------------ */

static bool is_of_size(const tnd_cuda_block_t *self, const tnd_cuda_memory_size_t *size)
{
    return self->size.host == size->host && self->size.device == size->device &&
           self->size.raw == size->raw;
}

static bool is_taken(const tnd_cuda_block_t *self, uint32_t number)
{
    return (self->taken >> number & 1) != 0;
}

static tnd_cuda_block_t *find_room(const tnd_cuda_memory_t *self,
                                   const tnd_cuda_memory_size_t *size, uint32_t *number_p)
{
    for (tnd_cuda_block_t *block = self->blocks; block != NULL; block = block->next)
        for (uint32_t i = 0; i < block->parts && is_of_size(block, size); i++)
            if (!is_taken(block, i)) {
                *number_p = i;
                return block;
            }
    return NULL;
}

/*  How many parts a further block gets: as many as all others have. */
static uint32_t parts_of_next(const tnd_cuda_memory_t *self, const tnd_cuda_memory_size_t *size)
{
    size_t step = host_step(size) + device_step(size->device) + device_step(size->raw);
    size_t most = block_most / step < PARTS_MOST ? block_most / step : PARTS_MOST;
    uint32_t parts = 0;
    for (const tnd_cuda_block_t *block = self->blocks; block != NULL; block = block->next)
        parts += is_of_size(block, size) ? block->parts : 0;
    if (parts > most)
        parts = (uint32_t)most;
    return parts > 0 ? parts : 1;
}

static tnd_status_t add_block(tnd_cuda_memory_t *self, tnd_cuda_context_t *context, CUstream stream,
                              int32_t node, const tnd_cuda_memory_size_t *size, tnd_error_t *error)
{
    tnd_cuda_block_t *made;
    TND_TRY(make_block(&made, context, stream, node, size, parts_of_next(self, size), error));
    made->next = self->blocks;
    self->blocks = made;
    return TND_OK;
}

static tnd_cuda_memory_part_t part_of(tnd_cuda_block_t *block, uint32_t number)
{
    const tnd_cuda_memory_size_t *size = &block->size;
    return (tnd_cuda_memory_part_t){
        .block = block,
        .number = number,
        .host = (char *)block->host + number * host_step(size),
        .device = block->device + number * device_step(size->device),
        .raw = block->raw == 0 ? 0 : block->raw + number * device_step(size->raw),
    };
}

/*  Of a stage that was freed. */
static tnd_status_t clear_again(const tnd_cuda_memory_part_t *part, tnd_cuda_context_t *context,
                                CUstream stream, tnd_error_t *error)
{
    const tnd_cuda_memory_size_t *size = &part->block->size;
    memset(part->host, 0, size->host);
    return clear(context, stream, part->device, size->device, error);
}

static tnd_status_t take(tnd_cuda_memory_t *self, tnd_cuda_context_t *context, CUstream stream,
                         int32_t node, const tnd_cuda_memory_size_t *size,
                         tnd_cuda_memory_part_t *part, tnd_error_t *error)
{
    uint32_t number;
    if (find_room(self, size, &number) == NULL)
        TND_TRY(add_block(self, context, stream, node, size, error));
    tnd_cuda_block_t *block = find_room(self, size, &number);
    *part = part_of(block, number);
    bool stale = (block->stale >> number & 1) != 0;
    block->taken |= UINT64_C(1) << number;
    block->stale |= UINT64_C(1) << number;
    return stale ? clear_again(part, context, stream, error) : TND_OK;
}

tnd_status_t tnd_cuda_memory_take(tnd_cuda_memory_t *self, tnd_cuda_context_t *context,
                                  CUstream stream, int32_t node, const tnd_cuda_memory_size_t *size,
                                  tnd_cuda_memory_part_t *part, tnd_error_t *error)
{
    pthread_mutex_lock(&self->lock);
    tnd_status_t status = take(self, context, stream, node, size, part, error);
    pthread_mutex_unlock(&self->lock);
    return status;
}

static void unlink_block(tnd_cuda_memory_t *self, const tnd_cuda_block_t *block)
{
    tnd_cuda_block_t **at = &self->blocks;
    while (*at != block)
        at = &(*at)->next;
    *at = block->next;
}

void tnd_cuda_memory_give(tnd_cuda_memory_t *self, tnd_cuda_context_t *context,
                          const tnd_cuda_memory_part_t *part)
{
    tnd_cuda_block_t *block = part->block;
    pthread_mutex_lock(&self->lock);
    block->taken &= ~(UINT64_C(1) << part->number);
    bool last = block->taken == 0;
    if (last)
        unlink_block(self, block);
    pthread_mutex_unlock(&self->lock);
    if (last)
        free_block(block, context);
}

void tnd_cuda_memory_init(tnd_cuda_memory_t *self)
{
    *self = (tnd_cuda_memory_t){.blocks = NULL};
    pthread_mutex_init(&self->lock, NULL);
}

void tnd_cuda_memory_fini(tnd_cuda_memory_t *self)
{
    while (self->blocks != NULL) {
        tnd_cuda_block_t *block = self->blocks;
        self->blocks = block->next;
        free(block);
    }
    pthread_mutex_destroy(&self->lock);
}
