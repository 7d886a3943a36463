/*  tests/sim/faults.c - what goes wrong, and when.
 *
 *  Most faults strike when the joins have received so many blocks, so that all of them strike in a
 *  run however fast it is; the others a short time after the one before, while it is being healed.
 */
#include "tests/sim/cluster.h"

static const uint64_t us = 1000, ms = 1000 * 1000;

/*  Much longer than a run. */
static const uint64_t for_ever_ns = UINT64_C(1) << 50;

static const struct {
    const char *name;
    uint32_t weight;
} kinds[SIM_FAULT_KINDS] = {
    [SIM_CUT_BOTH] = {"cut", 12},
    [SIM_CUT_ONE] = {"cut_one_side", 8},
    [SIM_HALF_OPEN] = {"half_open", 8},
    [SIM_DELAY] = {"delay", 10},
    [SIM_PAUSE] = {"pause", 10},
    [SIM_CRASH_WORKER] = {"crash_worker", 12},
    [SIM_CRASH_READER] = {"crash_reader", 6},
    [SIM_CRASH_JOIN] = {"crash_join", 6},
    [SIM_CRASH_REDUCER] = {"crash_reducer", 5},
    [SIM_CRASH_PROCESS] = {"crash_process", 5},
    [SIM_LEAVE] = {"leave", 4},
    [SIM_CLOCK_STEP] = {"clock_step", 5},
    [SIM_SLOW] = {"slow", 10},
    [SIM_CUT_CONTROL] = {"cut_control", 8},
    [SIM_DUPLICATE] = {"duplicate", 12},
    [SIM_WRITE_FAILS] = {"write_fails", 4},
    [SIM_ROGUE] = {"rogue_step", 0},
    [SIM_STRAGGLER] = {"straggler", 0},
    [SIM_CRASH_FEEDER] = {"crash_feeder", 0},
    [SIM_CRASH_LEADER] = {"crash_leader", 0},
    [SIM_STARVE] = {"starve", 0},
    [SIM_LONG_WORK] = {"long_work", 0},
    [SIM_LONG_DEATH] = {"long_death", 0},
    [SIM_LONG_STOP] = {"long_stop", 0},
    [SIM_CLOCK_BACK] = {"clock_back", 0},
    [SIM_LAST_DEATH] = {"last_death", 0},
    [SIM_FLAP] = {"flap", 0},
    [SIM_LATE_CONTROL] = {"late_control", 0},
    [SIM_BUSY] = {"busy", 0},
    [SIM_CRAWL] = {"crawl", 0},
    [SIM_LIAR] = {"liar", 0},
    [SIM_LAG] = {"lag", 0},
    [SIM_HIDDEN_LAG] = {"hidden_lag", 0},
    [SIM_STAYS_STOPPED] = {"stays_stopped", 0},
    [SIM_HANG] = {"hang", 0},
};

const char *sim_fault_name(sim_fault_kind_t kind)
{
    return kinds[kind].name;
}

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
    switch (sim_below(luck, end->known ? 5 : 2)) {
    case 0:
        hello->hello.life = lives[sim_below(luck, 4)];
        return true;
    case 1: {
        uint64_t *said[] = {&terms->graph[0], &terms->graph[1], &terms->schema, &terms->numeric};
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

/*  A HELLO that only its user tells apart from the peer's. */
static void tell_all(const tnd_end_t *end, tnd_msg_t *hello)
{
    hello->hello.life = end->life + 1;
    hello->hello.birth = end->life + 1;
    hello->hello.connection = 0;
    hello->hello.terms = end->config.terms;
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
        sim_agenda_put(&self->agenda, self->now + *lasts, SIM_AT_EARLY, SIM_FLAP, 0, 0);
    return strikes;
}

static void strike_soon(sim_t *self, uint64_t within_ns)
{
    self->fault_due = true;
    sim_agenda_put(&self->agenda, self->now + sim_below(&self->bad_luck, (uint32_t)within_ns),
                   SIM_AT_FAULT, self->fault_next, 0, 0);
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

static uint32_t any_actor(sim_t *self, tnd_role_t role)
{
    uint32_t found = SIM_NONE, seen = 0;
    for (uint32_t id = 0; id < self->plan.member_count; id++)
        if (self->actors[id].role == role && self->actors[id].alive && self->actors[id].started)
            if (sim_below(&self->bad_luck, ++seen) == 0)
                found = id;
    return found;
}

/*  One of the links between actors that are up, or of those between hosts. */
static uint32_t any_link(sim_t *self, bool control)
{
    uint32_t controls = self->plan.hosts - 1;
    uint32_t first = control ? 0 : controls,
             count = control ? controls : self->link_count - controls;
    for (uint32_t tries = 0; tries < 4 && count > 0; tries++) {
        uint32_t link = first + sim_below(&self->bad_luck, count);
        if (self->links[link].net != 0)
            return link;
    }
    return SIM_NONE;
}

/*  Whether both ends have the same connection, and nothing has cut it. */
static bool is_whole(const sim_link_t *link)
{
    return link->end[0].state == TND_END_OPEN && link->end[1].state == TND_END_OPEN &&
           link->bound == link->net && link->net > link->broken;
}

/*  Whether a host has had no control for so long that another cut, of an attempt to come back,
 *  could keep it away for dead_after. */
static bool is_long_away(const sim_t *self, uint32_t index)
{
    const sim_link_t *link = &self->links[index];
    const tnd_end_t *end = &link->end[0];
    return link->actor[0] == SIM_NONE && end->state != TND_END_OPEN &&
           sim_clock(self, link->host[0]) > end->away_ns + self->plan.dead_after_ns / 4;
}

/*  Whether a HELLO of that host's may still be under way on a path that is long. */
static bool has_long_path(const sim_t *self, uint32_t h)
{
    for (uint32_t i = 0; i < self->link_count; i++)
        if (self->links[i].host[0] == h && self->links[i].lag_since > 0 &&
            self->now < self->links[i].lag_until + self->links[i].lag_ns)
            return true;
    return false;
}

/*  A link is slow or has a lag, not both: a slow link records one transfer at a time. */
static bool has_hidden_lag(const sim_t *self, uint32_t link)
{
    return self->links[link].lag_is_hidden && self->now < self->links[link].lag_until;
}

bool sim_fault_hides_hello(const sim_t *self, uint32_t h)
{
    for (uint32_t i = 0; i < self->link_count; i++) {
        const sim_link_t *link = &self->links[i];
        if (link->host[0] == h && link->lag_is_hidden && self->now < link->lag_until + link->lag_ns)
            return true;
    }
    return false;
}

/*  A host whose process may die. */
static uint32_t any_soft_host(sim_t *self)
{
    uint32_t found = SIM_NONE, seen = 0;
    for (uint32_t h = 1; h < self->plan.hosts; h++)
        if (self->hosts[h].alive && sim_process_is_soft(self, h) &&
            sim_below(&self->bad_luck, ++seen) == 0)
            found = h;
    return found;
}

/*  A host with workers only: it may leave, and another may join in its place. */
static uint32_t any_worker_host(sim_t *self)
{
    uint32_t found = SIM_NONE, seen = 0;
    for (uint32_t h = 1; h < self->plan.hosts; h++) {
        bool works = self->hosts[h].alive && !self->hosts[h].paused;
        for (uint32_t id = 0; id < self->plan.member_count; id++)
            works =
                works && (self->actors[id].host != h || self->actors[id].role == TND_ROLE_WORKER);
        if (works && sim_below(&self->bad_luck, ++seen) == 0)
            found = h;
    }
    return found;
}

static void pause(sim_t *self, uint32_t h, uint64_t lasts)
{
    sim_host_t *host = &self->hosts[h];
    if (!host->paused) {
        host->paused_at = self->now;
        host->resume_at = host->starved_ns = host->starves = 0;
        host->control_at_stop = h > 0 ? self->links[host->control].net : 0;
    }
    host->paused = true;
    host->resume_at = host->resume_at > self->now + lasts ? host->resume_at : self->now + lasts;
    sim_agenda_put(&self->agenda, self->now + lasts, SIM_AT_RESUME, h, host->boot, 0);
}

/*  No process has a processor until then; some may have had none already. */
static void starve(sim_t *self, uint64_t until)
{
    uint64_t from = self->now > self->starved_until ? self->now : self->starved_until;
    if (until <= from)
        return;
    for (uint32_t h = 0; h < self->plan.hosts; h++) {
        self->hosts[h].starved_ns += until - from;
        self->hosts[h].starves++;
    }
    self->starved_until = until;
}

static tnd_role_t answers(sim_t *self)
{
    return self->plan.cached && sim_chance(&self->bad_luck, 60) ? TND_ROLE_CACHE : TND_ROLE_READER;
}

static bool strike(sim_t *self, sim_fault_kind_t kind, uint64_t *lasts)
{
    sim_random_t *luck = &self->bad_luck;
    uint32_t link, id, h;
    switch (kind) {
    case SIM_CUT_BOTH:
    case SIM_CUT_ONE:
    case SIM_HALF_OPEN:
    case SIM_CUT_CONTROL: {
        if ((link = any_link(self, kind == SIM_CUT_CONTROL)) == SIM_NONE ||
            is_long_away(self, link))
            return false;
        /* On a long path a host that is not told needs longer than `dead_after` to notice. */
        bool is_long = self->now < self->links[link].lag_until;
        uint32_t how = kind == SIM_CUT_CONTROL ? (is_long ? 3 : sim_below(luck, 4))
                       : kind == SIM_CUT_BOTH  ? 3
                       : kind == SIM_CUT_ONE   ? 1 + sim_below(luck, 2)
                                               : 0;
        uint32_t a = self->links[link].actor[0], b = self->links[link].actor[1];
        sim_say(self, "  between %s and %s, %s",
                sim_name(self, a == SIM_NONE ? SIM_HOST_ID + self->links[link].host[0] : a),
                sim_name(self, b == SIM_NONE ? SIM_HOST_ID : b),
                how == 3 ? "both are told"
                : how    ? "one is told"
                         : "no end is told");
        sim_link_break(self, link, how & 1, how & 2);
        *lasts = self->plan.link_timeout_ns;
        return true;
    }
    case SIM_DELAY:
        if ((link = any_link(self, sim_chance(luck, 15))) == SIM_NONE)
            return false;
        *lasts = sim_between(luck, 1000, 120000) * us;
        self->links[link].slow_until = self->now + *lasts;
        return true;
    case SIM_PAUSE:
        h = sim_below(luck, self->plan.hosts);
        if (!self->hosts[h].alive || self->hosts[h].paused)
            return false;
        *lasts = sim_chance(luck, 50)   ? sim_between(luck, 100, 20000) * us
                 : sim_chance(luck, 90) ? sim_between(luck, 20, 250) * ms
                                        : sim_between(luck, 250, 600) * ms;
        sim_say(self, "  of host %s", self->host_names[h]);
        pause(self, h, *lasts);
        self->hosts[h].keeps_links = sim_chance(luck, 50);
        return true;
    case SIM_STARVE:
        *lasts = sim_chance(luck, 60) ? sim_between(luck, 50, 500) * ms
                                      : sim_between(luck, 500, 5000) * ms;
        for (h = 0; h < self->plan.hosts; h++)
            if (self->hosts[h].alive) {
                pause(self, h, *lasts + sim_below(luck, 20 * 1000 * 1000));
                self->hosts[h].keeps_links = true;
            }
        *lasts += 20 * ms;
        starve(self, self->now + *lasts);
        return true;
    case SIM_LONG_STOP:
        if ((h = any_soft_host(self)) == SIM_NONE)
            return false;
        *lasts = self->plan.dead_after_ns + sim_between(luck, 50, 1500) * ms;
        sim_say(self, "  of host %s", self->host_names[h]);
        pause(self, h, *lasts);
        self->hosts[h].keeps_links = true;
        return true;
    case SIM_STAYS_STOPPED:
        /* One that has not worked yet is not judged, and start_timeout ends the run. */
        if (!self->plan.parents || (h = any_soft_host(self)) == SIM_NONE ||
            self->hosts[h].beat_ns == 0)
            return false;
        *lasts = 2 * self->plan.dead_after_ns;
        sim_say(self, "  of host %s", self->host_names[h]);
        pause(self, h, for_ever_ns);
        self->hosts[h].keeps_links = true;
        return true;
    case SIM_LONG_WORK:
        id = any_actor(self, sim_chance(luck, 70) ? TND_ROLE_WORKER : TND_ROLE_READER);
        if (id == SIM_NONE)
            return false;
        *lasts = sim_between(luck, 50, 500) * ms;
        self->actors[id].long_ns = *lasts;
        return true;
    case SIM_HANG:
        id = any_actor(self, sim_chance(luck, 70) ? TND_ROLE_WORKER : answers(self));
        if (id == SIM_NONE)
            return false;
        *lasts = 2 * SIM_HUNG_AFTER_NS;
        self->actors[id].long_ns = sim_chance(luck, 50)
                                       ? for_ever_ns
                                       : SIM_HUNG_AFTER_NS - sim_between(luck, 50, 250) * ms;
        if (sim_chance(luck, 60)) /* it works while all are stopped */
            sim_agenda_put(&self->agenda, self->now + sim_between(luck, 400, 640) * ms,
                           SIM_AT_EARLY, SIM_STARVE, 0, 0);
        for (uint32_t cuts = sim_below(luck, 4); cuts > 0; cuts--)
            sim_agenda_put(&self->agenda, self->now + SIM_HUNG_AFTER_NS - sim_below(luck, 60) * ms,
                           SIM_AT_EARLY, SIM_CUT_CONTROL, 0, 0);
        return true;
    case SIM_CRASH_WORKER:
    case SIM_CRASH_READER:
    case SIM_CRASH_JOIN:
    case SIM_CRASH_REDUCER:
        id = any_actor(self, kind == SIM_CRASH_WORKER   ? TND_ROLE_WORKER
                             : kind == SIM_CRASH_READER ? answers(self)
                             : kind == SIM_CRASH_JOIN   ? TND_ROLE_JOIN
                                                        : TND_ROLE_REDUCER);
        if (id == SIM_NONE || self->hosts[self->actors[id].host].paused)
            return false;
        sim_actor_crash(self, id);
        *lasts = 100 * ms;
        return true;
    case SIM_CRASH_PROCESS:
    case SIM_LONG_DEATH:
        if ((h = any_soft_host(self)) == SIM_NONE)
            return false;
        *lasts = kind == SIM_LONG_DEATH
                     ? self->plan.dead_after_ns + sim_between(luck, 200, 2500) * ms
                     : sim_between(luck, 1, 300) * ms;
        sim_process_dies(self, h, *lasts);
        return true;
    case SIM_LEAVE:
        if ((h = any_worker_host(self)) == SIM_NONE)
            return false;
        *lasts = sim_between(luck, 1, 300) * ms;
        tnd_run_leave(&self->run, h, sim_clock(self, 0));
        sim_process_dies(self, h, *lasts);
        return true;
    case SIM_CLOCK_STEP:
        h = sim_below(luck, self->plan.hosts);
        if (has_long_path(self, h))
            return false;
        self->hosts[h].stepped = true;
        self->hosts[h].clock += sim_between(luck, 1, 400) * ms;
        self->hosts[h].day -= (int64_t)(sim_hash(self->hosts[h].clock, h) % 3600000 * ms);
        return true;
    case SIM_SLOW:
        id = sim_below(luck, self->plan.member_count);
        *lasts = sim_between(luck, 1, 60) * ms;
        self->actors[id].slow_until = self->now + *lasts;
        return true;
    case SIM_DUPLICATE: {
        id = any_actor(self, TND_ROLE_JOIN);
        if (id == SIM_NONE || self->hosts[self->actors[id].host].paused)
            return false;
        sim_actor_t *join = &self->actors[id];
        uint32_t kept = join->ticket_count < SIM_TICKETS ? join->ticket_count : SIM_TICKETS;
        if (kept == 0)
            return false;
        /*  As if a reader had lost the worker of each: most are issued twice. */
        uint32_t first = sim_below(luck, kept);
        for (uint32_t i = first; i < kept; i++) {
            tnd_msg_t lost = join->tickets[i];
            lost.kind = TND_MSG_LOST;
            lost.from = lost.to;
            lost.to = id;
            tnd_order_lost(tnd_batcher_core_order(join->machine), &lost);
        }
        sim_actor_run(self, id);
        return true;
    }
    case SIM_WRITE_FAILS:
        self->write_fails = true;
        return true;
    case SIM_CRASH_FEEDER:
        id = any_actor(self, TND_ROLE_FEEDER);
        if (id == SIM_NONE || self->hosts[self->actors[id].host].paused)
            return false;
        self->feeder_dead = true;
        self->over = self->over || self->closing;
        sim_actor_crash(self, id);
        return true;
    case SIM_LAST_DEATH:
        id = any_actor(self, TND_ROLE_FEEDER);
        if (id == SIM_NONE || !self->closing || self->actors[id].host == 0)
            return false;
        self->last_death = true;
        *lasts = sim_between(luck, 1, 300) * ms;
        sim_process_dies(self, self->actors[id].host, *lasts);
        return true;
    case SIM_FLAP:
        return flap(self, lasts);
    case SIM_BUSY:
        /* One that has given up its connection and is not back yet; a cut besides looks like death.
         */
        h = self->busy_host;
        if (!self->hosts[h].alive || self->hosts[h].paused ||
            self->hosts[h].leader.absence.loss != TND_LOSS_SILENT ||
            self->links[self->hosts[h].control].end[0].state == TND_END_OPEN ||
            self->links[self->hosts[h].control].end[1].state == TND_END_OPEN ||
            self->links[self->hosts[h].control].broken == self->links[self->hosts[h].control].nets)
            return false;
        *lasts = sim_between(luck, 950, 1100) * ms;
        sim_say(self, "  of host %s", self->host_names[h]);
        pause(self, h, *lasts);
        self->hosts[h].keeps_links = true;
        return true;
    case SIM_LATE_CONTROL: {
        /* One whose connection has just been cut seems to have died if it is late as well. */
        if ((link = any_link(self, true)) == SIM_NONE || !is_whole(&self->links[link]) ||
            self->now < self->links[link].lag_until)
            return false;
        uint32_t side = sim_below(luck, 2);
        *lasts = sim_between(luck, 1, 1100) * ms;
        h = self->links[link].host[0];
        sim_say(self, "  of host %s, towards %s", self->host_names[h],
                side == 0 ? "it" : "the leader");
        self->links[link].held_until[side] = self->now + *lasts;
        /* Its machine is busy just when it has given up the silent connection. */
        if (side == 0 && sim_chance(luck, 50)) {
            self->busy_host = h;
            sim_agenda_put(&self->agenda,
                           self->now + self->plan.link_timeout_ns + sim_below(luck, 60000) * us,
                           SIM_AT_EARLY, SIM_BUSY, 0, 0);
        }
        return true;
    }
    case SIM_CRAWL:
        if ((link = any_link(self, false)) == SIM_NONE || has_hidden_lag(self, link))
            return false;
        *lasts = sim_between(luck, 300, 1500) * ms;
        self->links[link].crawls_until = self->now + *lasts;
        self->links[link].transfer_ns = self->plan.link_timeout_ns * sim_between(luck, 5, 40) / 10;
        return true;
    case SIM_LIAR: {
        tnd_msg_t hello;
        if ((link = any_link(self, sim_chance(luck, 40))) == SIM_NONE ||
            !lie(luck, &self->links[link].end[1], &hello))
            return false;
        sim_link_lie(self, link, &hello, false);
        tell_all(&self->links[link].end[1], &hello);
        sim_link_lie(self, link, &hello, true);
        sim_link_squat(self, link);
        return true;
    }
    case SIM_LAG:
    case SIM_HIDDEN_LAG: {
        if ((link = any_link(self, sim_chance(luck, 40))) == SIM_NONE)
            return false;
        sim_link_t *at = &self->links[link];
        if (kind == SIM_HIDDEN_LAG && self->now < at->crawls_until)
            return false;
        if (self->now < at->lag_until || (at->actor[0] == SIM_NONE && !is_whole(at)) ||
            self->hosts[at->host[0]].stepped)
            return false;
        *lasts = sim_between(luck, 500, 4000) * ms;
        at->lag_is_hidden = kind == SIM_HIDDEN_LAG;
        at->lag_side = sim_below(luck, 2);
        at->lag_ns = self->plan.link_timeout_ns * sim_between(luck, 5, 40) / 10;
        at->lag_since = self->now;
        at->lag_until = self->now + *lasts;
        return true;
    }
    case SIM_CRASH_LEADER:
        self->leader_dead = self->over = true;
        return true;
    default:
        return false;
    }
}

void sim_fault_early(sim_t *self, sim_fault_kind_t kind)
{
    uint64_t lasts = 0;
    sim_random_t luck = self->bad_luck;
    self->bad_luck = sim_random(sim_draw(&self->moments), 400);
    sim_say(self, "FAULT by time: %s", sim_fault_name(kind));
    if (strike(self, kind, &lasts)) {
        self->counts.faults[kind]++;
        if (self->now + lasts > self->faults_end)
            self->faults_end = self->now + lasts;
    }
    self->bad_luck = luck;
}

void sim_fault_moment(sim_t *self)
{
    if (self->plan.hosts > 1 && sim_chance(&self->moments, 20))
        sim_agenda_put(&self->agenda, self->now + sim_below(&self->moments, 500 * 1000),
                       SIM_AT_EARLY, SIM_CUT_CONTROL, 0, 0);
}

void sim_fault_last(sim_t *self)
{
    sim_random_t luck = sim_random(self->plan.seed, 700 + self->plan.session);
    if (sim_chance(&luck, 20))
        sim_agenda_put(&self->agenda, self->now + sim_below(&luck, 400 * 1000), SIM_AT_EARLY,
                       SIM_LAST_DEATH, 0, 0);
}

void sim_fault_strike(sim_t *self, uint32_t fault)
{
    const sim_plan_t *plan = &self->plan;
    self->fault_due = false;
    self->fault_next = fault + 1;
    sim_random_t drawn = sim_random(plan->seed, 1000 + 100 * plan->session + fault);
    self->bad_luck = drawn;
    sim_random_t *luck = &self->bad_luck;
    bool deadly = plan->death && fault + 1 == plan->faults;
    bool left_out = (self->fault_mask >> (fault + 32 * (plan->session & 1))) & 1;
    for (uint32_t tries = 0; tries < 8 && !left_out; tries++) {
        uint32_t kind = 0, sum = 0;
        for (uint32_t k = 0; k < SIM_FAULT_KINDS; k++)
            sum += kinds[k].weight;
        uint32_t at = sim_below(luck, sum);
        while (at >= kinds[kind].weight)
            at -= kinds[kind++].weight;
        if (deadly)
            kind = sim_chance(luck, 50) ? SIM_CRASH_FEEDER : SIM_CRASH_LEADER;
        uint64_t lasts = 0;
        sim_say(self, "FAULT %u: %s", fault, sim_fault_name((sim_fault_kind_t)kind));
        if (!strike(self, (sim_fault_kind_t)kind, &lasts))
            continue;
        self->counts.faults[kind]++;
        if (self->now + lasts > self->faults_end)
            self->faults_end = self->now + lasts;
        break;
    }
    sim_check_all(self);
    if (self->fault_next < plan->faults && sim_chance(luck, 35))
        strike_soon(self, sim_chance(luck, 50) ? 5 * ms : 2 * plan->link_timeout_ns);
}
