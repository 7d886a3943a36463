/*  tests/sim/feeder.c - a feeder: its slots, the device that runs whole steps, and what it posts to
 *  reducers that is not closed. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/cluster.h"

static void post(sim_t *self, uint32_t id, const sim_round_t *round)
{
    const sim_plan_t *plan = &self->plan;
    uint32_t feeder = id - plan->first_feeder, first = plan->feeder_first[feeder];
    uint32_t count = plan->feeder_replicas[feeder];
    bool whole = count == plan->replicas;
    for (uint32_t r = 0; r < (whole ? 1 : count); r++) {
        tnd_msg_t msg = {.kind = TND_MSG_POST, .from = id, .to = plan->reducer};
        msg.post.round = round->step;
        msg.post.reduction = round->slot;
        msg.post.reducer_slot = round->slot;
        msg.post.first = first + r;
        msg.post.count = whole ? count : 1;
        msg.post.weight = whole ? round->rows : 1;
        sim_payload_t *payload = sim_payload(self, 0, 0, SIM_FLYING);
        payload->value = whole ? sim_tree(round->leaves, 0, count) : round->leaves[r];
        msg.post.payload = payload;
        sim_actor_send(self, id, plan->reducer, &msg);
    }
}

/*  Where a round is stored: all of a step next to each other, in order. */
static uint64_t place_of(const sim_round_t *round)
{
    return round->step * SIM_REDUCTIONS + round->slot;
}

static sim_round_t *round_of(sim_actor_t *actor, uint64_t step, uint32_t slot)
{
    return &actor->rounds[(step * SIM_REDUCTIONS + slot) % SIM_ROUNDS];
}

static void say_passed(sim_t *self, uint32_t id, const sim_actor_t *actor)
{
    tnd_msg_t msg = {.kind = TND_MSG_PASSED, .from = id, .to = self->plan.reducer};
    msg.passed = actor->passed;
    sim_actor_send(self, id, msg.to, &msg);
}

static void post_again(sim_t *self, uint32_t id)
{
    const sim_actor_t *actor = &self->actors[id];
    uint64_t least = UINT64_MAX;
    bool unsaid = actor->has_passed;
    for (uint32_t i = 0; i < SIM_ROUNDS; i++)
        if (actor->rounds[i].open && place_of(&actor->rounds[i]) < least)
            least = place_of(&actor->rounds[i]);
    for (uint32_t i = 0; i < SIM_ROUNDS && least != UINT64_MAX; i++)
        if (actor->rounds[(least + i) % SIM_ROUNDS].open) {
            const sim_round_t *round = &actor->rounds[(least + i) % SIM_ROUNDS];
            if (unsaid && round->step > actor->passed.last) {
                say_passed(self, id, actor);
                unsaid = false;
            }
            post(self, id, round);
        }
    if (unsaid)
        say_passed(self, id, actor);
}

/*  A step is done: reducers are told if its number of reductions differs from the last step's. */
static void pass(sim_t *self, uint32_t id, sim_actor_t *actor, uint64_t step, uint32_t reductions)
{
    bool same = actor->has_passed && actor->passed.begin == reductions;
    if (!same)
        actor->passed = (tnd_passed_note_t){
            .first = step, .begin = reductions, .end = TND_PASSED_DONE, .reductions = reductions};
    actor->passed.last = step;
    actor->has_passed = true;
    if (!same || actor->ready_count == 0)
        say_passed(self, id, actor);
}

void sim_feeder_post(sim_t *self, uint32_t id, const sim_round_t *next)
{
    sim_actor_t *actor = &self->actors[id];
    sim_round_t *round = round_of(actor, next->step, next->slot);
    if (round->open)
        sim_violate(self, "%s still keeps round %u of step %" PRIu64, sim_name(self, id),
                    round->slot, round->step);
    *round = *next;
    actor->reductions_open++;
    actor->rounds_open++;
    post(self, id, round);
}

/*  Open rounds are stored, so their number is limited. */
bool sim_feeder_may_post(const sim_t *self, sim_actor_t *actor)
{
    actor->device_waits = actor->rounds_open >= self->plan.depth * self->plan.reductions + 1;
    return !actor->device_waits;
}

static sim_slot_t *slot_of(sim_actor_t *actor)
{
    return &actor->slots[actor->ready[0]];
}

/*  The program has ended the epoch: the steps after it come back unused. */
static void withdraw(sim_t *self, uint32_t id, sim_actor_t *actor)
{
    while (!actor->device_busy && actor->ready_count > 0 && sim_device_starts(actor) &&
           slot_of(actor)->step >= actor->cut) {
        slot_of(actor)->unused = true;
        memmove(actor->ready, actor->ready + 1, --actor->ready_count * sizeof *actor->ready);
        sim_device_put(self, id);
    }
}

void sim_feeder_goes(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    withdraw(self, id, actor);
    if (sim_sync_begins(self, id) || actor->device_busy || actor->ready_count == 0 ||
        !sim_device_starts(actor) || self->plan.discards ||
        slot_of(actor)->step >= sim_finish_of(self, actor->host))
        return;
    actor->device_busy = true;
    actor->device_applies = false;
    sim_after(self,
              sim_actor_span(self, actor, self->plan.step_ns) * sim_finish_slows(self, actor->host),
              SIM_AT_DEVICE, id, (uint32_t)actor->life, 0);
}

/*  A rogue replica has another number of reductions in one step than all others. */
static uint32_t reductions_of(const sim_t *self, uint32_t id, uint64_t step)
{
    const sim_plan_t *plan = &self->plan;
    return id == plan->rogue && step == plan->rogue_step ? plan->rogue_reductions
                                                         : plan->reductions;
}

static void reduce(sim_t *self, uint32_t id, sim_actor_t *actor)
{
    const sim_plan_t *plan = &self->plan;
    const sim_slot_t *slot = slot_of(actor);
    uint32_t feeder = id - plan->first_feeder;
    uint32_t reductions = reductions_of(self, id, slot->step);
    uint32_t before = sim_sync_slots(plan, slot->step);
    for (uint32_t k = 0; k < reductions; k++) {
        sim_round_t round = {
            .slot = before + k, .step = slot->step, .open = true, .rows = slot->rows};
        for (uint32_t r = 0; r < plan->feeder_replicas[feeder]; r++)
            round.leaves[r] = sim_leaf(slot->step, k, plan->feeder_first[feeder] + r, slot->ids[r],
                                       slot->count[r]);
        sim_feeder_post(self, id, &round);
    }
}

/*  What the step makes of the models, which may be saved. */
static void learn(sim_t *self, uint32_t id, sim_actor_t *actor, sim_slot_t *slot)
{
    uint32_t number = id - self->plan.first_feeder;
    for (uint32_t r = 0; r < self->plan.feeder_replicas[number]; r++)
        actor->model[r] = sim_model_step(
            actor->model[r], sim_leaf(slot->step, 0, self->plan.feeder_first[number] + r,
                                      slot->ids[r], slot->count[r]));
    slot->words = slot->keeps ? sim_checkpoint_part(self, id, slot->step + 1) : NULL;
    actor->kept = slot->keeps ? slot->step + 1 : actor->kept;
}

void sim_feeder_device(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    if (actor->role == TND_ROLE_REPLICA) {
        sim_replica_device(self, id);
        return;
    }
    if (actor->device_syncs) {
        sim_sync_goes_on(self, id);
        return;
    }
    sim_slot_t *slot = slot_of(actor);
    uint32_t reductions = reductions_of(self, id, slot->step);
    if (!actor->device_applies && reductions > 0) {
        if (!sim_feeder_may_post(self, actor))
            return;
        actor->device_applies = true;
        reduce(self, id, actor);
        return;
    }
    learn(self, id, actor, slot);
    if (slot->cuts)
        actor->cut = slot->step + 1;
    actor->device_busy = false;
    actor->next_step = slot->step + 1;
    memmove(actor->ready, actor->ready + 1, --actor->ready_count * sizeof *actor->ready);
    if (self->plan.reductions > 0)
        pass(self, id, actor, slot->step, sim_sync_slots(&self->plan, slot->step) + reductions);
    sim_device_put(self, id);
    sim_feeder_goes(self, id);
}

/*  The device may run steps, and end an epoch, before earlier ones are committed. */
static void end_cut(sim_actor_t *actor)
{
    if (tnd_feeder_core_committed(actor->machine) >= actor->cut &&
        !tnd_feeder_core_is_cutting(actor->machine))
        actor->cut = TND_UNKNOWN;
}

/*  A step that came back. */
static void take_back(sim_t *self, uint32_t id, sim_slot_t *slot)
{
    slot->on_device = slot->used = slot->unused = false;
    tnd_feeder_core_withdrawn(self->actors[id].machine, slot->step);
}

void sim_feeder_commit(sim_t *self, uint32_t id, sim_slot_t *slot)
{
    sim_actor_t *actor = &self->actors[id];
    if (slot->unused) {
        take_back(self, id, slot);
        end_cut(actor);
        sim_actor_run(self, id);
        return;
    }
    if (self->plan.discards) {
        learn(self, id, actor, slot);
        actor->ready_count--;
    }
    sim_check_step(self, id, slot);
    if (slot->cuts)
        tnd_feeder_core_cut(actor->machine, slot->step);
    tnd_feeder_core_done(actor->machine, slot->step, slot->digest, slot->rows, slot->words);
    end_cut(actor);
    slot->on_device = false;
    uint64_t steps = slot->step + 1;
    sim_feeder_goes(self, id);
    sim_actor_run(self, id);
    sim_finish_say(self, id, steps);
}

static void place(sim_t *self, uint32_t id, sim_actor_t *actor, const tnd_effect_t *effect)
{
    const tnd_slice_note_t *note = &effect->msg.slice;
    sim_payload_t *payload = effect->payload;
    uint32_t first = self->plan.feeder_first[id - self->plan.first_feeder];
    uint32_t replica = note->replica - first;
    sim_slot_t *slot = &actor->slots[effect->slot];
    if (effect->slot >= actor->depth || note->offset + note->rows > self->plan.size ||
        payload->rows != note->rows) {
        sim_violate(self, "%s places rows where no room is", sim_name(self, id));
        return;
    }
    if (slot->on_device && slot->step != note->step)
        sim_violate(
            self, "%s copies rows of step %" PRIu64 " into the slot that still holds step %" PRIu64,
            sim_name(self, id), note->step, slot->step);
    if (!slot->used || slot->step != note->step) {
        slot->used = true;
        slot->step = note->step;
        slot->rows = 0;
        slot->digest[0] = slot->digest[1] = 0;
        memset(slot->count, 0, sizeof slot->count);
    }
    memcpy(slot->ids[replica] + note->offset, payload->ids, note->rows * sizeof *payload->ids);
    slot->count[replica] = note->total;
    sim_free(self, payload, id);
}

/*  The epochs that have ended with a step; 0: it ends none. */
static uint64_t ended_with(const tnd_slice_note_t *slice)
{
    return slice->last_of_epoch ? (uint64_t)slice->epoch + 1 : 0;
}

/*  The digest is taken from the slot when the step starts. */
static void ready(sim_t *self, uint32_t id, sim_actor_t *actor, const tnd_effect_t *effect)
{
    const sim_plan_t *plan = &self->plan;
    sim_slot_t *slot = &actor->slots[effect->slot];
    uint64_t step = effect->msg.slice.step;
    if (!slot->used || slot->step != step || slot->on_device) {
        sim_violate(self, "%s starts step %" PRIu64 " from a slot that does not hold it",
                    sim_name(self, id), step);
        return;
    }
    slot->on_device = true;
    slot->cuts = plan->rewinds && effect->msg.slice.step_of_epoch + 1 == plan->take &&
                 !effect->msg.slice.last_of_epoch;
    tnd_keep_note_t keep = tnd_checkpoint_word_of_feeder(&actor->keep, true);
    slot->keeps = self->checkpoint != NULL &&
                  tnd_checkpoint_asks(&keep, step + 1, ended_with(&effect->msg.slice));
    slot->rows = 0;
    slot->digest[0] = slot->digest[1] = 0;
    uint32_t feeder = id - plan->first_feeder;
    uint64_t at = step - self->base;
    bool known = at < self->reference.step_count;
    uint64_t first = known ? self->reference.steps[at].first : 0;
    sim_validations_start(self, id, &effect->msg.slice);
    for (uint32_t r = 0; r < plan->feeder_replicas[feeder]; r++) {
        uint32_t replica = plan->feeder_first[feeder] + r;
        uint32_t offset = known ? self->reference.steps[at].offset[replica] : 0;
        for (uint32_t i = 0; i < slot->count[r]; i++)
            sim_digest_add(slot->digest, first + offset + i, slot->ids[r][i]);
        slot->rows += slot->count[r];
    }
    actor->ready[actor->ready_count++] = effect->slot;
    sim_device_ready(self, id, effect->slot);
    sim_feeder_goes(self, id);
}

static tnd_feeder_core_config_t config_of(const sim_t *self, uint32_t id, uint32_t depth)
{
    const sim_plan_t *plan = &self->plan;
    uint32_t feeder = id - plan->first_feeder;
    return (tnd_feeder_core_config_t){.self = id,
                                      .joins = self->joins,
                                      .join_count = plan->lanes,
                                      .first_replica = plan->feeder_first[feeder],
                                      .replicas = plan->feeder_replicas[feeder],
                                      .depth = depth,
                                      .unbooked_max = plan->unbooked_most};
}

static void resize(sim_t *self, uint32_t id, sim_actor_t *actor, uint32_t depth)
{
    for (uint32_t s = 0; s < actor->depth; s++)
        if (actor->slots[s].on_device || actor->slots[s].used)
            sim_violate(self, "%s gives up a slot that has step %" PRIu64, sim_name(self, id),
                        actor->slots[s].step);
    /* Now and then memory for more cannot be allocated. */
    if (depth < actor->depth || !sim_chance(&self->touch_luck, 20))
        actor->depth = depth;
    sim_say(self, "%s has %u slots", sim_name(self, id), actor->depth);
    tnd_feeder_core_config_t config = config_of(self, id, actor->depth);
    actor->machine = tnd_feeder_core_resized(
        actor->machine, sim_store_take(&self->store, tnd_feeder_core_bytes(&config)), &config);
}

static void perform(sim_t *self, uint32_t id, sim_actor_t *actor)
{
    tnd_effect_t effect;
    while (tnd_feeder_core_next_effect(actor->machine, sim_clock(self, actor->host), &effect))
        switch (effect.kind) {
        case TND_EFFECT_LINK:
            sim_actor_send(self, id, effect.msg.to, &effect.msg);
            break;
        case TND_EFFECT_CONTROL:
            sim_actor_control(self, actor, &effect.msg);
            break;
        case TND_EFFECT_DROP:
            if (effect.msg.kind != TND_MSG_COMMIT)
                sim_free(self, effect.payload, id);
            break;
        case TND_EFFECT_PLACE:
            place(self, id, actor, &effect);
            break;
        case TND_EFFECT_READY:
            ready(self, id, actor, &effect);
            break;
        case TND_EFFECT_FREE:
            if (actor->slots[effect.slot].on_device)
                sim_violate(self, "%s frees a slot that the device still uses", sim_name(self, id));
            if (actor->slots[effect.slot].step == effect.msg.slice.step)
                actor->slots[effect.slot].used = false;
            sim_device_refill(self, id, &actor->slots[effect.slot]);
            break;
        case TND_EFFECT_RESIZE:
            resize(self, id, actor, effect.slot);
            break;
        default:
            sim_violate(self, "%s asks for effect %d", sim_name(self, id), (int)effect.kind);
        }
}

/*  What all feeders must get in that slot of a step. */
static uint64_t root_of(sim_t *self, uint64_t step, uint32_t slot)
{
    uint32_t before = sim_sync_slots(&self->plan, step);
    return slot < before ? sim_sync_root(&self->plan, step, slot)
                         : sim_root(self, step, slot - before);
}

static void take_result(sim_t *self, uint32_t id, sim_actor_t *actor, tnd_msg_t *msg)
{
    sim_round_t *round = round_of(actor, msg->post.round, msg->post.reducer_slot);
    uint64_t value = ((sim_payload_t *)msg->post.payload)->value;
    sim_free(self, msg->post.payload, id);
    bool is_old = msg->post.round < self->base; /* of the first time that the stream was fed */
    if (!is_old && value != root_of(self, msg->post.round, msg->post.reducer_slot))
        sim_violate(self, "%s gets a wrong result of round %" PRIu64, sim_name(self, id),
                    msg->post.round);
    tnd_msg_t got = {.kind = TND_MSG_GOT, .from = id, .to = msg->from};
    got.post.round = msg->post.round;
    got.post.reducer_slot = msg->post.reducer_slot;
    sim_actor_send(self, id, msg->from, &got);
    if (!round->open || round->step != msg->post.round || round->got)
        return;
    round->got = true;
    if (--actor->reductions_open == 0)
        sim_after(self, sim_actor_span(self, actor, self->plan.step_ns / 4), SIM_AT_DEVICE, id,
                  (uint32_t)actor->life, 0);
}

void sim_feeder_model(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    tnd_msg_t msg = {.kind = TND_MSG_MODEL, .to = TND_LEADER};
    uint64_t done = tnd_feeder_core_committed(actor->machine);
    if (!actor->over && self->checkpoint != NULL && done > 0 && done != actor->kept)
        actor->last_report = sim_checkpoint_part(self, id, done);
    actor->over = true;
    msg.note.payload = actor->last_report;
    msg.generation = tnd_feeder_core_generation(actor->machine);
    sim_actor_control(self, actor, &msg);
}

static void run(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    actor->over = actor->over && tnd_feeder_core_over(actor->machine); /* or it is fed again */
    perform(self, id, actor);
    if (!actor->over && tnd_feeder_core_over(actor->machine))
        sim_feeder_model(self, id);
}

static void message(sim_t *self, uint32_t id, tnd_msg_t *msg)
{
    sim_actor_t *actor = &self->actors[id];
    tnd_error_t error;
    switch (msg->kind) {
    case TND_MSG_REWIND:
        if (actor->next_step == TND_UNKNOWN)
            actor->next_step = msg->rewind.cursor->step;
        tnd_feeder_core_rewind_to(actor->machine, msg->generation, msg->rewind.cursor->step,
                                  msg->rewind.cuts, msg->rewind.before);
        sim_feeder_goes(self, id);
        break;
    case TND_MSG_SLICE:
        self->progress_at = self->now;
        sim_own(self, msg->slice.payload, SIM_FLYING, id);
        sim_actor_accept(self, id, tnd_feeder_core_slice(actor->machine, msg, &error), &error);
        break;
    case TND_MSG_KEEP:
        actor->keep = msg->keep;
        break;
    case TND_MSG_DEPTH:
        actor->depth_told = (uint32_t)msg->until.step;
        tnd_feeder_core_message(actor->machine, msg);
        break;
    case TND_MSG_RESULT:
        sim_own(self, msg->post.payload, SIM_FLYING, id);
        take_result(self, id, actor, msg);
        break;
    case TND_MSG_CLOSED: {
        sim_round_t *round = round_of(actor, msg->post.round, msg->post.reducer_slot);
        if (round->open && round->step == msg->post.round && !round->got)
            sim_violate(self,
                        "%s is told that round %" PRIu64 " is closed before it has its result",
                        sim_name(self, id), msg->post.round);
        if (round->open && round->step == msg->post.round) {
            round->open = false;
            actor->rounds_open--;
        }
        if (actor->device_waits)
            sim_feeder_device(self, id);
        break;
    }
    default:
        tnd_feeder_core_message(actor->machine, msg);
    }
}

static void *create(sim_t *self, uint32_t id)
{
    const sim_plan_t *plan = &self->plan;
    uint32_t feeder = id - plan->first_feeder;
    self->actors[id].device = (sim_device_t){.reader_count = 0};
    self->actors[id].depth = self->actors[id].depth_told = plan->depth;
    self->actors[id].cut = self->actors[id].next_step = self->actors[id].synced = TND_UNKNOWN;
    for (uint32_t s = 0; s < SIM_DEPTH; s++)
        for (uint32_t r = 0; r < plan->feeder_replicas[feeder]; r++)
            self->actors[id].slots[s].ids[r] =
                sim_store_take(&self->store, plan->size * sizeof(uint64_t));
    tnd_feeder_core_config_t config = config_of(self, id, plan->depth);
    return SIM_MAKE(self, tnd_feeder_core, &config);
}

static void up(sim_t *self, uint32_t id, tnd_actor_id_t peer)
{
    if (self->actors[peer].role == TND_ROLE_JOIN)
        tnd_feeder_core_join_up(self->actors[id].machine, peer);
    else
        post_again(self, id);
}

static void lost(sim_t *self, uint32_t id, tnd_actor_id_t peer)
{
    if (self->actors[peer].role == TND_ROLE_JOIN)
        tnd_feeder_core_join_lost(self->actors[id].machine, peer);
}

const sim_role_t sim_feeder = {
    .create = create, .run = run, .message = message, .up = up, .lost = lost};
