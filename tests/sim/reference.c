/*  tests/sim/reference.c - what the stream of a plan must be. */
#include "tests/sim/reference.h"

#include <string.h>

void sim_digest_add(uint64_t digest[2], uint64_t rank, uint64_t id)
{
    uint64_t low = sim_hash(rank, id), high = sim_mix(low ^ 0x5bd1e995u);
    digest[0] += low;
    digest[1] += high + (digest[0] < low);
}

uint64_t sim_tree_node(uint64_t left, uint64_t right)
{
    return sim_hash(left, right ^ 1);
}

uint64_t sim_tree(const uint64_t *leaves, uint32_t first, uint32_t count)
{
    if (count == 1)
        return leaves[first];
    uint32_t half = (count + 1) / 2;
    return sim_tree_node(sim_tree(leaves, first, half),
                         sim_tree(leaves, first + half, count - half));
}

uint64_t sim_leaf(uint64_t step, uint32_t slot, uint32_t replica, const uint64_t *ids,
                  uint32_t count)
{
    uint64_t leaf = sim_hash(step * 4 + slot, replica);
    for (uint32_t i = 0; i < count; i++)
        leaf = sim_mix(leaf + ids[i]);
    return leaf;
}

void sim_reference_cut(const sim_plan_t *plan, uint32_t size, sim_step_t *step)
{
    uint32_t own = plan->replicas / plan->lanes, rows = step->rows, at = 0;
    for (uint32_t r = 0; r < plan->replicas; r++) {
        uint32_t share = size / plan->replicas + (r < size % plan->replicas);
        uint32_t filled = plan->remainder == TND_REMAINDER_PAD ? size : rows;
        if (plan->split == TND_SPLIT_REBATCH_LEGACY)
            share = (filled + plan->replicas - 1) / plan->replicas;
        /*  Piece p is of lane p modulo the lanes, and the next of its replicas. */
        bool pieces = plan->feed == TND_FEED_PIECES;
        uint32_t replica = pieces ? r % plan->lanes * own + r / plan->lanes : r;
        step->offset[replica] = at;
        step->count[replica] = share < rows - at ? share : rows - at;
        at += step->count[replica];
    }
}

static void make_lane(sim_reference_t *self, uint32_t lane, sim_store_t *store,
                      uint64_t rows[SIM_EPOCHS])
{
    const sim_plan_t *plan = self->plan;
    uint64_t stride = plan->count[lane] + 1, all = stride * plan->epochs;
    self->before[lane] = sim_store_take(store, all * sizeof(sim_before_t));
    self->lane_rows[lane] = sim_store_take(store, 1 + all * plan->more_most * sizeof(sim_row_t));
    sim_row_t *row = self->lane_rows[lane];
    for (uint32_t e = 0; e < plan->epochs; e++) {
        sim_before_t before = {0};
        tnd_ledger_t gap = {0};
        for (uint64_t p = 0; p + 1 < stride; p++) {
            self->before[lane][e * stride + p] = before;
            int32_t made = sim_plan_made(plan, lane, e, p);
            before.bad += made < 0;
            before.filtered += made == 0;
            gap.read += made <= 0;
            gap.bad += made < 0;
            gap.filtered += made == 0;
            for (int32_t j = 0; j < made; j++, before.rows++) {
                *row = (sim_row_t){
                    .id = sim_plan_row(plan, lane, e, p, (uint32_t)j), .added = j > 0, .gap = gap};
                row++->after =
                    j + 1 < made ? (tnd_position_t){.epoch = e, .index = p, .used = (uint32_t)j + 1}
                                 : (tnd_position_t){.epoch = e, .index = p + 1};
                gap = (tnd_ledger_t){0};
            }
        }
        self->before[lane][e * stride + stride - 1] = before;
        self->rest[lane][e] = gap;
        rows[e] = before.rows;
    }
}

/*  Batch `s` of an epoch in which lanes have so many rows left. */
static void compose(const sim_plan_t *plan, uint32_t lanes, uint32_t s,
                    const uint64_t left[SIM_LANES], sim_taken_t *taken)
{
    memset(taken, 0, sizeof *taken);
    for (uint32_t l = 0; l < lanes; l++) {
        uint32_t turned = (l + s) % lanes;
        uint64_t quota = plan->size / lanes + (turned < plan->size % lanes);
        taken->take[l] = quota < left[l] ? quota : left[l];
        taken->rows += taken->take[l];
    }
    for (uint32_t l = 0; l < lanes; l++)
        while (taken->rows < plan->size && taken->take[l] < left[l]) {
            taken->take[l]++;
            taken->rows++;
        }
    memcpy(taken->gone, taken->take, sizeof taken->gone);
    if (plan->remainder == TND_REMAINDER_PAD)
        taken->padded = plan->size - taken->rows;
}

/*  Adds the rows of a step to the stream. */
static void add_rows(sim_reference_t *self, sim_step_t *step, const sim_taken_t *taken,
                     const uint64_t at[SIM_LANES])
{
    sim_step_t *before = self->step_count > 0 ? step - 1 : NULL;
    memcpy(step->digest, before ? before->digest : (uint64_t[2]){0}, sizeof step->digest);
    step->padded = (before ? before->padded : 0) + taken->padded;
    for (uint32_t l = 0; l < self->plan->lanes; l++)
        for (uint64_t i = 0; i < taken->take[l]; i++) {
            uint64_t id = self->lane_rows[l][at[l] + i].id;
            sim_digest_add(step->digest, self->rows, id);
            self->ids[self->rows++] = id;
        }
}

/*  So many rows of each lane are used up after the last step; with pieces all lanes have the same. */
static void set_taken(sim_reference_t *self, const uint64_t at[SIM_LANES])
{
    const sim_plan_t *plan = self->plan;
    for (uint32_t l = 0; l < plan->lanes; l++)
        self->taken[(self->step_count - 1) * plan->lanes + l] =
            plan->feed == TND_FEED_PIECES ? at[0] : at[l];
}

/*  The epoch is over after the last step: the other rows are dropped, or not read. */
static void end_epoch(sim_reference_t *self, uint64_t left[SIM_LANES], uint64_t at[SIM_LANES])
{
    self->steps[self->step_count - 1].last_of_epoch = true;
    for (uint32_t l = 0; l < self->plan->lanes; l++) {
        at[l] += left[l];
        left[l] = 0;
    }
    set_taken(self, at);
}

/*  Rows that are left in an epoch from which `remainder: drop` makes no batch. */
static uint64_t cannot_fill(const sim_plan_t *plan, uint32_t lanes, const uint64_t rows[SIM_LANES],
                            const uint64_t left[SIM_LANES])
{
    uint64_t all = 0, usable = 0;
    for (uint32_t l = 0; l < lanes; l++) {
        uint64_t rest = plan->feed == TND_FEED_APART ? rows[l] % plan->size : 0;
        all += left[l];
        usable += left[l] > rest ? left[l] - rest : 0;
    }
    bool none = plan->feed == TND_FEED_APART ? usable == 0 : all < plan->size;
    return plan->remainder == TND_REMAINDER_DROP && none ? all : 0;
}

/*  One epoch (all of them, when the batches span epochs): the rows each lane has left. */
static void make_steps(sim_reference_t *self, uint32_t epoch, uint64_t left[SIM_LANES],
                       uint64_t at[SIM_LANES], uint64_t *dropped)
{
    const sim_plan_t *plan = self->plan;
    uint32_t lanes = plan->feed == TND_FEED_PIECES ? 1 : plan->lanes;
    uint64_t first_step = self->step_count, all = 0, rows[SIM_LANES], got[SIM_LANES] = {0};
    memcpy(rows, left, sizeof rows);
    for (uint32_t l = 0; l < lanes; l++)
        all += left[l];
    for (uint32_t s = 0; all > 0; s++) {
        sim_step_t *step = &self->steps[self->step_count];
        *step = (sim_step_t){.first = self->rows, .epoch = epoch, .step_of_epoch = s - plan->skip};
        uint64_t rest = cannot_fill(plan, lanes, rows, left);
        if (rest > 0) {
            /*  Booked with the step before it, which is the epoch's last; else with the next. */
            *dropped += rest;
            if (self->step_count > first_step) {
                end_epoch(self, left, at);
                step[-1].dropped = *dropped;
            }
            for (uint32_t l = 0; l < lanes; l++)
                at[l] += left[l];
            return;
        }
        sim_taken_t taken;
        if (plan->feed == TND_FEED_APART)
            sim_apart_compose(plan, s, rows, got, &taken, step);
        else
            compose(plan, lanes, s, left, &taken);
        step->rows = (uint32_t)taken.rows;
        if (plan->feed != TND_FEED_APART)
            sim_reference_cut(plan, plan->size, step);
        if (s >= plan->skip)
            add_rows(self, step, &taken, at);
        for (uint32_t l = 0; l < lanes; l++) {
            at[l] += taken.gone[l];
            got[l] += taken.gone[l];
            left[l] -= taken.gone[l];
        }
        all -= taken.rows + taken.dropped;
        *dropped += taken.dropped + (s < plan->skip ? taken.rows : 0);
        if (s < plan->skip)
            continue;
        self->step_count++;
        step->dropped = *dropped;
        step->last_of_epoch = all == 0;
        set_taken(self, at);
        if (self->step_count - first_step == plan->take && all > 0 &&
            cannot_fill(plan, lanes, rows, left) == 0) {
            for (uint32_t l = 0; l < plan->lanes; l++)
                self->cut[l][epoch] = got[plan->feed == TND_FEED_PIECES ? 0 : l];
            end_epoch(self, left, at);
            return;
        }
    }
}

uint64_t sim_reference_model(const sim_reference_t *self, uint64_t step, uint32_t replica)
{
    uint64_t model = 0;
    for (uint64_t s = 0; s < step; s++) {
        const sim_step_t *made = &self->steps[s];
        const uint64_t *ids = self->ids + made->first + made->offset[replica];
        model = sim_model_step(model, sim_leaf(s, 0, replica, ids, made->count[replica]));
    }
    return model;
}

void sim_reference_make(sim_reference_t *self, const sim_plan_t *plan, sim_store_t *store)
{
    memset(self, 0, sizeof *self);
    self->plan = plan;
    memset(self->cut, 0xff, sizeof self->cut);
    uint64_t rows[SIM_LANES][SIM_EPOCHS], all = 0;
    for (uint32_t l = 0; l < plan->lanes; l++) {
        make_lane(self, l, store, rows[l]);
        for (uint32_t e = 0; e < plan->epochs; e++)
            all += rows[l][e];
    }
    uint64_t steps = (plan->bucket_count > 0 ? all : all / plan->size) + plan->epochs + 1;
    if (plan->feed == TND_FEED_APART) /* one lane may have all rows */
        steps = steps * plan->lanes + plan->epochs * plan->lanes;
    uint64_t fed = plan->pack_length > 0 ? sim_packed_most(plan, all) : all;
    steps = plan->pack_length > 0 ? fed : steps;
    self->ids = sim_store_take(store, (fed + 1) * sizeof *self->ids);
    self->steps = sim_store_take(store, steps * sizeof *self->steps);
    self->taken = sim_store_take(store, steps * plan->lanes * sizeof *self->taken);
    if (plan->bucket_count > 0) {
        sim_buckets_make(self);
        return;
    }
    if (plan->pack_length > 0) {
        sim_packing_make(self, all, store);
        return;
    }
    uint64_t at[SIM_LANES] = {0}, dropped = 0;
    for (uint32_t e = 0; e < (plan->span_epochs ? 1 : plan->epochs); e++) {
        uint64_t left[SIM_LANES] = {0};
        for (uint32_t l = 0; l < plan->lanes; l++)
            for (uint32_t i = 0; i < plan->epochs; i++)
                left[l] += i == e || plan->span_epochs ? rows[l][i] : 0;
        make_steps(self, e, left, at, &dropped);
    }
    self->dropped_after = dropped;
}
