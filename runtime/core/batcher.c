/*  runtime/core/batcher.c - a batcher's decisions: one lane's order, composed into steps. */
#include "runtime/core/batcher.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/bug_injection.h"
#include "runtime/base/bounds.h"
#include "runtime/core/lane/feeder_windows.h"
#include "runtime/core/lane/watermarks.h"
#include "runtime/core/stream/share.h"

typedef enum {
    COMPOSING, /* the next step is not decided yet */
    COMPOSED,  /* decided; feeders lack a slot for it */
    SLICING,   /* its slices are being sent */
    ENDED,     /* all steps are sent, LAST is not */
    OVER
} phase_t;

struct tnd_batcher_core {
    tnd_batcher_core_config_t config;
    tnd_order_t *order;
    tnd_joined_rows_t *rows;       /* of the order */
    tnd_bucketed_rows_t *bucketed; /* NULL: rows are not bucketed */
    tnd_packed_rows_t *packed;     /* NULL: rows are not packed */
    uint32_t generation, cuts;
    bool started, broken, broken_said;
    bool too_large; /* the rows that the next batch waits for take too many bytes */
    bool changed;   /* since the last attempt to compose */
    phase_t phase;

    uint32_t epoch; /* of the stream: 0 with span_epochs */
    uint64_t step, step_of_epoch, rank;
    uint64_t skipped;    /* batches of the epoch that were not steps */
    uint64_t remake;     /* batches before `step` that are made once more */
    tnd_remade_t remade; /* what they took */
    tnd_position_t held; /* the lane's position in cursors, if it does not move after each batch */

    /*  The step under way. */
    tnd_composition_t composition;
    uint64_t size;                  /* of the batch if it is full */
    tnd_bucketed_batch_t of_bucket; /* it, if rows are bucketed */
    uint64_t mine_first, mine_rows; /* this lane's rows within the batch */
    uint64_t mine_dropped;          /* rows of this lane after the last step, not sent */
    bool cut;                       /* it is the last by `take`, with rows after it */
    uint32_t replica;               /* next to get a slice */
    tnd_position_t before;
    tnd_ledger_t ledger;

    tnd_watermarks_t watermarks;
    uint64_t *taken, *take;
    tnd_left_t *left;
    tnd_feeder_windows_t feeders;
    tnd_piece_t *pieces;
};

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
    self->left = carve(&at, config->lanes * sizeof *self->left);
    self->feeders.feeders = carve(&at, config->replicas * sizeof *self->feeders.feeders);
    self->feeders.of_replica = carve(&at, config->replicas * sizeof *self->feeders.of_replica);
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

tnd_batcher_core_t *tnd_batcher_core_init(void *memory, const tnd_batcher_core_config_t *config)
{
    assert(config->lanes > 0 && config->lanes <= TND_LANES_MAX && config->replicas > 0);
    assert(config->size > 0 && config->size < 1u << 29 && config->order.lane < config->lanes);
    tnd_batcher_core_t *self = memory;
    lay_out(self, (uintptr_t)memory, config);
    self->config = *config;
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
    tnd_feeder_windows_init(&self->feeders, config->feeders, config->replicas);
    return self;
}

static uint32_t stream_epochs(const tnd_batcher_core_t *self)
{
    return self->config.span_epochs ? 1 : self->config.order.epochs;
}

/*  Batches since the position that a cursor has after so many steps of an epoch. */
static uint64_t held_batches(const tnd_batcher_core_t *self, uint64_t step_of_epoch)
{
    uint64_t every = self->config.cursor_every;
    return every > 0 ? step_of_epoch % every : 0;
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
                : cursor->since[lane] != held_batches(self, cursor->step_of_epoch))
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
    self->phase = self->epoch >= stream_epochs(self) ? ENDED : COMPOSING;
    memset(&self->ledger, 0, sizeof self->ledger);
    memset(self->taken, 0, self->config.lanes * sizeof *self->taken);
    tnd_watermarks_rewind(&self->watermarks, generation, cursor);
    tnd_feeder_windows_rewind(&self->feeders);
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

void tnd_batcher_core_feeder_up(tnd_batcher_core_t *self, tnd_actor_id_t feeder)
{
    self->broken = tnd_feeder_windows_reset(&self->feeders, feeder, true) || self->broken;
}

void tnd_batcher_core_feeder_lost(tnd_batcher_core_t *self, tnd_actor_id_t feeder)
{
    self->broken = tnd_feeder_windows_reset(&self->feeders, feeder, false) || self->broken;
}

/*  The number of the next batch in its epoch, skipped ones included. */
static uint64_t batch_of_epoch(const tnd_batcher_core_t *self)
{
    return self->step_of_epoch + self->skipped - self->remake;
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

static bool say_mark(tnd_batcher_core_t *self, tnd_effect_t *effect)
{
    for (uint32_t which = 0; which < 2; which++) {
        uint32_t epoch = self->epoch + which;
        bool decided = which == 0 && self->phase == COMPOSED && self->cut;
        uint64_t batch = which == 0 ? batch_of_epoch(self) : 0;
        uint64_t taken = which == 0 ? self->taken[self->config.order.lane] : 0;
        tnd_watermark_t mark;
        if (epoch >= stream_epochs(self) ||
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

/*  Books rows of this epoch that no step takes as dropped. */
static void discard(tnd_batcher_core_t *self, uint64_t rows)
{
    if (self->packed != NULL)
        tnd_packed_rows_discard(self->packed, rows, &self->ledger);
    else
        tnd_joined_rows_discard(self->rows, rows, &self->ledger);
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
        tnd_joined_rows_discard(self->rows, rows, &booked);
    }
    for (uint32_t lane = 0; lane < self->config.lanes; lane++)
        self->taken[lane] += self->take[lane];
    self->remake--;
    self->changed = true;
}

static void begin_epoch(tnd_batcher_core_t *self, uint32_t epoch)
{
    self->epoch = epoch;
    self->step_of_epoch = 0;
    self->skipped = 0;
    tnd_watermarks_next_epoch(&self->watermarks);
    memset(self->taken, 0, self->config.lanes * sizeof *self->taken);
    self->phase = epoch >= stream_epochs(self) ? ENDED : COMPOSING;
}

static void close_epoch(tnd_batcher_core_t *self, bool cut)
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
    bool endless = stream_epochs(self) == TND_ENDLESS;
    discard(self, dropped);
    close_epoch(self, false);
    begin_epoch(self, endless ? TND_ENDLESS : self->epoch + 1);
}

/*  The batch that was composed is not a step. */
static void skip_batch(tnd_batcher_core_t *self)
{
    uint32_t own = self->config.order.lane;
    self->changed = true;
    if (self->composition.last) {
        skip_epoch(self, self->left[own].left);
        return;
    }
    discard(self, self->take[own]);
    for (uint32_t lane = 0; lane < self->config.lanes; lane++)
        self->taken[lane] += self->take[lane];
    self->skipped++;
}

/*  Whether the rows that wait here take more than a batch may. */
static bool overflows(const tnd_batcher_core_t *self)
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
    for (uint32_t lane = 0; lane < self->config.lanes; lane++) {
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

/*  Cuts the next batch: decides which rows of each lane the next step has, or skips an epoch without
 *  steps; returns false if that is not known yet. */
static bool compose(tnd_batcher_core_t *self)
{
    uint32_t own = self->config.order.lane, lanes = self->config.lanes;
    bool drops = self->config.remainder == TND_REMAINDER_DROP;
    self->size = self->config.size;
    if (!count_left(self)) {
        self->changed = false;
        return false;
    }
    tnd_compose_t outcome = self->bucketed != NULL
                                ? compose_bucket(self)
                                : tnd_compose(self->config.size, lanes, batch_of_epoch(self),
                                              self->left, self->take, &self->composition);
    bool is_short = outcome == TND_COMPOSE_BATCH && self->composition.rows < self->config.size;
    if (outcome == TND_COMPOSE_OVER || (is_short && drops)) {
        skip_epoch(self, self->left[own].left);
        return true;
    }
    if (outcome == TND_COMPOSE_BATCH && drops)
        outcome =
            tnd_compose_whole(self->config.size, lanes, self->left, self->take, &self->composition);
    self->changed = false;
    if (outcome == TND_COMPOSE_WAIT) {
        self->too_large = self->composition.waits_for == own && overflows(self);
        return false;
    }
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
    self->mine_first = 0;
    for (uint32_t lane = 0; lane < own; lane++)
        self->mine_first += self->take[lane];
    self->mine_rows = self->take[own];
    self->mine_dropped =
        drops && self->composition.last ? self->left[own].left - self->take[own] : 0;
    self->cut = !self->composition.last && self->step_of_epoch + 1 == self->config.take;
    self->composition.last = self->composition.last || self->cut;
    self->replica = 0;
    self->before = self->rows->position;
    if (held_batches(self, self->step_of_epoch) == 0)
        self->held = self->before;
    self->phase = COMPOSED;
    return true;
}

static tnd_share_t share_of(const tnd_batcher_core_t *self, uint32_t replica)
{
    const tnd_share_batch_t batch = {.split = self->config.split,
                                     .pads = self->config.remainder == TND_REMAINDER_PAD,
                                     .replicas = self->config.replicas,
                                     .size = self->size,
                                     .rows = self->composition.rows,
                                     .mine_first = self->mine_first,
                                     .mine_rows = self->mine_rows};
    return tnd_share_of(&batch, replica);
}

/*  Whether all feeders that this lane sends to have a slot for the step.  A lane without rows waits
 *  for all of them, so that it does not get too far ahead of the leader. */
static bool may_release(const tnd_batcher_core_t *self)
{
    bool stored = self->bucketed != NULL || self->packed != NULL;
    if (!stored && self->rows->ready < self->mine_rows)
        return false;
    for (uint32_t replica = 0; replica < self->config.replicas; replica++)
        if (!tnd_feeder_windows_have(&self->feeders, replica, self->step) &&
            (self->mine_rows == 0 || share_of(self, replica).mine))
            return false;
    return true;
}

/*  Asks a feeder for its window if the feeder does not report it unasked. */
static bool ask_window(tnd_batcher_core_t *self, tnd_effect_t *effect)
{
    bool asks = self->config.lanes > 1 && !TND_BUG(WINDOW_UNASKED);
    for (uint32_t replica = 0; replica < self->config.replicas && asks; replica++) {
        tnd_feeder_window_t *feeder = tnd_feeder_window_of(&self->feeders, replica);
        if (!tnd_feeder_windows_must_ask(&self->feeders, replica, self->step) ||
            !(self->mine_rows == 0 || share_of(self, replica).mine))
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

static void say_slice(tnd_batcher_core_t *self, uint32_t replica, const tnd_share_t *share,
                      tnd_effect_t *effect)
{
    tnd_feeder_window_t *feeder = tnd_feeder_window_of(&self->feeders, replica);
    feeder->sent = true;
    feeder->quiet = self->step + TND_WINDOW_QUIET;
    start_control(self, effect, TND_MSG_SLICE, feeder->id);
    effect->kind = TND_EFFECT_LINK;
    effect->msg.slice = (tnd_slice_note_t){.step = self->step,
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
                                           .last_of_run = self->composition.last &&
                                                          self->epoch + 1 == stream_epochs(self)};
    uint64_t rows = share->rows;
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

/*  Closes the step: sends the lane's part of the cursor after it. */
static void say_part(tnd_batcher_core_t *self, tnd_effect_t *effect)
{
    bool last = self->composition.last;
    discard(self, self->mine_dropped);
    if (last)
        close_epoch(self, self->cut);
    if (self->config.remainder == TND_REMAINDER_PAD && self->mine_first == 0 && self->mine_rows > 0)
        self->ledger.padded += self->config.size - self->composition.rows;
    start_control(self, effect, TND_MSG_PART, TND_LEADER);
    effect->msg.part.step = self->step;
    effect->msg.part.ledger = self->ledger;
    effect->msg.part.position = TND_BUG(CURSOR_ONE_LATE) ? self->before : self->rows->position;
    effect->msg.part.since = last ? 0 : held_batches(self, self->step_of_epoch + 1);
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
    for (uint32_t lane = 0; lane < self->config.lanes; lane++)
        self->taken[lane] += self->take[lane];
    self->phase = COMPOSING;
    self->changed = true;
    if (last)
        begin_epoch(self, self->epoch + 1);
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
        if (self->config.lanes > 1 && !self->watermarks.known && self->phase != SLICING &&
            say_mark(self, effect))
            return true;
        switch (self->phase) {
        case COMPOSING:
            if (self->changed && store_row(self, effect))
                return true;
            if (self->changed && compose(self))
                break;
            /* Blocks whose rows have no values are over without an effect. */
            return say_bad_row(self, effect) || tnd_order_next(self->order, now, effect);
        case COMPOSED:
            self->too_large = self->rows->ready < self->mine_rows && overflows(self);
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
