/*  runtime/core/lane/bucketed_rows.c - the rows of a lane that wait in buckets. */
#include "runtime/core/lane/bucketed_rows.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/bug_injection.h"
#include "runtime/base/round_up.h"

enum { NO_BLOCK = UINT32_MAX };

typedef struct {
    void *payload;
    const uint64_t *lengths; /* of the rows from `first` on */
    uint64_t bytes;
    uint32_t first, waiting;
    bool whole;    /* all of its rows were taken from the joined ones */
    uint32_t next; /* free block */
} block_t;

typedef struct {
    uint32_t block, row;
    bool added; /* not the first of its position */
} row_t;

struct tnd_bucketed_rows {
    const tnd_bucket_rule_t *rule;
    tnd_joined_rows_t *joined;
    tnd_buckets_t *buckets;
    row_t *rows; /* by slot */
    block_t *blocks;
    uint32_t free_block, current; /* current: rows of it are still joined ones */
    tnd_bucketed_batch_t *ends;   /* of complete batches: ring */
    uint32_t first_end, end_count;
    /*  The window under way. */
    bool begun;
    tnd_position_t start;
    uint64_t made, window_rows;
    tnd_ledger_t unbooked;
    bool has_bad;
    tnd_position_t bad;
};

/*  The block whose rows are being taken may have none that waits. */
static uint64_t block_room(const tnd_bucket_rule_t *rule)
{
    return tnd_buckets_room(rule) + 1;
}

static uint32_t end_room(const tnd_bucket_rule_t *rule)
{
    return rule->count + 2;
}

uint64_t tnd_bucketed_rows_held(const tnd_bucket_rule_t *rule, const tnd_row_bytes_t *bytes,
                                uint32_t block_rows)
{
    uint64_t one = bytes->fixed + bytes->ragged_max, held;
    uint64_t most = tnd_row_bytes_most(bytes, block_rows, bytes->budget);
    if (__builtin_mul_overflow(tnd_buckets_room(rule), one > most ? one : most, &held))
        return UINT64_MAX;
    return held;
}

size_t tnd_bucketed_rows_bytes(const tnd_bucket_rule_t *rule)
{
    return tnd_align(sizeof(tnd_bucketed_rows_t)) + tnd_buckets_bytes(rule) +
           tnd_align(tnd_buckets_room(rule) * sizeof(row_t)) +
           tnd_align(block_room(rule) * sizeof(block_t)) +
           tnd_align(end_room(rule) * sizeof(tnd_bucketed_batch_t));
}

static void start_window(tnd_bucketed_rows_t *self)
{
    self->begun = false;
    self->made = self->window_rows = 0;
}

static void reset(tnd_bucketed_rows_t *self)
{
    uint32_t room = (uint32_t)block_room(self->rule);
    for (uint32_t b = 0; b < room; b++)
        self->blocks[b] = (block_t){.next = b + 1 < room ? b + 1 : NO_BLOCK};
    self->free_block = 0;
    self->current = NO_BLOCK;
    self->first_end = self->end_count = 0;
    memset(&self->unbooked, 0, sizeof self->unbooked);
    self->has_bad = false;
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
    self->rows = (row_t *)at;
    at += tnd_align(tnd_buckets_room(rule) * sizeof *self->rows);
    self->blocks = (block_t *)at;
    at += tnd_align(block_room(rule) * sizeof *self->blocks);
    self->ends = (tnd_bucketed_batch_t *)at;
    reset(self);
    return self;
}

void tnd_bucketed_rows_clear(tnd_bucketed_rows_t *self)
{
    if (self == NULL)
        return;
    for (uint64_t b = 0; b < block_room(self->rule); b++)
        if (self->blocks[b].whole)
            tnd_joined_rows_release(self->joined, self->blocks[b].payload, self->blocks[b].bytes);
    tnd_buckets_clear(self->buckets);
    reset(self);
}

/* --- blocks ----------------------------------------------------------------------------------- */

static uint32_t block_of(tnd_bucketed_rows_t *self, const tnd_joined_head_t *head)
{
    if (self->current != NO_BLOCK)
        return self->current;
    uint32_t at = self->free_block;
    assert(at != NO_BLOCK);
    self->free_block = self->blocks[at].next;
    self->blocks[at] =
        (block_t){.payload = head->payload, .lengths = head->lengths, .first = head->first};
    self->current = at;
    return at;
}

static void release_if_done(tnd_bucketed_rows_t *self, uint32_t at)
{
    block_t *block = &self->blocks[at];
    if (!block->whole || (block->waiting > 0 && !TND_BUG(BLOCK_NOT_HELD)))
        return;
    tnd_joined_rows_release(self->joined, block->payload, block->bytes);
    block->whole = false;
    if (block->waiting > 0) /* the planted bug */
        return;
    block->next = self->free_block;
    self->free_block = at;
}

/*  The row of a slot leaves its block. */
static void leave(tnd_bucketed_rows_t *self, uint32_t slot)
{
    self->blocks[self->rows[slot].block].waiting--;
    release_if_done(self, self->rows[slot].block);
}

/* --- windows ---------------------------------------------------------------------------------- */

/*  Notes the cursors after batches that were completed just now. */
static void note_batches(tnd_bucketed_rows_t *self)
{
    for (; self->end_count < tnd_buckets_batches(self->buckets); self->end_count++) {
        uint64_t rows;
        uint32_t bucket = tnd_buckets_batch(self->buckets, self->end_count, &rows);
        self->ends[(self->first_end + self->end_count) % end_room(self->rule)] =
            (tnd_bucketed_batch_t){.size = self->rule->sizes[bucket],
                                   .position = self->start,
                                   .batches = ++self->made,
                                   .ledger = self->unbooked};
        memset(&self->unbooked, 0, sizeof self->unbooked);
    }
}

static void empty_buckets(tnd_bucketed_rows_t *self)
{
    uint32_t slot;
    if (!self->rule->drop_remainder)
        tnd_buckets_flush(self->buckets);
    note_batches(self);
    while (tnd_buckets_drop(self->buckets, &slot)) {
        self->unbooked.read += !self->rows[slot].added;
        self->unbooked.added += self->rows[slot].added;
        self->unbooked.dropped++;
        leave(self, slot);
    }
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

/*  Takes the next joined row. */
static void add(tnd_bucketed_rows_t *self, const tnd_joined_head_t *head)
{
    tnd_ledger_t booked = {0}, *unbooked = &self->unbooked;
    uint64_t length = head->lengths[0], bytes;
    uint32_t at = block_of(self, head);
    if (!self->begun)
        self->start = self->joined->position;
    self->begun = true;
    bool whole = tnd_joined_rows_hold(self->joined, &booked, &bytes), added = booked.added > 0;
    unbooked->read += booked.filtered + booked.quarantined;
    unbooked->filtered += booked.filtered;
    unbooked->quarantined += booked.quarantined;
    if (whole) {
        self->blocks[at].whole = true;
        self->blocks[at].bytes = bytes;
        self->current = NO_BLOCK;
    }
    if (is_bad(self, length)) {
        unbooked->read += !added;
        unbooked->added += added;
        unbooked->quarantined++;
        self->bad = self->joined->position;
        self->bad.index -= self->bad.used == 0;
        self->has_bad = true;
        release_if_done(self, at);
        return;
    }
    uint32_t slot = tnd_buckets_put(self->buckets, length);
    self->rows[slot] = (row_t){.block = at, .row = head->first, .added = added};
    self->blocks[at].waiting++;
    release_if_done(self, at);
    note_batches(self);
    if (++self->window_rows == self->rule->window)
        end_window(self);
}

tnd_compose_t tnd_bucketed_rows_compose(tnd_bucketed_rows_t *self, uint32_t epoch, bool ended,
                                        tnd_composition_t *composition)
{
    uint32_t ahead = tnd_buckets_ahead(self->buckets), batches;
    tnd_joined_head_t head;
    *composition = (tnd_composition_t){0};
    bool there = next_row(self, epoch, &head);
    while (!self->has_bad && there &&
           (tnd_buckets_batches(self->buckets) < ahead || is_bad(self, head.lengths[0]))) {
        add(self, &head);
        there = next_row(self, epoch, &head);
    }
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
    (void)tnd_buckets_batch(self->buckets, 0, &composition->rows);
    composition->last = !more;
    return TND_COMPOSE_BATCH;
}

tnd_bucketed_batch_t tnd_bucketed_rows_batch(const tnd_bucketed_rows_t *self)
{
    assert(self->end_count > 0);
    return self->ends[self->first_end];
}

tnd_bucketed_row_t tnd_bucketed_rows_take(tnd_bucketed_rows_t *self, tnd_ledger_t *ledger)
{
    uint32_t slot = tnd_buckets_take(self->buckets);
    const row_t *row = &self->rows[slot];
    const block_t *block = &self->blocks[row->block];
    tnd_bucketed_row_t taken = {block->payload, row->row, &block->lengths[row->row - block->first]};
    ledger->fed++;
    ledger->read += !row->added;
    ledger->added += row->added;
    leave(self, slot);
    if (tnd_buckets_batches(self->buckets) < self->end_count) {
        self->first_end = (self->first_end + 1) % end_room(self->rule);
        self->end_count--;
    }
    return taken;
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
