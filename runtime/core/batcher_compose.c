/*  runtime/core/batcher_compose.c - which rows a batcher's next step has. */
#include "runtime/core/batcher_internal.h"

#include <assert.h>
#include <string.h>

void tnd_batcher_core_discard(tnd_batcher_core_t *self, uint64_t rows)
{
    if (self->packed != NULL)
        tnd_packed_rows_discard(self->packed, rows, &self->ledger);
    else
        tnd_joined_rows_discard(self->rows, rows, &self->ledger);
}

void tnd_batcher_core_pass_batch(tnd_batcher_core_t *self)
{
    bool apart = self->config.feed == TND_FEED_APART;
    for (uint32_t lane = 0; lane < self->config.lanes; lane++)
        self->taken[lane] += apart ? self->takes[lane].gone : self->take[lane];
    self->changed = true;
}

/*  The batch that was composed was a step before the rewind. */
static void remake_batch(tnd_batcher_core_t *self)
{
    tnd_ledger_t booked = {0};
    uint64_t rows = self->take[self->config.order.lane];
    if (self->bucketed != NULL) {
        (void)tnd_bucketed_rows_take(self->bucketed, rows);
        self->remade.rows = self->remake == 1 ? tnd_bucketed_rows_stored(self->bucketed) : 0;
    } else {
        tnd_joined_rows_discard(self->rows, rows + self->mine.dropped, &booked);
        self->remade.bad += booked.bad;
    }
    tnd_batcher_core_pass_batch(self);
    self->remake--;
}

void tnd_batcher_core_begin_epoch(tnd_batcher_core_t *self, uint32_t epoch)
{
    self->epoch = epoch;
    self->step_of_epoch = 0;
    self->skipped = 0;
    tnd_watermarks_next_epoch(&self->watermarks);
    memset(self->taken, 0, self->config.lanes * sizeof *self->taken);
    self->phase = epoch >= tnd_batcher_core_epochs(self) ? ENDED : COMPOSING;
}

void tnd_batcher_core_close_epoch(tnd_batcher_core_t *self, bool cut)
{
    tnd_bucketed_rows_close(self->bucketed, cut, &self->ledger);
    tnd_packed_rows_close(self->packed, cut, &self->ledger);
    if (cut)
        tnd_order_abandon(self->order, self->epoch);
    else
        tnd_order_close(self->order, self->epoch, &self->ledger);
}

/*  An epoch without a step: what was read of it is booked with the next step or the end. */
static void skip_epoch(tnd_batcher_core_t *self, uint64_t dropped)
{
    bool endless = tnd_batcher_core_epochs(self) == TND_ENDLESS;
    tnd_batcher_core_discard(self, dropped);
    tnd_batcher_core_close_epoch(self, false);
    tnd_batcher_core_begin_epoch(self, endless ? TND_ENDLESS : self->epoch + 1);
}

/*  The batch that was composed is not a step. */
static void skip_batch(tnd_batcher_core_t *self)
{
    uint32_t own = self->config.order.lane;
    if (self->composition.last) {
        self->changed = true;
        skip_epoch(self, self->left[own].left);
        return;
    }
    tnd_batcher_core_discard(self, self->take[own] + self->mine.dropped);
    tnd_batcher_core_pass_batch(self);
    self->skipped++;
}

bool tnd_batcher_core_overflows(const tnd_batcher_core_t *self)
{
    return self->config.batch_ragged > 0 && tnd_order_overflows(self->order);
}

/*  The next batch of buckets, of the one lane. */
static tnd_compose_t compose_bucket(tnd_batcher_core_t *self)
{
    bool ended;
    (void)tnd_order_joined(self->order, self->epoch, &ended);
    tnd_compose_t outcome =
        tnd_bucketed_rows_compose(self->bucketed, self->epoch, ended, &self->composition);
    if (outcome == TND_COMPOSE_BATCH) {
        self->of_bucket = tnd_bucketed_rows_batch(self->bucketed);
        self->size = self->of_bucket.size;
    }
    self->take[0] = self->left[0].left = self->composition.rows;
    return outcome;
}

/*  Counts the rows that each lane has for this batch and those after it.  Returns false if that is not
 *  known of a lane. */
static bool count_left(tnd_batcher_core_t *self)
{
    if (self->packed != NULL) {
        bool ended;
        (void)tnd_order_joined(self->order, self->epoch, &ended);
        self->left[0] = tnd_packed_rows_left(self->packed, self->epoch, ended);
        return true;
    }
    bool alone = self->config.feed == TND_FEED_PIECES;
    for (uint32_t lane = 0; lane < self->config.lanes; lane++) {
        if (alone && lane != self->config.order.lane)
            continue;
        if (lane != self->config.order.lane && tnd_watermarks_ahead(&self->watermarks, lane)) {
            /* That lane has been rewound; this one must be before it can continue. */
            self->composition.waits_for = lane;
            return false;
        }
        tnd_watermark_t mark = tnd_watermarks_of(&self->watermarks, lane, self->epoch);
        assert(mark.rows >= self->taken[lane]);
        self->left[lane] = (tnd_left_t){mark.rows - self->taken[lane], mark.ended};
    }
    return true;
}

/*  The next batch of lanes of which each feeds replicas of its own. */
static tnd_compose_t compose_apart(tnd_batcher_core_t *self)
{
    tnd_compose_t outcome =
        tnd_compose_apart(&self->apart, tnd_batcher_core_batch(self), self->taken, self->left,
                          self->takes, &self->composition);
    for (uint32_t lane = 0; lane < self->config.lanes; lane++)
        self->take[lane] = self->takes[lane].take;
    return outcome;
}

/*  The next batch of rows that follow one another: of those of all lanes, or of those that each lane
 *  has.  With `drop` it is also known whether a whole one follows. */
static tnd_compose_t compose_rows(tnd_batcher_core_t *self)
{
    bool alone = self->config.feed == TND_FEED_PIECES;
    uint32_t first = alone ? self->config.order.lane : 0, lanes = alone ? 1 : self->config.lanes;
    tnd_left_t *left = self->left + first;
    uint64_t *take = self->take + first, size = self->config.size;
    tnd_compose_t outcome =
        tnd_compose(size, lanes, tnd_batcher_core_batch(self), left, take, &self->composition);
    bool drops = self->config.remainder == TND_REMAINDER_DROP;
    if (outcome == TND_COMPOSE_BATCH && drops)
        outcome = self->composition.rows < size
                      ? TND_COMPOSE_OVER
                      : tnd_compose_whole(size, lanes, left, take, &self->composition);
    if (alone)
        self->composition.waits_for = first;
    return outcome;
}

static tnd_compose_t compose_batch(tnd_batcher_core_t *self)
{
    if (self->bucketed != NULL)
        return compose_bucket(self);
    return self->config.feed == TND_FEED_APART ? compose_apart(self) : compose_rows(self);
}

/*  Rows of this lane that a policy drops after those of the batch. */
static uint64_t dropped_after(const tnd_batcher_core_t *self)
{
    uint32_t own = self->config.order.lane;
    if (self->config.remainder != TND_REMAINDER_DROP)
        return 0;
    if (self->composition.last)
        return self->left[own].left - self->take[own];
    return self->config.feed == TND_FEED_APART ? self->takes[own].gone - self->take[own] : 0;
}

bool tnd_batcher_core_compose(tnd_batcher_core_t *self)
{
    uint32_t own = self->config.order.lane;
    self->size = self->config.size;
    if (!count_left(self)) {
        self->changed = false;
        return false;
    }
    tnd_compose_t outcome = compose_batch(self);
    if (outcome == TND_COMPOSE_OVER) {
        skip_epoch(self, self->left[own].left);
        return true;
    }
    self->changed = false;
    if (outcome == TND_COMPOSE_WAIT) {
        self->too_large = self->composition.waits_for == own && tnd_batcher_core_overflows(self);
        return false;
    }
    self->mine.dropped = dropped_after(self);
    if (self->skipped < self->config.skip) {
        skip_batch(self);
        return true;
    }
    if (self->remake > 0) {
        self->remade.bad += self->bucketed != NULL ? self->of_bucket.ledger.bad : 0;
        remake_batch(self);
        return true;
    }
    tnd_ledger_add(&self->ledger, &self->of_bucket.ledger);
    self->mine.first = 0;
    for (uint32_t lane = 0; lane < own; lane++)
        self->mine.first += self->take[lane];
    self->mine.rows = self->take[own];
    self->mine.passed = 0;
    self->cut = !self->composition.last && self->step_of_epoch + 1 == self->config.take;
    self->composition.last = self->composition.last || self->cut;
    self->replica = 0;
    self->before = self->rows->position;
    if (tnd_batcher_core_held_batches(self, self->step_of_epoch) == 0)
        self->held = self->before;
    self->phase = COMPOSED;
    return true;
}
