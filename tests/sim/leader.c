/*  tests/sim/leader.c - what the leader's host does for the leader's machine, and for the hosts
 * that it knows. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/cluster.h"

/*  The stream is over: the run waits for MODEL of all feeders and for the last writes.  A run that
 *  drains has no second chain. */
void sim_leader_finish(sim_t *self)
{
    const sim_plan_t *plan = &self->plan;
    if (!self->closing || self->over)
        return;
    if (tnd_leader_core_state(self->run.session) == TND_LEADER_CORE_FAILED) {
        self->over = true;
        return;
    }
    uint32_t end, committer = sim_plan_committers(plan, &end);
    bool all = self->checkpoint != NULL || plan->repeats;
    if (tnd_leader_core_awaits_model(self->run.session, all ? TND_NOBODY : committer))
        return;
    if (self->checkpoint != NULL && !self->closed)
        sim_checkpoint_end(self);
    self->closed = true;
    if (self->checkpoint != NULL && sim_checkpoint_busy(self))
        return;
    self->follows = self->plan.after && self->chain == 0 && !self->over &&
                    tnd_run_touches_goes_on(&self->run.touches);
    self->over = !self->follows;
}

/* --- hosts ------------------------------------------------------------------------------------ */

static void name_data(const sim_t *self, uint32_t h, char text[32])
{
    (void)snprintf(text, 32, "the data of %s", self->host_names[h]);
}

void sim_leader_plan(sim_t *self)
{
    const sim_plan_t *plan = &self->plan;
    memset(self->presences, 0, sizeof self->presences);
    memset(self->start_hosts, 0, sizeof self->start_hosts);
    memset(self->awake, 0, sizeof self->awake);
    self->run = (tnd_run_t){.presences = self->presences,
                            .start = {.hosts = self->start_hosts, .host_count = plan->hosts},
                            .touches = {.awake = self->awake,
                                        .instance_count = plan->member_count,
                                        .host_count = plan->hosts}};
    for (uint32_t id = 0; id < plan->first_join; id++)
        self->start_hosts[plan->members[id].host].reads = true;
    if (plan->spare < SIM_HOSTS)
        self->start_hosts[plan->spare].spare = true;
}

static void tell(sim_t *self, tnd_audience_t audience, uint32_t host, tnd_msg_kind_t kind)
{
    for (uint32_t h = 0; h < self->plan.hosts; h++) {
        tnd_msg_t msg = {.kind = kind, .from = TND_LEADER, .to = SIM_HOST_ID + h};
        if (audience == TND_AUDIENCE_NONE || (audience == TND_AUDIENCE_HOST && h != host))
            continue;
        msg.generation = tnd_leader_core_generation(self->run.session);
        msg.note.payload = kind == TND_MSG_TABLE ? sim_endpoints_of(self, SIM_NONE) : NULL;
        sim_route(self, 0, &msg);
    }
}

static void enter_opening(sim_t *self, uint32_t h)
{
    char what[32];
    name_data(self, h, what);
    tnd_run_opening(&self->run, h, self->hosts[h].reported, what, sim_clock(self, 0));
}

void sim_leader_greet(sim_t *self, uint32_t h, tnd_life_t life)
{
    uint64_t now = sim_clock(self, 0);
    sim_host_t *host = &self->hosts[h];
    host->scale_said = false;
    for (uint32_t id = 0; id < self->plan.member_count; id++)
        if (self->actors[id].host == h)
            self->actors[id].depth_said = self->actors[id].restart_said = false;
    tnd_host_entry_t entry = tnd_run_up(&self->run, h, life, "its process died", now);
    if (self->presences[h].restarts > host->boot)
        sim_violate(self, "host %s is counted as %u restarts, but its process has died %u times",
                    self->host_names[h], self->presences[h].restarts, host->boot);
    self->counts.joins += entry == TND_HOST_JOINS && self->run.start.begun;
    if (entry != TND_HOST_RETURNS) {
        sim_endpoints_forget(self, h);
        host->reported = 0;
    }
    tnd_greeting_t greeting = tnd_run_greet(&self->run, h, now);
    tell(self, greeting.streams ? TND_AUDIENCE_HOST : TND_AUDIENCE_NONE, h, TND_MSG_STREAM);
    tell(self, greeting.table ? TND_AUDIENCE_HOST : TND_AUDIENCE_NONE, h, TND_MSG_TABLE);
    sim_touches_follow(self);
    enter_opening(self, h);
}

static void greet_leader(sim_t *self, uint32_t h)
{
    self->hosts[h].greeted_at = self->now;
    tnd_leader_presence_up(&self->hosts[h].leader, sim_clock(self, h));
    sim_start_greet(self, h);
    sim_lives_forget(self, h);
    sim_signals_greet(self, h);
    if (self->plan.dealt > 0) {
        if (self->actors[self->plan.reducer].host == h && self->actors[self->plan.reducer].over)
            sim_holder_model(self, self->plan.reducer);
        return;
    }
    for (uint32_t id = self->plan.first_feeder; id < self->plan.reducer; id++) {
        const sim_actor_t *feeder = &self->actors[id];
        if (feeder->host == h && feeder->over)
            sim_feeder_model(self, id);
        if (feeder->host == h && feeder->machine != NULL)
            sim_finish_say(self, id, tnd_feeder_core_committed(feeder->machine));
    }
}

void sim_host_up(sim_t *self, uint32_t link, uint32_t side)
{
    uint32_t h = self->links[link].host[0];
    if (side == 0) {
        greet_leader(self, h);
        return;
    }
    sim_leader_greet(self, h, self->links[link].end[1].life);
    sim_leader_run(self);
}

static tnd_absence_limits_t limits_of(const sim_t *self)
{
    return (tnd_absence_limits_t){.grace_ns = self->plan.link_timeout_ns * 3 / 2,
                                  .dead_after_ns = self->plan.dead_after_ns,
                                  .silence_ns = self->plan.link_timeout_ns};
}

void sim_host_lost(sim_t *self, uint32_t link, uint32_t side, tnd_loss_t loss)
{
    uint32_t h = self->links[link].host[0];
    sim_host_t *host = &self->hosts[h];
    tnd_absence_limits_t limits = limits_of(self);
    if (side == 0) {
        host->leader_lost_at = self->now;
        tnd_leader_presence_away(&host->leader, &limits, loss, sim_clock(self, h));
    } else {
        (void)tnd_host_presence_away(&self->presences[h], &limits, loss, sim_clock(self, 0));
    }
}

void sim_leader_ends_early(sim_t *self, uint32_t h)
{
    tnd_absence_limits_t limits = limits_of(self);
    bool awaited = self->presences[h].life == 0 && tnd_run_start_awaits(&self->run.start, h);
    if (!awaited)
        return;
    self->counts.ended_early++;
    (void)tnd_run_ends_early(&self->run, h, &limits, sim_clock(self, 0));
    if (!tnd_host_presence_is_expected(&self->presences[h]))
        sim_violate(self, "host %s has ended before it came, and is waited for",
                    self->host_names[h]);
}

void sim_leader_next_chain(sim_t *self)
{
    uint64_t now = sim_clock(self, 0);
    tnd_run_next_chain(&self->run, self->run.session);
    for (uint32_t h = 0; h < self->plan.hosts; h++) {
        tnd_run_enter(&self->run, h, now);
        sim_touches_follow(self);
    }
    for (uint32_t h = 0; h < self->plan.hosts; h++)
        if (self->presences[h].up)
            enter_opening(self, h);
    tnd_run_go_without(&self->run, now);
}

/*  `asked`: a user asks for it. */
static void restart(sim_t *self, tnd_actor_id_t actor, bool asked)
{
    tnd_msg_t msg = {.kind = TND_MSG_RESTART, .from = TND_LEADER};
    msg.to = SIM_HOST_ID + self->actors[actor].host;
    msg.note.number = actor;
    msg.note.payload = asked ? self : NULL;
    self->actors[actor].restart_said = asked;
    sim_route(self, 0, &msg);
}

void sim_leader_restart_due(sim_t *self)
{
    tnd_actor_id_t actor;
    while (self->plan.repeats && tnd_leader_core_take_due(self->run.session, &actor))
        restart(self, actor, false);
}

static void host_message(sim_t *self, uint32_t h, const tnd_msg_t *msg)
{
    uint64_t now = sim_clock(self, 0);
    tnd_actor_id_t actor = (tnd_actor_id_t)msg->note.number; /* of HUNG and RESTARTED */
    bool moved;
    switch (msg->kind) {
    case TND_MSG_OPENING:
        self->hosts[h].reported = msg->note.number;
        enter_opening(self, h);
        break;
    case TND_MSG_FACTS:
        tell(self, tnd_run_opened(&self->run, h, now), h, TND_MSG_STREAM);
        break;
    case TND_MSG_ENDPOINTS:
        moved = sim_endpoints_heard(self, h, msg->note.payload);
        tell(self, tnd_run_start_listen(&self->run.start, h, moved), h, TND_MSG_TABLE);
        break;
    case TND_MSG_READY:
        tnd_run_ready(&self->run, h, now);
        sim_touches_follow(self);
        break;
    case TND_MSG_ASK:
        if (msg->note.number == TND_UNKNOWN)
            tnd_run_drain(&self->run);
        else
            sim_finish_heard(self, h, msg->note.number);
        break;
    case TND_MSG_TOUCH:
        sim_touches_heard(self, h, msg);
        break;
    case TND_MSG_HUNG:
        if (tnd_run_actor_down(self->run.session, actor, "it was killed", now) &&
            self->plan.repeats)
            restart(self, actor, false);
        break;
    case TND_MSG_DOWN:
        if (tnd_run_ends_with_failure(&self->run, h, false, now))
            self->over = true;
        break;
    case TND_MSG_RESTARTED:
        tnd_leader_core_actor_up(self->run.session, actor, now);
        self->actors[actor].replaces = false;
        break;
    default:
        break;
    }
}

static void actor_message(sim_t *self, const tnd_msg_t *msg)
{
    const void *report = msg->kind == TND_MSG_MODEL    ? msg->note.payload
                         : msg->kind == TND_MSG_COMMIT ? msg->commit.payload
                                                       : NULL;
    if (msg->kind != TND_MSG_MODEL)
        sim_validator_report(self, msg);
    if (msg->kind == TND_MSG_LAST)
        sim_fault_moment(self);
    if (self->checkpoint != NULL && report != NULL)
        sim_checkpoint_report(self, report);
    if (msg->kind == TND_MSG_COMMIT)
        sim_failure_told(self, msg);
    tnd_leader_core_message(self->run.session, msg, sim_clock(self, 0));
}

void sim_leader_message(sim_t *self, const tnd_msg_t *msg)
{
    if (msg->from >= SIM_HOST_ID)
        host_message(self, msg->from - SIM_HOST_ID, msg);
    else
        actor_message(self, msg);
    sim_leader_run(self);
}

bool sim_leader_names_stalled(const sim_t *self)
{
    const char *why = tnd_leader_core_why(self->run.session);
    for (uint32_t h = 0; h < self->plan.hosts; h++) {
        char what[32];
        name_data(self, h, what);
        if (self->hosts[h].stalls && strstr(why, "no progress") && strstr(why, what))
            return true;
    }
    return false;
}

/* --- the machine of the chain ----------------------------------------------------------------- */

static void send(sim_t *self, tnd_msg_t *msg)
{
    bool all = msg->to == TND_NOBODY;
    for (uint32_t id = 0; id < (all ? self->plan.member_count : 1); id++) {
        msg->to = all ? id : msg->to;
        sim_route(self, 0, msg);
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
            sim_say(self, "leader rewinds to step %" PRIu64 ", generation %u", copy->step,
                    effect->msg.generation);
        }
        if (effect->msg.kind == TND_MSG_DEPTH)
            self->actors[effect->msg.to].depth_said = true;
        send(self, &effect->msg);
        break;
    case TND_EFFECT_BOOK: {
        self->progress_at = self->now;
        sim_say(self, "leader books step %" PRIu64, effect->cursor->step - 1);
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
    case TND_EFFECT_RESTART:
        restart(self, effect->msg.to, effect->msg.note.number != TND_LEADER_CORE_DIED);
        break;
    case TND_EFFECT_OUTCOME:
        self->closing = tnd_leader_core_state(self->run.session) == TND_LEADER_CORE_DONE &&
                        tnd_leader_core_has_begun(self->run.session);
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
    while (!self->over && tnd_leader_core_next(self->run.session, sim_clock(self, 0), &effect))
        session_effect(self, &effect);
    sim_failure_check(self);
    sim_leader_finish(self);
    sim_finish_end(self);
    sim_validations_check(self);
    uint64_t deadline = tnd_leader_core_deadline(self->run.session);
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

void sim_leader_due(sim_t *self, const sim_event_t *event)
{
    if (event->kind == SIM_AT_WRITTEN) {
        sim_checkpoint_written(self, event->a);
        sim_leader_finish(self);
        sim_finish_end(self);
        return;
    }
    self->session_at = TND_NEVER;
    sim_leader_run(self);
}

/*  What the leader knows of the process of a host: every other one runs on its machine. */
static tnd_fate_t fate_of(const sim_t *self, uint32_t h)
{
    const sim_host_t *host = &self->hosts[h];
    if (sim_hash(self->plan.seed, h) % 2 == 0)
        return TND_FATE_UNKNOWN;
    return host->alive && host->said == self->presences[h].life ? TND_FATE_ALIVE : TND_FATE_DEAD;
}

/*  Loses hosts that have been away for too long. */
void sim_leader_lose(sim_t *self)
{
    uint64_t now = sim_clock(self, 0);
    for (uint32_t h = 1; h < self->plan.hosts; h++) {
        sim_host_t *host = &self->hosts[h];
        if (!tnd_run_misses(&self->run, h, fate_of(self, h), now))
            continue;
        /* Its GOODBYE comes before the end of the connection, unless both are cut. */
        if (host->alive && self->presences[h].absence.loss == TND_LOSS_ENDED &&
            host->lost_net == host->given_up_net && host->said == self->presences[h].life &&
            host->lost_net > self->links[host->control].broken)
            sim_violate(self, "host %s has given up a silent connection, and is taken for dead",
                        self->host_names[h]);
        (void)tnd_run_lose(&self->run, h, "it is silent", now);
        sim_touches_forget(self, h);
        sim_leader_run(self);
    }
}

/*  The leader of one chain and its initial state. */
void sim_leader_start(sim_t *self)
{
    const sim_plan_t *plan = &self->plan;
    tnd_leader_core_config_t config = {
        .members = plan->members,
        .member_count = plan->member_count,
        .hosts = self->host_names,
        .host_count = plan->hosts,
        .host_flags = self->host_flags,
        .lanes = plan->lanes,
        .lanes_alike = plan->feed == TND_FEED_PIECES,
        .start_timeout_ns = plan->start_timeout_ns,
        .hung_after_ns = plan->hung_after_ns,
        .restart_timeout_ns = 3 * plan->dead_after_ns,
        .settle_ns = sim_failure_settle_ns(self),
        .steps_open_max = plan->unbooked_most + plan->deal_window + SIM_DEPTH + 2,
        .steps_max =
            self->chain == 0 && tnd_best_ends(&self->best) ? self->from.step : plan->steps_max,
        .restarts = {.max = 1000,
                     .first_ns = 1000 * 1000,
                     .most_ns = 100 * 1000 * 1000,
                     .calm_ns = 50 * 1000 * 1000}};
    if (self->chain == 1 && plan->repeats) {
        config.generation = tnd_leader_core_generation(self->run.session);
        config.cuts = tnd_leader_core_cuts(self->run.session);
    }
    for (uint32_t h = 0; h < plan->hosts; h++)
        self->host_flags[h] = h == plan->spare ? TND_HOST_SPARE : 0;
    const tnd_leader_core_t *before = self->run.session;
    self->run.session =
        tnd_leader_core_init(sim_store_take(&self->store, tnd_leader_core_bytes(&config)), &config,
                             &self->from, sim_clock(self, 0));
    if (config.generation > 0)
        tnd_leader_core_follow(self->run.session, before);
    for (uint32_t id = 0; id < plan->member_count; id++)
        self->actors[id].committed = self->actors[id].told = self->from.step;
    for (uint32_t f = 0; f < plan->feeders; f++)
        memcpy(self->actors[plan->first_feeder + f].model, self->models + plan->feeder_first[f],
               plan->feeder_replicas[f] * sizeof *self->models);
    sim_checkpoint_begin(self);
    sim_finish_plan(self);
    sim_failure_begin(self);
    sim_validations_begin(self);
}
