/*  runtime/core/batcher.c - a batcher's decisions: one lane's order, composed into steps. */
#include "runtime/core/batcher_internal.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/bounds.h"
#include "runtime/base/bug_injection.h"
#include "runtime/core/stream/share.h"

static tnd_order_config_t order_config(const tnd_batcher_core_config_t *config)
{
    tnd_order_config_t order = config->order;
    order.rows_wanted = tnd_batch_room_rows(config->size, config->remainder);
    order.wanted_bytes =
        tnd_batch_room_bytes(config->size, config->remainder, config->order.made_max,
                             config->made_ragged, config->batch_ragged);
    order.span_epochs = config->span_epochs;
    if (config->bucket.count > 0 || config->pack.length > 0) { /* they are copied when they come */
        order.rows_wanted = 1;
        order.wanted_bytes = order.made_max;
    }
    return order;
}

/*  Takes `bytes` from the memory at *at. */
static void *carve(uintptr_t *at, size_t bytes)
{
    void *piece = (void *)*at;
    *at += tnd_align(bytes);
    return piece;
}

/*  Lays out everything in memory that begins at `memory`; returns the size. */
static size_t lay_out(tnd_batcher_core_t *self, uintptr_t memory,
                      const tnd_batcher_core_config_t *config)
{
    uintptr_t at = memory;
    carve(&at, sizeof *self);
    self->watermarks.memory = carve(&at, tnd_watermarks_bytes(config->lanes));
    self->taken = carve(&at, config->lanes * sizeof *self->taken);
    self->take = carve(&at, config->lanes * sizeof *self->take);
    self->takes = carve(&at, config->lanes * sizeof *self->takes);
    self->left = carve(&at, config->lanes * sizeof *self->left);
    self->feeders.feeders = carve(&at, config->replicas * sizeof *self->feeders.feeders);
    self->feeders.of_replica = carve(&at, config->replicas * sizeof *self->feeders.of_replica);
    self->deals.deals = carve(&at, config->deal_window * sizeof *self->deals.deals);
    self->pieces = carve(&at, config->size * sizeof *self->pieces);
    tnd_order_config_t order = order_config(config);
    self->order = carve(&at, tnd_order_bytes(&order));
    if (config->bucket.count > 0)
        self->bucketed = carve(&at, tnd_bucketed_rows_bytes(&config->bucket));
    if (config->pack.length > 0)
        self->packed = carve(&at, tnd_packed_rows_bytes(config->size));
    return at - memory;
}

size_t tnd_batcher_core_bytes(const tnd_batcher_core_config_t *config)
{
    tnd_batcher_core_t layout = {0};
    return lay_out(&layout, 0, config);
}

static void feed_apart(tnd_batcher_core_t *self)
{
    tnd_batcher_core_config_t *config = &self->config;
    self->apart = (tnd_apart_t){.split = config->split,
                                .pads = config->remainder == TND_REMAINDER_PAD,
                                .drops = config->remainder == TND_REMAINDER_DROP,
                                .size = config->size,
                                .lanes = config->lanes,
                                .replicas = config->replicas};
    uint64_t period = tnd_apart_period(&self->apart);
    assert(config->replicas % config->lanes == 0 && tnd_apart_possible(&self->apart));
    if (period > 0)
        config->cursor_every = period;
    assert(period == 0 || config->skip % period == 0);
    self->watermarks.apart = &self->apart;
}

tnd_batcher_core_t *tnd_batcher_core_init(void *memory, const tnd_batcher_core_config_t *config)
{
    assert(config->lanes > 0 && config->lanes <= TND_LANES_MAX && config->replicas > 0);
    assert(config->size > 0 && config->size < 1u << 29 && config->order.lane < config->lanes);
    tnd_batcher_core_t *self = memory;
    lay_out(self, (uintptr_t)memory, config);
    self->config = *config;
    memset(self->take, 0, config->lanes * sizeof *self->take);
    tnd_order_config_t order = order_config(config);
    self->order = tnd_order_init(self->order, &order);
    self->rows = tnd_order_rows(self->order);
    if (self->bucketed != NULL)
        self->bucketed = tnd_bucketed_rows_init(self->bucketed, &self->config.bucket, self->rows);
    if (self->packed != NULL)
        self->packed =
            tnd_packed_rows_init(self->packed, &self->config.pack, config->size, self->rows);
    assert(self->packed == NULL || (self->bucketed == NULL && config->lanes == 1));
    tnd_watermarks_init(&self->watermarks, self->order, config->order.lane, config->lanes,
                        config->size, config->span_epochs ? NULL : config->lane_rows);
    if (config->feed == TND_FEED_APART)
        feed_apart(self);
    tnd_feeder_windows_init(&self->feeders, config->feeders, config->replicas);
    tnd_deals_init(&self->deals, self->deals.deals, config->deal_window);
    assert(config->deal_window == 0 || config->feed == TND_FEED_TOGETHER);
    return self;
}

bool tnd_batcher_core_fits(const tnd_batcher_core_t *self, const tnd_cursor_t *cursor)
{
    if (cursor->lanes != self->config.lanes)
        return false;
    for (uint32_t lane = 0; lane < cursor->lanes && !self->config.span_epochs; lane++)
        if (cursor->part[lane].epoch != cursor->epoch)
            return false;
    for (uint32_t lane = 0; lane < cursor->lanes && self->packed == NULL; lane++)
        if (self->bucketed != NULL
                ? cursor->since[lane] > cursor->step_of_epoch
                : cursor->since[lane] != tnd_batcher_core_held_batches(self, cursor->step_of_epoch))
            return false;
    return true;
}

void tnd_batcher_core_rewind(tnd_batcher_core_t *self, uint32_t generation,
                             const tnd_cursor_t *cursor, uint32_t cuts)
{
    assert(cursor->lanes == self->config.lanes);
    tnd_bucketed_rows_clear(self->bucketed);
    tnd_order_rewind(self->order, generation, cursor->part[self->config.order.lane]);
    self->generation = generation, self->cuts = cuts;
    self->started = true;
    self->broken = self->broken_said = self->too_large = false;
    self->changed = true;
    self->epoch = cursor->epoch;
    self->step = cursor->step;
    self->step_of_epoch = cursor->step_of_epoch;
    self->rank = cursor->rank;
    self->skipped = cursor->step_of_epoch > 0 ? self->config.skip : 0;
    self->held = cursor->part[self->config.order.lane];
    self->remake = TND_BUG(BATCHES_FORGOTTEN) ? 0 : cursor->since[self->config.order.lane];
    if (self->packed != NULL)
        self->remake = 0;
    tnd_packed_rows_rewind(self->packed, cursor->since[self->config.order.lane]);
    self->remade = (tnd_remade_t){0};
    self->phase = self->epoch >= tnd_batcher_core_epochs(self) ? ENDED : COMPOSING;
    memset(&self->ledger, 0, sizeof self->ledger);
    memset(self->taken, 0, self->config.lanes * sizeof *self->taken);
    tnd_watermarks_rewind(&self->watermarks, generation, cursor);
    tnd_feeder_windows_rewind(&self->feeders);
    tnd_deals_rewind(&self->deals, generation);
}

tnd_status_t tnd_batcher_core_block(tnd_batcher_core_t *self, const tnd_msg_t *msg,
                                    tnd_error_t *error)
{
    self->changed = true;
    return tnd_order_block(self->order, msg, error);
}

void tnd_batcher_core_worker_up(tnd_batcher_core_t *self, tnd_actor_id_t worker, tnd_life_t birth)
{
    self->changed = true; /* a poison row that is skipped lets later rows join */
    tnd_order_worker_up(self->order, worker, birth);
}

void tnd_batcher_core_died(tnd_batcher_core_t *self, const tnd_msg_t *msg)
{
    self->changed = true; /* likewise */
    tnd_order_died(self->order, msg);
}

void tnd_batcher_core_mark(tnd_batcher_core_t *self, const tnd_msg_t *msg)
{
    if (tnd_watermarks_heard(&self->watermarks, msg, self->epoch))
        self->changed = true;
}

void tnd_batcher_core_window(tnd_batcher_core_t *self, const tnd_msg_t *msg)
{
    tnd_feeder_windows_heard(&self->feeders, msg);
}

void tnd_batcher_core_deal(tnd_batcher_core_t *self, const tnd_msg_t *msg)
{
    if (self->config.deal_window > 0)
        tnd_deals_heard(&self->deals, &(tnd_deal_t){.step = msg->deal.step,
                                                    .generation = msg->generation,
                                                    .replica = msg->deal.replica,
                                                    .life = msg->deal.life});
}

void tnd_batcher_core_feeder_up(tnd_batcher_core_t *self, tnd_actor_id_t feeder, tnd_life_t birth)
{
    assert(birth != 0);
    self->broken = tnd_feeder_windows_reset(&self->feeders, feeder, birth) || self->broken;
}

void tnd_batcher_core_feeder_lost(tnd_batcher_core_t *self, tnd_actor_id_t feeder)
{
    self->broken = tnd_feeder_windows_reset(&self->feeders, feeder, 0) || self->broken;
}

static void start_control(const tnd_batcher_core_t *self, tnd_effect_t *effect, tnd_msg_kind_t kind,
                          tnd_actor_id_t to)
{
    memset(effect, 0, sizeof *effect);
    effect->kind = TND_EFFECT_CONTROL;
    effect->msg.kind = kind;
    effect->msg.generation = self->generation;
    effect->msg.from = self->config.order.self;
    effect->msg.to = to;
}

/*  Whether lanes need one another's watermarks. */
static bool marks(const tnd_batcher_core_t *self)
{
    return self->config.lanes > 1 && !self->watermarks.known &&
           self->config.feed != TND_FEED_PIECES;
}

static bool say_mark(tnd_batcher_core_t *self, tnd_effect_t *effect)
{
    for (uint32_t which = 0; which < 2; which++) {
        uint32_t epoch = self->epoch + which;
        bool decided = which == 0 && self->phase == COMPOSED && self->cut;
        uint64_t batch = which == 0 ? tnd_batcher_core_batch(self) : 0;
        uint64_t taken = which == 0 ? self->taken[self->config.order.lane] : 0;
        tnd_watermark_t mark;
        if (epoch >= tnd_batcher_core_epochs(self) ||
            !tnd_watermarks_due(&self->watermarks, which, epoch, batch, taken, decided, &mark))
            continue;
        start_control(self, effect, TND_MSG_MARK, TND_NOBODY);
        effect->msg.mark.rows = mark.rows;
        effect->msg.mark.lane = self->config.order.lane;
        effect->msg.mark.epoch = epoch;
        effect->msg.mark.ended = mark.ended;
        return true;
    }
    return false;
}

/*  What a replica gets of the rows of its lane. */
static tnd_share_t share_apart(const tnd_batcher_core_t *self, uint32_t replica)
{
    uint32_t own = self->config.replicas / self->config.lanes, lane = self->config.order.lane;
    if (replica / own != lane)
        return (tnd_share_t){.mine = false};
    tnd_apart_part_t part = tnd_apart_part(&self->apart, lane, tnd_batcher_core_batch(self),
                                           &self->takes[lane], replica % own);
    uint64_t offset = self->mine.first + part.first;
    return (tnd_share_t){.offset = offset,
                         .total = part.rows,
                         .padded = part.padded,
                         .first = offset,
                         .rows = part.rows,
                         .mine = true};
}

/*  The replica that was dealt the step gets all rows of this lane. */
static tnd_share_t share_dealt(const tnd_batcher_core_t *self, uint32_t replica)
{
    uint64_t rows = self->composition.rows;
    bool pads = self->config.remainder == TND_REMAINDER_PAD;
    return (tnd_share_t){.offset = 0,
                         .total = rows,
                         .padded = pads ? self->size - rows : 0,
                         .first = self->mine.first,
                         .rows = self->mine.rows,
                         .mine = replica == self->dealt_to && self->mine.rows > 0};
}

static tnd_share_t share_of(const tnd_batcher_core_t *self, uint32_t replica)
{
    if (self->config.deal_window > 0)
        return share_dealt(self, replica);
    const tnd_share_batch_t batch = {.split = self->config.split,
                                     .pads = self->config.remainder == TND_REMAINDER_PAD,
                                     .replicas = self->config.replicas,
                                     .size = self->size,
                                     .rows = self->composition.rows,
                                     .mine_first = self->mine.first,
                                     .mine_rows = self->mine.rows};
    switch (self->config.feed) {
    case TND_FEED_APART:
        return share_apart(self, replica);
    case TND_FEED_PIECES:
        return tnd_share_of_piece(&batch, self->config.lanes, self->config.order.lane, replica);
    case TND_FEED_TOGETHER:
        break;
    }
    return tnd_share_of(&batch, replica);
}

/*  Whether this lane waits for a replica's slot.  A lane that sends no slices waits for all of them, so
 *  that it does not get too far ahead of the leader. */
static bool needs_slot(const tnd_batcher_core_t *self, uint32_t replica)
{
    bool silent = self->config.feed == TND_FEED_TOGETHER && self->mine.rows == 0;
    return silent || share_of(self, replica).mine;
}

/*  Whether it is known which replica gets the step, and that one is connected. */
static bool is_dealt(tnd_batcher_core_t *self)
{
    tnd_deal_t deal;
    if (!tnd_deals_find(&self->deals, self->step, &deal))
        return false;
    const tnd_feeder_window_t *feeder =
        deal.replica == TND_NOBODY ? NULL : tnd_feeder_window_of(&self->feeders, deal.replica);
    tnd_deals_verdict_t verdict =
        tnd_deals_verdict(&deal, feeder != NULL ? feeder->life : 0, feeder != NULL && feeder->up);
    self->dealt_to = verdict == TND_DEALS_SEND ? deal.replica : TND_NOBODY;
    return verdict != TND_DEALS_WAIT;
}

/*  Whether all feeders that this lane sends to have a slot for the step. */
static bool may_release(tnd_batcher_core_t *self)
{
    bool stored = self->bucketed != NULL || self->packed != NULL;
    if (!stored && self->rows->ready < self->mine.rows)
        return false;
    if (self->config.deal_window > 0)
        return is_dealt(self);
    for (uint32_t replica = 0; replica < self->config.replicas; replica++)
        if (!tnd_feeder_windows_have(&self->feeders, replica, self->step) &&
            needs_slot(self, replica))
            return false;
    return true;
}

/*  Asks a feeder for its window if the feeder does not report it unasked. */
static bool ask_window(tnd_batcher_core_t *self, tnd_effect_t *effect)
{
    bool asks = self->config.lanes > 1 && self->config.deal_window == 0 && !TND_BUG(WINDOW_UNASKED);
    for (uint32_t replica = 0; replica < self->config.replicas && asks; replica++) {
        tnd_feeder_window_t *feeder = tnd_feeder_window_of(&self->feeders, replica);
        if (!tnd_feeder_windows_must_ask(&self->feeders, replica, self->step) ||
            !needs_slot(self, replica))
            continue;
        feeder->quiet = self->step + TND_WINDOW_QUIET;
        start_control(self, effect, TND_MSG_WINDOW, feeder->id);
        effect->kind = TND_EFFECT_LINK;
        effect->msg.until.step = self->step;
        return true;
    }
    return false;
}

/*  Takes the next rows of the batch that is stored in place *place_p. */
static tnd_piece_t take_stored(tnd_batcher_core_t *self, uint64_t rows, uint32_t *place_p)
{
    if (self->packed != NULL) {
        tnd_packed_slice_t taken = tnd_packed_rows_take(self->packed, rows, &self->ledger);
        *place_p = taken.place;
        return (tnd_piece_t){NULL, taken.first, taken.rows, NULL};
    }
    tnd_bucket_rows_t taken = tnd_bucketed_rows_take(self->bucketed, rows);
    *place_p = taken.place;
    return (tnd_piece_t){NULL, taken.first, taken.rows, NULL};
}

/*  Passes over rows of the batch, up to this one, that other lanes send. */
static void pass_over(tnd_batcher_core_t *self, uint64_t to)
{
    tnd_ledger_t booked = {0};
    tnd_joined_rows_discard(self->rows, to - self->mine.passed, &booked);
    booked.fed = booked.dropped;
    booked.dropped = 0;
    tnd_ledger_add(&self->ledger, &booked);
    self->mine.passed = to;
}

/*  No replica gets this lane's rows of the step. */
static void pass_step(tnd_batcher_core_t *self)
{
    uint32_t place;
    if (self->bucketed == NULL && self->packed == NULL)
        pass_over(self, self->mine.rows);
    else
        (void)take_stored(self, self->mine.rows, &place);
}

static void say_slice(tnd_batcher_core_t *self, uint32_t replica, const tnd_share_t *share,
                      tnd_effect_t *effect)
{
    tnd_feeder_window_t *feeder = tnd_feeder_window_of(&self->feeders, replica);
    feeder->sent = true;
    feeder->quiet = self->step + TND_WINDOW_QUIET;
    start_control(self, effect, TND_MSG_SLICE, feeder->id);
    effect->kind = TND_EFFECT_LINK;
    effect->msg.slice = (tnd_slice_note_t){
        .step = self->step,
        .step_of_epoch = self->step_of_epoch,
        .rank = self->rank + share->offset,
        .epoch = self->epoch,
        .lane = self->config.order.lane,
        .replica = replica,
        .rows = (uint32_t)share->rows,
        .total = (uint32_t)share->total,
        .padded = (uint32_t)share->padded,
        .step_rows = (uint32_t)self->composition.rows,
        .cuts = self->cuts,
        .last_of_epoch = self->composition.last,
        .last_of_run = self->composition.last && self->epoch + 1 == tnd_batcher_core_epochs(self)};
    uint64_t rows = share->rows;
    if (rows > 0 && self->config.feed == TND_FEED_PIECES)
        pass_over(self, share->first);
    self->mine.passed += rows;
    if (rows > 0) {
        effect->msg.slice.offset = (uint32_t)(share->first - share->offset);
        effect->msg.slice.rank = self->rank + share->first;
    }
    effect->pieces = self->pieces;
    bool stored = self->bucketed != NULL || self->packed != NULL;
    if (rows > 0 && stored) /* they are stored one after the other */
        self->pieces[effect->piece_count++] = take_stored(self, rows, &effect->slot);
    while (rows > 0 && !stored) {
        tnd_joined_head_t head;
        bool there = tnd_joined_rows_head(self->rows, &head);
        assert(there);
        uint32_t some = head.rows < rows ? head.rows : (uint32_t)rows;
        self->pieces[effect->piece_count++] =
            (tnd_piece_t){head.payload, head.first, some, head.lengths};
        tnd_joined_rows_take(self->rows, some, &self->ledger);
        rows -= some;
    }
}

/*  Whether this lane books what it reads: where each has all rows, the first does. */
static bool books(const tnd_batcher_core_t *self)
{
    return self->config.feed != TND_FEED_PIECES || self->config.order.lane == 0;
}

/*  Rows of padding in the step that this lane books. */
static uint64_t padding(const tnd_batcher_core_t *self)
{
    uint32_t own = self->config.order.lane;
    if (self->config.remainder != TND_REMAINDER_PAD)
        return 0;
    if (self->config.feed == TND_FEED_APART)
        return tnd_apart_quota(&self->apart, own, tnd_batcher_core_batch(self)) - self->mine.rows;
    bool first = self->mine.first == 0 && self->mine.rows > 0;
    return first ? self->config.size - self->composition.rows : 0;
}

/*  Closes the step: sends the lane's part of the cursor after it. */
static void say_part(tnd_batcher_core_t *self, tnd_effect_t *effect)
{
    bool last = self->composition.last;
    if (self->config.feed == TND_FEED_PIECES)
        pass_over(self, self->mine.rows);
    if (self->config.deal_window > 0 && self->mine.passed < self->mine.rows)
        pass_step(self);
    tnd_batcher_core_discard(self, self->mine.dropped);
    if (last)
        tnd_batcher_core_close_epoch(self, self->cut);
    self->ledger.padded += padding(self);
    start_control(self, effect, TND_MSG_PART, TND_LEADER);
    effect->msg.part.step = self->step;
    if (books(self))
        effect->msg.part.ledger = self->ledger;
    effect->msg.part.position = TND_BUG(CURSOR_ONE_LATE) ? self->before : self->rows->position;
    effect->msg.part.since =
        last ? 0 : tnd_batcher_core_held_batches(self, self->step_of_epoch + 1);
    if (effect->msg.part.since > 0)
        effect->msg.part.position = self->held;
    if (self->bucketed != NULL && !last) {
        effect->msg.part.position = self->of_bucket.position;
        effect->msg.part.since = self->of_bucket.batches;
    }
    if (self->packed != NULL && !last)
        effect->msg.part.position = tnd_packed_rows_position(self->packed, &effect->msg.part.since);
    memset(&self->ledger, 0, sizeof self->ledger);

    self->step++;
    self->step_of_epoch++;
    self->rank += self->composition.rows;
    tnd_batcher_core_pass_batch(self);
    self->phase = COMPOSING;
    if (last)
        tnd_batcher_core_begin_epoch(self, self->epoch + 1);
    effect->msg.part.lane = self->config.order.lane;
    effect->msg.part.epoch = self->epoch;
    effect->msg.part.step_of_epoch = self->step_of_epoch;
    effect->msg.part.rank = self->rank;
}

/*  Reports a row that is too long for its buckets. */
static bool say_bad_row(tnd_batcher_core_t *self, tnd_effect_t *effect)
{
    tnd_position_t place;
    if (self->bucketed == NULL || !tnd_bucketed_rows_bad(self->bucketed, &place))
        return false;
    self->changed = true;
    start_control(self, effect, TND_MSG_BAD, self->config.order.readers[0]);
    effect->msg.bad =
        (tnd_bad_note_t){place.index, self->config.order.lane, place.epoch, TND_BAD_SKIP, NULL};
    return true;
}

static void say_last(tnd_batcher_core_t *self, tnd_effect_t *effect)
{
    start_control(self, effect, TND_MSG_LAST, TND_LEADER);
    effect->msg.part.step = self->step;
    effect->msg.part.lane = self->config.order.lane;
    effect->msg.part.epoch = self->epoch;
    effect->msg.part.rank = self->rank;
    effect->msg.part.position = self->rows->position;
    if (books(self))
        effect->msg.part.ledger = self->ledger;
    memset(&self->ledger, 0, sizeof self->ledger);
    self->phase = OVER;
}

/*  Sends the next slice of the step, then its part of the cursor. */
static void say_step(tnd_batcher_core_t *self, tnd_effect_t *effect)
{
    while (self->replica < self->config.replicas) {
        uint32_t replica = self->replica++;
        tnd_share_t share = share_of(self, replica);
        if (share.mine) {
            say_slice(self, replica, &share, effect);
            return;
        }
    }
    say_part(self, effect);
}

/*  Copies the next row that is joined to a batch, where rows are copied when they come. */
static bool store_row(tnd_batcher_core_t *self, tnd_effect_t *effect)
{
    if (self->packed != NULL)
        return tnd_packed_rows_store(self->packed, self->epoch, self->pieces, effect);
    return self->bucketed != NULL &&
           tnd_bucketed_rows_store(self->bucketed, self->epoch, self->pieces, effect);
}

bool tnd_batcher_core_next(tnd_batcher_core_t *self, uint64_t now, tnd_effect_t *effect)
{
    for (;;) {
        if (tnd_order_next(self->order, now, effect))
            return true;
        if (!self->started || self->broken_said || self->too_large ||
            tnd_packed_rows_misplaced(self->packed))
            return false;
        if (self->broken) {
            self->broken_said = true;
            start_control(self, effect, TND_MSG_BROKEN, TND_LEADER);
            return true;
        }
        if (marks(self) && self->phase != SLICING && say_mark(self, effect))
            return true;
        switch (self->phase) {
        case COMPOSING:
            if (self->changed && store_row(self, effect))
                return true;
            if (self->changed && tnd_batcher_core_compose(self))
                break;
            /* Blocks whose rows have no values are over without an effect. */
            return say_bad_row(self, effect) || tnd_order_next(self->order, now, effect);
        case COMPOSED:
            self->too_large =
                self->rows->ready < self->mine.rows && tnd_batcher_core_overflows(self);
            if (!may_release(self))
                return ask_window(self, effect);
            self->phase = SLICING;
            break;
        case SLICING:
            say_step(self, effect);
            return true;
        case ENDED:
            say_last(self, effect);
            return true;
        case OVER:
            return false;
        }
    }
}

bool tnd_batcher_core_too_large(const tnd_batcher_core_t *self, uint64_t *step_p)
{
    *step_p = self->step;
    return self->too_large;
}

uint32_t tnd_batcher_core_blocked_on(const tnd_batcher_core_t *self)
{
    if (!self->started || self->broken_said)
        return TND_WAIT_LEADER;
    if (self->phase == OVER)
        return TND_WAIT_ENDED;
    uint32_t waits = tnd_order_blocked_on(self->order) & ~(uint32_t)TND_WAIT_ENDED;
    if (self->phase == COMPOSED)
        waits |= TND_WAIT_WINDOW;
    if (self->phase == COMPOSING && self->composition.waits_for != self->config.order.lane)
        waits |= TND_WAIT_MARK;
    return waits;
}

uint64_t tnd_batcher_core_slots(const tnd_batcher_core_t *self)
{
    tnd_deal_t deal;
    uint64_t dealt = 0;
    while (dealt < self->config.deal_window &&
           tnd_deals_find(&self->deals, self->step + dealt, &deal))
        dealt++;
    if (self->config.deal_window > 0)
        return dealt;
    return tnd_feeder_windows_slots(&self->feeders, self->step);
}

bool tnd_batcher_core_misplaced(const tnd_batcher_core_t *self)
{
    return tnd_packed_rows_misplaced(self->packed);
}

tnd_order_t *tnd_batcher_core_order(const tnd_batcher_core_t *self)
{
    return self->order;
}

tnd_remade_t tnd_batcher_core_remade(const tnd_batcher_core_t *self)
{
    return self->remade;
}
