/*  runtime/core/stream/buckets.c - batches of rows of about one length. */
#include "runtime/core/stream/buckets.h"

#include <assert.h>

#include "runtime/base/bounds.h"
#include "runtime/base/bug_injection.h"

/*  The rows of a batch that is being filled or is complete. */
typedef struct {
    uint32_t place, rows, added, taken;
} batch_t;

typedef struct {
    batch_t batch;
    uint32_t bucket;
} complete_t;

struct tnd_buckets {
    tnd_bucket_rule_t rule;
    uint64_t waiting;
    batch_t *buckets;
    complete_t *batches; /* ring */
    uint32_t first_batch, batch_count;
    uint32_t *free; /* places: stack */
    uint32_t free_count;
};

/*  No row is added while as many batches are complete as tnd_buckets_ahead.  So a flush finds one
 *  less, and the buckets that it empties have no batch that is being filled. */
uint32_t tnd_buckets_places(const tnd_bucket_rule_t *rule)
{
    return rule->count + 2;
}

uint32_t tnd_bucket_of(const tnd_bucket_rule_t *rule, uint64_t length)
{
    uint32_t at;
    length -= TND_BUG(BUCKET_HOLDS_ITS_BOUND) && length > 0;
    TND_LOWER_BOUND(at, 0, rule->count - 1, rule->bounds[at] <= length);
    return at;
}

size_t tnd_buckets_bytes(const tnd_bucket_rule_t *rule)
{
    return tnd_align(sizeof(tnd_buckets_t)) + tnd_align(rule->count * sizeof(batch_t)) +
           tnd_align(tnd_buckets_places(rule) * sizeof(complete_t)) +
           tnd_align(tnd_buckets_places(rule) * sizeof(uint32_t));
}

tnd_buckets_t *tnd_buckets_init(void *memory, const tnd_bucket_rule_t *rule)
{
    assert(rule->count > 0 && rule->count <= TND_BUCKETS_MAX);
    tnd_buckets_t *self = memory;
    char *at = (char *)memory + tnd_align(sizeof *self);
    self->rule = *rule;
    self->buckets = (batch_t *)at;
    at += tnd_align(rule->count * sizeof *self->buckets);
    self->batches = (complete_t *)at;
    at += tnd_align(tnd_buckets_places(rule) * sizeof *self->batches);
    self->free = (uint32_t *)at;
    tnd_buckets_clear(self);
    return self;
}

void tnd_buckets_clear(tnd_buckets_t *self)
{
    self->free_count = tnd_buckets_places(&self->rule);
    for (uint32_t i = 0; i < self->free_count; i++)
        self->free[i] = i;
    for (uint32_t i = 0; i < self->rule.count; i++)
        self->buckets[i] = (batch_t){0};
    self->first_batch = self->batch_count = 0;
    self->waiting = 0;
}

static void release(tnd_buckets_t *self, uint32_t place)
{
    assert(self->free_count < tnd_buckets_places(&self->rule));
    self->free[self->free_count++] = place;
}

static complete_t *batch_at(const tnd_buckets_t *self, uint32_t which)
{
    return &self->batches[(self->first_batch + which) % tnd_buckets_places(&self->rule)];
}

static void complete(tnd_buckets_t *self, uint32_t bucket)
{
    batch_t *batch = &self->buckets[bucket];
    assert(self->batch_count < tnd_buckets_places(&self->rule));
    *batch_at(self, self->batch_count++) = (complete_t){.batch = *batch, .bucket = bucket};
    self->waiting -= batch->rows;
    if (TND_BUG(BATCH_OVERWRITTEN))
        release(self, batch->place);
    *batch = (batch_t){0};
}

tnd_bucket_rows_t tnd_buckets_put(tnd_buckets_t *self, uint64_t length, bool added)
{
    uint32_t bucket = tnd_bucket_of(&self->rule, length);
    batch_t *batch = &self->buckets[bucket];
    if (batch->rows == 0) {
        assert(self->free_count > 0);
        batch->place = self->free[--self->free_count];
    }
    tnd_bucket_rows_t put = {batch->place, bucket, batch->rows++, 1};
    batch->added += added;
    self->waiting++;
    if (batch->rows == self->rule.sizes[bucket])
        complete(self, bucket);
    return put;
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

uint64_t tnd_buckets_drop(tnd_buckets_t *self, uint64_t *added_p)
{
    uint64_t rows = self->waiting;
    *added_p = 0;
    for (uint32_t i = 0; i < self->rule.count; i++) {
        batch_t *batch = &self->buckets[i];
        *added_p += batch->added;
        if (batch->rows > 0)
            release(self, batch->place);
        *batch = (batch_t){0};
    }
    self->waiting = 0;
    return rows;
}

uint32_t tnd_buckets_batches(const tnd_buckets_t *self)
{
    return self->batch_count;
}

uint64_t tnd_buckets_waiting(const tnd_buckets_t *self)
{
    return self->waiting;
}

tnd_bucket_batch_t tnd_buckets_batch(const tnd_buckets_t *self, uint32_t which)
{
    assert(which < self->batch_count);
    const complete_t *found = batch_at(self, which);
    return (tnd_bucket_batch_t){found->bucket, found->batch.rows, found->batch.added};
}

tnd_bucket_rows_t tnd_buckets_take(tnd_buckets_t *self, uint32_t rows)
{
    assert(self->batch_count > 0);
    complete_t *found = batch_at(self, 0);
    batch_t *batch = &found->batch;
    tnd_bucket_rows_t taken = {batch->place, found->bucket, batch->taken, rows};
    batch->taken += rows;
    assert(batch->taken <= batch->rows);
    if (batch->taken < batch->rows)
        return taken;
    if (!TND_BUG(BATCH_OVERWRITTEN))
        release(self, batch->place);
    self->first_batch = (self->first_batch + 1) % tnd_buckets_places(&self->rule);
    self->batch_count--;
    return taken;
}
