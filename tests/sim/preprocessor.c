/*  tests/sim/preprocessor.c - a preprocessor: the rows that it makes, and those that kill it. */
#include "tests/sim/cluster.h"

#include <inttypes.h>

/*  The positions of a block as it was read that it has no rows of. */
static tnd_held_t held_of(const tnd_block_note_t *note)
{
    tnd_held_t held = {0};
    for (uint32_t i = 0, row = 0; i < note->count && note->origin != NULL; i++)
        if (row < note->rows && note->origin[row] == i)
            row++;
        else
            tnd_held_add(&held, i);
    return held;
}

/*  Whether a block has a row that kills its worker, and which is the first. */
static bool kills(const sim_plan_t *plan, const tnd_block_note_t *note, uint64_t *row_p)
{
    tnd_held_t held = held_of(note);
    for (*row_p = note->first; *row_p < note->first + note->count; ++*row_p)
        if (!tnd_held_has(&held, (uint32_t)(*row_p - note->first)) &&
            sim_plan_kills(plan, note->lane, note->epoch, *row_p))
            return true;
    return false;
}

/*  A row that kills costs each lane that has it five workers, unless something else happens meanwhile or
 *  its ticket is overdue. */
static void count_death(sim_t *self, const tnd_msg_t *block, uint64_t row)
{
    const sim_plan_t *plan = &self->plan;
    uint32_t epoch = block->block.epoch;
    uint64_t sample = sim_plan_sample(plan, block->block.lane, epoch, row);
    sim_kills_t *kill = &self->kills[sample - plan->killer_first];
    if (kill->epoch != epoch || kill->generation != block->generation ||
        kill->fault != self->fault_next || kill->at < self->faults_end)
        *kill = (sim_kills_t){
            .epoch = epoch, .generation = block->generation, .fault = self->fault_next};
    uint32_t lanes = plan->feed == TND_FEED_PIECES ? plan->lanes : 1;
    kill->at = self->now;
    if (++kill->deaths > 5 * lanes && plan->flaps == 0 && plan->overdue_ns == 0)
        sim_violate(self, "row %" PRIu64 " killed %u workers", row, kill->deaths);
}

static void worked(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    uint64_t row;
    if (kills(&self->plan, &actor->work.msg.block, &row)) {
        count_death(self, &actor->work.msg, row);
        sim_say(self, "%s is killed by a row", sim_name(self, id));
        sim_actor_crash(self, id);
        return;
    }
    tnd_msg_t msg = actor->work.msg;
    tnd_held_t held = held_of(&msg.block);
    sim_free(self, msg.block.payload, id);
    if (!tnd_block_is_too_small(&msg.block))
        sim_fit_rows(self, &msg.block, &held, true);
    sim_make_rows(self, id, &msg.block, &held);
    msg.block.work_ns = self->plan.apply_ns;
    sim_own(self, msg.block.payload, id, SIM_FLYING);
    sim_actor_send(self, id, msg.to, &msg);
}

static void reset(sim_t *self, sim_actor_t *actor)
{
    for (uint32_t i = 0; i < actor->link_count; i++)
        sim_link_drop(self, actor->links[i], 0);
    actor->life = ++self->lives;
    actor->said++;
    for (uint32_t i = 0; i < actor->link_count; i++)
        sim_link_birth(self, actor->links[i], 0, true);
}

static void run(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    tnd_effect_t effect;
    while (!actor->busy &&
           tnd_preprocessor_core_next(actor->machine, sim_clock(self, actor->host), &effect))
        switch (effect.kind) {
        case TND_EFFECT_LINK:
            sim_actor_send(self, id, effect.msg.to, &effect.msg);
            break;
        case TND_EFFECT_DROP:
            sim_free(self, effect.payload, id);
            break;
        case TND_EFFECT_RESET:
            reset(self, actor);
            break;
        case TND_EFFECT_APPLY:
            sim_actor_work(self, id, &effect, self->plan.apply_ns);
            break;
        default:
            sim_violate(self, "%s asks for effect %d", sim_name(self, id), (int)effect.kind);
        }
}

static void message(sim_t *self, uint32_t id, tnd_msg_t *msg)
{
    sim_actor_t *actor = &self->actors[id];
    if (msg->kind == TND_MSG_REWIND) {
        tnd_preprocessor_core_rewind(actor->machine, msg->generation);
    } else if (msg->kind == TND_MSG_BLOCK) {
        sim_own(self, msg->block.payload, SIM_FLYING, id);
        tnd_preprocessor_core_block(actor->machine, msg);
    } else if (msg->kind == TND_MSG_GO) {
        tnd_preprocessor_core_go(actor->machine, msg);
    }
}

static void *create(sim_t *self, uint32_t id)
{
    const sim_plan_t *plan = &self->plan;
    tnd_preprocessor_core_config_t config = {.self = id,
                                             .lanes = self->worker_lane_count[id],
                                             .readers = self->worker_readers[id],
                                             .reader_lane = self->worker_reader_lanes[id],
                                             .reader_count = self->worker_reader_count[id],
                                             .joins = self->worker_joins[id],
                                             .lane_number = self->worker_lanes[id],
                                             .window_blocks = plan->queue_blocks,
                                             .window_bytes = plan->queue_bytes,
                                             .window_first = plan->sleepy ? 2 : 0,
                                             .window_ns = plan->queue_ns};
    return SIM_MAKE(self, tnd_preprocessor_core, &config);
}

static void up(sim_t *self, uint32_t id, tnd_actor_id_t peer)
{
    tnd_preprocessor_core_peer_up(self->actors[id].machine, peer);
}

static void lost(sim_t *self, uint32_t id, tnd_actor_id_t peer)
{
    tnd_preprocessor_core_peer_lost(self->actors[id].machine, peer);
}

const sim_role_t sim_preprocessor = {
    .create = create, .run = run, .message = message, .worked = worked, .up = up, .lost = lost};
