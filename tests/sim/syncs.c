/*  tests/sim/syncs.c - rounds of reductions without rows, as tnd_feed_sync and the hook `start` have them.
 *
 *  In some runs the programs of all hosts have such rounds before some steps, often before the first one,
 *  and after the last one.  The second round of a step is posted by `apply` of the first.  To reducers they
 *  are a part of the step that runs next.  The step before is committed after them, because its program
 *  has not asked for the next one. */
#include <inttypes.h>

#include "tests/sim/cluster.h"

uint32_t sim_sync_slots(const sim_plan_t *plan, uint64_t step)
{
    uint64_t drawn = sim_hash(plan->seed ^ 1800, step) % 100;
    if (!plan->syncs || drawn >= 40)
        return 0;
    return plan->rogue == SIM_NONE && drawn < 15 ? 2 : 1;
}

static uint64_t leaf_of(uint64_t step, uint32_t slot, uint32_t replica)
{
    return sim_hash(~step, (uint64_t)slot << 32 | replica);
}

uint64_t sim_sync_root(const sim_plan_t *plan, uint64_t step, uint32_t slot)
{
    uint64_t leaves[SIM_REPLICAS];
    for (uint32_t r = 0; r < plan->replicas; r++)
        leaves[r] = leaf_of(step, slot, r);
    return sim_tree(leaves, 0, plan->replicas);
}

/*  Whether rounds before the step that runs next are due, or under way. */
static bool is_due(const sim_t *self, const sim_actor_t *actor)
{
    return actor->next_step != TND_UNKNOWN && actor->synced != actor->next_step &&
           sim_sync_slots(&self->plan, actor->next_step) > 0 &&
           actor->next_step < sim_finish_of(self, actor->host) &&
           !tnd_feeder_core_over(actor->machine);
}

bool sim_sync_holds(const sim_t *self, uint32_t id, uint64_t step)
{
    const sim_actor_t *actor = &self->actors[id];
    return step + 1 == actor->next_step && is_due(self, actor);
}

static void go_on_later(sim_t *self, uint32_t id)
{
    const sim_actor_t *actor = &self->actors[id];
    sim_after(self, sim_actor_span(self, actor, self->plan.step_ns / 4), SIM_AT_DEVICE, id,
              (uint32_t)actor->life, 0);
}

bool sim_sync_begins(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    if (actor->device_busy || !is_due(self, actor))
        return false;
    actor->device_busy = actor->device_syncs = true;
    actor->sync_slot = 0;
    go_on_later(self, id);
    return true;
}

static void post(sim_t *self, uint32_t id, sim_actor_t *actor)
{
    uint32_t feeder = id - self->plan.first_feeder;
    sim_round_t round = {.slot = actor->sync_slot++,
                         .step = actor->next_step,
                         .open = true,
                         .rows = self->plan.feeder_replicas[feeder]};
    for (uint32_t r = 0; r < round.rows; r++)
        round.leaves[r] = leaf_of(round.step, round.slot, self->plan.feeder_first[feeder] + r);
    self->counts.syncs++;
    sim_feeder_post(self, id, &round);
}

void sim_sync_goes_on(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    if (actor->sync_slot < sim_sync_slots(&self->plan, actor->next_step)) {
        if (sim_feeder_may_post(self, actor))
            post(self, id, actor);
        return;
    }
    actor->device_busy = actor->device_syncs = false;
    actor->synced = actor->next_step;
    sim_device_go_on(self, id);
    sim_feeder_goes(self, id);
}
