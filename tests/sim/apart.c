/*  tests/sim/apart.c - what lanes with replicas of their own must feed: what workers of TensorFlow pull,
 *  by the rules of RebatchDatasetV2 and RebatchDataset as they are documented. */
#include <string.h>

#include "tests/sim/reference.h"

/*  Rows that a replica of a lane pulls in batch `s` of an epoch while there are enough. */
static uint64_t wanted(const sim_plan_t *plan, uint32_t lane, uint64_t s, uint32_t which)
{
    uint32_t own = plan->replicas / plan->lanes;
    if (plan->split == TND_SPLIT_REBATCH_V2) {
        uint64_t pull = s * own + which + (uint64_t)lane * own;
        return plan->size / plan->replicas + (pull % plan->replicas < plan->size % plan->replicas);
    }
    uint64_t piece = s % plan->lanes * own + which;
    uint64_t interval = (plan->size + plan->replicas - 1) / plan->replicas;
    uint64_t from = piece * interval, to = from + interval;
    from = from < plan->size ? from : plan->size;
    return (to < plan->size ? to : plan->size) - from;
}

/*  What it gets of a lane of `rows` rows, of which `got` were pulled. */
static uint64_t pulled(const sim_plan_t *plan, uint32_t lane, uint64_t s, uint32_t which,
                       uint64_t rows, uint64_t got)
{
    uint64_t most = wanted(plan, lane, s, which), left = rows - got;
    if (plan->split == TND_SPLIT_REBATCH_LEGACY && plan->remainder != TND_REMAINDER_PAD) {
        uint64_t before = s / plan->lanes * plan->size;
        uint64_t batch = rows > before ? rows - before : 0;
        batch = batch < plan->size ? batch : plan->size;
        uint64_t interval = (batch + plan->replicas - 1) / plan->replicas;
        uint64_t from = (s % plan->lanes * (plan->replicas / plan->lanes) + which) * interval;
        most = from >= batch ? 0 : batch - from < interval ? batch - from : interval;
    }
    return most < left ? most : left;
}

void sim_apart_compose(const sim_plan_t *plan, uint64_t s, const uint64_t rows[SIM_LANES],
                       const uint64_t got[SIM_LANES], sim_taken_t *taken, sim_step_t *step)
{
    uint32_t own = plan->replicas / plan->lanes;
    memset(taken, 0, sizeof *taken);
    for (uint32_t l = 0; l < plan->lanes; l++) {
        bool drops = plan->remainder == TND_REMAINDER_DROP;
        uint64_t usable = drops ? rows[l] - rows[l] % plan->size : rows[l], full = 0;
        for (uint32_t which = 0; which < own; which++) {
            uint32_t replica = l * own + which;
            uint64_t at = got[l] + taken->take[l];
            step->offset[replica] = (uint32_t)taken->rows;
            step->count[replica] =
                at < usable ? (uint32_t)pulled(plan, l, s, which, usable, at) : 0;
            taken->take[l] += step->count[replica];
            taken->rows += step->count[replica];
            full += wanted(plan, l, s, which);
        }
        bool over = drops && taken->take[l] < full;
        taken->gone[l] = over ? rows[l] - got[l] : taken->take[l];
        taken->dropped += taken->gone[l] - taken->take[l];
        taken->padded += plan->remainder == TND_REMAINDER_PAD ? full - taken->take[l] : 0;
    }
}
