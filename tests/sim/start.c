/*  tests/sim/start.c - the start: the barriers of each host's process, and what the leader tells them.
 *
 *  The machines decide (runtime/core/host/barriers.h, run_start.h); here the actors are made, and
 *  messages travel.  In some runs hosts with readers open their data for long, and a process that is
 *  started again opens its data again while the run continues.  In some of these a host stops reporting
 *  and never opens its data: the run ends and names it. */
#include <stdio.h>
#include <string.h>

#include "tests/sim/cluster.h"

static bool has_readers(const sim_t *self, uint32_t h)
{
    bool reads = false;
    for (uint32_t id = 0; id < self->plan.first_join; id++)
        reads = reads || self->plan.members[id].host == h;
    return reads;
}

static void name_data(const sim_t *self, uint32_t h, char text[32])
{
    (void)snprintf(text, 32, "the data of %s", self->host_names[h]);
}

/* --- the process of a host -------------------------------------------------------------------- */

void sim_tell_leader(sim_t *self, uint32_t h, tnd_msg_kind_t kind, uint64_t number, void *payload)
{
    tnd_msg_t msg = {.kind = kind, .from = SIM_HOST_ID + h, .to = TND_LEADER};
    msg.note.number = number;
    msg.note.payload = payload;
    sim_control(self, h, &msg);
}

static void make_actors(sim_t *self, uint32_t h)
{
    sim_say(self, "host %s starts its actors", self->host_names[h]);
    for (uint32_t id = 0; id < self->plan.member_count; id++)
        if (self->actors[id].host == h)
            sim_actor_born(self, id);
    sim_endpoints_bind(self, h);
}

static tnd_barriers_facts_t facts_of(const sim_t *self, uint32_t h)
{
    tnd_barriers_facts_t facts = {
        .bound = true, .run = true, .reaches = tnd_leader_presence_reaches(&self->hosts[h].leader)};
    for (uint32_t id = 0; id < self->plan.member_count; id++) {
        const sim_actor_t *actor = &self->actors[id];
        /* One that died is as one that hangs: it runs until it is replaced. */
        facts.bound = facts.bound && (actor->host != h || actor->alive || actor->started);
        facts.run = facts.run && (actor->host != h || actor->started);
    }
    return facts;
}

void sim_start_follow(sim_t *self, uint32_t h)
{
    tnd_barriers_step_t step;
    do {
        tnd_barriers_facts_t facts = facts_of(self, h);
        step = tnd_barriers_next(&self->hosts[h].barriers, &facts);
        if (step == TND_BARRIERS_FACTS)
            sim_tell_leader(self, h, TND_MSG_FACTS, 0, NULL);
        else if (step == TND_BARRIERS_CHECK)
            tnd_barriers_fit(&self->hosts[h].barriers);
        else if (step == TND_BARRIERS_MAKE)
            make_actors(self, h);
        else if (step == TND_BARRIERS_ENDPOINTS)
            sim_tell_leader(self, h, TND_MSG_ENDPOINTS, 0, sim_endpoints_of(self, h));
        else if (step == TND_BARRIERS_READY)
            sim_tell_leader(self, h, TND_MSG_READY, 0, NULL);
    } while (step != TND_BARRIERS_WAIT);
}

static void say_opening(sim_t *self, uint32_t h)
{
    const sim_host_t *host = &self->hosts[h];
    if (host->barriers.reads && !host->barriers.opened)
        sim_tell_leader(self, h, TND_MSG_OPENING, host->reports, NULL);
}

void sim_start_boot(sim_t *self, uint32_t h)
{
    const sim_plan_t *plan = &self->plan;
    sim_host_t *host = &self->hosts[h];
    host->barriers = (tnd_barriers_t){.reads = has_readers(self, h)};
    host->stalls = false;
    host->scale = 0;
    host->reports = 0;
    host->open_until = self->now + (host->boot == 0 ? plan->open_ns[h] : plan->reopen_ns[h]);
    for (uint32_t id = 0; id < plan->member_count; id++)
        if (self->actors[id].host == h)
            self->actors[id].started = false;
    if (plan->opens && host->barriers.reads) {
        say_opening(self, h);
        sim_agenda_put(&self->agenda, self->now + plan->report_ns, SIM_AT_OPEN, h, host->boot, 0);
        return;
    }
    tnd_barriers_open(&host->barriers);
    sim_start_follow(self, h);
}

/*  Some time of opening has passed. */
void sim_start_open(sim_t *self, uint32_t h, uint32_t boot)
{
    const sim_plan_t *plan = &self->plan;
    sim_host_t *host = &self->hosts[h];
    if (host->boot != boot || host->barriers.opened)
        return;
    if (plan->stalls == h && boot == 0 && host->reports == plan->stalls_after) {
        sim_say(self, "host %s stops reporting", self->host_names[h]);
        host->stalls = true;
        self->counts.stalls++;
        return;
    }
    self->progress_at = self->now;
    self->events_begin = self->events; /* meanwhile the others only ping */
    host->reports++;
    if (self->now < host->open_until) {
        sim_agenda_put(&self->agenda, self->now + plan->report_ns, SIM_AT_OPEN, h, boot, 0);
        say_opening(self, h);
        return;
    }
    self->counts.openings++;
    sim_say(self, "host %s has opened its data", self->host_names[h]);
    tnd_barriers_open(&host->barriers);
    sim_start_follow(self, h);
}

void sim_start_greet(sim_t *self, uint32_t h)
{
    tnd_barriers_greet(&self->hosts[h].barriers);
    say_opening(self, h);
    sim_start_follow(self, h);
}

void sim_start_move(sim_t *self, uint32_t h)
{
    tnd_barriers_move(&self->hosts[h].barriers);
    sim_start_follow(self, h);
}

void sim_start_again(sim_t *self, uint32_t h)
{
    sim_host_t *host = &self->hosts[h];
    host->generation = 0;
    host->table = NULL;
    if (!host->alive || !host->barriers.made)
        return;
    make_actors(self, h);
    for (uint32_t id = 0; id < self->plan.member_count; id++)
        if (self->actors[id].host == h && host->barriers.goes)
            sim_endpoints_go(self, id);
    sim_start_move(self, h);
}

void sim_start_told(sim_t *self, uint32_t h, const tnd_msg_t *msg)
{
    sim_host_t *host = &self->hosts[h];
    if (msg->kind == TND_MSG_STREAM) {
        (void)tnd_barriers_stream(&host->barriers);
    } else {
        tnd_table_use_t use = tnd_barriers_table(&host->barriers);
        if (use == TND_TABLE_IGNORED)
            return;
        if (msg->generation > host->generation)
            host->generation = msg->generation;
        sim_endpoints_take(self, h, msg->note.payload, use == TND_TABLE_GO);
    }
    sim_start_follow(self, h);
}

/* --- the leader ------------------------------------------------------------------------------- */

void sim_start_plan(sim_t *self)
{
    self->start = (tnd_run_start_t){.hosts = self->start_hosts, .host_count = self->plan.hosts};
    for (uint32_t h = 0; h < SIM_HOSTS; h++)
        self->start_hosts[h] =
            (tnd_run_start_host_t){.reads = has_readers(self, h), .spare = h == self->plan.spare};
}

static void tell(sim_t *self, tnd_audience_t audience, uint32_t host, tnd_msg_kind_t kind)
{
    for (uint32_t h = 0; h < self->plan.hosts; h++) {
        tnd_msg_t msg = {.kind = kind, .from = TND_LEADER, .to = SIM_HOST_ID + h};
        if (audience == TND_AUDIENCE_NONE || (audience == TND_AUDIENCE_HOST && h != host))
            continue;
        msg.generation = tnd_leader_core_generation(self->session);
        msg.note.payload = kind == TND_MSG_TABLE ? sim_endpoints_of(self, SIM_NONE) : NULL;
        sim_forward(self, h, &msg);
    }
}

static void count(sim_t *self, uint32_t h, tnd_count_t count)
{
    uint64_t now = sim_clock(self, 0);
    if (count == TND_COUNT_NOT)
        return;
    tnd_leader_core_host_up(self->session, h, now);
    for (uint32_t id = 0; id < self->plan.member_count && count == TND_COUNT_ACTORS; id++)
        if (self->actors[id].host == h)
            tnd_leader_core_actor_up(self->session, id, now);
    if (self->start_hosts[h].ready)
        sim_touches_greet(self, h);
}

static void enter_opening(sim_t *self, uint32_t h)
{
    char what[32];
    name_data(self, h, what);
    if (tnd_run_start_is_opening(&self->start, h))
        tnd_leader_core_host_opening(self->session, h, self->hosts[h].reported, what,
                                     sim_clock(self, 0));
}

void sim_start_enter(sim_t *self, uint32_t h, bool begins)
{
    if (begins) {
        tnd_run_start_process(&self->start, h);
        sim_endpoints_forget(self, h);
        self->hosts[h].reported = 0;
    }
    tnd_greeting_t greeting = tnd_run_start_greet(&self->start, h);
    if (greeting.streams)
        tell(self, TND_AUDIENCE_HOST, h, TND_MSG_STREAM);
    if (greeting.table)
        tell(self, TND_AUDIENCE_HOST, h, TND_MSG_TABLE);
    count(self, h, greeting.count);
    enter_opening(self, h);
}

void sim_start_next_chain(sim_t *self)
{
    uint64_t now = sim_clock(self, 0);
    tnd_run_start_next_chain(&self->start);
    for (uint32_t h = 0; h < self->plan.hosts; h++)
        if (self->hosts[h].presence.up)
            count(self, h, tnd_run_start_enter(&self->start, h));
    for (uint32_t h = 0; h < self->plan.hosts; h++)
        if (self->hosts[h].presence.up)
            enter_opening(self, h);
        else if (!tnd_leader_core_needs(self->session, h))
            tnd_leader_core_host_left(self->session, h, now);
}

void sim_leader_heard(sim_t *self, uint32_t h, const tnd_msg_t *msg)
{
    switch (msg->kind) {
    case TND_MSG_OPENING:
        self->hosts[h].reported = msg->note.number;
        enter_opening(self, h);
        break;
    case TND_MSG_FACTS:
        tnd_leader_core_host_opened(self->session, h, sim_clock(self, 0));
        tell(self, tnd_run_start_open(&self->start, h), h, TND_MSG_STREAM);
        break;
    case TND_MSG_ENDPOINTS: {
        bool moved = sim_endpoints_heard(self, h, msg->note.payload);
        tell(self, tnd_run_start_listen(&self->start, h, moved), h, TND_MSG_TABLE);
        break;
    }
    case TND_MSG_READY:
        count(self, h, tnd_run_start_ready(&self->start, h));
        break;
    case TND_MSG_ASK:
        sim_finish_heard(self, h, msg->note.number);
        break;
    case TND_MSG_TOUCH:
        sim_touches_heard(self, h, msg);
        break;
    case TND_MSG_HUNG:
        tnd_leader_core_actor_down(self->session, (tnd_actor_id_t)msg->note.number, "it was killed",
                                   sim_clock(self, 0));
        break;
    case TND_MSG_RESTARTED:
        tnd_leader_core_actor_up(self->session, (tnd_actor_id_t)msg->note.number,
                                 sim_clock(self, 0));
        break;
    default:
        break;
    }
}

bool sim_start_failed(const sim_t *self, const char *why)
{
    for (uint32_t h = 0; h < self->plan.hosts; h++) {
        char what[32];
        name_data(self, h, what);
        if (self->hosts[h].stalls && strstr(why, "no progress") && strstr(why, what))
            return true;
    }
    return false;
}
