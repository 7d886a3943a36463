/*  tests/sim/faults.c - what goes wrong.
 *
 *  Most faults strike when the joins have received so many blocks, so that all of them strike in a
 *  run however fast it is; the others a short time after the one before, while it is being healed.
 */
#include "runtime/core/lane/suspects.h"
#include "tests/sim/cluster.h"

static const uint64_t us = 1000, ms = 1000 * 1000;

/*  Much longer than a run. */
static const uint64_t for_ever_ns = UINT64_C(1) << 50;

static const struct {
    const char *name;
    uint32_t weight;
} kinds[SIM_FAULT_KINDS] = {
#define SIM_FAULT(kind, name, weight) [SIM_##kind] = {name, weight},
#include "tests/sim/fault_kinds.def"
#undef SIM_FAULT
};

const char *sim_fault_name(sim_fault_kind_t kind)
{
    return kinds[kind].name;
}

/* --- what it strikes -------------------------------------------------------------------------- */

static uint32_t any_actor(sim_t *self, tnd_role_t role)
{
    uint32_t found = SIM_NONE, seen = 0;
    for (uint32_t id = 0; id < self->plan.member_count; id++)
        if (self->actors[id].role == role && self->actors[id].alive && self->actors[id].started)
            if (sim_below(&self->bad_luck, ++seen) == 0)
                found = id;
    return found;
}

static uint32_t any_host(sim_t *self, bool (*fits)(const sim_t *, uint32_t))
{
    uint32_t found = SIM_NONE, seen = 0;
    for (uint32_t h = 1; h < self->plan.hosts; h++)
        if (self->hosts[h].alive && fits(self, h) && sim_below(&self->bad_luck, ++seen) == 0)
            found = h;
    return found;
}

/*  A host with workers only may leave, and another may join in its place. */
static bool may_leave(const sim_t *self, uint32_t h)
{
    bool works = !self->hosts[h].paused;
    for (uint32_t id = 0; id < self->plan.member_count; id++)
        works = works && (self->actors[id].host != h || self->actors[id].role == TND_ROLE_WORKER);
    return works;
}

/*  One of the links between actors that are up, or of those between hosts. */
static uint32_t any_link(sim_t *self, bool control)
{
    uint32_t controls = self->plan.hosts - 1, first = control ? 0 : controls;
    uint32_t count = control ? controls : self->link_count - controls;
    for (uint32_t tries = 0; tries < 4 && count > 0; tries++) {
        uint32_t link = first + sim_below(&self->bad_luck, count);
        if (self->links[link].net != 0)
            return link;
    }
    return SIM_NONE;
}

/*  What answers tickets. */
static tnd_role_t answers(sim_t *self)
{
    return self->plan.cached && sim_chance(&self->bad_luck, 60) ? TND_ROLE_CACHE : TND_ROLE_READER;
}

/* --- connections ------------------------------------------------------------------------------ */

/*  Whether both ends have the same connection, and nothing has cut it. */
static bool is_whole(const sim_link_t *link)
{
    return link->end[0].state == TND_END_OPEN && link->end[1].state == TND_END_OPEN &&
           link->bound == link->net && link->net > link->broken;
}

/*  Whether a host has had no control for so long that another cut, of an attempt to come back,
 *  could keep it away for dead_after. */
static bool is_long_away(const sim_t *self, const sim_link_t *link)
{
    return link->actor[0] == SIM_NONE && link->end[0].state != TND_END_OPEN &&
           sim_clock(self, link->host[0]) > link->end[0].away_ns + self->plan.dead_after_ns / 4;
}

static bool cut(sim_t *self, sim_fault_kind_t kind)
{
    sim_random_t *luck = &self->bad_luck;
    uint32_t index = any_link(self, kind == SIM_CUT_CONTROL);
    if (index == SIM_NONE || is_long_away(self, &self->links[index]))
        return false;
    const sim_link_t *link = &self->links[index];
    /* On a long path a host that is not told needs longer than `dead_after` to notice. */
    bool is_long = self->now < link->lag_until;
    uint32_t how = kind == SIM_CUT_CONTROL ? (is_long ? 3 : sim_below(luck, 4))
                   : kind == SIM_CUT_BOTH  ? 3
                   : kind == SIM_CUT_ONE   ? 1 + sim_below(luck, 2)
                                           : 0;
    bool by_control = link->actor[0] == SIM_NONE;
    sim_say(self, "  between %s and %s; told: %s",
            sim_name(self, by_control ? SIM_HOST_ID + link->host[0] : link->actor[0]),
            sim_name(self, by_control ? SIM_HOST_ID : link->actor[1]),
            ((const char *[]){"none", "the first", "the second", "both"})[how]);
    sim_link_break(self, index, how & 1, how & 2);
    return true;
}

static bool flap(sim_t *self, uint64_t *lasts)
{
    sim_random_t *luck = &self->bad_luck;
    sim_actor_t *worker = &self->actors[self->plan.flapper];
    bool strikes = worker->busy && sim_chance(luck, 85), all = sim_chance(luck, 70);
    uint32_t one = sim_below(luck, worker->link_count);
    *lasts = sim_between(luck, 1, 3) * ms;
    for (uint32_t i = 0; i < worker->link_count && strikes; i++)
        if (all || i == one)
            sim_link_break(self, worker->links[i], true, true);
    worker->long_ns = *lasts + 3 * ms;
    self->flaps_left -= strikes;
    if (self->flaps_left > 0)
        sim_fault_after(self, *lasts, SIM_FLAP);
    return strikes;
}

static bool delay_control(sim_t *self, uint64_t lasts)
{
    sim_random_t *luck = &self->bad_luck;
    uint32_t index = any_link(self, true), side = sim_below(luck, 2);
    if (index == SIM_NONE)
        return false;
    sim_link_t *link = &self->links[index];
    /* One whose connection has just been cut seems to have died if it is late as well. */
    if (!is_whole(link) || self->now < link->lag_until)
        return false;
    sim_say(self, "  of host %s, towards %s", self->host_names[link->host[0]],
            side == 0 ? "it" : "the leader");
    link->held_until[side] = self->now + lasts;
    if (side == 1 || sim_chance(luck, 50))
        return true;
    /* Its machine is busy just when it has given up the silent connection. */
    self->busy_host = link->host[0];
    sim_fault_after(self, self->plan.link_timeout_ns + sim_below(luck, 60000) * us, SIM_BUSY);
    return true;
}

/*  A link is slow or has a hidden lag, not both: a slow link records one transfer at a time. */
static bool crawl(sim_t *self, uint64_t lasts)
{
    uint32_t index = any_link(self, false);
    if (index == SIM_NONE)
        return false;
    sim_link_t *link = &self->links[index];
    if (link->lag_is_hidden && self->now < link->lag_until)
        return false;
    link->crawls_until = self->now + lasts;
    link->transfer_ns = self->plan.link_timeout_ns * sim_between(&self->bad_luck, 5, 40) / 10;
    return true;
}

static bool lag(sim_t *self, bool hidden, uint64_t lasts)
{
    sim_random_t *luck = &self->bad_luck;
    uint32_t index = any_link(self, sim_chance(luck, 40));
    if (index == SIM_NONE)
        return false;
    sim_link_t *link = &self->links[index];
    if ((hidden && self->now < link->crawls_until) || self->now < link->lag_until ||
        (link->actor[0] == SIM_NONE && !is_whole(link)) || self->hosts[link->host[0]].stepped)
        return false;
    link->lag_is_hidden = hidden;
    link->lag_side = sim_below(luck, 2);
    link->lag_ns = self->plan.link_timeout_ns * sim_between(luck, 5, 40) / 10;
    link->lag_since = self->now;
    link->lag_until = self->now + lasts;
    return true;
}

/*  Whether a HELLO of that host's may still be under way on a path that is long. */
static bool has_long_path(const sim_t *self, uint32_t h)
{
    for (uint32_t i = 0; i < self->link_count; i++) {
        const sim_link_t *link = &self->links[i];
        if (link->host[0] == h && link->lag_since > 0 && self->now < link->lag_until + link->lag_ns)
            return true;
    }
    return false;
}

/* --- strangers -------------------------------------------------------------------------------- */

/*  Draws a HELLO that cannot be of the peer that it names, as far as a listener can know: one of a
 *  later life, with the right terms, can only be told apart by its user or by keys. */
static bool lie(sim_random_t *luck, const tnd_end_t *end, tnd_msg_t *hello)
{
    static const uint64_t lives[] = {0, 1ull << 63, UINT64_MAX - 1, UINT64_MAX};
    static const uint32_t connections[] = {0, 1, UINT32_MAX - 1, UINT32_MAX};
    tnd_terms_t *terms = &hello->hello.terms;
    *hello = (tnd_msg_t){.kind = TND_MSG_HELLO, .from = end->config.peer, .to = end->config.self};
    hello->hello.life = end->life + 1;
    hello->hello.birth = lives[sim_below(luck, 4)];
    hello->hello.connection = connections[sim_below(luck, 4)];
    *terms = end->config.terms;
    uint64_t *said[] = {&terms->graph[0], &terms->graph[1], &terms->schema, &terms->numeric};
    switch (sim_below(luck, end->known ? 5 : 2)) {
    case 0:
        hello->hello.life = lives[sim_below(luck, 4)];
        return true;
    case 1: {
        uint64_t *one = said[sim_below(luck, 4)];
        *one = sim_chance(luck, 50) ? *one + 1 : lives[sim_below(luck, 4)];
        terms->abi += sim_below(luck, 2);
        return true;
    }
    case 2:
        hello->hello.life = 1;
        return end->life > 1;
    case 3:
        hello->hello.life = end->life - 1;
        return end->life > 1;
    default:
        hello->hello.life = end->life;
        hello->hello.connection = sim_chance(luck, 50) ? 0 : end->connection;
        return true;
    }
}

static bool lie_to(sim_t *self, uint32_t link)
{
    tnd_msg_t hello;
    if (link == SIM_NONE || !lie(&self->bad_luck, &self->links[link].end[1], &hello))
        return false;
    sim_link_lie(self, link, &hello, false);
    /* One that only its user tells apart from the peer's. */
    const tnd_end_t *end = &self->links[link].end[1];
    hello.hello.life = hello.hello.birth = end->life + 1;
    hello.hello.connection = 0;
    hello.hello.terms = end->config.terms;
    sim_link_lie(self, link, &hello, true);
    sim_link_squat(self, link);
    return true;
}

/* --- processes and hooks ---------------------------------------------------------------------- */

/*  Stops the process of a host for a while. */
static bool stop(sim_t *self, uint32_t h, uint64_t lasts, bool keeps_links)
{
    if (h == SIM_NONE)
        return false;
    sim_host_t *host = &self->hosts[h];
    sim_say(self, "  of host %s", self->host_names[h]);
    if (!host->paused) {
        host->paused_at = self->now;
        host->resume_at = host->starved_ns = host->starves = 0;
        host->control_at_stop = h > 0 ? self->links[host->control].net : 0;
    }
    host->paused = true;
    host->keeps_links = keeps_links;
    host->resume_at = host->resume_at > self->now + lasts ? host->resume_at : self->now + lasts;
    sim_after(self, lasts, SIM_AT_RESUME, h, host->boot, 0);
    return true;
}

static bool pause(sim_t *self, uint32_t h, uint64_t *lasts)
{
    sim_random_t *luck = &self->bad_luck;
    if (!self->hosts[h].alive || self->hosts[h].paused)
        return false;
    *lasts = sim_chance(luck, 50)   ? sim_between(luck, 100, 20000) * us
             : sim_chance(luck, 90) ? sim_between(luck, 20, 250) * ms
                                    : sim_between(luck, 250, 600) * ms;
    return stop(self, h, *lasts, sim_chance(luck, 50));
}

/*  No process has a processor for a while; some may have had none already. */
static bool starve(sim_t *self, uint64_t *lasts)
{
    sim_random_t *luck = &self->bad_luck;
    *lasts =
        sim_chance(luck, 60) ? sim_between(luck, 50, 500) * ms : sim_between(luck, 500, 5000) * ms;
    for (uint32_t h = 0; h < self->plan.hosts; h++)
        if (self->hosts[h].alive)
            (void)stop(self, h, *lasts + sim_below(luck, 20 * 1000 * 1000), true);
    *lasts += 20 * ms;
    uint64_t from = self->now > self->starved_until ? self->now : self->starved_until;
    uint64_t until = self->now + *lasts;
    for (uint32_t h = 0; h < self->plan.hosts && until > from; h++) {
        self->hosts[h].starved_ns += until - from;
        self->hosts[h].starves++;
    }
    self->starved_until = until > from ? until : self->starved_until;
    return true;
}

/*  A host that has given up its connection and is not back yet; a cut besides looks like death. */
static bool is_between_connections(const sim_t *self, uint32_t h)
{
    const sim_host_t *host = &self->hosts[h];
    const sim_link_t *link = &self->links[host->control];
    return host->alive && !host->paused && host->leader.absence.loss == TND_LOSS_SILENT &&
           link->end[0].state != TND_END_OPEN && link->end[1].state != TND_END_OPEN &&
           link->broken != link->nets;
}

/*  Whether a row would be blamed for the death of that worker: so many workers died with it. */
static bool blames_row(const sim_actor_t *actor)
{
    return actor->role == TND_ROLE_WORKER && actor->busy &&
           actor->work.msg.block.attempt >= TND_FAILURES_MAX;
}

static bool crash(sim_t *self, tnd_role_t role)
{
    uint32_t id = any_actor(self, role);
    if (id == SIM_NONE || self->hosts[self->actors[id].host].paused ||
        blames_row(&self->actors[id]))
        return false;
    if (role == TND_ROLE_FEEDER || role == TND_ROLE_PARAMETERS) {
        self->feeder_dead = true;
        self->over = self->over || self->closing;
    }
    sim_actor_crash(self, id);
    return true;
}

static bool may_die(const sim_t *self, uint32_t h)
{
    bool may = h != SIM_NONE;
    for (uint32_t id = 0; id < self->plan.member_count; id++)
        may = may && (self->actors[id].host != h || !blames_row(&self->actors[id]));
    return may;
}

static bool kill_process(sim_t *self, uint32_t h, uint64_t back_ns)
{
    if (!may_die(self, h))
        return false;
    sim_process_dies(self, h, back_ns);
    return true;
}

static bool leave(sim_t *self, uint32_t h, uint64_t back_ns)
{
    if (!may_die(self, h))
        return false;
    tnd_run_leave(&self->run, h, sim_clock(self, 0));
    return kill_process(self, h, back_ns);
}

static bool end_with_feeder(sim_t *self, uint64_t back_ns)
{
    uint32_t id = any_actor(self, TND_ROLE_FEEDER);
    if (id == SIM_NONE || !self->closing || self->actors[id].host == 0 ||
        !may_die(self, self->actors[id].host))
        return false;
    self->last_death = true;
    return kill_process(self, self->actors[id].host, back_ns);
}

static bool step_clock(sim_t *self, uint32_t h)
{
    sim_host_t *host = &self->hosts[h];
    if (has_long_path(self, h))
        return false;
    host->stepped = true;
    host->clock += sim_between(&self->bad_luck, 1, 400) * ms;
    host->day -= (int64_t)(sim_hash(host->clock, h) % 3600000 * ms);
    return true;
}

/*  The next work of an actor takes so much longer. */
static bool work_long(sim_t *self, tnd_role_t role, uint64_t ns)
{
    uint32_t id = any_actor(self, role);
    if (id != SIM_NONE)
        self->actors[id].long_ns = ns;
    return id != SIM_NONE;
}

static bool hang(sim_t *self)
{
    sim_random_t *luck = &self->bad_luck;
    tnd_role_t role = sim_chance(luck, 70) ? TND_ROLE_WORKER : answers(self);
    uint64_t almost = SIM_HUNG_AFTER_NS - sim_between(luck, 50, 250) * ms;
    if (!work_long(self, role, sim_chance(luck, 50) ? for_ever_ns : almost))
        return false;
    if (sim_chance(luck, 60)) /* it works while all are stopped */
        sim_fault_after(self, sim_between(luck, 400, 640) * ms, SIM_STARVE);
    for (uint32_t cuts = sim_below(luck, 4); cuts > 0; cuts--)
        sim_fault_after(self, SIM_HUNG_AFTER_NS - sim_below(luck, 60) * ms, SIM_CUT_CONTROL);
    return true;
}

/*  As if a reader had lost the worker of each ticket: most are issued twice. */
static bool duplicate(sim_t *self)
{
    uint32_t id = any_actor(self, TND_ROLE_JOIN);
    if (id == SIM_NONE || self->hosts[self->actors[id].host].paused)
        return false;
    sim_actor_t *join = &self->actors[id];
    uint32_t kept = join->ticket_count < SIM_TICKETS ? join->ticket_count : SIM_TICKETS;
    for (uint32_t i = kept > 0 ? sim_below(&self->bad_luck, kept) : 0; i < kept; i++) {
        tnd_msg_t lost = join->tickets[i];
        lost.kind = TND_MSG_LOST;
        lost.from = lost.to;
        lost.to = id;
        tnd_order_lost(tnd_batcher_core_order(join->machine), &lost);
    }
    if (kept > 0)
        sim_actor_run(self, id);
    return kept > 0;
}

/* --- strikes ---------------------------------------------------------------------------------- */

static bool strike(sim_t *self, sim_fault_kind_t kind, uint64_t *lasts)
{
    const sim_plan_t *plan = &self->plan;
    sim_random_t *luck = &self->bad_luck;
    uint32_t h = sim_below(luck, plan->hosts), index;
    switch (kind) {
    case SIM_CUT_BOTH:
    case SIM_CUT_ONE:
    case SIM_HALF_OPEN:
    case SIM_CUT_CONTROL:
        *lasts = plan->link_timeout_ns;
        return cut(self, kind);
    case SIM_DELAY:
        *lasts = sim_between(luck, 1000, 120000) * us;
        index = any_link(self, sim_chance(luck, 15));
        if (index != SIM_NONE)
            self->links[index].slow_until = self->now + *lasts;
        return index != SIM_NONE;
    case SIM_FLAP:
        return flap(self, lasts);
    case SIM_LATE_CONTROL:
        *lasts = sim_between(luck, 1, 1100) * ms;
        return delay_control(self, *lasts);
    case SIM_CRAWL:
        *lasts = sim_between(luck, 300, 1500) * ms;
        return crawl(self, *lasts);
    case SIM_LAG:
    case SIM_HIDDEN_LAG:
        *lasts = sim_between(luck, 500, 4000) * ms;
        return lag(self, kind == SIM_HIDDEN_LAG, *lasts);
    case SIM_LIAR:
        return lie_to(self, any_link(self, sim_chance(luck, 40)));
    case SIM_PAUSE:
        return pause(self, h, lasts);
    case SIM_STARVE:
        return starve(self, lasts);
    case SIM_LONG_STOP:
        *lasts = plan->dead_after_ns + sim_between(luck, 50, 1500) * ms;
        return stop(self, any_host(self, sim_process_is_soft), *lasts, true);
    case SIM_STAYS_STOPPED:
        /* One that has not worked yet is not judged, and start_timeout ends the run. */
        *lasts = 2 * plan->dead_after_ns;
        h = plan->parents ? any_host(self, sim_process_is_soft) : SIM_NONE;
        return h != SIM_NONE && self->hosts[h].beat_ns > 0 && stop(self, h, for_ever_ns, true);
    case SIM_BUSY:
        *lasts = sim_between(luck, 950, 1100) * ms;
        return is_between_connections(self, self->busy_host) &&
               stop(self, self->busy_host, *lasts, true);
    case SIM_LONG_WORK:
        *lasts = sim_between(luck, 50, 500) * ms;
        return work_long(self, sim_chance(luck, 70) ? TND_ROLE_WORKER : TND_ROLE_READER, *lasts);
    case SIM_HANG:
        *lasts = 2 * SIM_HUNG_AFTER_NS;
        return hang(self);
    case SIM_CRASH_WORKER:
    case SIM_CRASH_READER:
    case SIM_CRASH_JOIN:
    case SIM_CRASH_REDUCER:
        *lasts = 100 * ms;
        return crash(self, kind == SIM_CRASH_WORKER   ? TND_ROLE_WORKER
                           : kind == SIM_CRASH_READER ? answers(self)
                           : kind == SIM_CRASH_JOIN   ? TND_ROLE_JOIN
                                                      : TND_ROLE_REDUCER);
    case SIM_CRASH_FEEDER:
        return crash(self, plan->dealt == 0       ? TND_ROLE_FEEDER
                           : sim_chance(luck, 50) ? TND_ROLE_REPLICA
                                                  : TND_ROLE_PARAMETERS);
    case SIM_CRASH_PROCESS:
        *lasts = sim_between(luck, 1, 300) * ms;
        return kill_process(self, any_host(self, sim_process_is_soft), *lasts);
    case SIM_LONG_DEATH:
        /* One that is stopped would be away for longer than the leader waits for it. */
        *lasts = plan->dead_after_ns + sim_between(luck, 200, 2500) * ms;
        h = any_host(self, sim_process_is_soft);
        return h != SIM_NONE && !self->hosts[h].paused && kill_process(self, h, *lasts);
    case SIM_LEAVE:
        *lasts = sim_between(luck, 1, 300) * ms;
        return leave(self, any_host(self, may_leave), *lasts);
    case SIM_LAST_DEATH:
        *lasts = sim_between(luck, 1, 300) * ms;
        return end_with_feeder(self, *lasts);
    case SIM_CRASH_LEADER:
        self->leader_dead = self->over = true;
        return true;
    case SIM_CLOCK_STEP:
        return step_clock(self, h);
    case SIM_SLOW:
        *lasts = sim_between(luck, 1, 60) * ms;
        self->actors[sim_below(luck, plan->member_count)].slow_until = self->now + *lasts;
        return true;
    case SIM_DUPLICATE:
        return duplicate(self);
    case SIM_WRITE_FAILS:
        self->write_fails = true;
        return true;
    default:
        return false;
    }
}

static bool try(sim_t *self, sim_fault_kind_t kind)
{
    uint64_t lasts = 0;
    if (!strike(self, kind, &lasts))
        return false;
    self->counts.faults[kind]++;
    if (self->now + lasts > self->faults_end)
        self->faults_end = self->now + lasts;
    return true;
}

void sim_fault_early(sim_t *self, uint32_t which)
{
    sim_fault_kind_t kind = (sim_fault_kind_t)which;
    sim_random_t luck = self->bad_luck;
    self->bad_luck = sim_random(sim_draw(&self->moments), 400);
    sim_say(self, "FAULT by time: %s", sim_fault_name(kind));
    (void)try(self, kind);
    self->bad_luck = luck;
}

static void strike_soon(sim_t *self, uint64_t within_ns)
{
    self->fault_due = true;
    sim_after(self, sim_below(&self->bad_luck, (uint32_t)within_ns), SIM_AT_FAULT, self->fault_next,
              0, 0);
}

/*  A join has received a block. */
void sim_faults_block(sim_t *self)
{
    if (self->blocks >= self->drain_at)
        sim_touch_drain(self);
    if (!self->fault_due && self->fault_next < self->plan.faults &&
        self->blocks >= self->fault_at_blocks[self->fault_next])
        strike_soon(self, ms / 2);
}

static sim_fault_kind_t draw_kind(sim_random_t *luck)
{
    uint32_t kind = 0, sum = 0;
    for (uint32_t k = 0; k < SIM_FAULT_KINDS; k++)
        sum += kinds[k].weight;
    uint32_t at = sim_below(luck, sum);
    while (at >= kinds[kind].weight)
        at -= kinds[kind++].weight;
    return (sim_fault_kind_t)kind;
}

void sim_fault_strike(sim_t *self, uint32_t fault)
{
    const sim_plan_t *plan = &self->plan;
    sim_random_t *luck = &self->bad_luck;
    self->fault_due = false;
    self->fault_next = fault + 1;
    *luck = sim_random(plan->seed, 1000 + 100 * plan->session + fault);
    bool deadly = plan->death && fault + 1 == plan->faults;
    bool struck = (self->fault_mask >> (fault + 32 * (plan->session & 1))) & 1; /* it is left out */
    for (uint32_t tries = 0; tries < 8 && !struck; tries++) {
        sim_fault_kind_t kind = draw_kind(luck);
        if (deadly)
            kind = sim_chance(luck, 50) ? SIM_CRASH_FEEDER : SIM_CRASH_LEADER;
        sim_say(self, "FAULT %u: %s", fault, sim_fault_name(kind));
        struck = try(self, kind);
    }
    sim_check_all(self);
    if (self->fault_next < plan->faults && sim_chance(luck, 35))
        strike_soon(self, sim_chance(luck, 50) ? 5 * ms : 2 * plan->link_timeout_ns);
}
