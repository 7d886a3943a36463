/*  runtime/core/lane/bucketed_rows.c - the rows of a lane that wait in buckets. */
#include "runtime/core/lane/bucketed_rows.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/bounds.h"
#include "runtime/base/bug_injection.h"

struct tnd_bucketed_rows {
    const tnd_bucket_rule_t *rule;
    tnd_joined_rows_t *joined;
    tnd_buckets_t *buckets;
    tnd_bucketed_batch_t *ends; /* of complete batches: ring */
    uint32_t first_end, end_count;
    /*  The window under way. */
    bool begun;
    tnd_position_t start;
    uint64_t made, window_rows;
    uint64_t stored; /* since the last clear */
    tnd_ledger_t unbooked;
    bool has_bad;
    tnd_position_t bad;
};

static uint32_t end_room(const tnd_bucket_rule_t *rule)
{
    return tnd_buckets_places(rule);
}

size_t tnd_bucketed_rows_bytes(const tnd_bucket_rule_t *rule)
{
    return tnd_align(sizeof(tnd_bucketed_rows_t)) + tnd_buckets_bytes(rule) +
           tnd_align(end_room(rule) * sizeof(tnd_bucketed_batch_t));
}

static void start_window(tnd_bucketed_rows_t *self)
{
    self->begun = false;
    self->made = self->window_rows = 0;
}

static void reset(tnd_bucketed_rows_t *self)
{
    self->first_end = self->end_count = 0;
    memset(&self->unbooked, 0, sizeof self->unbooked);
    self->has_bad = false;
    self->stored = 0;
    start_window(self);
}

tnd_bucketed_rows_t *tnd_bucketed_rows_init(void *memory, const tnd_bucket_rule_t *rule,
                                            tnd_joined_rows_t *rows)
{
    tnd_bucketed_rows_t *self = memory;
    char *at = (char *)memory + tnd_align(sizeof *self);
    *self = (tnd_bucketed_rows_t){.rule = rule, .joined = rows};
    self->buckets = tnd_buckets_init(at, rule);
    at += tnd_buckets_bytes(rule);
    self->ends = (tnd_bucketed_batch_t *)at;
    reset(self);
    return self;
}

void tnd_bucketed_rows_clear(tnd_bucketed_rows_t *self)
{
    if (self == NULL)
        return;
    tnd_buckets_clear(self->buckets);
    reset(self);
}

/* --- windows ---------------------------------------------------------------------------------- */

/*  Notes the cursors after batches that were completed just now. */
static void note_batches(tnd_bucketed_rows_t *self)
{
    for (; self->end_count < tnd_buckets_batches(self->buckets); self->end_count++) {
        tnd_bucket_batch_t batch = tnd_buckets_batch(self->buckets, self->end_count);
        self->unbooked.fed += batch.rows;
        self->unbooked.read += batch.rows - batch.added;
        self->unbooked.added += batch.added;
        self->ends[(self->first_end + self->end_count) % end_room(self->rule)] =
            (tnd_bucketed_batch_t){.size = self->rule->sizes[batch.bucket],
                                   .position = self->start,
                                   .batches = ++self->made,
                                   .ledger = self->unbooked};
        memset(&self->unbooked, 0, sizeof self->unbooked);
    }
}

static void empty_buckets(tnd_bucketed_rows_t *self)
{
    uint64_t added;
    if (!self->rule->drop_remainder)
        tnd_buckets_flush(self->buckets);
    note_batches(self);
    uint64_t dropped = tnd_buckets_drop(self->buckets, &added);
    self->unbooked.read += dropped - added;
    self->unbooked.added += added;
    self->unbooked.dropped += dropped;
}

/*  The last batch of a window ends it.  Where rows are dropped it may be on its way already. */
static void end_window(tnd_bucketed_rows_t *self)
{
    empty_buckets(self);
    if (!self->rule->drop_remainder && !TND_BUG(WINDOW_STARTS_EARLY)) {
        uint32_t last = (self->first_end + self->end_count - 1) % end_room(self->rule);
        self->ends[last].position = self->joined->position;
        self->ends[last].batches = 0;
    }
    start_window(self);
}

static bool is_bad(const tnd_bucketed_rows_t *self, uint64_t length)
{
    return self->rule->bounded && tnd_bucket_of(self->rule, length) + 1 == self->rule->count;
}

static bool next_row(const tnd_bucketed_rows_t *self, uint32_t epoch, tnd_joined_head_t *head)
{
    return tnd_joined_rows_head(self->joined, head) && head->epoch == epoch;
}

/*  Takes the next joined row.  Returns false if it is bad. */
static bool add(tnd_bucketed_rows_t *self, const tnd_joined_head_t *head, tnd_bucket_rows_t *put)
{
    tnd_ledger_t booked = {0}, *unbooked = &self->unbooked;
    uint64_t length = head->lengths[0];
    if (!self->begun)
        self->start = self->joined->position;
    self->begun = true;
    tnd_joined_rows_move(self->joined, &booked);
    bool added = booked.added > 0;
    unbooked->read += booked.filtered + booked.bad;
    unbooked->filtered += booked.filtered;
    unbooked->bad += booked.bad;
    if (is_bad(self, length)) {
        unbooked->read += !added;
        unbooked->added += added;
        unbooked->bad++;
        self->bad = self->joined->position;
        self->bad.index -= self->bad.used == 0;
        self->has_bad = true;
        return false;
    }
    *put = tnd_buckets_put(self->buckets, length, added);
    self->stored++;
    note_batches(self);
    if (++self->window_rows == self->rule->window)
        end_window(self);
    return true;
}

bool tnd_bucketed_rows_store(tnd_bucketed_rows_t *self, uint32_t epoch, tnd_piece_t *piece,
                             tnd_effect_t *effect)
{
    tnd_joined_head_t head;
    tnd_bucket_rows_t put;
    if (self->has_bad || !next_row(self, epoch, &head))
        return false;
    if (tnd_buckets_batches(self->buckets) >= tnd_buckets_ahead(self->buckets) &&
        !is_bad(self, head.lengths[0]))
        return false;
    if (!add(self, &head, &put))
        return false;
    *piece = (tnd_piece_t){.payload = head.payload, .first = head.first, .rows = 1};
    *effect = (tnd_effect_t){.kind = TND_EFFECT_STORE,
                             .slot = put.place,
                             .at = put.first,
                             .bucket = put.bucket,
                             .payload = head.payload,
                             .pieces = piece,
                             .piece_count = 1};
    return true;
}

tnd_compose_t tnd_bucketed_rows_compose(tnd_bucketed_rows_t *self, uint32_t epoch, bool ended,
                                        tnd_composition_t *composition)
{
    uint32_t ahead = tnd_buckets_ahead(self->buckets), batches;
    tnd_joined_head_t head;
    *composition = (tnd_composition_t){0};
    bool there = next_row(self, epoch, &head);
    if (self->has_bad)
        return TND_COMPOSE_WAIT;
    if (!there && ended && tnd_buckets_batches(self->buckets) < ahead)
        empty_buckets(self);
    batches = tnd_buckets_batches(self->buckets);
    bool keeps = !self->rule->drop_remainder;
    bool more =
        batches > 1 || (keeps && batches > 0 && (there || tnd_buckets_waiting(self->buckets) > 0));
    if (!more && (there || !ended))
        return TND_COMPOSE_WAIT;
    if (batches == 0)
        return TND_COMPOSE_OVER;
    composition->rows = tnd_buckets_batch(self->buckets, 0).rows;
    composition->last = !more;
    return TND_COMPOSE_BATCH;
}

tnd_bucketed_batch_t tnd_bucketed_rows_batch(const tnd_bucketed_rows_t *self)
{
    assert(self->end_count > 0);
    return self->ends[self->first_end];
}

tnd_bucket_rows_t tnd_bucketed_rows_take(tnd_bucketed_rows_t *self, uint64_t rows)
{
    tnd_bucket_rows_t taken = tnd_buckets_take(self->buckets, (uint32_t)rows);
    if (tnd_buckets_batches(self->buckets) < self->end_count) {
        self->first_end = (self->first_end + 1) % end_room(self->rule);
        self->end_count--;
    }
    return taken;
}

uint64_t tnd_bucketed_rows_stored(const tnd_bucketed_rows_t *self)
{
    return self->stored;
}

void tnd_bucketed_rows_close(tnd_bucketed_rows_t *self, bool cut, tnd_ledger_t *ledger)
{
    if (self == NULL)
        return;
    if (cut)
        tnd_bucketed_rows_clear(self);
    tnd_ledger_add(ledger, &self->unbooked);
    memset(&self->unbooked, 0, sizeof self->unbooked);
    start_window(self);
}

bool tnd_bucketed_rows_bad(tnd_bucketed_rows_t *self, tnd_position_t *place_p)
{
    bool has_bad = self->has_bad;
    *place_p = self->bad;
    self->has_bad = false;
    return has_bad;
}
