/*  tests/sim/actors.c - the life of an actor: start, messages, work, deadlines, death. */
#include <assert.h>
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

void sim_actor_work(sim_t *self, uint32_t id, const tnd_effect_t *effect, uint64_t ns)
{
    sim_actor_t *actor = &self->actors[id];
    ns = sim_actor_span(self, actor, ns) + actor->long_ns;
    actor->long_ns = 0;
    actor->work = *effect;
    actor->busy = true;
    sim_life_works(self, actor);
    sim_after(self, ns, SIM_AT_WORKED, id, (uint32_t)actor->life, 0);
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
    tnd_validator_sent(self->actors[id].validator, msg);
    sim_link_send(self, index - 1, self->links[index - 1].actor[0] == id ? 0 : 1, msg);
}

void sim_actor_accept(sim_t *self, uint32_t id, tnd_status_t status, const tnd_error_t *error)
{
    if (status != TND_OK)
        sim_violate(self, "%s: %s", sim_name(self, id), error->text);
}

static const sim_role_t *role_of(const sim_t *self, uint32_t id)
{
    static const sim_role_t *const roles[] = {
        [TND_ROLE_READER] = &sim_reader,       [TND_ROLE_CACHE] = &sim_cache,
        [TND_ROLE_WORKER] = &sim_preprocessor, [TND_ROLE_JOIN] = &sim_batcher,
        [TND_ROLE_FEEDER] = &sim_feeder,       [TND_ROLE_REDUCER] = &sim_reducer,
        [TND_ROLE_REPLICA] = &sim_replica,     [TND_ROLE_PARAMETERS] = &sim_holder};
    return roles[self->actors[id].role];
}

static uint64_t deadline(const sim_actor_t *actor)
{
    if (actor->role == TND_ROLE_READER)
        return tnd_reader_core_deadline(actor->machine);
    if (actor->role == TND_ROLE_CACHE)
        return tnd_cache_core_deadline(actor->machine);
    return actor->role == TND_ROLE_JOIN ? tnd_order_deadline(tnd_batcher_core_order(actor->machine))
                                        : TND_NEVER;
}

/*  Schedules an event for the deadline of the machine. */
static void watch_deadline(sim_t *self, uint32_t id, sim_actor_t *actor)
{
    uint64_t due = deadline(actor);
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
    /* An actor with long work reads all its messages first. */
    if (actor->inbox.first != SIM_NONE && role_of(self, id)->worked != NULL)
        return;
    role_of(self, id)->run(self, id);
    if (!actor->busy)
        watch_deadline(self, id, actor);
    sim_validator_confirm(self, id);
    sim_check_actor(self, id);
}

static void drain_inbox(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    while (!sim_actor_away(actor) && actor->alive && actor->inbox.first != SIM_NONE) {
        uint32_t packet = sim_queue_take(self, &actor->inbox);
        if (self->packets[packet].link != SIM_NONE) {
            sim_link_arrive(self, packet);
        } else {
            tnd_msg_t msg = self->packets[packet].msg;
            sim_packet_done(self, packet);
            sim_validator_control(self, id, &msg);
            sim_actor_message(self, id, &msg);
        }
    }
    if (actor->alive && !actor->busy)
        sim_actor_run(self, id);
}

void sim_actor_started(sim_t *self, uint32_t id)
{
    if (!tnd_replacement_is_watched(&self->actors[id].replacement))
        sim_life_follow(self, id);
    drain_inbox(self, id);
}

void sim_actor_receive(sim_t *self, uint32_t id, uint32_t packet)
{
    sim_actor_t *actor = &self->actors[id];
    if (!actor->alive) {
        sim_packet_drop(self, packet);
        return;
    }
    if (TND_BUG(EARLY_PEER_UNHEARD) && !actor->started && self->packets[packet].link != SIM_NONE) {
        sim_link_arrive(self, packet);
        return;
    }
    sim_queue_put(self, &actor->inbox, packet);
    drain_inbox(self, id);
}

void sim_actor_worked(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    actor->busy = false;
    actor->worked_at = self->now;
    if (sim_life_stops(actor)) {
        sim_actor_dies(self, id);
        sim_life_follow(self, id);
        return;
    }
    role_of(self, id)->worked(self, id);
    if (!actor->alive)
        return;
    sim_links_tick(self, id); /* before it reads what came meanwhile */
    drain_inbox(self, id);
}

void sim_actor_up(sim_t *self, uint32_t id, tnd_actor_id_t peer)
{
    tnd_validator_reset(self->actors[id].validator, peer);
    role_of(self, id)->up(self, id, peer);
    sim_actor_run(self, id);
}

void sim_actor_lost(sim_t *self, uint32_t id, tnd_actor_id_t peer)
{
    tnd_validator_reset(self->actors[id].validator, peer);
    role_of(self, id)->lost(self, id, peer);
    sim_actor_run(self, id);
}

void sim_actor_message(sim_t *self, uint32_t id, tnd_msg_t *msg)
{
    if (!self->actors[id].alive) {
        sim_free_msg(self, msg);
        return;
    }
    role_of(self, id)->message(self, id, msg);
    sim_actor_run(self, id);
}

uint32_t sim_actor_blocked_on(const sim_t *self, uint32_t id)
{
    const void *machine = self->actors[id].machine;
    switch ((tnd_role_t)self->actors[id].role) {
    case TND_ROLE_READER:
        return tnd_reader_core_blocked_on(machine);
    case TND_ROLE_CACHE:
        return tnd_cache_core_blocked_on(machine);
    case TND_ROLE_WORKER:
        return tnd_preprocessor_core_blocked_on(machine);
    case TND_ROLE_JOIN:
        return tnd_batcher_core_blocked_on(machine);
    case TND_ROLE_FEEDER:
        return tnd_feeder_core_blocked_on(machine);
    case TND_ROLE_REPLICA:
        return sim_replica_blocked_on(&self->actors[id]);
    case TND_ROLE_PARAMETERS:
        return sim_holder_blocked_on(&self->actors[id]);
    default:
        return tnd_reducer_core_blocked_on(machine);
    }
}

void sim_actor_born(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    if (actor->alive || !self->hosts[actor->host].alive)
        return;
    actor->alive = true;
    actor->busy = false;
    actor->started = actor->moved = actor->replaces = false;
    memset(actor->places, 0, sizeof actor->places);
    actor->life = ++self->lives;
    actor->born_at = self->now;
    actor->said = sim_life(self, actor->host);
    actor->due_ns = actor->reported_at = 0;
    actor->inbox.first = SIM_NONE;
    actor->machine = role_of(self, id)->create(self, id);
    actor->validator = sim_validator_new(self, id);
    for (uint32_t i = 0; i < actor->link_count; i++) {
        uint32_t link = actor->links[i];
        if (self->links[link].actor[0] == id)
            self->links[link].dialled = (sim_place_t){0};
        sim_link_birth(self, link, self->links[link].actor[0] == id ? 0 : 1, false);
    }
    sim_say(self, "%s starts", sim_name(self, id));
}

void sim_actor_dies(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    if (!actor->alive)
        return;
    sim_say(self, "%s dies", sim_name(self, id));
    if (role_of(self, id)->end != NULL)
        role_of(self, id)->end(self, id);
    actor->alive = actor->busy = false;
    actor->payloads = 0;
    sim_queue_drop(self, &actor->inbox);
    for (uint32_t i = 0; i < actor->link_count; i++) {
        uint32_t link = actor->links[i];
        sim_link_drop(self, link, self->links[link].actor[0] == id ? 0 : 1);
    }
}
