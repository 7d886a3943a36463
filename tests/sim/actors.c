/*  tests/sim/actors.c - the actors: machines of the core, and the work they ask for; what a feeder
 *  does is in feeder.c.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/bug_injection.h"
#include "tests/sim/cluster.h"

uint64_t sim_actor_span(sim_t *self, const sim_actor_t *actor, uint64_t ns)
{
    ns = ns / 2 + sim_below(&self->chance, (uint32_t)ns + 1);
    bool slow =
        self->now < actor->slow_until || actor - self->actors == (ptrdiff_t)self->plan.straggler;
    return slow ? 20 * ns : ns;
}

/*  Of the hooks that an actor's own thread is in. */
static uint64_t work_span(sim_t *self, sim_actor_t *actor, uint64_t ns)
{
    ns = sim_actor_span(self, actor, ns) + actor->long_ns;
    actor->long_ns = 0;
    return ns;
}

void sim_actor_control(sim_t *self, const sim_actor_t *actor, tnd_msg_t *msg)
{
    msg->from = (tnd_actor_id_t)(actor - self->actors);
    sim_control(self, actor->host, msg);
}

void sim_actor_send(sim_t *self, uint32_t id, tnd_actor_id_t to, const tnd_msg_t *msg)
{
    uint32_t index = self->link_of[id][to];
    assert(index != 0);
    tnd_validator_sent(self->actors[id].door, msg);
    sim_link_send(self, index - 1, self->links[index - 1].actor[0] == id ? 0 : 1, msg);
}

void sim_own(sim_t *self, void *payload, uint32_t from, uint32_t to)
{
    sim_payload_t *it = payload;
    if (!it)
        return;
    if (it->holder != from)
        sim_violate(self, "%s passes on a payload that it does not hold", sim_name(self, from));
    sim_hold(self, it, to);
}

void sim_actor_accept(sim_t *self, uint32_t id, tnd_status_t status, const tnd_error_t *error)
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
    sim_own(self, msg.block.payload, id, SIM_FLYING);
    uint64_t bytes = msg.block.bytes;
    sim_actor_send(self, id, msg.to, &msg);
    tnd_reader_core_sent(actor->machine, asked.to, bytes);
}

static void run_reader(sim_t *self, uint32_t id, sim_actor_t *actor)
{
    tnd_effect_t effect;
    while (!actor->busy &&
           tnd_reader_core_next(actor->machine, sim_clock(self, actor->host), &effect)) {
        if (effect.kind == TND_EFFECT_CONTROL)
            sim_actor_control(self, actor, &effect.msg);
        if (effect.kind != TND_EFFECT_READ)
            continue;
        actor->work = effect;
        actor->busy = true;
        sim_agenda_put(&self->agenda, self->now + work_span(self, actor, self->plan.read_ns),
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

static void run_worker(sim_t *self, uint32_t id, sim_actor_t *actor)
{
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
            actor->work = effect;
            actor->busy = true;
            sim_agenda_put(&self->agenda, self->now + work_span(self, actor, self->plan.apply_ns),
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
    sim_own(self, slice, id, SIM_FLYING);
    sim_actor_send(self, id, effect->msg.to, &effect->msg);
}

static void run_join(sim_t *self, uint32_t id, sim_actor_t *actor)
{
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
            sim_actor_control(self, actor, &effect.msg);
            break;
        case TND_EFFECT_DROP:
            sim_free(self, effect.payload, id);
            break;
        default:
            sim_violate(self, "%s asks for effect %d", sim_name(self, id), (int)effect.kind);
        }
    self->counts.doubled += tnd_order_doubled(tnd_batcher_core_order(actor->machine)) - doubled;
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
    while (tnd_reducer_core_next(actor->machine, sim_clock(self, actor->host), &effect))
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
            sim_actor_send(self, id, effect.msg.to, &effect.msg);
            break;
        case TND_EFFECT_REDUCE: {
            tnd_post_note_t posts[SIM_REPLICAS];
            uint32_t count =
                tnd_reducer_core_nodes(actor->machine, effect.msg.post.round,
                                       effect.msg.post.reducer_slot, posts, SIM_REPLICAS);
            sim_payload_t *root = sim_payload(self, 0, 0, id);
            root->value = combine(posts, count, 0, self->plan.replicas);
            tnd_reducer_core_reduced(actor->machine, &effect.msg, root);
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
        due = tnd_batcher_core_deadline(actor->machine);
    else if (actor->role == TND_ROLE_READER)
        due = tnd_reader_core_deadline(actor->machine);
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
    if (!actor->started)
        return;
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
        sim_feeder_run(self, id);
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
    while (!sim_actor_away(actor) && actor->alive && actor->inbox != SIM_NONE) {
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

void sim_actor_started(sim_t *self, uint32_t id)
{
    sim_tell_actor(self, id);
    drain_inbox(self, id);
}

void sim_actor_receive(sim_t *self, uint32_t id, uint32_t parcel)
{
    sim_actor_t *actor = &self->actors[id];
    if (!actor->alive) {
        sim_free_msg(self, &self->parcels[parcel].msg);
        sim_parcel_done(self, parcel);
        return;
    }
    if (TND_BUG(EARLY_PEER_UNHEARD) && !actor->started && self->parcels[parcel].link != SIM_NONE) {
        sim_link_arrive(self, parcel);
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
    sim_links_tick(self, id); /* before anything that came meanwhile is looked at */
    drain_inbox(self, id);
}

void sim_actor_up(sim_t *self, uint32_t id, tnd_actor_id_t peer)
{
    sim_actor_t *actor = &self->actors[id];
    tnd_role_t role = (tnd_role_t)self->actors[peer].role;
    tnd_validator_reset(actor->door, peer);
    switch ((tnd_role_t)actor->role) {
    case TND_ROLE_READER:
        tnd_reader_core_worker_up(actor->machine, peer);
        /* Into a join the ticket is the credit. */
        if (role == TND_ROLE_JOIN)
            tnd_reader_core_credit(actor->machine, peer, UINT64_MAX, UINT64_MAX);
        break;
    case TND_ROLE_WORKER:
        tnd_preprocessor_core_peer_up(actor->machine, peer);
        break;
    case TND_ROLE_JOIN:
        if (role == TND_ROLE_FEEDER)
            tnd_batcher_core_feeder_up(actor->machine, peer);
        else if (role == TND_ROLE_WORKER)
            tnd_batcher_core_worker_up(actor->machine, peer,
                                       self->links[self->link_of[id][peer] - 1].end[1].birth);
        else if (role == TND_ROLE_READER)
            tnd_validator_sent(actor->door, &(tnd_msg_t){.kind = TND_MSG_CREDIT,
                                                         .to = peer,
                                                         .credit = {UINT64_MAX, UINT64_MAX}});
        break;
    case TND_ROLE_FEEDER:
        if (role == TND_ROLE_JOIN)
            tnd_feeder_core_join_up(actor->machine, peer);
        else
            sim_feeder_post_again(self, id);
        break;
    case TND_ROLE_REDUCER:
        tnd_reducer_core_feeder_up(actor->machine, peer);
        break;
    }
    sim_actor_run(self, id);
}

void sim_actor_lost(sim_t *self, uint32_t id, tnd_actor_id_t peer)
{
    sim_actor_t *actor = &self->actors[id];
    tnd_role_t role = (tnd_role_t)self->actors[peer].role;
    tnd_validator_reset(actor->door, peer);
    switch ((tnd_role_t)actor->role) {
    case TND_ROLE_READER:
        tnd_reader_core_worker_lost(actor->machine, peer);
        break;
    case TND_ROLE_WORKER:
        tnd_preprocessor_core_peer_lost(actor->machine, peer);
        break;
    case TND_ROLE_JOIN:
        if (role == TND_ROLE_FEEDER)
            tnd_batcher_core_feeder_lost(actor->machine, peer);
        break;
    case TND_ROLE_FEEDER:
        if (role == TND_ROLE_JOIN)
            tnd_feeder_core_join_lost(actor->machine, peer);
        break;
    case TND_ROLE_REDUCER:
        tnd_reducer_core_feeder_lost(actor->machine, peer);
        break;
    }
    sim_actor_run(self, id);
}

static void reader_message(sim_t *self, uint32_t id, sim_actor_t *actor, tnd_msg_t *msg)
{
    (void)id;
    (void)self;
    if (msg->kind == TND_MSG_REWIND)
        tnd_reader_core_rewind(actor->machine, msg->generation);
    else if (msg->kind == TND_MSG_TICKET)
        tnd_reader_core_ticket(actor->machine, msg);
    else if (msg->kind == TND_MSG_CREDIT)
        tnd_reader_core_credit(actor->machine, msg->from, msg->credit.blocks, msg->credit.bytes);
}

static void worker_message(sim_t *self, uint32_t id, sim_actor_t *actor, tnd_msg_t *msg)
{
    if (msg->kind == TND_MSG_REWIND) {
        tnd_preprocessor_core_rewind(actor->machine, msg->generation);
    } else if (msg->kind == TND_MSG_BLOCK) {
        sim_own(self, msg->block.payload, SIM_FLYING, id);
        tnd_preprocessor_core_block(actor->machine, msg);
    } else if (msg->kind == TND_MSG_GO) {
        tnd_preprocessor_core_go(actor->machine, msg);
    }
}

static void say_go(sim_t *self, uint32_t id, const sim_actor_t *join, const tnd_msg_t *heard)
{
    tnd_msg_t go;
    if (tnd_order_go(tnd_batcher_core_order(join->machine), heard, &go))
        sim_actor_send(self, id, go.to, &go);
}

static void join_message(sim_t *self, uint32_t id, sim_actor_t *actor, tnd_msg_t *msg)
{
    tnd_error_t error;
    switch (msg->kind) {
    case TND_MSG_REWIND:
        tnd_batcher_core_rewind(actor->machine, msg->generation, msg->rewind.cursor);
        break;
    case TND_MSG_BLOCK:
        self->blocks++;
        self->progress_at = self->now;
        sim_own(self, msg->block.payload, SIM_FLYING, id);
        sim_actor_accept(self, id, tnd_batcher_core_block(actor->machine, msg, &error), &error);
        say_go(self, id, actor, msg);
        sim_faults_block(self);
        break;
    case TND_MSG_BEGIN:
        tnd_batcher_core_begin(actor->machine, msg);
        say_go(self, id, actor, msg);
        break;
    case TND_MSG_LOST:
        tnd_batcher_core_lost(actor->machine, msg);
        break;
    case TND_MSG_MARK:
        tnd_batcher_core_mark(actor->machine, msg);
        break;
    case TND_MSG_WINDOW:
        tnd_batcher_core_window(actor->machine, msg);
        break;
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
        sim_actor_accept(self, id, status, error);
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
        sim_own(self, msg->post.payload, SIM_FLYING, id);
        reduced(self, id, tnd_reducer_core_post(actor->machine, msg, &error), &error);
    } else if (msg->kind == TND_MSG_PASSED) {
        reduced(self, id, tnd_reducer_core_passed(actor->machine, msg, &error), &error);
    } else if (msg->kind == TND_MSG_GOT) {
        tnd_reducer_core_got(actor->machine, msg);
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
        sim_feeder_message(self, id, msg);
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
        return tnd_reader_core_blocked_on(machine);
    case TND_ROLE_WORKER:
        return tnd_preprocessor_core_blocked_on(machine);
    case TND_ROLE_JOIN:
        return tnd_batcher_core_blocked_on(machine);
    case TND_ROLE_FEEDER:
        return tnd_feeder_core_blocked_on(machine);
    case TND_ROLE_REDUCER:
        return tnd_reducer_core_blocked_on(machine);
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
        tnd_reader_core_config_t config = {.self = id, .join = self->joins[lane], .lane = lane};
        config.tickets_max = plan->window_blocks + 2 * plan->size + 1 + TND_ORDER_SPARE;
        config.workers_max = plan->workers > 0 ? plan->workers : 1;
        config.rest_ns = plan->rest_ns;
        return tnd_reader_core_init(sim_store_take(&self->store, tnd_reader_core_bytes(&config)),
                                    &config);
    }
    case TND_ROLE_WORKER: {
        tnd_preprocessor_core_config_t config = {.self = id,
                                                 .lanes = self->worker_lane_count[id],
                                                 .readers = self->worker_readers[id],
                                                 .reader_lane = self->worker_reader_lanes[id],
                                                 .reader_count = self->worker_reader_count[id],
                                                 .joins = self->worker_joins[id],
                                                 .lane_number = self->worker_lanes[id],
                                                 .window_blocks = plan->queue_blocks,
                                                 .window_bytes = plan->queue_bytes,
                                                 .window_ns = plan->queue_ns};
        return tnd_preprocessor_core_init(
            sim_store_take(&self->store, tnd_preprocessor_core_bytes(&config)), &config);
    }
    case TND_ROLE_JOIN: {
        uint64_t lane_rows[SIM_LANES];
        for (uint32_t l = 0; l < plan->lanes; l++)
            lane_rows[l] = plan->count[l];
        tnd_batcher_core_config_t config = {
            .order = {.self = id,
                      .lane = lane,
                      .readers = self->readers[lane],
                      .reader_count = plan->readers,
                      .workers_max = plan->workers,
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
            .take = plan->take,
            .lane_rows = sim_plan_is_exact(plan) ? lane_rows : NULL};
        return tnd_batcher_core_init(sim_store_take(&self->store, tnd_batcher_core_bytes(&config)),
                                     &config);
    }
    case TND_ROLE_FEEDER: {
        uint32_t feeder = id - plan->first_feeder;
        tnd_feeder_core_config_t config = {.self = id,
                                           .joins = self->joins,
                                           .join_count = plan->lanes,
                                           .first_replica = plan->feeder_first[feeder],
                                           .replicas = plan->feeder_replicas[feeder],
                                           .depth = plan->depth,
                                           .unbooked_max = plan->unbooked_most,
                                           .steps_max = plan->steps_max};
        return tnd_feeder_core_init(sim_store_take(&self->store, tnd_feeder_core_bytes(&config)),
                                    &config);
    }
    case TND_ROLE_REDUCER: {
        tnd_reducer_core_config_t config = {.self = id,
                                            .replicas = plan->replicas,
                                            .feeders = self->feeder_of,
                                            .names = self->feeder_names,
                                            .rounds_max = (plan->depth + 1) * SIM_REDUCTIONS};
        return tnd_reducer_core_init(sim_store_take(&self->store, tnd_reducer_core_bytes(&config)),
                                     &config);
    }
    }
    return NULL;
}

void sim_actor_born(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    actor->waiting = false;
    if (actor->alive || !self->hosts[actor->host].alive)
        return;
    actor->alive = true;
    actor->busy = false;
    actor->started = !self->plan.ports;
    actor->moved = false;
    memset(actor->places, 0, sizeof actor->places);
    actor->life = ++self->lives;
    actor->said = sim_life(self, actor->host);
    actor->due_ns = 0;
    actor->inbox = SIM_NONE;
    actor->machine = machine_for(self, id);
    actor->door = sim_door_new(self, id);
    if (actor->role == TND_ROLE_FEEDER)
        sim_feeder_born(self, id);
    for (uint32_t i = 0; i < actor->link_count; i++) {
        uint32_t link = actor->links[i];
        if (self->links[link].actor[0] == id)
            self->links[link].dialled = (sim_place_t){0};
        sim_link_birth(self, link, self->links[link].actor[0] == id ? 0 : 1, false);
    }
    sim_say(self, "%s is born", sim_name(self, id));
}

/*  A reducer that ends within its process gives back what rounds still have. */
static void end_rounds(sim_t *self, uint32_t id, sim_actor_t *actor)
{
    tnd_effect_t effect;
    tnd_reducer_core_end(actor->machine);
    while (tnd_reducer_core_next(actor->machine, sim_clock(self, actor->host), &effect)) {
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
