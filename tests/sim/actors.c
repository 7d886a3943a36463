/*  tests/sim/actors.c - the actors: machines of the core, and the work they ask for. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/cluster.h"

static uint64_t span(sim_t *self, const sim_actor_t *actor, uint64_t ns)
{
    ns = ns / 2 + sim_below(&self->chance, (uint32_t)ns + 1);
    bool slow =
        self->now < actor->slow_until || actor - self->actors == (ptrdiff_t)self->plan.straggler;
    return slow ? 20 * ns : ns;
}

static void control(sim_t *self, const sim_actor_t *actor, tnd_msg_t *msg)
{
    msg->from = (tnd_actor_id_t)(actor - self->actors);
    sim_control(self, actor->host, msg);
}

static void link_to(sim_t *self, uint32_t id, tnd_actor_id_t to, const tnd_msg_t *msg)
{
    uint32_t index = self->link_of[id][to];
    assert(index != 0);
    tnd_accept_sent(self->actors[id].door, msg);
    sim_link_send(self, index - 1, self->links[index - 1].actor[0] == id ? 0 : 1, msg);
}

static void own(sim_t *self, void *payload, uint32_t from, uint32_t to)
{
    sim_payload_t *it = payload;
    if (!it)
        return;
    if (it->holder != from)
        sim_violate(self, "%s passes on a payload that it does not hold", sim_name(self, from));
    sim_hold(self, it, to);
}

/*  What a machine of a join or a feeder refuses ends a real run: here nothing may be refused. */
static void accept(sim_t *self, uint32_t id, tnd_status_t status, const tnd_error_t *error)
{
    if (status != TND_OK)
        sim_violate(self, "%s: %s", sim_name(self, id), error->text);
}

/* Reader. */

/*  Fills a note with positions [first, first + count) and the rows made from them. */
static void make_rows(sim_t *self, uint32_t id, tnd_block_note_t *note)
{
    const sim_plan_t *plan = &self->plan;
    uint32_t rows = 0, bad = 0;
    for (uint32_t i = 0; i < note->count; i++) {
        int32_t made = sim_plan_made(plan, note->lane, note->epoch, note->first + i);
        rows += made > 0 ? (uint32_t)made : 0;
        bad += made < 0;
    }
    sim_payload_t *payload = sim_payload(self, rows, bad, id);
    note->payload = payload;
    note->rows = rows;
    note->bad_count = bad;
    note->bad = bad ? payload->bad : NULL;
    note->origin = bad || plan->operations ? payload->origin : NULL;
    note->bytes = 0;
    rows = bad = 0;
    for (uint32_t i = 0; i < note->count; i++) {
        int32_t made = sim_plan_made(plan, note->lane, note->epoch, note->first + i);
        if (made < 0)
            payload->bad[bad++] = i;
        for (int32_t j = 0; j < made; j++) {
            uint64_t row = sim_row_id(note->lane, note->epoch, note->first + i, (uint32_t)j);
            payload->origin[rows] = i;
            payload->ids[rows++] = row;
            note->bytes += sim_row_bytes(plan, row);
        }
    }
}

static void read_positions(sim_t *self, uint32_t id, sim_actor_t *actor)
{
    const sim_plan_t *plan = &self->plan;
    tnd_msg_t asked = actor->work.msg;
    uint64_t all = plan->count[asked.ticket.lane], first = asked.ticket.first;
    uint64_t left = first < all ? all - first : 0;
    tnd_msg_t msg = {.kind = TND_MSG_BLOCK, .generation = asked.generation, .from = id};
    msg.to = asked.to;
    msg.block.first = first;
    msg.block.lane = asked.ticket.lane;
    msg.block.epoch = asked.ticket.epoch;
    msg.block.asked = asked.ticket.count;
    msg.block.attempt = asked.ticket.attempt;
    msg.block.count = asked.ticket.count < left ? asked.ticket.count : (uint32_t)left;
    msg.block.end = msg.block.count < msg.block.asked ||
                    ((plan->known || plan->eager_end) && first + msg.block.count >= all);
    msg.block.work_ns = plan->read_ns;
    if (plan->operations) {
        msg.block.payload = sim_payload(self, 0, 0, id);
        msg.block.rows = msg.block.count;
        msg.block.bytes = msg.block.count * plan->row_bytes;
    } else {
        make_rows(self, id, &msg.block);
    }
    own(self, msg.block.payload, id, SIM_FLYING);
    uint64_t bytes = msg.block.bytes;
    link_to(self, id, msg.to, &msg);
    tnd_dispatch_sent(actor->machine, asked.to, bytes);
}

static void run_reader(sim_t *self, uint32_t id, sim_actor_t *actor)
{
    tnd_effect_t effect;
    while (!actor->busy &&
           tnd_dispatch_next(actor->machine, sim_clock(self, actor->host), &effect)) {
        if (effect.kind == TND_EFFECT_CONTROL)
            control(self, actor, &effect.msg);
        if (effect.kind != TND_EFFECT_READ)
            continue;
        actor->work = effect;
        actor->busy = true;
        sim_agenda_put(&self->agenda, self->now + span(self, actor, self->plan.read_ns),
                       SIM_AT_WORKED, id, (uint32_t)actor->life, 0);
    }
}

/* Worker. */

/*  Whether a block has a row that ends the worker who works on it. */
static bool kills(const sim_plan_t *plan, const tnd_block_note_t *note)
{
    for (uint32_t i = 0; i < note->count; i++)
        if (sim_plan_kills(plan, note->lane, note->epoch, note->first + i))
            return true;
    return false;
}

static void apply(sim_t *self, uint32_t id, sim_actor_t *actor)
{
    tnd_msg_t msg = actor->work.msg;
    sim_free(self, msg.block.payload, id);
    make_rows(self, id, &msg.block);
    msg.block.work_ns = self->plan.apply_ns;
    own(self, msg.block.payload, id, SIM_FLYING);
    link_to(self, id, msg.to, &msg);
}

static void reset(sim_t *self, sim_actor_t *actor)
{
    for (uint32_t i = 0; i < actor->link_count; i++)
        sim_link_drop(self, actor->links[i], 0);
    actor->life = ++self->lives;
    for (uint32_t i = 0; i < actor->link_count; i++)
        sim_link_birth(self, actor->links[i], 0, true);
}

static void run_worker(sim_t *self, uint32_t id, sim_actor_t *actor)
{
    tnd_effect_t effect;
    while (!actor->busy && tnd_queue_next(actor->machine, sim_clock(self, actor->host), &effect))
        switch (effect.kind) {
        case TND_EFFECT_LINK:
            link_to(self, id, effect.msg.to, &effect.msg);
            break;
        case TND_EFFECT_DROP:
            sim_free(self, effect.payload, id);
            break;
        case TND_EFFECT_RESET:
            reset(self, actor);
            break;
        case TND_EFFECT_APPLY:
            actor->work = effect;
            actor->busy = true;
            sim_agenda_put(&self->agenda, self->now + span(self, actor, self->plan.apply_ns),
                           SIM_AT_WORKED, id, (uint32_t)actor->life, 0);
            break;
        default:
            sim_violate(self, "%s asks for effect %d", sim_name(self, id), (int)effect.kind);
        }
}

/* Join. */

static void slice_out(sim_t *self, uint32_t id, tnd_effect_t *effect)
{
    sim_payload_t *slice = sim_payload(self, effect->msg.slice.rows, 0, id);
    uint32_t at = 0;
    for (uint32_t i = 0; i < effect->piece_count; i++) {
        const tnd_piece_t *piece = &effect->pieces[i];
        const sim_payload_t *block = piece->payload;
        if (block->holder != id || piece->first + piece->rows > block->rows ||
            at + piece->rows > slice->rows) {
            sim_violate(self, "%s cuts a slice from a block that it does not hold",
                        sim_name(self, id));
            return;
        }
        memcpy(slice->ids + at, block->ids + piece->first, piece->rows * sizeof *slice->ids);
        at += piece->rows;
    }
    if (at != slice->rows)
        sim_violate(self, "%s says %u rows and gives %u", sim_name(self, id), slice->rows, at);
    effect->msg.slice.payload = slice;
    own(self, slice, id, SIM_FLYING);
    link_to(self, id, effect->msg.to, &effect->msg);
}

static void run_join(sim_t *self, uint32_t id, sim_actor_t *actor)
{
    tnd_effect_t effect;
    uint64_t doubled = tnd_order_doubled(tnd_join_order(actor->machine));
    while (tnd_join_next(actor->machine, sim_clock(self, actor->host), &effect))
        switch (effect.kind) {
        case TND_EFFECT_LINK:
            slice_out(self, id, &effect);
            break;
        case TND_EFFECT_CONTROL:
            if (effect.msg.kind == TND_MSG_TICKET)
                actor->tickets[actor->ticket_count++ % SIM_TICKETS] = effect.msg;
            control(self, actor, &effect.msg);
            break;
        case TND_EFFECT_DROP:
            sim_free(self, effect.payload, id);
            break;
        default:
            sim_violate(self, "%s asks for effect %d", sim_name(self, id), (int)effect.kind);
        }
    self->counts.doubled += tnd_order_doubled(tnd_join_order(actor->machine)) - doubled;
}

/* Feeder: the actor, its slots, and the device that runs whole steps. */

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
        link_to(self, id, plan->reducer, &msg);
    }
}

/*  Where a round is kept: all of a step beside each other, in order. */
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
    link_to(self, id, msg.to, &msg);
}

/*  A new connection: all that is not closed, in order, and what was passed before what is not. */
static void post_again(sim_t *self, uint32_t id, const sim_actor_t *actor)
{
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

/*  A step is done: reducers hear of it when it had another number of reductions than the last. */
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

static sim_slot_t *slot_of(sim_actor_t *actor)
{
    return &actor->slots[actor->ready[0]];
}

static void device_goes(sim_t *self, uint32_t id, sim_actor_t *actor)
{
    if (actor->device_busy || actor->ready_count == 0)
        return;
    actor->device_busy = true;
    actor->device_applies = false;
    sim_agenda_put(&self->agenda, self->now + span(self, actor, self->plan.step_ns), SIM_AT_DEVICE,
                   id, (uint32_t)actor->life, 0);
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
    for (uint32_t k = 0; k < reductions; k++) {
        sim_round_t *round = round_of(actor, slot->step, k);
        if (round->open)
            sim_violate(self, "%s still keeps round %u of step %llu", sim_name(self, id),
                        round->slot, (unsigned long long)round->step);
        *round = (sim_round_t){.slot = k, .step = slot->step, .open = true};
        round->rows = slot->rows;
        for (uint32_t r = 0; r < plan->feeder_replicas[feeder]; r++)
            round->leaves[r] = sim_leaf(slot->step, k, plan->feeder_first[feeder] + r, slot->ids[r],
                                        slot->count[r]);
        actor->reductions_open++;
        actor->rounds_open++;
        post(self, id, round);
    }
}

void sim_actor_device(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    sim_slot_t *slot = slot_of(actor);
    uint32_t reductions = reductions_of(self, id, slot->step);
    if (!actor->device_applies && reductions > 0) {
        /*  What is not closed is kept, so there is a most of it. */
        actor->device_waits = actor->rounds_open >= self->plan.depth * self->plan.reductions + 1;
        if (actor->device_waits)
            return;
        actor->device_applies = true;
        reduce(self, id, actor);
        return;
    }
    sim_check_step(self, id, slot);
    uint32_t number = id - self->plan.first_feeder;
    for (uint32_t r = 0; r < self->plan.feeder_replicas[number]; r++)
        actor->model[r] = sim_model_step(
            actor->model[r], sim_leaf(slot->step, 0, self->plan.feeder_first[number] + r,
                                      slot->ids[r], slot->count[r]));
    void *words = slot->keeps ? sim_archive_part(self, id, slot->step + 1) : NULL;
    tnd_feed_done(actor->machine, slot->step, slot->digest, slot->rows, words);
    slot->on_device = false;
    actor->device_busy = false;
    memmove(actor->ready, actor->ready + 1, --actor->ready_count * sizeof *actor->ready);
    if (self->plan.reductions > 0)
        pass(self, id, actor, slot->step, reductions);
    device_goes(self, id, actor);
    sim_actor_run(self, id);
}

static void place(sim_t *self, uint32_t id, sim_actor_t *actor, const tnd_effect_t *effect)
{
    const tnd_slice_note_t *note = &effect->msg.slice;
    sim_payload_t *payload = effect->payload;
    uint32_t first = self->plan.feeder_first[id - self->plan.first_feeder];
    uint32_t replica = note->replica - first;
    sim_slot_t *slot = &actor->slots[effect->slot];
    if (effect->slot >= self->plan.depth || note->offset + note->rows > self->plan.size ||
        payload->rows != note->rows) {
        sim_violate(self, "%s places rows where no room is", sim_name(self, id));
        return;
    }
    if (slot->on_device && slot->step != note->step)
        sim_violate(self, "%s copies rows of step %llu into the slot that still holds step %llu",
                    sim_name(self, id), (unsigned long long)note->step,
                    (unsigned long long)slot->step);
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

/*  The digest is taken from what lies in the slot when the step starts. */
static void ready(sim_t *self, uint32_t id, sim_actor_t *actor, const tnd_effect_t *effect)
{
    const sim_plan_t *plan = &self->plan;
    sim_slot_t *slot = &actor->slots[effect->slot];
    uint64_t step = effect->msg.slice.step;
    if (!slot->used || slot->step != step || slot->on_device) {
        sim_violate(self, "%s starts step %llu from a slot that does not hold it",
                    sim_name(self, id), (unsigned long long)step);
        return;
    }
    slot->on_device = true;
    slot->keeps = self->checkpoint != NULL && tnd_checkpoint_asks(&actor->keep, step + 1);
    slot->rows = 0;
    slot->digest[0] = slot->digest[1] = 0;
    uint32_t feeder = id - plan->first_feeder;
    uint64_t first = step < self->reference.step_count ? self->reference.steps[step].first : 0;
    for (uint32_t r = 0; r < plan->feeder_replicas[feeder]; r++) {
        uint32_t offset, count;
        sim_reference_part(plan, effect->msg.slice.step_rows, plan->feeder_first[feeder] + r,
                           &offset, &count);
        for (uint32_t i = 0; i < slot->count[r]; i++)
            sim_digest_add(slot->digest, first + offset + i, slot->ids[r][i]);
        slot->rows += slot->count[r];
    }
    actor->ready[actor->ready_count++] = effect->slot;
    device_goes(self, id, actor);
}

static void run_feeder(sim_t *self, uint32_t id, sim_actor_t *actor)
{
    tnd_effect_t effect;
    while (tnd_feed_next_effect(actor->machine, sim_clock(self, actor->host), &effect))
        switch (effect.kind) {
        case TND_EFFECT_LINK:
            link_to(self, id, effect.msg.to, &effect.msg);
            break;
        case TND_EFFECT_CONTROL:
            control(self, actor, &effect.msg);
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
            break;
        default:
            sim_violate(self, "%s asks for effect %d", sim_name(self, id), (int)effect.kind);
        }
}

static void take_result(sim_t *self, uint32_t id, sim_actor_t *actor, tnd_msg_t *msg)
{
    sim_round_t *round = round_of(actor, msg->post.round, msg->post.reducer_slot);
    uint64_t value = ((sim_payload_t *)msg->post.payload)->value;
    sim_free(self, msg->post.payload, id);
    if (value != sim_root(self, msg->post.round, msg->post.reducer_slot))
        sim_violate(self, "%s gets a wrong result of round %llu", sim_name(self, id),
                    (unsigned long long)msg->post.round);
    tnd_msg_t got = {.kind = TND_MSG_GOT, .from = id, .to = msg->from};
    got.post.round = msg->post.round;
    got.post.reducer_slot = msg->post.reducer_slot;
    link_to(self, id, msg->from, &got);
    if (!round->open || round->step != msg->post.round || round->got)
        return;
    round->got = true;
    if (--actor->reductions_open == 0)
        sim_agenda_put(&self->agenda, self->now + span(self, actor, self->plan.step_ns / 4),
                       SIM_AT_DEVICE, id, (uint32_t)actor->life, 0);
}

void sim_actor_model(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    tnd_msg_t msg = {.kind = TND_MSG_MODEL, .to = TND_LEADER};
    actor->model_said = true;
    control(self, actor, &msg);
}

/* Reducer. */

static uint64_t combine(const tnd_post_note_t *posts, uint32_t count, uint32_t first,
                        uint32_t width)
{
    for (uint32_t i = 0; i < count; i++)
        if (posts[i].first == first && posts[i].count == width)
            return ((sim_payload_t *)posts[i].payload)->value;
    if (width <= 1)
        return 0;
    uint32_t half = (width + 1) / 2;
    return sim_tree_node(combine(posts, count, first, half),
                         combine(posts, count, first + half, width - half));
}

static void run_reducer(sim_t *self, uint32_t id, sim_actor_t *actor)
{
    tnd_effect_t effect;
    while (tnd_rounds_next(actor->machine, sim_clock(self, actor->host), &effect))
        switch (effect.kind) {
        case TND_EFFECT_LINK:
            if (effect.msg.kind == TND_MSG_RESULT) {
                sim_payload_t *copy = sim_payload(self, 0, 0, SIM_FLYING);
                copy->value = ((sim_payload_t *)effect.msg.post.payload)->value;
                effect.msg.post.payload = copy;
            } else {
                effect.msg.post.payload = NULL;
            }
            effect.msg.from = id;
            link_to(self, id, effect.msg.to, &effect.msg);
            break;
        case TND_EFFECT_REDUCE: {
            tnd_post_note_t posts[SIM_REPLICAS];
            uint32_t count = tnd_rounds_nodes(actor->machine, effect.msg.post.round,
                                              effect.msg.post.reducer_slot, posts, SIM_REPLICAS);
            sim_payload_t *root = sim_payload(self, 0, 0, id);
            root->value = combine(posts, count, 0, self->plan.replicas);
            tnd_rounds_reduced(actor->machine, &effect.msg, root);
            break;
        }
        case TND_EFFECT_DROP:
            sim_free(self, effect.payload, id);
            break;
        case TND_EFFECT_FORGET:
            sim_free(self, effect.payload ? effect.payload : effect.msg.post.payload, id);
            break;
        default:
            sim_violate(self, "%s asks for effect %d", sim_name(self, id), (int)effect.kind);
        }
}

/* All of them. */

/*  Sees to it that the machine is asked when its deadline comes. */
static void watch_deadline(sim_t *self, uint32_t id, sim_actor_t *actor)
{
    uint64_t due = TND_NEVER;
    if (actor->role == TND_ROLE_JOIN)
        due = tnd_join_deadline(actor->machine);
    else if (actor->role == TND_ROLE_READER)
        due = tnd_dispatch_deadline(actor->machine);
    if (due == TND_NEVER)
        return;
    uint64_t clock = self->hosts[actor->host].clock;
    due = due > self->now + clock ? due - clock : self->now + 1;
    if (actor->due_ns > self->now && actor->due_ns <= due)
        return;
    actor->due_ns = due;
    sim_agenda_put(&self->agenda, due, SIM_AT_DUE, id, (uint32_t)actor->life, 0);
}

void sim_actor_due(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    actor->due_ns = 0;
    if (!actor->busy)
        sim_actor_run(self, id);
}

void sim_actor_run(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    /*  Who works long looks at all that has come before it begins. */
    if (actor->inbox != SIM_NONE &&
        (actor->role == TND_ROLE_WORKER || actor->role == TND_ROLE_READER))
        return;
    switch ((tnd_role_t)actor->role) {
    case TND_ROLE_READER:
        run_reader(self, id, actor);
        break;
    case TND_ROLE_WORKER:
        run_worker(self, id, actor);
        break;
    case TND_ROLE_JOIN:
        run_join(self, id, actor);
        break;
    case TND_ROLE_FEEDER:
        run_feeder(self, id, actor);
        if (id == self->plan.first_feeder && !actor->model_said && tnd_feed_over(actor->machine))
            sim_actor_model(self, id);
        break;
    case TND_ROLE_REDUCER:
        run_reducer(self, id, actor);
        break;
    }
    if (!actor->busy)
        watch_deadline(self, id, actor);
    sim_door_confirm(self, id);
    sim_check_actor(self, id);
}

static void drain_inbox(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    while (!actor->busy && actor->alive && actor->inbox != SIM_NONE) {
        uint32_t parcel = actor->inbox;
        actor->inbox = self->parcels[parcel].next;
        if (self->parcels[parcel].link != SIM_NONE) {
            sim_link_arrive(self, parcel);
        } else {
            tnd_msg_t msg = self->parcels[parcel].msg;
            sim_parcel_done(self, parcel);
            sim_door_control(self, id, &msg);
            sim_actor_message(self, id, &msg);
        }
    }
    if (actor->alive && !actor->busy)
        sim_actor_run(self, id);
}

void sim_actor_receive(sim_t *self, uint32_t id, uint32_t parcel)
{
    sim_actor_t *actor = &self->actors[id];
    if (!actor->alive) {
        sim_free_msg(self, &self->parcels[parcel].msg);
        sim_parcel_done(self, parcel);
        return;
    }
    self->parcels[parcel].next = SIM_NONE;
    if (actor->inbox == SIM_NONE)
        actor->inbox = parcel;
    else
        self->parcels[actor->inbox_last].next = parcel;
    actor->inbox_last = parcel;
    drain_inbox(self, id);
}

void sim_actor_worked(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    actor->busy = false;
    if (actor->role == TND_ROLE_READER) {
        read_positions(self, id, actor);
    } else if (kills(&self->plan, &actor->work.msg.block)) {
        sim_say(self, "%s is killed by a row", sim_name(self, id));
        sim_actor_crash(self, id);
        return;
    } else {
        apply(self, id, actor);
    }
    drain_inbox(self, id);
}

void sim_actor_up(sim_t *self, uint32_t id, tnd_actor_id_t peer)
{
    sim_actor_t *actor = &self->actors[id];
    tnd_role_t role = (tnd_role_t)self->actors[peer].role;
    tnd_accept_reset(actor->door, peer);
    switch ((tnd_role_t)actor->role) {
    case TND_ROLE_READER:
        tnd_dispatch_worker_up(actor->machine, peer);
        /* Into a join the ticket is the credit. */
        if (role == TND_ROLE_JOIN)
            tnd_dispatch_credit(actor->machine, peer, UINT64_MAX, UINT64_MAX);
        break;
    case TND_ROLE_WORKER:
        tnd_queue_peer_up(actor->machine, peer);
        break;
    case TND_ROLE_JOIN:
        if (role == TND_ROLE_FEEDER)
            tnd_join_feeder_up(actor->machine, peer);
        else if (role == TND_ROLE_READER)
            tnd_accept_sent(actor->door, &(tnd_msg_t){.kind = TND_MSG_CREDIT,
                                                      .to = peer,
                                                      .credit = {UINT64_MAX, UINT64_MAX}});
        break;
    case TND_ROLE_FEEDER:
        if (role == TND_ROLE_JOIN)
            tnd_feed_join_up(actor->machine, peer);
        else
            post_again(self, id, actor);
        break;
    case TND_ROLE_REDUCER:
        tnd_rounds_feeder_up(actor->machine, peer);
        break;
    }
    sim_actor_run(self, id);
}

void sim_actor_lost(sim_t *self, uint32_t id, tnd_actor_id_t peer)
{
    sim_actor_t *actor = &self->actors[id];
    tnd_role_t role = (tnd_role_t)self->actors[peer].role;
    tnd_accept_reset(actor->door, peer);
    switch ((tnd_role_t)actor->role) {
    case TND_ROLE_READER:
        tnd_dispatch_worker_lost(actor->machine, peer);
        break;
    case TND_ROLE_WORKER:
        tnd_queue_peer_lost(actor->machine, peer);
        break;
    case TND_ROLE_JOIN:
        if (role == TND_ROLE_FEEDER)
            tnd_join_feeder_lost(actor->machine, peer);
        break;
    case TND_ROLE_FEEDER:
        if (role == TND_ROLE_JOIN)
            tnd_feed_join_lost(actor->machine, peer);
        break;
    case TND_ROLE_REDUCER:
        tnd_rounds_feeder_lost(actor->machine, peer);
        break;
    }
    sim_actor_run(self, id);
}

static void reader_message(sim_t *self, uint32_t id, sim_actor_t *actor, tnd_msg_t *msg)
{
    (void)id;
    (void)self;
    if (msg->kind == TND_MSG_REWIND)
        tnd_dispatch_rewind(actor->machine, msg->generation);
    else if (msg->kind == TND_MSG_TICKET)
        tnd_dispatch_ticket(actor->machine, msg);
    else if (msg->kind == TND_MSG_CREDIT)
        tnd_dispatch_credit(actor->machine, msg->from, msg->credit.blocks, msg->credit.bytes);
}

static void worker_message(sim_t *self, uint32_t id, sim_actor_t *actor, tnd_msg_t *msg)
{
    if (msg->kind == TND_MSG_REWIND) {
        tnd_queue_rewind(actor->machine, msg->generation);
    } else if (msg->kind == TND_MSG_BLOCK) {
        own(self, msg->block.payload, SIM_FLYING, id);
        tnd_queue_block(actor->machine, msg);
    } else if (msg->kind == TND_MSG_GO) {
        tnd_queue_go(actor->machine, msg);
    }
}

static void join_message(sim_t *self, uint32_t id, sim_actor_t *actor, tnd_msg_t *msg)
{
    tnd_error_t error;
    switch (msg->kind) {
    case TND_MSG_REWIND:
        tnd_join_rewind(actor->machine, msg->generation, msg->rewind.cursor);
        break;
    case TND_MSG_BLOCK:
        self->blocks++;
        self->progress_at = self->now;
        own(self, msg->block.payload, SIM_FLYING, id);
        accept(self, id, tnd_join_block(actor->machine, msg, &error), &error);
        sim_faults_block(self);
        break;
    case TND_MSG_BEGIN: {
        tnd_msg_t go = *msg;
        go.kind = TND_MSG_GO;
        go.from = id;
        go.to = msg->from;
        tnd_join_begin(actor->machine, msg);
        link_to(self, id, go.to, &go);
        break;
    }
    case TND_MSG_LOST:
        tnd_join_lost(actor->machine, msg);
        break;
    case TND_MSG_MARK:
        tnd_join_mark(actor->machine, msg);
        break;
    case TND_MSG_WINDOW:
        tnd_join_window(actor->machine, msg);
        break;
    default:
        break;
    }
}

static void feeder_message(sim_t *self, uint32_t id, sim_actor_t *actor, tnd_msg_t *msg)
{
    tnd_error_t error;
    switch (msg->kind) {
    case TND_MSG_REWIND:
        tnd_feed_rewind_to(actor->machine, msg->generation, msg->rewind.cursor->step);
        break;
    case TND_MSG_SLICE:
        self->progress_at = self->now;
        own(self, msg->slice.payload, SIM_FLYING, id);
        accept(self, id, tnd_feed_slice(actor->machine, msg, &error), &error);
        break;
    case TND_MSG_KEEP:
        actor->keep = msg->keep;
        break;
    case TND_MSG_BOOKED:
        tnd_feed_booked(actor->machine, msg->until.step);
        break;
    case TND_MSG_LAST:
        tnd_feed_end(actor->machine, msg->until.step);
        break;
    case TND_MSG_DRAIN:
        tnd_feed_drain(actor->machine);
        break;
    case TND_MSG_RESULT:
        own(self, msg->post.payload, SIM_FLYING, id);
        take_result(self, id, actor, msg);
        break;
    case TND_MSG_CLOSED: {
        sim_round_t *round = round_of(actor, msg->post.round, msg->post.reducer_slot);
        if (round->open && round->step == msg->post.round && !round->got)
            sim_violate(self, "%s is told that round %llu is closed before it has its result",
                        sim_name(self, id), (unsigned long long)msg->post.round);
        if (round->open && round->step == msg->post.round) {
            round->open = false;
            actor->rounds_open--;
        }
        if (actor->device_waits)
            sim_actor_device(self, id);
        break;
    }
    default:
        break;
    }
}

/*  A rogue replica is to be named, with its step; nothing else may be refused. */
static void reduced(sim_t *self, uint32_t id, tnd_status_t status, const tnd_error_t *error)
{
    const sim_plan_t *plan = &self->plan;
    char step[32];
    (void)snprintf(step, sizeof step, "in step %llu ", (unsigned long long)plan->rogue_step);
    if (status == TND_OK || plan->rogue == SIM_NONE ||
        strncmp(error->text, step, strlen(step)) != 0 ||
        strstr(error->text, sim_name(self, plan->rogue)) == NULL) {
        accept(self, id, status, error);
        return;
    }
    sim_say(self, "%s: %s", sim_name(self, id), error->text);
    self->rogue_found = self->over = true;
    self->counts.faults[SIM_ROGUE]++;
}

static void reducer_message(sim_t *self, uint32_t id, sim_actor_t *actor, tnd_msg_t *msg)
{
    tnd_error_t error;
    if (msg->kind == TND_MSG_POST) {
        own(self, msg->post.payload, SIM_FLYING, id);
        reduced(self, id, tnd_rounds_post(actor->machine, msg, &error), &error);
    } else if (msg->kind == TND_MSG_PASSED) {
        reduced(self, id, tnd_rounds_passed(actor->machine, msg, &error), &error);
    } else if (msg->kind == TND_MSG_GOT) {
        tnd_rounds_got(actor->machine, msg);
    }
}

void sim_actor_message(sim_t *self, uint32_t id, tnd_msg_t *msg)
{
    sim_actor_t *actor = &self->actors[id];
    if (!actor->alive) {
        sim_free_msg(self, msg);
        return;
    }
    switch ((tnd_role_t)actor->role) {
    case TND_ROLE_READER:
        reader_message(self, id, actor, msg);
        break;
    case TND_ROLE_WORKER:
        worker_message(self, id, actor, msg);
        break;
    case TND_ROLE_JOIN:
        join_message(self, id, actor, msg);
        break;
    case TND_ROLE_FEEDER:
        feeder_message(self, id, actor, msg);
        break;
    case TND_ROLE_REDUCER:
        reducer_message(self, id, actor, msg);
        break;
    }
    sim_actor_run(self, id);
}

uint32_t sim_actor_blocked_on(const sim_t *self, uint32_t id)
{
    const void *machine = self->actors[id].machine;
    switch ((tnd_role_t)self->actors[id].role) {
    case TND_ROLE_READER:
        return tnd_dispatch_blocked_on(machine);
    case TND_ROLE_WORKER:
        return tnd_queue_blocked_on(machine);
    case TND_ROLE_JOIN:
        return tnd_join_blocked_on(machine);
    case TND_ROLE_FEEDER:
        return tnd_feed_blocked_on(machine);
    case TND_ROLE_REDUCER:
        return tnd_rounds_blocked_on(machine);
    }
    return 0;
}

/* Lives. */

static void *machine_for(sim_t *self, uint32_t id)
{
    const sim_plan_t *plan = &self->plan;
    uint32_t lane = plan->members[id].lane;
    switch (plan->members[id].role) {
    case TND_ROLE_READER: {
        tnd_dispatch_config_t config = {.self = id, .join = self->joins[lane], .lane = lane};
        config.tickets_max = plan->window_blocks + 2 * plan->size + 1 + TND_ORDER_SPARE;
        config.workers_max = plan->workers > 0 ? plan->workers : 1;
        config.rest_ns = plan->rest_ns;
        return tnd_dispatch_init(sim_store_take(&self->store, tnd_dispatch_bytes(&config)),
                                 &config);
    }
    case TND_ROLE_WORKER: {
        tnd_queue_config_t config = {.self = id,
                                     .lanes = self->worker_lane_count[id],
                                     .readers = self->worker_readers[id],
                                     .reader_lane = self->worker_reader_lanes[id],
                                     .reader_count = self->worker_reader_count[id],
                                     .joins = self->worker_joins[id],
                                     .lane_number = self->worker_lanes[id],
                                     .window_blocks = plan->queue_blocks,
                                     .window_bytes = plan->queue_bytes,
                                     .window_ns = plan->queue_ns};
        return tnd_queue_init(sim_store_take(&self->store, tnd_queue_bytes(&config)), &config);
    }
    case TND_ROLE_JOIN: {
        tnd_join_config_t config = {
            .order = {.self = id,
                      .lane = lane,
                      .readers = self->readers[lane],
                      .reader_count = plan->readers,
                      .epochs = plan->epochs,
                      .count = plan->known ? plan->count[lane] : TND_UNKNOWN,
                      .block_rows = plan->block_rows,
                      .block_ns = plan->block_ns,
                      .row_bytes_max = plan->row_bytes * plan->more_most,
                      .window_bytes = plan->window_bytes,
                      .window_blocks = plan->window_blocks,
                      .overdue_ns = plan->overdue_ns},
            .lanes = plan->lanes,
            .size = plan->size,
            .replicas = plan->replicas,
            .feeders = self->feeder_of,
            .split = plan->split,
            .remainder = plan->remainder,
            .span_epochs = plan->span_epochs,
            .skip = plan->skip,
            .take = plan->take};
        return tnd_join_init(sim_store_take(&self->store, tnd_join_bytes(&config)), &config);
    }
    case TND_ROLE_FEEDER: {
        uint32_t feeder = id - plan->first_feeder;
        tnd_feed_config_t config = {.self = id,
                                    .joins = self->joins,
                                    .join_count = plan->lanes,
                                    .first_replica = plan->feeder_first[feeder],
                                    .replicas = plan->feeder_replicas[feeder],
                                    .depth = plan->depth,
                                    .unbooked_max = plan->unbooked_most,
                                    .steps_max = plan->steps_max};
        return tnd_feed_init(sim_store_take(&self->store, tnd_feed_bytes(&config)), &config);
    }
    case TND_ROLE_REDUCER: {
        tnd_round_config_t config = {.self = id,
                                     .replicas = plan->replicas,
                                     .feeders = self->feeder_of,
                                     .names = self->feeder_names,
                                     .rounds_max = (plan->depth + 1) * SIM_REDUCTIONS};
        return tnd_rounds_init(sim_store_take(&self->store, tnd_rounds_bytes(&config)), &config);
    }
    }
    return NULL;
}

void sim_actor_born(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    const sim_plan_t *plan = &self->plan;
    actor->waiting = false;
    if (actor->alive || !self->hosts[actor->host].alive)
        return;
    actor->alive = true;
    actor->busy = false;
    actor->life = ++self->lives;
    actor->due_ns = 0;
    actor->inbox = SIM_NONE;
    actor->machine = machine_for(self, id);
    actor->door = sim_door_new(self, id);
    if (actor->role == TND_ROLE_FEEDER)
        for (uint32_t s = 0; s < plan->depth; s++)
            for (uint32_t r = 0; r < plan->feeder_replicas[id - plan->first_feeder]; r++)
                actor->slots[s].ids[r] =
                    sim_store_take(&self->store, plan->size * sizeof(uint64_t));
    for (uint32_t i = 0; i < actor->link_count; i++) {
        uint32_t link = actor->links[i];
        sim_link_birth(self, link, self->links[link].actor[0] == id ? 0 : 1, false);
    }
    sim_say(self, "%s is born", sim_name(self, id));
}

/*  A reducer that ends within its process gives back what rounds still have. */
static void end_rounds(sim_t *self, uint32_t id, sim_actor_t *actor)
{
    tnd_effect_t effect;
    tnd_rounds_end(actor->machine);
    while (tnd_rounds_next(actor->machine, sim_clock(self, actor->host), &effect)) {
        if (effect.kind != TND_EFFECT_FORGET && effect.kind != TND_EFFECT_DROP)
            sim_violate(self, "%s ends, and asks for effect %d", sim_name(self, id),
                        (int)effect.kind);
        sim_free(self, effect.payload, id);
    }
    if (actor->payloads != 0)
        sim_violate(self, "%s ends, and keeps %u payloads", sim_name(self, id), actor->payloads);
}

void sim_actor_dies(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    if (!actor->alive)
        return;
    sim_say(self, "%s dies", sim_name(self, id));
    if (actor->role == TND_ROLE_REDUCER)
        end_rounds(self, id, actor);
    actor->alive = actor->busy = false;
    actor->payloads = 0;
    while (actor->inbox != SIM_NONE) {
        uint32_t parcel = actor->inbox;
        actor->inbox = self->parcels[parcel].next;
        sim_free_msg(self, &self->parcels[parcel].msg);
        sim_parcel_done(self, parcel);
    }
    for (uint32_t i = 0; i < actor->link_count; i++) {
        uint32_t link = actor->links[i];
        sim_link_drop(self, link, self->links[link].actor[0] == id ? 0 : 1);
    }
}
