/*  transport/collective/nccl_account.c - what replicas tell each other before NCCL reduces.
 *
 *  A collective of NCCL waits for all members without end, and has no room for rows and weights.  So before
 *  each round the replicas gather a few words each: when they have come, all have posted, and the same. */
#include <string.h>

#include "runtime/base/allocation.h"
#include "transport/collective/nccl_internal.h"

/*  Words of a replica: two of a hash, flags, those of the id, then ENTRY words for each posting at which
 *  rows or weight change. */
enum { HASHES = 2, HEAD = 3, ID = sizeof(tnd_nccl_id_t) / sizeof(uint64_t), ENTRY = 3 };
enum { BEGINS_THREAD = 1, HAS_ID = 2 };

/* --- writing ---------------------------------------------------------------------------------- */

static void add(nccl_replica_t *self, uint64_t word)
{
    self->words = tnd_grow(self->words, self->count, &self->room, sizeof *self->words);
    self->words[self->count++] = word;
}

static uint64_t bits_of(double weight)
{
    uint64_t bits;
    memcpy(&bits, &weight, sizeof bits);
    return bits;
}

void tnd_nccl_account_write(nccl_t *nccl, uint32_t local, const tnd_collective_round_t *round,
                            bool begins_thread, const tnd_nccl_id_t *id)
{
    nccl_replica_t *self = &nccl->replicas[local];
    const tnd_postings_t *posts = nccl->config.posts[local];
    uint64_t rows = 0, weight = 0, words[ID];
    const tnd_postings_shape_t shape = tnd_postings_shape(posts);
    self->count = 0;
    for (uint64_t i = 0; i < HASHES; i++)
        add(self, shape.words[i]);
    add(self, (begins_thread ? BEGINS_THREAD : 0) | (id != NULL ? HAS_ID : 0));
    if (id != NULL)
        memcpy(words, id, sizeof words);
    for (size_t i = 0; id != NULL && i < ID; i++)
        add(self, words[i]);
    for (uint32_t p = 0; p < posts->count; p++) {
        const tnd_posting_t *post = &posts->items[p];
        uint64_t own_rows = post->weighted ? post->rows : round->rows[local];
        uint64_t own_weight = bits_of(post->weighted ? post->weight : 0);
        if (!tnd_nccl_carries(post) || (own_rows == rows && own_weight == weight))
            continue;
        add(self, p);
        add(self, rows = own_rows);
        add(self, weight = own_weight);
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

/*  What a replica has told. */
typedef struct {
    const uint64_t *words, *entries;
    size_t entry_count;
    bool begins_thread, has_id;
} told_t;

/*  false: it is not what a replica tells. */
static bool read(const tnd_gathered_t *gathered, uint32_t replica, told_t *told)
{
    size_t count = gathered->first[replica + 1] - gathered->first[replica];
    const uint64_t *words =
        (const uint64_t *)(const void *)gathered->data + gathered->first[replica];
    if (count < HEAD)
        return false;
    *told = (told_t){.words = words,
                     .begins_thread = (words[HASHES] & BEGINS_THREAD) != 0,
                     .has_id = (words[HASHES] & HAS_ID) != 0};
    size_t head = HEAD + (told->has_id ? ID : 0);
    if (count < head || (count - head) % ENTRY != 0)
        return false;
    told->entries = words + head;
    told->entry_count = (count - head) / ENTRY;
    return true;
}

/*  Adds the rows and weights of a replica to the totals; false: they are not in order. */
static bool add_totals(const nccl_thread_t *thread, const told_t *told, uint32_t postings)
{
    uint64_t after = 0;
    for (size_t i = 0; i < told->entry_count; i++) {
        const uint64_t *entry = &told->entries[i * ENTRY];
        uint64_t until = i + 1 < told->entry_count ? entry[ENTRY] : postings;
        double weight;
        memcpy(&weight, &entry[2], sizeof weight);
        if (entry[0] < after || entry[0] >= until || until > postings)
            return false;
        for (after = entry[0]; after < until; after++) {
            thread->totals[after].rows += entry[1];
            thread->totals[after].weight += weight;
        }
    }
    return true;
}

/*  What is gathered is overwritten by the next round of the collective `host`. */
static void keep(nccl_thread_t *thread, const tnd_gathered_t *gathered)
{
    uint32_t replicas = thread->nccl->config.replicas;
    size_t count = 0;
    told_t told;
    if (thread->entry_first == NULL)
        thread->entry_first = tnd_allocate_zeroed(replicas + (size_t)1, sizeof(size_t));
    for (uint32_t r = 0; r < replicas; r++) {
        (void)read(gathered, r, &told);
        thread->entry_first[r] = count;
        count += told.entry_count;
        if (thread->entry_room < count) {
            thread->entry_room = 2 * count;
            thread->entries =
                tnd_resize(thread->entries, thread->entry_room, ENTRY * sizeof *thread->entries);
        }
        if (told.entry_count > 0)
            memcpy(thread->entries + thread->entry_first[r] * ENTRY, told.entries,
                   told.entry_count * ENTRY * sizeof *told.entries);
    }
    thread->entry_first[replicas] = count;
}

tnd_partial_weight_t tnd_nccl_account_weight(const nccl_thread_t *thread, uint32_t replica,
                                             uint32_t posting)
{
    size_t begin = thread->entry_first[replica], end = thread->entry_first[replica + 1];
    tnd_partial_weight_t found = {.rows = 0};
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        const uint64_t *entry = &thread->entries[middle * ENTRY];
        if (entry[0] > posting) {
            end = middle;
            continue;
        }
        found.rows = entry[1];
        memcpy(&found.weight, &entry[2], sizeof found.weight);
        begin = middle + 1;
    }
    return found;
}

bool tnd_nccl_account_begins(const tnd_gathered_t *gathered, uint32_t replica)
{
    told_t told;
    return read(gathered, replica, &told) && told.begins_thread;
}

tnd_nccl_told_t tnd_nccl_account_read(nccl_thread_t *thread, const tnd_gathered_t *gathered)
{
    const tnd_collective_config_t *config = &thread->nccl->config;
    uint32_t postings = config->posts[thread->first]->count;
    told_t own, told;
    if (gathered->dtype != TND_U64 || !read(gathered, config->first + thread->first, &own))
        return TND_NCCL_BROKEN;
    if (thread->total_room < postings) {
        thread->totals = tnd_resize(thread->totals, postings, sizeof *thread->totals);
        thread->total_room = postings;
    }
    memset(thread->totals, 0, postings * sizeof *thread->totals);
    for (uint32_t r = 0; r < config->replicas; r++) {
        if (!read(gathered, r, &told))
            return TND_NCCL_BROKEN;
        if (memcmp(told.words, own.words, HASHES * sizeof *told.words) != 0)
            return TND_NCCL_UNLIKE;
        if (!add_totals(thread, &told, postings))
            return TND_NCCL_BROKEN;
    }
    if (thread->nccl->tree)
        keep(thread, gathered);
    return TND_NCCL_ALIKE;
}

tnd_nccl_told_t tnd_nccl_account_meet(const nccl_thread_t *thread, const tnd_gathered_t *gathered,
                                      tnd_nccl_member_config_t *config)
{
    told_t told;
    config->rank = config->ranks = 0;
    for (uint32_t r = 0; r < thread->nccl->config.replicas; r++) {
        if (!read(gathered, r, &told) || (r == 0 && !told.has_id))
            return TND_NCCL_BROKEN;
        if (r == 0)
            memcpy(&config->id, told.words + HEAD, sizeof config->id);
        config->ranks += told.begins_thread;
        config->rank += told.begins_thread && r < thread->nccl->config.first + thread->first;
    }
    return TND_NCCL_ALIKE;
}
