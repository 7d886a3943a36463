/*  tests/sim/leader.c - what the leader's host does for the leader's machine, and for the hosts
 * that it knows. */
#include <string.h>

#include "tests/sim/cluster.h"

/*  The stream is over: the run waits for MODEL of all feeders and for the last writes.  A run that
 *  drains has no second chain. */
void sim_leader_finish(sim_t *self)
{
    const sim_plan_t *plan = &self->plan;
    if (!self->closing || self->over)
        return;
    if (tnd_leader_core_state(self->session) == TND_LEADER_CORE_FAILED) {
        self->over = true;
        return;
    }
    for (uint32_t f = 0; f < (self->checkpoint != NULL ? plan->feeders : 1); f++)
        if (!self->model_said[plan->first_feeder + f])
            return;
    if (self->checkpoint != NULL && !self->closed)
        sim_checkpoint_end(self);
    self->closed = true;
    if (self->checkpoint != NULL && sim_checkpoint_busy(self))
        return;
    self->follows = self->plan.after && self->chain == 0 && !self->over &&
                    tnd_run_touches_goes_on(&self->touches);
    self->over = !self->follows;
}

void sim_host_up(sim_t *self, uint32_t link, uint32_t side)
{
    uint32_t h = self->links[link].host[0];
    sim_host_t *host = &self->hosts[h];
    uint64_t now = sim_clock(self, 0);
    if (side == 0) {
        tnd_leader_presence_up(&host->leader, sim_clock(self, h));
        sim_start_greet(self, h);
        sim_lives_forget(self, h);
        for (uint32_t id = 0; id < self->plan.member_count; id++)
            if (self->actors[id].host == h) {
                if (self->actors[id].over)
                    sim_feeder_model(self, id);
                if (self->actors[id].role == TND_ROLE_FEEDER && self->actors[id].machine != NULL)
                    sim_finish_say(self, id, tnd_feeder_core_committed(self->actors[id].machine));
            }
        return;
    }
    tnd_life_t life = self->links[link].end[1].life;
    tnd_host_entry_t entry = tnd_host_presence_up(&host->presence, life, self->start.begun, now);
    if (host->presence.restarts > host->boot)
        sim_violate(self, "host %s is counted as %u restarts, but its process has died %u times",
                    self->host_names[h], host->presence.restarts, host->boot);
    self->counts.joins += entry == TND_HOST_JOINS && self->start.begun;
    if (entry == TND_HOST_REPLACES && self->start.begun)
        tnd_leader_core_host_again(self->session, h, "its process died", now);
    sim_start_enter(self, h, entry != TND_HOST_RETURNS);
    sim_leader_run(self);
}

void sim_host_lost(sim_t *self, uint32_t link, uint32_t side, tnd_loss_t loss)
{
    uint32_t h = self->links[link].host[0];
    sim_host_t *host = &self->hosts[h];
    tnd_absence_limits_t limits = {.grace_ns = self->plan.link_timeout_ns * 3 / 2,
                                   .dead_after_ns = self->plan.dead_after_ns};
    if (side == 0) {
        host->leader_lost_at = self->now;
        tnd_leader_presence_away(&host->leader, &limits, loss, sim_clock(self, h));
    } else {
        (void)tnd_host_presence_away(&host->presence, &limits, loss, sim_clock(self, 0));
    }
}

static void session_effect(sim_t *self, tnd_effect_t *effect)
{
    switch (effect->kind) {
    case TND_EFFECT_CONTROL:
        if (effect->msg.kind == TND_MSG_REWIND) {
            tnd_cursor_t *copy = sim_store_take(&self->store, sizeof *copy);
            *copy = *effect->msg.rewind.cursor;
            effect->msg.rewind.cursor = copy;
            sim_checkpoint_generation(self);
            sim_say(self, "leader rewinds to step %llu, generation %u",
                    (unsigned long long)copy->step, effect->msg.generation);
        }
        effect->msg.from = TND_LEADER;
        sim_route(self, 0, &effect->msg);
        break;
    case TND_EFFECT_BOOK: {
        self->progress_at = self->now;
        sim_say(self, "leader books step %llu", (unsigned long long)effect->cursor->step - 1);
        sim_check_booked(self, effect->cursor);
        sim_checkpoint_booked(self, effect->cursor->step);
        if (self->checkpoint != NULL || self->chain > 0)
            break;
        if (!self->write_fails)
            self->stored_bytes =
                tnd_cursor_encode(effect->cursor, self->stored, sizeof self->stored);
        self->write_fails = false;
        break;
    }
    case TND_EFFECT_RESTART: {
        tnd_msg_t msg = {.kind = TND_MSG_RESTART, .from = TND_LEADER};
        uint32_t h = self->actors[effect->msg.to].host;
        msg.to = SIM_HOST_ID + h;
        msg.note.number = effect->msg.to;
        msg.note.payload = effect->msg.note.number == 1 ? self : NULL; /* a user asks for it */
        sim_forward(self, h, &msg);
        break;
    }
    case TND_EFFECT_OUTCOME:
        self->closing = tnd_leader_core_state(self->session) == TND_LEADER_CORE_DONE &&
                        tnd_leader_core_generation(self->session) > 0;
        if (!self->closing || self->feeder_dead)
            self->over = true;
        sim_fault_last(self);
        sim_fault_moment(self);
        break;
    default:
        sim_violate(self, "the leader asks for effect %d", (int)effect->kind);
    }
}

void sim_leader_run(sim_t *self)
{
    tnd_effect_t effect;
    while (!self->over && tnd_leader_core_next(self->session, sim_clock(self, 0), &effect))
        session_effect(self, &effect);
    sim_leader_finish(self);
    sim_finish_end(self);
    uint64_t deadline = tnd_leader_core_deadline(self->session);
    if (self->over || deadline == TND_NEVER)
        return;
    uint64_t at = deadline > self->hosts[0].clock ? deadline - self->hosts[0].clock : 0;
    if (at <= self->now)
        at = self->now + 1;
    if (at < self->session_at) {
        self->session_at = at;
        sim_agenda_put(&self->agenda, at, SIM_AT_SESSION, 0, 0, 0);
    }
}

/*  What the leader knows of the process of a host: every other one runs on its machine. */
static tnd_fate_t fate_of(const sim_t *self, uint32_t h)
{
    const sim_host_t *host = &self->hosts[h];
    if (sim_hash(self->plan.seed, h) % 2 == 0)
        return TND_FATE_UNKNOWN;
    return host->alive && host->said == host->presence.life ? TND_FATE_ALIVE : TND_FATE_DEAD;
}

/*  Loses hosts that have been away for too long. */
void sim_leader_lose(sim_t *self)
{
    uint64_t now = sim_clock(self, 0);
    for (uint32_t h = 1; h < self->plan.hosts; h++) {
        sim_host_t *host = &self->hosts[h];
        bool ends_run = tnd_leader_core_ends_with(self->session, h);
        if (!tnd_host_presence_is_over(&host->presence, fate_of(self, h), ends_run, now))
            continue;
        /* Its GOODBYE comes before the end of the connection, unless both are cut. */
        if (host->alive && host->presence.absence.loss == TND_LOSS_ENDED &&
            host->lost_net == host->given_up_net && host->said == host->presence.life &&
            host->lost_net > self->links[host->control].broken)
            sim_violate(self, "host %s has given up a silent connection, and is taken for dead",
                        self->host_names[h]);
        tnd_host_presence_lose(&host->presence, now);
        tnd_leader_core_host_lost(self->session, h, "it is silent", now);
        tnd_run_start_lose(&self->start, h);
        sim_touches_forget(self, h);
        sim_leader_run(self);
    }
}

/*  The leader of one chain and its initial state. */
void sim_leader_start(sim_t *self)
{
    const sim_plan_t *plan = &self->plan;
    tnd_leader_core_config_t config = {.members = plan->members,
                                       .member_count = plan->member_count,
                                       .hosts = self->host_names,
                                       .host_count = plan->hosts,
                                       .host_flags = self->host_flags,
                                       .lanes = plan->lanes,
                                       .start_timeout_ns = plan->start_timeout_ns,
                                       .hung_after_ns = plan->hung_after_ns,
                                       .restart_timeout_ns = 3 * plan->dead_after_ns,
                                       .steps_open_max = plan->unbooked_most + SIM_DEPTH + 2,
                                       .steps_max = plan->steps_max,
                                       .restarts = {.max = 1000,
                                                    .first_ns = 1000 * 1000,
                                                    .most_ns = 100 * 1000 * 1000,
                                                    .calm_ns = 50 * 1000 * 1000}};
    for (uint32_t h = 0; h < plan->hosts; h++)
        self->host_flags[h] = h == plan->spare ? TND_HOST_SPARE : 0;
    self->session =
        tnd_leader_core_init(sim_store_take(&self->store, tnd_leader_core_bytes(&config)), &config,
                             &self->from, sim_clock(self, 0));
    tnd_error_t error;
    if (self->touches.paused_ns != 0 && tnd_leader_core_pause(self->session, &error) != TND_OK)
        sim_violate(self, "the second chain cannot begin paused: %s", error.text);
    tnd_leader_core_go(self->session);
    for (uint32_t id = 0; id < plan->member_count; id++)
        self->actors[id].committed = self->from.step;
    for (uint32_t f = 0; f < plan->feeders; f++)
        memcpy(self->actors[plan->first_feeder + f].model, self->models + plan->feeder_first[f],
               plan->feeder_replicas[f] * sizeof *self->models);
    sim_checkpoint_begin(self);
    sim_finish_plan(self);
}
