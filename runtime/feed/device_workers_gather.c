/*  runtime/feed/device_workers_gather.c - gathers what replicas posted, in order of replicas. */
#include "runtime/feed/device_workers_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

/*  Makes gather number `count` of `elements` elements; `first` is already written. */
static tnd_gathered_t *grow(tnd_gathered_t *gathered, tnd_dtype_t dtype, size_t elements)
{
    size_t bytes = elements * tnd_dtype_size(dtype);
    gathered->dtype = dtype;
    if (bytes <= gathered->room && gathered->data != NULL)
        return gathered;
    free(gathered->data);
    gathered->data = tnd_allocate_aligned(64, bytes);
    gathered->room = bytes;
    return gathered;
}

static tnd_gathered_t *next(tnd_device_workers_t *self)
{
    tnd_gathers_t *gathers = &self->gathers;
    gathers->replicas = self->config.replicas;
    gathers->items =
        tnd_grow(gathers->items, gathers->count, &gathers->room, sizeof *gathers->items);
    tnd_gathered_t *gathered = &gathers->items[gathers->count++];
    if (gathers->count > gathers->made) {
        gathers->made++;
        *gathered = (tnd_gathered_t){
            .first = tnd_allocate_zeroed(self->config.replicas + 1, sizeof *gathered->first)};
    }
    return gathered;
}

void tnd_device_workers_gather_room(tnd_device_workers_t *self)
{
    const tnd_replica_t *one = &self->replicas[0];
    self->gathers.count = 0;
    for (uint32_t p = 0; p < one->posts.count; p++) {
        if (one->posts.items[p].reduce != TND_GATHER)
            continue;
        tnd_gathered_t *gathered = next(self);
        for (uint32_t r = 0; r < self->config.replicas; r++)
            gathered->first[r + 1] = gathered->first[r] + self->replicas[r].posts.items[p].count;
        grow(gathered, one->posts.items[p].dtype, gathered->first[self->config.replicas]);
    }
}

static void copy(void *out, const tnd_posting_t *post)
{
    if (post->count > 0)
        memcpy(out, post->data, post->count * tnd_dtype_size(post->dtype));
}

void tnd_device_workers_gather_own(const worker_t *worker)
{
    tnd_device_workers_t *group = worker->group;
    const tnd_gathered_t *gathered = group->gathers.items;
    for (uint32_t p = 0; p < group->replicas[0].posts.count; p++) {
        if (group->replicas[0].posts.items[p].reduce != TND_GATHER)
            continue;
        for (uint32_t r = worker->first; r < worker->first + worker->count; r++) {
            const tnd_posting_t *post = &group->replicas[r].posts.items[p];
            copy(gathered->data + gathered->first[r] * tnd_dtype_size(post->dtype), post);
        }
        gathered++;
    }
}

void tnd_device_workers_gather_begin(tnd_device_workers_t *self, node_t *node, uint32_t posting,
                                     tnd_buffer_t *tensor)
{
    const tnd_replica_t *replicas = &self->replicas[node->node.first - self->config.first];
    uint64_t *counts;
    size_t sum = 0;
    for (uint32_t i = 0; i < node->node.count; i++)
        sum += replicas[i].posts.items[posting].count;
    node->tensor = tensor;
    node->values = tnd_gather_begin(tensor, replicas[0].posts.items[posting].dtype, true,
                                    node->node.count, sum, &counts);
    for (uint32_t i = 0; i < node->node.count; i++)
        counts[i] = replicas[i].posts.items[posting].count;
}

void tnd_device_workers_gather_node(const worker_t *worker, const node_t *node, uint32_t posting)
{
    const tnd_device_workers_t *group = worker->group;
    uint32_t first = node->node.first - group->config.first;
    uint8_t *out = node->values;
    for (uint32_t r = first; r < first + node->node.count; r++) {
        const tnd_posting_t *post = &group->replicas[r].posts.items[posting];
        if (r >= worker->first && r < worker->first + worker->count)
            copy(out, post);
        out += post->count * tnd_dtype_size(post->dtype);
    }
}

static uint64_t count_at(const void *counts, uint32_t replica)
{
    uint64_t count;
    memcpy(&count, (const char *)counts + replica * sizeof count, sizeof count);
    return count;
}

tnd_status_t tnd_device_workers_gather_check(const tnd_device_workers_t *self, piece_t *piece,
                                             tnd_buffer_t *result, tnd_error_t *error)
{
    tnd_tensor_head_t head;
    TND_TRY(tnd_gather_read(result, self->config.replicas, &head, &piece->counts, &piece->values,
                            error));
    bool fits =
        head.partial == 0 && head.dtype == self->replicas[0].posts.items[piece->posting].dtype;
    for (uint32_t i = 0; i < self->config.count; i++)
        fits = fits && count_at(piece->counts, self->config.first + i) ==
                           self->replicas[i].posts.items[piece->posting].count;
    return fits
               ? TND_OK
               : tnd_fail(error, "%s: what was gathered in step %" PRIu64 " is not what was posted",
                          self->config.name, self->exchange.round);
}

void tnd_device_workers_gather_take(tnd_device_workers_t *self, const piece_t *piece)
{
    tnd_gathered_t *gathered = next(self);
    tnd_dtype_t dtype = self->replicas[0].posts.items[piece->posting].dtype;
    for (uint32_t r = 0; r < self->config.replicas; r++)
        gathered->first[r + 1] = gathered->first[r] + count_at(piece->counts, r);
    size_t elements = gathered->first[self->config.replicas];
    memcpy(grow(gathered, dtype, elements)->data, piece->values, elements * tnd_dtype_size(dtype));
}

void tnd_device_workers_gather_forget(tnd_device_workers_t *self)
{
    for (uint32_t i = 0; i < self->gathers.made; i++) {
        free(self->gathers.items[i].data);
        free(self->gathers.items[i].first);
    }
    free(self->gathers.items);
}
