/*  tests/sim/cluster.c - hosts, control, the leader, and the loop over all that happens. */
#include "tests/sim/cluster.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t scan_ns = 100 * 1000 * 1000;
static const uint64_t still_ns = 12ull * 1000 * 1000 * 1000; /* nothing moves for so long */
static const uint64_t events_most = 2 * 1000 * 1000;

void sim_violate(sim_t *self, const char *format, ...)
{
    if (self->violation[0])
        return;
    va_list list;
    va_start(list, format);
    (void)vsnprintf(self->violation, sizeof self->violation, format, list);
    va_end(list);
}

void sim_say(sim_t *self, const char *format, ...)
{
    if (!self->trace)
        return;
    printf("%12llu  ", (unsigned long long)self->now);
    va_list list;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
}

const char *sim_name(sim_t *self, uint32_t actor)
{
    if (actor == TND_LEADER || actor == TND_NOBODY)
        return actor == TND_LEADER ? "leader" : "all";
    return actor >= SIM_HOST_ID ? self->host_names[actor - SIM_HOST_ID] : self->plan.names[actor];
}

uint64_t sim_clock(const sim_t *self, uint32_t host)
{
    return self->now + self->hosts[host].clock;
}

tnd_life_t sim_life(const sim_t *self, uint32_t host)
{
    return (1ull << 60) + self->now + (uint64_t)self->hosts[host].day + self->lives;
}

sim_parcel_t *sim_parcel(sim_t *self, uint32_t *index_p)
{
    if (self->parcel_unused != SIM_NONE) {
        *index_p = self->parcel_unused;
        self->parcel_unused = self->parcels[*index_p].next;
    } else {
        if (self->parcel_count == self->parcel_room) {
            self->parcel_room = self->parcel_room ? 2 * self->parcel_room : 1024;
            self->parcels = realloc(self->parcels, self->parcel_room * sizeof *self->parcels);
            if (!self->parcels)
                abort();
        }
        *index_p = self->parcel_count++;
    }
    self->parcels[*index_p].chain = self->chain;
    return &self->parcels[*index_p];
}

void sim_parcel_done(sim_t *self, uint32_t index)
{
    self->parcels[index].next = self->parcel_unused;
    self->parcel_unused = index;
}

sim_payload_t *sim_payload(sim_t *self, uint32_t rows, uint32_t bad, uint32_t holder)
{
    if (holder < SIM_ACTORS)
        self->actors[holder].payloads++;
    return sim_payload_new(&self->store, rows, bad, holder);
}

void sim_hold(sim_t *self, sim_payload_t *payload, uint32_t holder)
{
    if (payload->holder < SIM_ACTORS)
        self->actors[payload->holder].payloads--;
    if (holder < SIM_ACTORS)
        self->actors[holder].payloads++;
    payload->holder = holder;
}

void sim_free(sim_t *self, void *payload, uint32_t holder)
{
    sim_payload_t *it = payload;
    if (!it)
        return;
    if (it->holder != holder)
        sim_violate(self, "%s gives back a payload that it does not hold",
                    holder == SIM_FLYING ? "the network" : sim_name(self, holder));
    else {
        sim_hold(self, it, SIM_FREED);
        sim_payload_free(&self->store, it);
    }
}

void sim_free_msg(sim_t *self, tnd_msg_t *msg)
{
    if (msg->kind == TND_MSG_BLOCK)
        sim_free(self, msg->block.payload, SIM_FLYING);
    else if (msg->kind == TND_MSG_SLICE)
        sim_free(self, msg->slice.payload, SIM_FLYING);
    else if (msg->kind == TND_MSG_POST || msg->kind == TND_MSG_RESULT)
        sim_free(self, msg->post.payload, SIM_FLYING);
}

/* Control. */

static void session_run(sim_t *self);

/*  The stream is over: all wait for last words, and for what they say to be written.  A run that
 *  drains has no second chain.
 */
static void finish_chain(sim_t *self)
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
        sim_archive_end(self);
    self->closed = true;
    if (self->checkpoint != NULL && sim_archive_busy(self))
        return;
    self->follows = self->plan.after && self->chain == 0 && !self->drained && !self->over;
    self->over = !self->follows;
}

/*  What is still on its way when another chain begins is for actors that are no more. */
static bool is_late(const sim_t *self, const sim_parcel_t *parcel)
{
    return parcel->chain != self->chain && parcel->msg.kind > TND_MSG_PONG;
}

static void deliver_to(sim_t *self, uint32_t actor, const tnd_msg_t *msg)
{
    uint32_t index;
    sim_parcel_t *parcel = sim_parcel(self, &index);
    parcel->msg = *msg;
    parcel->link = SIM_NONE;
    sim_actor_receive(self, actor, index);
}

static void deliver(sim_t *self, uint32_t host, const tnd_msg_t *msg)
{
    if (msg->kind == TND_MSG_REWIND)
        self->hosts[host].generation = msg->generation;
    if (msg->to != TND_NOBODY) {
        if (msg->to < SIM_ACTORS && self->actors[msg->to].host == host)
            deliver_to(self, msg->to, msg);
        return;
    }
    for (uint32_t id = 0; id < self->plan.member_count; id++)
        if (self->actors[id].host == host && id != msg->from &&
            (msg->kind != TND_MSG_MARK || self->actors[id].role == TND_ROLE_JOIN))
            deliver_to(self, id, msg);
}

static void local(sim_t *self, uint32_t host, const tnd_msg_t *msg)
{
    uint32_t index;
    sim_parcel_t *parcel = sim_parcel(self, &index);
    parcel->msg = *msg;
    parcel->link = SIM_NONE;
    uint64_t at = self->now + 1000 + sim_below(&self->chance, 20000);
    if (at <= self->hosts[host].last_local)
        at = self->hosts[host].last_local + 1;
    self->hosts[host].last_local = at;
    sim_agenda_put(&self->agenda, at, SIM_AT_LOCAL, index, host, self->hosts[host].boot);
}

void sim_control(sim_t *self, uint32_t host, tnd_msg_t *msg)
{
    bool here = msg->to < SIM_ACTORS && self->actors[msg->to].host == host;
    if (host == 0 || here) {
        local(self, host, msg);
        return;
    }
    if (msg->to == TND_NOBODY)
        local(self, host, msg);
    sim_link_send(self, self->hosts[host].control, 0, msg);
}

static void forward(sim_t *self, uint32_t host, const tnd_msg_t *msg)
{
    if (host == 0)
        deliver(self, 0, msg);
    else
        sim_link_send(self, self->hosts[host].control, 1, msg);
}

static void hear_of_actor(sim_t *self, const tnd_msg_t *msg)
{
    uint32_t id = msg->from;
    uint64_t now = sim_clock(self, 0);
    tnd_life_t life = msg->hello.life;
    if (life == self->known_actor[id] && life != 0)
        return;
    if (self->known_actor[id] != 0 || life == 0)
        tnd_leader_core_actor_down(self->session, id, "it was killed", now);
    if (life != 0) {
        tnd_leader_core_actor_up(self->session, id, now);
        if (!self->plan.ports)
            sim_link_hurry(self, id);
    }
    self->known_actor[id] = life;
}

/*  The leader's process has a message from a host. */
static void route(sim_t *self, uint32_t origin, const tnd_msg_t *msg)
{
    if (msg->to == TND_LEADER) {
        if (msg->kind == TND_MSG_LAST)
            sim_fault_moment(self);
        if ((int)msg->kind == SIM_MSG_ACTOR) {
            hear_of_actor(self, msg);
        } else if ((int)msg->kind == SIM_MSG_ENDPOINTS) {
            sim_endpoints_heard(self, origin, msg->note.payload);
        } else if (msg->kind == TND_MSG_MODEL) {
            self->model_said[msg->from] = true;
            if (self->checkpoint != NULL && msg->note.payload != NULL)
                sim_archive_words(self, msg->note.payload);
            tnd_leader_core_message(self->session, msg, sim_clock(self, 0));
            finish_chain(self);
        } else {
            sim_door_report(self, msg);
            if (msg->kind == TND_MSG_COMMIT && self->checkpoint != NULL)
                sim_archive_commit(self, msg);
            tnd_leader_core_message(self->session, msg, sim_clock(self, 0));
        }
        session_run(self);
        return;
    }
    if (msg->to != TND_NOBODY) {
        forward(self, self->actors[msg->to].host, msg);
        return;
    }
    for (uint32_t h = 0; h < self->plan.hosts; h++)
        if (h != origin || h == 0)
            forward(self, h, msg);
}

void sim_route(sim_t *self, const tnd_msg_t *msg)
{
    route(self, 0, msg);
}

void sim_tell_actor(sim_t *self, uint32_t id)
{
    const sim_actor_t *actor = &self->actors[id];
    tnd_msg_t msg = {.from = id, .to = TND_LEADER};
    msg.kind = (tnd_msg_kind_t)SIM_MSG_ACTOR;
    msg.hello.life = actor->alive ? actor->life : 0;
    sim_control(self, actor->host, &msg);
}

/*  What it was told while it was away is lost, and it may be that nobody rewinds for it. */
static void tell_generation(sim_t *self, uint32_t link)
{
    tnd_msg_t msg = {.from = TND_LEADER, .to = SIM_HOST_ID + self->links[link].host[0]};
    msg.kind = (tnd_msg_kind_t)SIM_MSG_TABLE;
    msg.generation = tnd_leader_core_generation(self->session);
    msg.note.payload = self->plan.ports ? sim_endpoints_told(self) : NULL;
    sim_random_t chance = self->chance; /* the runs of kept seeds stay what they are */
    sim_link_send(self, link, 1, &msg);
    self->chance = chance;
}

void sim_tell_table(sim_t *self, uint32_t host)
{
    tell_generation(self, self->hosts[host].control);
}

/*  They are gone with their host, or as good as gone, until they are heard of again. */
static void forget_actors(sim_t *self, uint32_t h)
{
    for (uint32_t id = 0; id < self->plan.member_count; id++)
        if (self->actors[id].host == h)
            self->known_actor[id] = 0;
}

void sim_host_up(sim_t *self, uint32_t link, uint32_t side)
{
    uint32_t h = self->links[link].host[0];
    sim_host_t *host = &self->hosts[h];
    uint64_t now = sim_clock(self, 0);
    if (side == 0) {
        tnd_absence_end(&host->leader_absence, sim_clock(self, h));
        for (uint32_t id = 0; id < self->plan.member_count; id++)
            if (self->actors[id].host == h) {
                if (self->actors[id].started)
                    sim_tell_actor(self, id);
                if (self->actors[id].over)
                    sim_feeder_model(self, id);
            }
        if (self->plan.ports)
            sim_endpoints_say(self, h);
        return;
    }
    tnd_life_t life = self->links[link].end[1].life;
    if (host->known_life != 0 && host->known_life != life) {
        tnd_leader_core_host_again(self->session, h, "its process died", now);
        forget_actors(self, h);
        sim_endpoints_forget(self, h);
    }
    host->known_life = life;
    tnd_absence_end(&host->absence, now);
    tell_generation(self, link);
    tnd_leader_core_host_up(self->session, h, now);
    session_run(self);
}

void sim_host_lost(sim_t *self, uint32_t link, uint32_t side, tnd_loss_t loss)
{
    uint32_t h = self->links[link].host[0];
    sim_host_t *host = &self->hosts[h];
    tnd_absence_limits_t limits = {.grace_ns = self->plan.link_timeout_ns * 3 / 2,
                                   .dead_after_ns = self->plan.dead_after_ns};
    if (side == 0) {
        host->leader_lost_at = self->now;
        tnd_absence_begin(&host->leader_absence, &limits, loss, sim_clock(self, h));
    } else {
        tnd_absence_begin(&host->absence, &limits, loss, sim_clock(self, 0));
    }
}

static void take_table(sim_t *self, uint32_t h, const tnd_msg_t *msg)
{
    if (msg->generation > self->hosts[h].generation)
        self->hosts[h].generation = msg->generation;
    if (msg->note.payload != NULL)
        sim_endpoints_take(self, h, msg->note.payload);
}

void sim_host_message(sim_t *self, uint32_t link, uint32_t side, tnd_msg_t *msg)
{
    uint32_t h = self->links[link].host[0];
    sim_door_relay(self, side == 1 ? 0 : h, side == 1 ? h : 0, msg);
    if (side == 1)
        route(self, h, msg);
    else if ((int)msg->kind == SIM_MSG_TABLE)
        take_table(self, h, msg);
    else if ((int)msg->kind == SIM_MSG_RESTART)
        sim_agenda_put(&self->agenda, self->now + 100 * 1000, SIM_AT_BORN, msg->to,
                       self->hosts[h].boot, 0);
    else
        deliver(self, h, msg);
}

/* The leader. */

static void session_effect(sim_t *self, tnd_effect_t *effect)
{
    switch (effect->kind) {
    case TND_EFFECT_CONTROL:
        if (effect->msg.kind == TND_MSG_REWIND) {
            tnd_cursor_t *copy = sim_store_take(&self->store, sizeof *copy);
            *copy = *effect->msg.rewind.cursor;
            effect->msg.rewind.cursor = copy;
            sim_archive_generation(self);
            sim_say(self, "leader rewinds to step %llu, generation %u",
                    (unsigned long long)copy->step, effect->msg.generation);
        }
        effect->msg.from = TND_LEADER;
        route(self, 0, &effect->msg);
        break;
    case TND_EFFECT_BOOK: {
        self->progress_at = self->now;
        sim_say(self, "leader books step %llu", (unsigned long long)effect->cursor->step - 1);
        sim_check_booked(self, effect->cursor);
        sim_archive_booked(self, effect->cursor->step);
        if (self->checkpoint != NULL || self->chain > 0)
            break;
        if (!self->write_fails)
            self->stored_bytes =
                tnd_cursor_encode(effect->cursor, self->stored, sizeof self->stored);
        self->write_fails = false;
        break;
    }
    case TND_EFFECT_RESTART:
        if (self->actors[effect->msg.to].host == 0) {
            sim_agenda_put(&self->agenda, self->now + 100 * 1000, SIM_AT_BORN, effect->msg.to,
                           self->hosts[0].boot, 0);
        } else {
            effect->msg.kind = (tnd_msg_kind_t)SIM_MSG_RESTART;
            forward(self, self->actors[effect->msg.to].host, &effect->msg);
        }
        break;
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

static void session_run(sim_t *self)
{
    tnd_effect_t effect;
    while (!self->over && tnd_leader_core_next(self->session, sim_clock(self, 0), &effect))
        session_effect(self, &effect);
    finish_chain(self);
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

/* Processes. */

/*  What the leader knows of the process of a host: every other one runs on its machine. */
static tnd_fate_t fate_of(const sim_t *self, uint32_t h)
{
    const sim_host_t *host = &self->hosts[h];
    if (sim_hash(self->plan.seed, h) % 2 == 0)
        return TND_FATE_UNKNOWN;
    return host->alive && host->said == host->known_life ? TND_FATE_ALIVE : TND_FATE_DEAD;
}

/*  Hosts that were lost once they had been away for too long. */
static void lose_hosts(sim_t *self)
{
    uint64_t now = sim_clock(self, 0);
    for (uint32_t h = 1; h < self->plan.hosts; h++) {
        sim_host_t *host = &self->hosts[h];
        bool ends_run = tnd_leader_core_ends_with(self->session, h);
        if (!tnd_absence_is_over(&host->absence, fate_of(self, h), ends_run, now))
            continue;
        /* Its GOODBYE comes before the end of the connection, unless both are cut. */
        if (host->alive && host->absence.loss == TND_LOSS_ENDED &&
            host->lost_net == host->given_up_net && host->said == host->known_life &&
            host->lost_net > self->links[host->control].broken)
            sim_violate(self, "host %s has given up a silent connection, and is taken for dead",
                        self->host_names[h]);
        host->absence = (tnd_absence_t){0};
        tnd_leader_core_host_lost(self->session, h, "it is silent", now);
        forget_actors(self, h);
        session_run(self);
    }
}

/*  As life/host.c: control that looks much too late was away, or its clock has jumped, and what
 *  others said meanwhile is still to be read.
 */
static void look_at_clock(sim_t *self, uint32_t h)
{
    sim_host_t *host = &self->hosts[h];
    uint64_t now = sim_clock(self, h);
    if (now >= host->expected_ns + self->plan.link_timeout_ns / 4) {
        uint64_t away = now - host->expected_ns;
        tnd_absence_excuse(&host->leader_absence, away, now);
        for (uint32_t other = 1; h == 0 && other < self->plan.hosts; other++)
            tnd_absence_excuse(&self->hosts[other].absence, away, now);
        if (h == 0)
            tnd_leader_core_excuse(self->session, away);
    }
    host->expected_ns = now + self->plan.link_timeout_ns / 8;
}

static void tick(sim_t *self, uint32_t h)
{
    const sim_plan_t *plan = &self->plan;
    for (uint32_t id = 0; id < plan->member_count; id++) {
        sim_actor_t *actor = &self->actors[id];
        if (actor->host != h || !actor->alive)
            continue;
        if (!sim_actor_away(actor))
            sim_door_confirm(self, id);
        sim_links_tick(self, id);
    }
    if (h > 0)
        sim_link_tick(self, self->hosts[h].control, 0);
    /* A host ends without its leader, which here lives as long as the session. */
    if (tnd_absence_is_over(&self->hosts[h].leader_absence, TND_FATE_UNKNOWN, true,
                            sim_clock(self, h)))
        sim_violate(self, "host %s gives up its leader, which lives, %llu ms after it was lost",
                    self->host_names[h],
                    (unsigned long long)((self->now - self->hosts[h].leader_lost_at) / 1000000));
    for (uint32_t other = 1; h == 0 && other < plan->hosts; other++)
        sim_link_tick(self, self->hosts[other].control, 1);
    if (h == 0)
        lose_hosts(self);
    sim_agenda_put(&self->agenda, self->now + plan->link_timeout_ns / 8, SIM_AT_TICK, h,
                   self->hosts[h].boot, 0);
}

static void boot(sim_t *self, uint32_t h)
{
    sim_host_t *host = &self->hosts[h];
    if (self->now < self->starved_until) {
        sim_agenda_put(&self->agenda, self->starved_until, SIM_AT_BOOT, h, 0, 0);
        return;
    }
    host->alive = true;
    host->life = ++self->lives;
    if (host->boot > 0 && sim_hash(self->plan.seed + host->life, h) % 3 == 0) {
        host->day -= (int64_t)(1 + sim_hash(host->life, h) % 3600) * 1000 * 1000 * 1000;
        self->counts.faults[SIM_CLOCK_BACK]++;
    }
    host->said = sim_life(self, h);
    host->leader_absence = (tnd_absence_t){0};
    host->expected_ns = sim_clock(self, h) + self->plan.link_timeout_ns / 8;
    host->generation = 0;
    if (h > 0)
        sim_link_birth(self, host->control, 0, false);
    for (uint32_t id = 0; id < self->plan.member_count; id++)
        if (self->actors[id].host == h) {
            sim_actor_born(self, id);
            if (h == 0 && !self->plan.ports)
                sim_tell_actor(self, id);
        }
    host->table = NULL;
    if (self->plan.ports)
        sim_endpoints_bind(self, h);
    if (self->plan.ports && h == 0)
        sim_endpoints_say(self, h);
    sim_agenda_put(&self->agenda, self->now + sim_below(&self->chance, 1000000), SIM_AT_TICK, h,
                   host->boot, 0);
}

static void discard(sim_t *self, const sim_event_t *event)
{
    if (event->kind != SIM_AT_LINK && event->kind != SIM_AT_LOCAL)
        return;
    sim_free_msg(self, &self->parcels[event->a].msg);
    sim_parcel_done(self, event->a);
}

void sim_process_dies(sim_t *self, uint32_t h, uint64_t back_ns)
{
    sim_host_t *host = &self->hosts[h];
    if (!host->alive)
        return;
    sim_say(self, "the process of host %s dies", self->host_names[h]);
    host->alive = host->paused = false;
    host->boot++;
    for (uint32_t id = 0; id < self->plan.member_count; id++)
        if (self->actors[id].host == h)
            sim_actor_dies(self, id);
    if (h > 0)
        sim_link_drop(self, host->control, 0);
    for (uint32_t i = host->frozen_next; i < host->frozen_count; i++)
        discard(self, &host->frozen[i]);
    host->frozen_next = host->frozen_count = 0;
    sim_agenda_put(&self->agenda, self->now + back_ns, SIM_AT_BOOT, h, 0, 0);
}

/* Events. */

static uint32_t host_of(const sim_t *self, const sim_event_t *event)
{
    switch ((sim_at_t)event->kind) {
    case SIM_AT_LINK: {
        const sim_parcel_t *parcel = &self->parcels[event->a];
        return self->links[parcel->link].host[parcel->side];
    }
    case SIM_AT_LOCAL:
        return event->b;
    case SIM_AT_NOTICE:
        return self->links[event->a].host[event->b];
    case SIM_AT_TICK:
        return event->a;
    case SIM_AT_WORKED:
    case SIM_AT_DEVICE:
    case SIM_AT_BORN:
    case SIM_AT_DUE:
        return self->actors[event->a].host;
    case SIM_AT_SESSION:
    case SIM_AT_WRITTEN:
        return 0;
    default:
        return SIM_NONE;
    }
}

static void freeze(sim_host_t *host, const sim_event_t *event)
{
    if (host->frozen_count == host->frozen_room) {
        host->frozen_room = host->frozen_room ? 2 * host->frozen_room : 64;
        host->frozen = realloc(host->frozen, host->frozen_room * sizeof *host->frozen);
        if (!host->frozen)
            abort();
    }
    host->frozen[host->frozen_count++] = *event;
}

static const char *const kind_names[] = {
    "HELLO", "WELCOME", "REFUSE", "STALE",  "GOODBYE", "PING",   "PONG",   "CREDIT",
    "BLOCK", "WINDOW",  "SLICE",  "POST",   "RESULT",  "GOT",    "CLOSED", "PASSED",
    "BEGIN", "GO",      "REWIND", "TICKET", "LOST",    "BAD",    "ASIDE",  "WHY",
    "MARK",  "PART",    "LAST",   "BROKEN", "HELD",    "COMMIT", "BOOKED", "DRAIN"};

static void say_msg(sim_t *self, const tnd_msg_t *msg)
{
    if (!self->trace)
        return;
    const char *kind = (size_t)msg->kind < sizeof kind_names / sizeof *kind_names
                           ? kind_names[msg->kind]
                       : msg->kind == TND_MSG_MODEL          ? "MODEL"
                       : (int)msg->kind == SIM_MSG_ACTOR     ? "ACTOR"
                       : (int)msg->kind == SIM_MSG_TABLE     ? "TABLE"
                       : (int)msg->kind == SIM_MSG_ENDPOINTS ? "ENDPOINTS"
                                                             : "RESTART";
    char more[96] = "";
    if (msg->kind == TND_MSG_BLOCK)
        (void)snprintf(more, sizeof more, " %u/%u/%llu+%u rows %u try %u%s", msg->block.lane,
                       msg->block.epoch, (unsigned long long)msg->block.first, msg->block.count,
                       msg->block.rows, msg->block.attempt, msg->block.end ? " end" : "");
    else if (msg->kind == TND_MSG_TICKET || msg->kind == TND_MSG_LOST ||
             msg->kind == TND_MSG_BEGIN || msg->kind == TND_MSG_GO)
        (void)snprintf(more, sizeof more, " %u/%u/%llu+%u try %u", msg->ticket.lane,
                       msg->ticket.epoch, (unsigned long long)msg->ticket.first, msg->ticket.count,
                       msg->ticket.attempt);
    else if (msg->kind == TND_MSG_SLICE)
        (void)snprintf(more, sizeof more, " step %llu lane %u replica %u: %u+%u of %u",
                       (unsigned long long)msg->slice.step, msg->slice.lane, msg->slice.replica,
                       msg->slice.offset, msg->slice.rows, msg->slice.total);
    else if (msg->kind == TND_MSG_MARK)
        (void)snprintf(more, sizeof more, " lane %u epoch %u rows %llu%s", msg->mark.lane,
                       msg->mark.epoch, (unsigned long long)msg->mark.rows,
                       msg->mark.ended ? " ended" : "");
    else if (msg->kind == TND_MSG_PART)
        (void)snprintf(more, sizeof more, " step %llu lane %u", (unsigned long long)msg->part.step,
                       msg->part.lane);
    else if (msg->kind == TND_MSG_COMMIT)
        (void)snprintf(more, sizeof more, " step %llu", (unsigned long long)msg->commit.step);
    else if (msg->kind == TND_MSG_WINDOW || msg->kind == TND_MSG_HELD ||
             msg->kind == TND_MSG_BOOKED || msg->kind == TND_MSG_LAST)
        (void)snprintf(more, sizeof more, " %llu", (unsigned long long)msg->until.step);
    else if (msg->kind >= TND_MSG_POST && msg->kind <= TND_MSG_CLOSED)
        (void)snprintf(more, sizeof more, " round %llu", (unsigned long long)msg->post.round);
    sim_say(self, "%s -> %s: %s g%u%s", sim_name(self, msg->from), sim_name(self, msg->to), kind,
            msg->generation, more);
}

static void happen(sim_t *self, const sim_event_t *event);

static void resume(sim_t *self, uint32_t h, uint32_t boots)
{
    sim_host_t *host = &self->hosts[h];
    if (!host->paused || host->boot != boots || self->now < host->resume_at)
        return;
    host->paused = false;
    host->resumed_at = self->now;
    sim_say(self, "the process of host %s goes on", self->host_names[h]);
    uint64_t away = self->now - host->paused_at;
    look_at_clock(self, h);
    if (h > 0 &&
        away > host->starved_ns + self->plan.dead_after_ns + 4 * self->plan.link_timeout_ns &&
        host->control_at_stop != 0 && self->links[host->control].bound == host->control_at_stop)
        sim_violate(self, "host %s was stopped for %llu ms, and the leader did not give it up",
                    self->host_names[h], (unsigned long long)(away / 1000000));
    for (uint32_t link = 0; host->keeps_links && link < self->link_count; link++)
        if (self->links[link].host[0] == h && self->links[link].host[1] == h)
            sim_link_excuse(self, link);
    for (host->frozen_next = 0;
         host->frozen_next < host->frozen_count && !self->over && !self->violation[0];) {
        sim_event_t event = host->frozen[host->frozen_next++];
        happen(self, &event);
    }
    host->frozen_next = host->frozen_count = 0;
}

static void arrive(sim_t *self, const sim_event_t *event)
{
    sim_parcel_t *parcel = &self->parcels[event->a];
    const sim_link_t *link = &self->links[parcel->link];
    if (parcel->net <= link->broken || (link->actor[0] == SIM_NONE && is_late(self, parcel))) {
        discard(self, event);
        return;
    }
    say_msg(self, &parcel->msg);
    if (link->actor[0] == SIM_NONE)
        sim_link_arrive(self, event->a);
    else if (parcel->side == 1 && parcel->net == link->net && link->stray)
        sim_link_stray(self, event->a);
    else
        sim_actor_receive(self, link->actor[parcel->side], event->a);
}

static void arrive_locally(sim_t *self, const sim_event_t *event)
{
    if (event->c != self->hosts[event->b].boot || is_late(self, &self->parcels[event->a])) {
        discard(self, event);
        return;
    }
    tnd_msg_t msg = self->parcels[event->a].msg;
    sim_parcel_done(self, event->a);
    say_msg(self, &msg);
    if (event->b == 0)
        route(self, 0, &msg);
    else
        deliver(self, event->b, &msg);
}

static void scan(sim_t *self)
{
    sim_check_all(self);
    sim_links_check(self);
    uint64_t since = self->progress_at > self->faults_end ? self->progress_at : self->faults_end;
    if (self->now > since + still_ns)
        sim_violate(self, "nothing moves for %llu s of its time: a deadlock",
                    (unsigned long long)(still_ns / 1000000000u));
    if (self->events > events_most)
        sim_violate(self, "the run does not end: a livelock");
    sim_agenda_put(&self->agenda, self->now + scan_ns, SIM_AT_SCAN, 0, 0, 0);
}

static void happen(sim_t *self, const sim_event_t *event)
{
    uint32_t h = host_of(self, event);
    if (h != SIM_NONE && (!self->hosts[h].alive || self->hosts[h].paused)) {
        if (self->hosts[h].paused)
            freeze(&self->hosts[h], event);
        else
            discard(self, event);
        return;
    }
    if (h != SIM_NONE)
        look_at_clock(self, h);
    sim_actor_t *actor = &self->actors[event->a < SIM_ACTORS ? event->a : 0];
    bool same_life = actor->alive && (uint32_t)actor->life == event->b;
    switch ((sim_at_t)event->kind) {
    case SIM_AT_LINK:
        arrive(self, event);
        break;
    case SIM_AT_LOCAL:
        arrive_locally(self, event);
        break;
    case SIM_AT_NOTICE:
        if (self->links[event->a].actor[event->b] == SIM_NONE ||
            !sim_actor_away(&self->actors[self->links[event->a].actor[event->b]]))
            sim_link_notice(self, event->a, event->b, event->c);
        else /* it looks at it when its hook has returned */
            sim_agenda_put(&self->agenda, self->now + 100 * 1000, SIM_AT_NOTICE, event->a, event->b,
                           event->c);
        break;
    case SIM_AT_TICK:
        if (self->hosts[event->a].boot == event->b)
            tick(self, event->a);
        break;
    case SIM_AT_WORKED:
        if (same_life)
            sim_actor_worked(self, event->a);
        break;
    case SIM_AT_DEVICE:
        if (same_life)
            sim_feeder_device(self, event->a);
        break;
    case SIM_AT_DUE:
        if (same_life)
            sim_actor_due(self, event->a);
        break;
    case SIM_AT_BORN:
        if (!actor->alive && self->hosts[actor->host].boot == event->b) {
            sim_actor_born(self, event->a);
            if (self->plan.ports) {
                sim_endpoints_bind(self, actor->host);
                sim_endpoints_say(self, actor->host);
            } else {
                sim_tell_actor(self, event->a);
            }
        }
        break;
    case SIM_AT_BOOT:
        boot(self, event->a);
        break;
    case SIM_AT_RESUME:
        resume(self, event->a, event->b);
        break;
    case SIM_AT_SESSION:
        self->session_at = TND_NEVER;
        session_run(self);
        break;
    case SIM_AT_WRITTEN:
        sim_archive_written(self, event->a);
        finish_chain(self);
        break;
    case SIM_AT_FAULT:
        sim_fault_strike(self, event->a);
        break;
    case SIM_AT_EARLY:
        sim_fault_early(self, (sim_fault_kind_t)event->a);
        break;
    case SIM_AT_DRAIN:
        sim_drain(self);
        break;
    case SIM_AT_SCAN:
        scan(self);
        break;
    }
}

/* One session. */

static void name_members(sim_t *self)
{
    static const char *const names[SIM_HOSTS] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    const sim_plan_t *plan = &self->plan;
    for (uint32_t h = 0; h < SIM_HOSTS; h++)
        self->host_names[h] = names[h];
    for (uint32_t id = 0; id < plan->member_count; id++) {
        self->actors[id].role = plan->members[id].role;
        self->actors[id].host = plan->members[id].host;
        self->actors[id].inbox = SIM_NONE;
    }
    for (uint32_t r = 0; r < plan->first_join; r++) {
        uint32_t lane = plan->members[r].lane;
        self->readers[lane][r % plan->readers] = r;
    }
    for (uint32_t l = 0; l < plan->lanes; l++)
        self->joins[l] = plan->first_join + l;
    for (uint32_t f = 0; f < plan->feeders; f++)
        for (uint32_t r = 0; r < plan->feeder_replicas[f]; r++) {
            self->feeder_of[plan->feeder_first[f] + r] = plan->first_feeder + f;
            self->feeder_names[plan->feeder_first[f] + r] = plan->names[plan->first_feeder + f];
        }
    for (uint32_t w = plan->first_worker; w < plan->first_feeder; w++) {
        self->worker_reader_count[w] = self->worker_lane_count[w] = 0;
        for (uint32_t l = 0; l < plan->lanes; l++) {
            if (!sim_plan_serves(plan, plan->members[w].host, l))
                continue;
            uint32_t at = self->worker_lane_count[w]++;
            self->worker_lanes[w][at] = l;
            self->worker_joins[w][at] = self->joins[l];
            for (uint32_t r = 0; r < plan->readers; r++) {
                at = self->worker_reader_count[w]++;
                self->worker_readers[w][at] = self->readers[l][r];
                self->worker_reader_lanes[w][at] = l;
            }
        }
    }
}

/*  The session of one chain, and what it begins with. */
static void start_session(sim_t *self)
{
    const sim_plan_t *plan = &self->plan;
    tnd_leader_core_config_t config = {.members = plan->members,
                                       .member_count = plan->member_count,
                                       .hosts = self->host_names,
                                       .host_count = plan->hosts,
                                       .lanes = plan->lanes,
                                       .start_timeout_ns = 30ull * 1000 * 1000 * 1000,
                                       .dead_after_ns = 3 * plan->dead_after_ns,
                                       .steps_open_max = plan->unbooked_most + plan->depth + 2,
                                       .steps_max = plan->steps_max,
                                       .restarts = {.max = 1000,
                                                    .first_ns = 1000 * 1000,
                                                    .most_ns = 100 * 1000 * 1000,
                                                    .calm_ns = 50 * 1000 * 1000}};
    self->session =
        tnd_leader_core_init(sim_store_take(&self->store, tnd_leader_core_bytes(&config)), &config,
                             &self->from, sim_clock(self, 0));
    tnd_leader_core_host_up(self->session, 0, sim_clock(self, 0));
    tnd_leader_core_go(self->session);
    for (uint32_t id = 0; id < plan->member_count; id++)
        self->actors[id].committed = self->from.step;
    for (uint32_t f = 0; f < plan->feeders; f++)
        memcpy(self->actors[plan->first_feeder + f].model, self->models + plan->feeder_first[f],
               plan->feeder_replicas[f] * sizeof *self->models);
    sim_archive_begin(self);
}

static void begin(sim_t *self)
{
    const sim_plan_t *plan = &self->plan;
    self->now = 0;
    self->lives = 0;
    self->over = self->write_fails = self->closing = self->closed = self->follows = false;
    self->last_death = false;
    self->unwritten = 0;
    memset(self->model_said, 0, sizeof self->model_said);
    self->chain = 0;
    self->session_at = TND_NEVER;
    self->progress_at = self->faults_end = self->starved_until = 0;
    self->parcel_count = 0;
    self->parcel_unused = SIM_NONE;
    self->booked = self->from.step;
    self->chance = sim_random(plan->seed, 100 + plan->session);
    self->bad_luck = sim_random(plan->seed, 200 + plan->session);
    sim_agenda_clear(&self->agenda);
    memset(self->actors, 0, sizeof self->actors);
    memset(self->known_actor, 0, sizeof self->known_actor);
    memset(self->link_of, 0, sizeof self->link_of);
    for (uint32_t h = 0; h < SIM_HOSTS; h++) {
        sim_host_t *host = &self->hosts[h];
        sim_event_t *frozen = host->frozen;
        uint32_t room = host->frozen_room;
        *host = (sim_host_t){.frozen = frozen, .frozen_room = room};
        host->clock = sim_draw(&self->chance) % (1ull << 40);
    }
    name_members(self);
    self->counts.faults[SIM_STRAGGLER] += plan->straggler != UINT32_MAX;
    sim_door_plan(self);
    sim_links_plan(self);
    sim_endpoints_plan(self);
    for (uint32_t h = 1; h < plan->hosts; h++)
        sim_link_birth(self, self->hosts[h].control, 1, false);

    start_session(self);
    for (uint32_t h = 0; h < plan->hosts; h++)
        sim_agenda_put(&self->agenda, h == 0 ? 0 : sim_below(&self->chance, 5000000), SIM_AT_BOOT,
                       h, 0, 0);
    sim_agenda_put(&self->agenda, scan_ns, SIM_AT_SCAN, 0, 0, 0);
    sim_faults_plan(self);
}
/*  The first chain is over, and the next begins on the same hosts: whoever is up is entered, some
 *  have gone just before, and who is not needed is not waited for.
 */
static void begin_next(sim_t *self)
{
    static const sim_fault_kind_t some[] = {SIM_CUT_CONTROL, SIM_PAUSE, SIM_CRASH_PROCESS};
    const sim_plan_t *plan = &self->plan;
    sim_check_end(self);
    sim_say(self, "the second chain begins");
    self->counts.seconds++;
    if (sim_chance(&self->moments, 60))
        sim_fault_early(self, some[sim_below(&self->moments, sizeof some / sizeof *some)]);
    self->follows = self->closing = self->closed = false;
    memset(self->model_said, 0, sizeof self->model_said);
    self->chain = 1;
    for (uint32_t id = 0; id < plan->member_count; id++) {
        sim_actor_dies(self, id);
        self->known_actor[id] = 0;
    }
    for (uint32_t id = 0; id < plan->member_count; id++) {
        sim_actor_t *actor = &self->actors[id];
        sim_actor_t next = {.role = actor->role, .host = actor->host, .inbox = SIM_NONE};
        memcpy(next.links, actor->links, sizeof next.links);
        next.link_count = actor->link_count;
        *actor = next;
    }
    for (uint32_t h = 0; h < plan->hosts; h++)
        self->hosts[h].generation = 0;
    tnd_cursor_start(&self->from, plan->lanes);
    self->booked = 0;
    self->progress_at = self->now;
    start_session(self);
    for (uint32_t id = 0; id < plan->member_count; id++)
        sim_actor_born(self, id);
    if (self->plan.ports)
        sim_endpoints_begin_next(self);
    for (uint32_t h = 0; h < plan->hosts; h++) {
        bool up = h == 0 || self->links[self->hosts[h].control].end[1].state == TND_END_OPEN;
        if (!up && !tnd_leader_core_needs(self->session, h))
            tnd_leader_core_host_left(self->session, h, sim_clock(self, 0));
        if (!up)
            continue;
        if (h > 0)
            tnd_leader_core_host_up(self->session, h, sim_clock(self, 0));
        for (uint32_t id = 0; id < plan->member_count; id++)
            if (self->actors[id].host == h) {
                tnd_life_t life = self->actors[id].alive ? self->actors[id].life : ++self->lives;
                self->known_actor[id] = life;
                tnd_leader_core_actor_up(self->session, id, sim_clock(self, 0));
            }
    }
    sim_faults_plan(self);
    session_run(self);
}

static void run_session(sim_t *self)
{
    sim_event_t event;
    begin(self);
    while (!self->over && !self->violation[0] && sim_agenda_take(&self->agenda, &event)) {
        self->now = event.at;
        self->events++;
        happen(self, &event);
        if (self->follows && !self->over && !self->violation[0])
            begin_next(self);
    }
    if (self->violation[0])
        return;
    tnd_leader_core_state_t state = tnd_leader_core_state(self->session);
    if (state == TND_LEADER_CORE_FAILED && self->last_death &&
        strstr(tnd_leader_core_why(self->session), "the replicas that it carried")) {
        self->feeder_dead = true;
        return;
    }
    if (!self->leader_dead && state == TND_LEADER_CORE_FAILED && !self->feeder_dead)
        sim_violate(self, "the run failed: %s", tnd_leader_core_why(self->session));
    if (self->feeder_dead && state == TND_LEADER_CORE_FAILED &&
        !strstr(tnd_leader_core_why(self->session), "feed."))
        sim_violate(self, "a feeder died, but the run says: %s",
                    tnd_leader_core_why(self->session));
    if (state == TND_LEADER_CORE_DONE)
        sim_check_end(self);
}

/*  A broken assertion of the core ends the session. */
static void run_guarded(sim_t *self)
{
    self->escapes = true;
    if (sigsetjmp(self->escape, 0) == 0)
        run_session(self);
    self->escapes = false;
}

/*  Whether a run that has ended well is gone on with all the same, as a user may ask. */
static bool goes_on(const sim_t *self, uint32_t session)
{
    return self->plan.keep > 0 && session < SIM_SESSIONS && !self->rogue_found &&
           tnd_leader_core_state(self->session) == TND_LEADER_CORE_DONE &&
           sim_hash(self->plan.seed, 900 + session) % 100 < 30;
}

bool sim_run(sim_t *self, uint64_t seed, uint64_t fault_mask)
{
    self->violation[0] = 0;
    self->events = self->blocks = 0;
    self->fault_mask = fault_mask;
    self->leader_dead = self->feeder_dead = self->rogue_found = false;
    self->stored_bytes = 0;
    self->folder_count = 0;
    self->disk_luck = sim_random(seed, 500);
    memset(self->models, 0, sizeof self->models);
    sim_store_clear(&self->store);
    sim_plan_draw(&self->plan, seed, 0);
    sim_reference_make(&self->reference, &self->plan, &self->store);
    tnd_cursor_start(&self->from, self->plan.lanes);
    run_guarded(self);
    for (uint32_t session = 1;
         !self->violation[0] && (self->leader_dead || self->feeder_dead || goes_on(self, session));
         session++) {
        tnd_error_t error;
        self->counts.again += !self->leader_dead && !self->feeder_dead;
        if (self->plan.keep > 0) {
            sim_archive_killed(self, self->leader_dead);
            sim_archive_resume(self);
        } else if (self->stored_bytes > 0 &&
                   tnd_cursor_decode(&self->from, self->stored, self->stored_bytes, &error) !=
                       TND_OK)
            sim_violate(self, "the stored cursor cannot be read: %s", error.text);
        self->leader_dead = self->feeder_dead = false;
        sim_plan_draw(&self->plan, seed, session);
        run_guarded(self);
    }
    self->counts.events += self->events;
    self->counts.blocks += self->blocks;
    return self->violation[0] == 0;
}
