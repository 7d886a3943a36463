/*  runtime/core/stream/buckets.c - batches of rows of about one length. */
#include "runtime/core/stream/buckets.h"

#include <assert.h>

#include "runtime/base/bug_injection.h"
#include "runtime/base/round_up.h"

enum { NO_SLOT = UINT32_MAX };

/*  Slots in sequence. */
typedef struct {
    uint32_t first, last, rows;
} chain_t;

typedef struct {
    chain_t rows;
    uint32_t bucket;
} batch_t;

struct tnd_buckets {
    tnd_bucket_rule_t rule;
    uint64_t waiting;
    chain_t *buckets;
    batch_t *batches; /* ring: at most one a bucket and the one ahead */
    uint32_t first_batch, batch_count;
    uint32_t *next; /* of a slot */
    uint32_t free;  /* first free slot */
};

static uint32_t ring_room(const tnd_bucket_rule_t *rule)
{
    return rule->count + 2;
}

uint32_t tnd_bucket_of(const tnd_bucket_rule_t *rule, uint64_t length)
{
    uint32_t low = 0, high = rule->count - 1;
    length -= TND_BUG(BUCKET_HOLDS_ITS_BOUND) && length > 0;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (length < rule->bounds[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

uint64_t tnd_bucket_size_max(const tnd_bucket_rule_t *rule)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < rule->count; i++)
        most = rule->sizes[i] > most ? rule->sizes[i] : most;
    return most;
}

/*  Every bucket lacks a row, but for the one that becomes a batch; with `drop_remainder` a batch is
 *  held until the next one is complete. */
uint64_t tnd_buckets_room(const tnd_bucket_rule_t *rule)
{
    uint64_t room = rule->drop_remainder ? tnd_bucket_size_max(rule) : 0;
    for (uint32_t i = 0; i < rule->count; i++)
        room += rule->sizes[i];
    return room;
}

size_t tnd_buckets_bytes(const tnd_bucket_rule_t *rule)
{
    return tnd_align(sizeof(tnd_buckets_t)) + tnd_align(rule->count * sizeof(chain_t)) +
           tnd_align(ring_room(rule) * sizeof(batch_t)) +
           tnd_align(tnd_buckets_room(rule) * sizeof(uint32_t));
}

tnd_buckets_t *tnd_buckets_init(void *memory, const tnd_bucket_rule_t *rule)
{
    assert(rule->count > 0 && rule->count <= TND_BUCKETS_MAX);
    assert(tnd_buckets_room(rule) < NO_SLOT);
    tnd_buckets_t *self = memory;
    char *at = (char *)memory + tnd_align(sizeof *self);
    self->rule = *rule;
    self->buckets = (chain_t *)at;
    at += tnd_align(rule->count * sizeof *self->buckets);
    self->batches = (batch_t *)at;
    at += tnd_align(ring_room(rule) * sizeof *self->batches);
    self->next = (uint32_t *)at;
    tnd_buckets_clear(self);
    return self;
}

void tnd_buckets_clear(tnd_buckets_t *self)
{
    uint32_t room = (uint32_t)tnd_buckets_room(&self->rule);
    for (uint32_t slot = 0; slot < room; slot++)
        self->next[slot] = slot + 1 < room ? slot + 1 : NO_SLOT;
    self->free = 0;
    for (uint32_t i = 0; i < self->rule.count; i++)
        self->buckets[i] = (chain_t){NO_SLOT, NO_SLOT, 0};
    self->first_batch = self->batch_count = 0;
    self->waiting = 0;
}

static void complete(tnd_buckets_t *self, uint32_t bucket)
{
    assert(self->batch_count < ring_room(&self->rule));
    uint32_t at = (self->first_batch + self->batch_count++) % ring_room(&self->rule);
    self->batches[at] = (batch_t){.rows = self->buckets[bucket], .bucket = bucket};
    self->waiting -= self->buckets[bucket].rows;
    self->buckets[bucket] = (chain_t){NO_SLOT, NO_SLOT, 0};
}

uint32_t tnd_buckets_put(tnd_buckets_t *self, uint64_t length)
{
    uint32_t bucket = tnd_bucket_of(&self->rule, length), slot = self->free;
    chain_t *rows = &self->buckets[bucket];
    assert(slot != NO_SLOT);
    self->free = self->next[slot];
    self->next[slot] = NO_SLOT;
    if (rows->rows++ == 0)
        rows->first = slot;
    else
        self->next[rows->last] = slot;
    rows->last = slot;
    self->waiting++;
    if (rows->rows == self->rule.sizes[bucket])
        complete(self, bucket);
    return slot;
}

uint32_t tnd_buckets_ahead(const tnd_buckets_t *self)
{
    return self->rule.drop_remainder ? 2 : 1;
}

void tnd_buckets_flush(tnd_buckets_t *self)
{
    for (uint32_t i = 0; i < self->rule.count; i++) {
        uint32_t bucket = TND_BUG(BUCKETS_FLUSHED_BACKWARDS) ? self->rule.count - 1 - i : i;
        if (self->buckets[bucket].rows > 0)
            complete(self, bucket);
    }
}

/*  Removes the first slot of a chain. */
static uint32_t remove_first(tnd_buckets_t *self, chain_t *rows)
{
    uint32_t slot = rows->first;
    rows->first = self->next[slot];
    rows->rows--;
    self->next[slot] = self->free;
    self->free = slot;
    return slot;
}

bool tnd_buckets_drop(tnd_buckets_t *self, uint32_t *slot_p)
{
    uint32_t bucket = 0;
    while (bucket < self->rule.count && self->buckets[bucket].rows == 0)
        bucket++;
    if (bucket == self->rule.count)
        return false;
    *slot_p = remove_first(self, &self->buckets[bucket]);
    self->waiting--;
    return true;
}

uint32_t tnd_buckets_batches(const tnd_buckets_t *self)
{
    return self->batch_count;
}

uint64_t tnd_buckets_waiting(const tnd_buckets_t *self)
{
    return self->waiting;
}

uint32_t tnd_buckets_batch(const tnd_buckets_t *self, uint32_t which, uint64_t *rows_p)
{
    assert(which < self->batch_count);
    const batch_t *batch = &self->batches[(self->first_batch + which) % ring_room(&self->rule)];
    *rows_p = batch->rows.rows;
    return batch->bucket;
}

uint32_t tnd_buckets_take(tnd_buckets_t *self)
{
    assert(self->batch_count > 0);
    batch_t *batch = &self->batches[self->first_batch];
    uint32_t slot = remove_first(self, &batch->rows);
    if (batch->rows.rows == 0) {
        self->first_batch = (self->first_batch + 1) % ring_room(&self->rule);
        self->batch_count--;
    }
    return slot;
}
