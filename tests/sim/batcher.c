/*  tests/sim/batcher.c - a batcher: it cuts slices from the blocks that its join holds. */
#include <inttypes.h>
#include <string.h>

#include "tests/sim/cluster.h"

/*  Whether a piece has the lengths of its rows, if the lane measures them. */
static bool check_lengths(sim_t *self, uint32_t id, const tnd_piece_t *piece)
{
    const sim_payload_t *block = piece->payload;
    bool right = (piece->lengths != NULL) == self->plan.measured;
    for (uint32_t i = 0; right && self->plan.measured && i < piece->rows; i++)
        right = piece->lengths[i] == sim_row_length(&self->plan, block->ids[piece->first + i]);
    if (!right)
        sim_violate(self, "%s has other lengths than those of its rows", sim_name(self, id));
    return right;
}

/*  Adds values of a row to the packed rows that get them. */
static bool store_values(sim_t *self, uint32_t id, const tnd_effect_t *effect, uint64_t row)
{
    uint64_t length = self->plan.pack_length, at = effect->at, from = effect->from;
    uint64_t left = effect->values;
    if ((left == 0) != (sim_row_length(&self->plan, row) == 0) ||
        from + left > sim_row_length(&self->plan, row) || effect->slot > 1 ||
        at + left > self->plan.size * length)
        return false;
    while (left > 0) {
        uint64_t room = length - at % length, some = left < room ? left : room;
        uint64_t *packed = &self->actors[id].batches[effect->slot][at / length];
        *packed = sim_packed_id(at % length == 0 ? 0 : *packed, row, from, some);
        at += some, from += some, left -= some;
    }
    return true;
}

static bool store_row(sim_t *self, uint32_t id, const tnd_effect_t *effect, uint64_t row)
{
    if (effect->at >= self->plan.bucket_sizes[effect->bucket] ||
        effect->slot >= self->plan.bucket_count + 2)
        return false;
    self->actors[id].batches[effect->slot][effect->at] = row;
    return true;
}

/*  Copies a row to its batch. */
static void store(sim_t *self, uint32_t id, const tnd_effect_t *effect)
{
    const tnd_piece_t *row = effect->pieces;
    const sim_payload_t *block = row->payload;
    bool held = block->holder == id && row->first < block->rows && effect->piece_count == 1;
    if (!held ||
        !(self->plan.pack_length > 0 ? store_values(self, id, effect, block->ids[row->first])
                                     : store_row(self, id, effect, block->ids[row->first])))
        sim_violate(self, "%s stores a row of a block that it does not hold, or beyond its batch",
                    sim_name(self, id));
}

static void slice_out(sim_t *self, uint32_t id, tnd_effect_t *effect)
{
    sim_payload_t *slice = sim_payload(self, effect->msg.slice.rows, 0, id);
    uint32_t at = 0;
    for (uint32_t i = 0; i < effect->piece_count; i++) {
        const tnd_piece_t *piece = &effect->pieces[i];
        const sim_payload_t *block = piece->payload;
        if (block == NULL) {
            memcpy(slice->ids, self->actors[id].batches[effect->slot] + piece->first,
                   piece->rows * sizeof *slice->ids);
            at += piece->rows;
            continue;
        }
        if (block->holder != id || piece->first + piece->rows > block->rows ||
            at + piece->rows > slice->rows) {
            sim_violate(self, "%s cuts a slice from a block that it does not hold",
                        sim_name(self, id));
            return;
        }
        if (!check_lengths(self, id, piece))
            return;
        memcpy(slice->ids + at, block->ids + piece->first, piece->rows * sizeof *slice->ids);
        at += piece->rows;
    }
    if (at != slice->rows)
        sim_violate(self, "%s says %u rows and gives %u", sim_name(self, id), slice->rows, at);
    effect->msg.slice.payload = slice;
    sim_own(self, slice, id, SIM_FLYING);
    sim_actor_send(self, id, effect->msg.to, &effect->msg);
}

static void run(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    tnd_effect_t effect;
    uint64_t doubled = tnd_order_doubled(tnd_batcher_core_order(actor->machine));
    while (tnd_batcher_core_next(actor->machine, sim_clock(self, actor->host), &effect))
        switch (effect.kind) {
        case TND_EFFECT_LINK:
            if (effect.msg.kind == TND_MSG_WINDOW)
                sim_actor_send(self, id, effect.msg.to, &effect.msg);
            else
                slice_out(self, id, &effect);
            break;
        case TND_EFFECT_CONTROL:
            if (effect.msg.kind == TND_MSG_TICKET)
                actor->tickets[actor->ticket_count++ % SIM_TICKETS] = effect.msg;
            if (effect.msg.kind == TND_MSG_BAD) /* who keeps the rows */
                effect.msg.to = self->readers[self->plan.members[id].lane][0];
            sim_actor_control(self, actor, &effect.msg);
            break;
        case TND_EFFECT_DROP:
            sim_free(self, effect.payload, id);
            break;
        case TND_EFFECT_STORE:
            store(self, id, &effect);
            break;
        default:
            sim_violate(self, "%s asks for effect %d", sim_name(self, id), (int)effect.kind);
        }
    uint64_t step;
    if (tnd_batcher_core_too_large(actor->machine, &step))
        sim_violate(self, "%s finds the batch of step %" PRIu64 " too large", sim_name(self, id),
                    step);
    self->counts.doubled += tnd_order_doubled(tnd_batcher_core_order(actor->machine)) - doubled;
}

static void say_go(sim_t *self, uint32_t id, const sim_actor_t *join, const tnd_msg_t *heard)
{
    tnd_msg_t go;
    if (tnd_order_go(tnd_batcher_core_order(join->machine), heard, &go))
        sim_actor_send(self, id, go.to, &go);
}

static void message(sim_t *self, uint32_t id, tnd_msg_t *msg)
{
    sim_actor_t *actor = &self->actors[id];
    tnd_error_t error;
    switch (msg->kind) {
    case TND_MSG_REWIND:
        if (!tnd_batcher_core_fits(actor->machine, msg->rewind.cursor))
            sim_violate(self, "%s is sent to a place that its stream does not have",
                        sim_name(self, id));
        tnd_batcher_core_rewind(actor->machine, msg->generation, msg->rewind.cursor,
                                msg->rewind.cuts);
        break;
    case TND_MSG_BLOCK:
        self->blocks++;
        self->progress_at = self->now;
        sim_own(self, msg->block.payload, SIM_FLYING, id);
        sim_actor_accept(self, id, tnd_batcher_core_block(actor->machine, msg, &error), &error);
        say_go(self, id, actor, msg);
        sim_faults_block(self);
        break;
    default:
        tnd_batcher_core_message(actor->machine, msg);
        if (msg->kind == TND_MSG_BEGIN)
            say_go(self, id, actor, msg);
    }
}

static void *create(sim_t *self, uint32_t id)
{
    const sim_plan_t *plan = &self->plan;
    uint32_t lane = plan->members[id].lane;
    uint64_t lane_rows[SIM_LANES];
    for (uint32_t l = 0; l < plan->lanes; l++)
        lane_rows[l] = plan->count[l];
    tnd_batcher_core_config_t config = {
        .order = {.self = id,
                  .lane = lane,
                  .readers = plan->cached ? &self->caches[lane] : self->readers[lane],
                  .reader_count = plan->cached ? 1 : plan->readers,
                  .workers_max = plan->workers,
                  .epochs = plan->epochs,
                  .count = plan->known ? plan->count[lane] : TND_UNKNOWN,
                  .block_rows = plan->block_rows,
                  .first_rows = plan->block_rows / 4,
                  .block_ns = plan->block_ns,
                  .bytes = plan->bytes,
                  .made_max = plan->made_max,
                  .window_bytes = plan->window_bytes,
                  .window_blocks = plan->window_blocks,
                  .measured = plan->measured,
                  .overdue_ns = plan->overdue_ns},
        .lanes = plan->lanes,
        .size = plan->size,
        .made_ragged = plan->made_ragged,
        .batch_ragged = plan->batch_ragged,
        .replicas = plan->dealt > 0 ? plan->dealt : plan->replicas,
        .feeders = self->feeder_of,
        .deal_window = plan->deal_window,
        .split = plan->split,
        .feed = plan->feed,
        .remainder = plan->remainder,
        .span_epochs = plan->span_epochs,
        .skip = plan->skip,
        .take = plan->rewinds ? 0 : plan->take,
        .bucket = {.bounds = plan->bucket_bounds,
                   .sizes = plan->bucket_sizes,
                   .count = plan->bucket_count,
                   .drop_remainder = plan->bucket_drop,
                   .bounded = plan->bucket_bounded,
                   .window = plan->bucket_window},
        .pack = {.length = plan->pack_length, .drop_remainder = plan->pack_drop},
        .cursor_every = plan->cursor_every,
        .lane_rows = sim_plan_is_exact(plan) && !sim_plan_stores(plan) ? lane_rows : NULL};
    if (sim_plan_stores(plan))
        self->actors[id].batches = sim_store_take(
            &self->store, (plan->bucket_count + 2) * sizeof *self->actors[id].batches);
    return SIM_MAKE(self, tnd_batcher_core, &config);
}

static void up(sim_t *self, uint32_t id, tnd_actor_id_t peer)
{
    sim_actor_t *actor = &self->actors[id];
    uint32_t role = self->actors[peer].role;
    if (role == TND_ROLE_FEEDER || role == TND_ROLE_REPLICA)
        tnd_batcher_core_feeder_up(actor->machine, peer,
                                   self->links[self->link_of[id][peer] - 1].end[1].birth);
    else if (role == TND_ROLE_WORKER)
        tnd_batcher_core_worker_up(actor->machine, peer,
                                   self->links[self->link_of[id][peer] - 1].end[1].birth);
    else if (role == TND_ROLE_READER || role == TND_ROLE_CACHE)
        tnd_validator_sent(
            actor->validator,
            &(tnd_msg_t){.kind = TND_MSG_CREDIT, .to = peer, .credit = {UINT64_MAX, UINT64_MAX}});
}

static void lost(sim_t *self, uint32_t id, tnd_actor_id_t peer)
{
    if (self->actors[peer].role == TND_ROLE_FEEDER || self->actors[peer].role == TND_ROLE_REPLICA)
        tnd_batcher_core_feeder_lost(self->actors[id].machine, peer);
}

const sim_role_t sim_batcher = {
    .create = create, .run = run, .message = message, .up = up, .lost = lost};
