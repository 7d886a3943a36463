/*  runtime/feed/device_workers_gather.c - gathers what replicas posted, in order of replicas. */
#include "runtime/feed/device_workers_internal.h"

#include <inttypes.h>
#include <stdio.h>
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

static tnd_gathered_t *next(tnd_device_workers_t *self, const tnd_posting_t *posting)
{
    tnd_gathers_t *gathers = posting->same != NULL ? &self->sames : &self->gathers;
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
    tnd_device_workers_gather_none(self);
    for (uint32_t p = 0; p < one->posts.count; p++) {
        if (one->posts.items[p].reduce != TND_GATHER)
            continue;
        tnd_gathered_t *gathered = next(self, &one->posts.items[p]);
        for (uint32_t r = 0; r < self->config.replicas; r++)
            gathered->first[r + 1] = gathered->first[r] + self->replicas[r].posts.items[p].count;
        grow(gathered, one->posts.items[p].dtype, gathered->first[self->config.replicas]);
    }
}

static void copy(void *out, const tnd_posting_t *post)
{
    if (post->count > 0)
        memcpy(out, post->from, post->count * tnd_dtype_size(post->dtype));
}

void tnd_device_workers_gather_own(const worker_t *worker)
{
    tnd_device_workers_t *group = worker->group;
    uint32_t gathers = 0, sames = 0;
    for (uint32_t p = 0; p < group->replicas[0].posts.count; p++) {
        const tnd_posting_t *one = &group->replicas[0].posts.items[p];
        if (one->reduce != TND_GATHER)
            continue;
        const tnd_gathered_t *gathered =
            one->same != NULL ? &group->sames.items[sames++] : &group->gathers.items[gathers++];
        for (uint32_t r = worker->first; r < worker->first + worker->count; r++) {
            const tnd_posting_t *post = &group->replicas[r].posts.items[p];
            copy(gathered->data + gathered->first[r] * tnd_dtype_size(post->dtype), post);
        }
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
    const tnd_posting_t *posting = &self->replicas[0].posts.items[piece->posting];
    tnd_gathered_t *gathered = next(self, posting);
    tnd_dtype_t dtype = posting->dtype;
    for (uint32_t r = 0; r < self->config.replicas; r++)
        gathered->first[r + 1] = gathered->first[r] + count_at(piece->counts, r);
    size_t elements = gathered->first[self->config.replicas];
    memcpy(grow(gathered, dtype, elements)->data, piece->values, elements * tnd_dtype_size(dtype));
}

void tnd_device_workers_gather_none(tnd_device_workers_t *self)
{
    self->gathers.count = self->sames.count = 0;
}

static const uint8_t *hash_of(const tnd_gathered_t *gathered, uint32_t replica)
{
    return gathered->data + gathered->first[replica] * sizeof(uint64_t);
}

static bool have_equal(const tnd_gathered_t *gathered, uint32_t one, uint32_t other)
{
    return memcmp(hash_of(gathered, one), hash_of(gathered, other), sizeof(uint64_t[2])) == 0;
}

/*  The first replica with the hash that most have. */
static uint32_t usual_replica(const tnd_gathered_t *gathered, uint32_t replicas)
{
    uint32_t usual = 0, most = 0;
    for (uint32_t r = 0; r < replicas; r++) {
        uint32_t equal = 0;
        for (uint32_t other = 0; other < replicas; other++)
            equal += have_equal(gathered, r, other);
        if (equal > most) {
            most = equal;
            usual = r;
        }
    }
    return usual;
}

static bool refuse_others(tnd_device_workers_t *self, const job_t *job, const char *array,
                          const tnd_gathered_t *gathered)
{
    uint32_t usual = usual_replica(gathered, self->config.replicas), others = 0;
    char list[160] = "";
    for (uint32_t r = 0; r < self->config.replicas; r++) {
        size_t used = strlen(list);
        if (have_equal(gathered, r, usual))
            continue;
        if (used < sizeof list - 32)
            snprintf(list + used, sizeof list - used, "%s%" PRIu32, others > 0 ? ", " : "", r);
        else if (list[used - 1] != '.')
            strcat(list, " ...");
        others++;
    }
    return tnd_device_workers_fail(
        self,
        "%s: in step %" PRIu64
        " array `%.96s` is not the same in all replicas: in %s %s it differs "
        "from that in replica %" PRIu32 "; all begin with the same values (tnd_replica_broadcast) "
        "and change them by what is reduced only",
        self->config.name, job->note.step, array, others == 1 ? "replica" : "replicas", list,
        usual);
}

bool tnd_device_workers_gather_equal(tnd_device_workers_t *self, const job_t *job)
{
    const tnd_postings_t *posts = &self->replicas[0].posts;
    for (uint32_t p = 0, number = 0; p < posts->count && number < self->sames.count; p++) {
        if (posts->items[p].same == NULL)
            continue;
        const tnd_gathered_t *gathered = &self->sames.items[number++];
        for (uint32_t r = 1; r < self->config.replicas; r++)
            if (!have_equal(gathered, 0, r))
                return refuse_others(self, job, posts->items[p].same, gathered);
    }
    return true;
}

static void forget(tnd_gathers_t *gathers)
{
    for (uint32_t i = 0; i < gathers->made; i++) {
        free(gathers->items[i].data);
        free(gathers->items[i].first);
    }
    free(gathers->items);
}

void tnd_device_workers_gather_forget(tnd_device_workers_t *self)
{
    forget(&self->gathers);
    forget(&self->sames);
}
