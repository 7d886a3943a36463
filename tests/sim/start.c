/*  tests/sim/start.c - the start, as the process of a host passes it (runtime/core/host/barriers.h).
 *
 *  In some runs hosts with readers open their data for long, and a process that is
 *  started again opens its data again while the run continues.  In some of these a host stops reporting
 *  and never opens its data: the run ends and names it. */
#include "tests/sim/cluster.h"

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

static void follow(sim_t *self, uint32_t h)
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
    host->barriers = (tnd_barriers_t){.reads = self->start_hosts[h].reads};
    host->stalls = false;
    host->scale = 0;
    host->reports = 0;
    host->open_until = self->now + (host->boot == 0 ? plan->open_ns[h] : plan->reopen_ns[h]);
    for (uint32_t id = 0; id < plan->member_count; id++)
        if (self->actors[id].host == h)
            self->actors[id].started = false;
    if (plan->opens && host->barriers.reads) {
        say_opening(self, h);
        sim_after(self, plan->report_ns, SIM_AT_OPEN, h, host->boot, 0);
        return;
    }
    tnd_barriers_open(&host->barriers);
    follow(self, h);
}

/*  Some time of opening has passed. */
void sim_start_open(sim_t *self, uint32_t h)
{
    const sim_plan_t *plan = &self->plan;
    sim_host_t *host = &self->hosts[h];
    if (host->barriers.opened)
        return;
    if (plan->stalls == h && host->boot == 0 && host->reports == plan->stalls_after) {
        sim_say(self, "host %s stops reporting", self->host_names[h]);
        host->stalls = true;
        self->counts.stalls++;
        return;
    }
    self->progress_at = self->now;
    self->events_begin = self->events; /* meanwhile the others only ping */
    host->reports++;
    if (self->now < host->open_until) {
        sim_after(self, plan->report_ns, SIM_AT_OPEN, h, host->boot, 0);
        say_opening(self, h);
        return;
    }
    self->counts.openings++;
    sim_say(self, "host %s has opened its data", self->host_names[h]);
    tnd_barriers_open(&host->barriers);
    follow(self, h);
}

void sim_start_greet(sim_t *self, uint32_t h)
{
    tnd_barriers_greet(&self->hosts[h].barriers);
    say_opening(self, h);
    follow(self, h);
}

void sim_start_move(sim_t *self, uint32_t h)
{
    tnd_barriers_move(&self->hosts[h].barriers);
    follow(self, h);
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
        host->generation = tnd_relay_generation(host->generation, msg->kind, msg->generation);
        sim_endpoints_take(self, h, msg->note.payload, use == TND_TABLE_GO);
    }
    follow(self, h);
}
