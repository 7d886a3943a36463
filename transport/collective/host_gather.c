/*  transport/collective/host_gather.c - gathers what replicas posted, in order of replicas. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "transport/collective/host_internal.h"

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

static tnd_gathered_t *next(host_t *host, const tnd_posting_t *posting)
{
    tnd_gathers_t *gathers = posting->same != NULL ? &host->sames : &host->gathers;
    gathers->replicas = host->config.replicas;
    gathers->items =
        tnd_grow(gathers->items, gathers->count, &gathers->room, sizeof *gathers->items);
    tnd_gathered_t *gathered = &gathers->items[gathers->count++];
    if (gathers->count > gathers->made) {
        gathers->made++;
        *gathered = (tnd_gathered_t){
            .first = tnd_allocate_zeroed(host->config.replicas + 1, sizeof *gathered->first)};
    }
    return gathered;
}

void tnd_host_collective_gather_room(host_t *host)
{
    const tnd_postings_t *one = posts_of(host, 0);
    tnd_host_collective_gather_none(host);
    for (uint32_t p = 0; p < one->count; p++) {
        if (one->items[p].reduce != TND_GATHER)
            continue;
        tnd_gathered_t *gathered = next(host, &one->items[p]);
        for (uint32_t r = 0; r < host->config.replicas; r++)
            gathered->first[r + 1] = gathered->first[r] + posts_of(host, r)->items[p].count;
        grow(gathered, one->items[p].dtype, gathered->first[host->config.replicas]);
    }
}

static void copy(void *out, const tnd_posting_t *post)
{
    if (post->count > 0)
        memcpy(out, post->from, post->count * tnd_dtype_size(post->dtype));
}

void tnd_host_collective_gather_own(const thread_t *thread)
{
    host_t *host = thread->host;
    uint32_t gathers = 0, sames = 0;
    for (uint32_t p = 0; p < posts_of(host, 0)->count; p++) {
        const tnd_posting_t *one = &posts_of(host, 0)->items[p];
        if (one->reduce != TND_GATHER)
            continue;
        const tnd_gathered_t *gathered =
            one->same != NULL ? &host->sames.items[sames++] : &host->gathers.items[gathers++];
        for (uint32_t r = thread->first; r < thread->first + thread->count; r++) {
            const tnd_posting_t *post = &posts_of(host, r)->items[p];
            copy(gathered->data + gathered->first[r] * tnd_dtype_size(post->dtype), post);
        }
    }
}

void tnd_host_collective_gather_begin(host_t *host, node_t *node, uint32_t posting,
                                      tnd_buffer_t *tensor)
{
    uint32_t first = node->node.first - host->config.first;
    uint64_t *counts;
    size_t sum = 0;
    for (uint32_t i = 0; i < node->node.count; i++)
        sum += posts_of(host, first + i)->items[posting].count;
    node->tensor = tensor;
    node->values = tnd_gather_begin(tensor, posts_of(host, first)->items[posting].dtype, true,
                                    node->node.count, sum, &counts);
    for (uint32_t i = 0; i < node->node.count; i++)
        counts[i] = posts_of(host, first + i)->items[posting].count;
}

void tnd_host_collective_gather_node(const thread_t *thread, const node_t *node, uint32_t posting)
{
    const host_t *host = thread->host;
    uint32_t first = node->node.first - host->config.first;
    uint8_t *out = node->values;
    for (uint32_t r = first; r < first + node->node.count; r++) {
        const tnd_posting_t *post = &posts_of(host, r)->items[posting];
        if (r >= thread->first && r < thread->first + thread->count)
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

tnd_status_t tnd_host_collective_gather_check(const host_t *host, piece_t *piece,
                                              tnd_buffer_t *result, tnd_error_t *error)
{
    tnd_tensor_head_t head;
    TND_TRY(tnd_gather_read(result, host->config.replicas, &head, &piece->counts, &piece->values,
                            error));
    bool fits = head.partial == 0 && head.dtype == posts_of(host, 0)->items[piece->posting].dtype;
    for (uint32_t i = 0; i < host->config.count; i++)
        fits = fits && count_at(piece->counts, host->config.first + i) ==
                           posts_of(host, i)->items[piece->posting].count;
    return fits
               ? TND_OK
               : tnd_fail(error, "%s: what was gathered in step %" PRIu64 " is not what was posted",
                          host->config.name, host->exchange.step);
}

void tnd_host_collective_gather_take(host_t *host, const piece_t *piece)
{
    const tnd_posting_t *posting = &posts_of(host, 0)->items[piece->posting];
    tnd_gathered_t *gathered = next(host, posting);
    tnd_dtype_t dtype = posting->dtype;
    for (uint32_t r = 0; r < host->config.replicas; r++)
        gathered->first[r + 1] = gathered->first[r] + count_at(piece->counts, r);
    size_t elements = gathered->first[host->config.replicas];
    memcpy(grow(gathered, dtype, elements)->data, piece->values, elements * tnd_dtype_size(dtype));
}

void tnd_host_collective_gather_none(host_t *host)
{
    host->gathers.count = host->sames.count = 0;
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

static bool refuse_others(host_t *host, const tnd_collective_round_t *round, const char *array,
                          const tnd_gathered_t *gathered)
{
    uint32_t usual = usual_replica(gathered, host->config.replicas), others = 0;
    char list[160] = "";
    for (uint32_t r = 0; r < host->config.replicas; r++) {
        size_t used = strlen(list);
        if (have_equal(gathered, r, usual))
            continue;
        if (used < sizeof list - 32)
            snprintf(list + used, sizeof list - used, "%s%" PRIu32, others > 0 ? ", " : "", r);
        else if (list[used - 1] != '.')
            strcat(list, " ...");
        others++;
    }
    return tnd_host_collective_fail(
        host,
        "%s: in step %" PRIu64
        " array `%.96s` is not the same in all replicas: in %s %s it differs "
        "from that in replica %" PRIu32 "; all begin with the same values (tnd_replica_broadcast) "
        "and change them by what is reduced only",
        host->config.name, round->step, array, others == 1 ? "replica" : "replicas", list, usual);
}

bool tnd_host_collective_gather_equal(host_t *host, const tnd_collective_round_t *round)
{
    const tnd_postings_t *posts = posts_of(host, 0);
    for (uint32_t p = 0, number = 0; p < posts->count && number < host->sames.count; p++) {
        if (posts->items[p].same == NULL)
            continue;
        const tnd_gathered_t *gathered = &host->sames.items[number++];
        for (uint32_t r = 1; r < host->config.replicas; r++)
            if (!have_equal(gathered, 0, r))
                return refuse_others(host, round, posts->items[p].same, gathered);
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

void tnd_host_collective_gather_forget(host_t *host)
{
    forget(&host->gathers);
    forget(&host->sames);
}
