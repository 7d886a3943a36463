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

void sim_reference_part(const sim_plan_t *plan, uint32_t size, uint32_t rows, uint32_t replica,
                        uint32_t *offset, uint32_t *count)
{
    uint32_t at = 0;
    for (uint32_t r = 0; r <= replica; r++) {
        uint32_t share = size / plan->replicas + (r < size % plan->replicas);
        uint32_t filled = plan->remainder == TND_REMAINDER_PAD ? size : rows;
        if (plan->split == TND_SPLIT_REBATCH_LEGACY)
            share = (filled + plan->replicas - 1) / plan->replicas;
        *offset = at;
        *count = share < rows - at ? share : rows - at;
        at += *count;
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

/*  One epoch (all of them, when the batches span epochs): the rows each lane has left. */
static void make_steps(sim_reference_t *self, uint32_t epoch, uint64_t left[SIM_LANES],
                       uint64_t at[SIM_LANES], uint64_t *dropped)
{
    const sim_plan_t *plan = self->plan;
    uint32_t lanes = plan->lanes;
    uint64_t first_step = self->step_count, began[SIM_LANES];
    memcpy(began, at, sizeof began);
    for (uint32_t s = 0;; s++) {
        uint64_t all = 0, take[SIM_LANES], rows = 0;
        for (uint32_t l = 0; l < lanes; l++)
            all += left[l];
        if (all == 0)
            return;
        for (uint32_t l = 0; l < lanes; l++) {
            uint32_t turned = (l + s) % lanes;
            uint64_t quota = plan->size / lanes + (turned < plan->size % lanes);
            take[l] = quota < left[l] ? quota : left[l];
            rows += take[l];
        }
        for (uint32_t l = 0; l < lanes; l++)
            while (rows < plan->size && take[l] < left[l]) {
                take[l]++;
                rows++;
            }
        bool drop = rows < plan->size && plan->remainder == TND_REMAINDER_DROP;
        if (!drop && s < plan->skip) {
            *dropped += rows;
            for (uint32_t l = 0; l < lanes; l++) {
                at[l] += take[l];
                left[l] -= take[l];
            }
            continue;
        }
        sim_step_t *step = &self->steps[self->step_count];
        *step = (sim_step_t){.first = self->rows, .rows = (uint32_t)rows, .epoch = epoch};
        step->size = plan->size;
        step->step_of_epoch = s - plan->skip;
        step->last_of_epoch = all == rows;
        sim_step_t *before = self->step_count ? step - 1 : NULL;
        uint64_t digest[2] = {before ? before->digest[0] : 0, before ? before->digest[1] : 0};
        for (uint32_t l = 0; l < lanes; l++) {
            for (uint64_t i = 0; i < take[l] && !drop; i++) {
                uint64_t id = self->lane_rows[l][at[l] + i].id;
                sim_digest_add(digest, self->rows, id);
                self->ids[self->rows++] = id;
            }
            at[l] += take[l];
            left[l] -= take[l];
            if (!drop)
                self->taken[self->step_count * lanes + l] = at[l];
        }
        if (drop) {
            /*  Booked with the step before it, which is the epoch's last; else with the next. */
            *dropped += rows;
            if (self->step_count > first_step) {
                before->last_of_epoch = true;
                before->dropped = *dropped;
                for (uint32_t l = 0; l < lanes; l++)
                    self->taken[(self->step_count - 1) * lanes + l] = at[l];
            }
            continue;
        }
        memcpy(step->digest, digest, sizeof digest);
        step->dropped = *dropped;
        step->padded = before ? before->padded : 0;
        if (plan->remainder == TND_REMAINDER_PAD)
            step->padded += plan->size - rows;
        self->step_count++;
        uint64_t rest = all - rows;
        bool whole = plan->remainder != TND_REMAINDER_DROP || rest >= plan->size;
        if (self->step_count - first_step == plan->take && rest > 0 && whole) {
            step->last_of_epoch = true;
            for (uint32_t l = 0; l < lanes; l++) {
                self->cut[l][epoch] = at[l] - began[l];
                at[l] += left[l];
                self->taken[(self->step_count - 1) * lanes + l] = at[l];
            }
            return;
        }
    }
}

uint64_t sim_reference_model(const sim_reference_t *self, uint64_t step, uint32_t replica)
{
    uint64_t model = 0;
    for (uint64_t s = 0; s < step; s++) {
        uint32_t offset, count;
        sim_reference_part(self->plan, self->steps[s].size, self->steps[s].rows, replica, &offset,
                           &count);
        model = sim_model_step(
            model, sim_leaf(s, 0, replica, self->ids + self->steps[s].first + offset, count));
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
