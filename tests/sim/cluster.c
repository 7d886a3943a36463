/*  tests/sim/cluster.c - one run: its sessions, their chains, and the loop over their events. */
#include "tests/sim/cluster.h"

#include <string.h>

tnd_life_t sim_life(const sim_t *self, uint32_t host)
{
    return (1ull << 60) + self->now + (uint64_t)self->hosts[host].day + self->lives;
}

static void name_members(sim_t *self)
{
    static const char *const names[SIM_HOSTS] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    const sim_plan_t *plan = &self->plan;
    for (uint32_t h = 0; h < SIM_HOSTS; h++) {
        self->host_names[h] = names[h];
        self->hosts[h].unread.first = SIM_NONE;
    }
    for (uint32_t id = 0; id < plan->member_count; id++) {
        self->actors[id].role = plan->members[id].role;
        self->actors[id].host = plan->members[id].host;
        self->actors[id].inbox.first = SIM_NONE;
    }
    for (uint32_t r = 0; r < plan->first_join; r++) {
        uint32_t lane = plan->members[r].lane;
        self->readers[lane][r % plan->readers] = r;
    }
    for (uint32_t l = 0; l < plan->lanes; l++) {
        self->joins[l] = plan->first_join + l;
        self->caches[l] = plan->first_cache + l;
    }
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
            bool after = plan->cached && plan->cache_first, before = plan->cached && !after;
            self->worker_joins[w][at] = before ? self->caches[l] : self->joins[l];
            for (uint32_t r = 0; r < (after ? 1 : plan->readers); r++) {
                at = self->worker_reader_count[w]++;
                self->worker_readers[w][at] = after ? self->caches[l] : self->readers[l][r];
                self->worker_reader_lanes[w][at] = l;
            }
        }
    }
}

static void begin(sim_t *self)
{
    const sim_plan_t *plan = &self->plan;
    self->now = 0;
    self->lives = 0;
    self->over = self->write_fails = self->closing = self->closed = self->follows = false;
    self->last_death = false;
    self->unwritten = 0;
    self->chain = 0;
    self->base = 0;
    self->session_at = TND_NEVER;
    self->progress_at = self->faults_end = self->starved_until = self->crossing_until = 0;
    self->packet_count = 0;
    self->packet_unused = SIM_NONE;
    self->booked = self->from.step;
    if (self->held != NULL)
        sim_parameters_begin(self);
    self->chance = sim_random(plan->seed, 100 + plan->session);
    self->bad_luck = sim_random(plan->seed, 200 + plan->session);
    self->sleep = sim_random(plan->seed, 1400 + plan->session);
    self->device_luck = sim_random(plan->seed, 1500 + plan->session);
    sim_agenda_clear(&self->agenda);
    memset(self->actors, 0, sizeof self->actors);
    memset(self->link_of, 0, sizeof self->link_of);
    for (uint32_t h = 0; h < SIM_HOSTS; h++) {
        sim_host_t *host = &self->hosts[h];
        sim_event_t *frozen = host->frozen;
        size_t room = host->frozen_room;
        *host = (sim_host_t){.frozen = frozen, .frozen_room = room};
        host->clock = sim_draw(&self->chance) % (1ull << 40);
    }
    name_members(self);
    self->counts.faults[SIM_STRAGGLER] += plan->straggler != UINT32_MAX;
    sim_validator_plan(self);
    sim_links_plan(self);
    sim_endpoints_plan(self);
    sim_leader_plan(self);
    for (uint32_t h = 1; h < plan->hosts; h++)
        sim_link_birth(self, self->hosts[h].control, 1, false);

    sim_leader_start(self);
    sim_leader_greet(self, 0, 1);
    for (uint32_t h = 0; h < plan->hosts; h++)
        sim_agenda_put(&self->agenda,
                       h == 0 ? 0
                              : sim_below(&self->chance, h == plan->spare ? 1000000000 : 5000000),
                       SIM_AT_BOOT, h, 0, 0);
    for (uint32_t h = 1; h < plan->hosts && plan->parents; h++)
        sim_agenda_put(&self->agenda, h * 1000, SIM_AT_PARENT, h, 0, 0);
    sim_agenda_put(&self->agenda, SIM_SCAN_NS, SIM_AT_SCAN, 0, 0, 0);
    sim_faults_plan(self);
    sim_touches_plan(self);
    sim_signals_plan(self);
}

/*  The actors of the first chain end, and those of the second begin. */
static void replace_actors(sim_t *self)
{
    const sim_plan_t *plan = &self->plan;
    for (uint32_t id = 0; id < plan->member_count; id++)
        sim_actor_dies(self, id);
    for (uint32_t id = 0; id < plan->member_count; id++) {
        sim_actor_t *actor = &self->actors[id];
        sim_actor_t next = {.role = actor->role, .host = actor->host, .inbox.first = SIM_NONE};
        memcpy(next.links, actor->links, sizeof next.links);
        next.link_count = actor->link_count;
        *actor = next;
    }
}

/*  The first chain is over, and the next begins on the same hosts: hosts that are up are entered,
 *  some have left just before, and hosts that are not needed are not waited for. */
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
    self->chain = 1;
    if (!plan->repeats)
        replace_actors(self);
    tnd_cursor_start(&self->from, plan->lanes);
    self->base = self->from.step = self->booked = plan->repeats ? self->booked : 0;
    self->progress_at = self->now;
    sim_leader_restart_due(self);
    sim_leader_start(self);
    for (uint32_t h = 0; h < plan->hosts && !plan->repeats; h++)
        sim_start_again(self, h);
    sim_leader_next_chain(self);
    sim_faults_plan(self);
    sim_touches_plan(self);
    sim_leader_run(self);
}

static void run_session(sim_t *self)
{
    sim_event_t event;
    begin(self);
    while (!self->over && !self->violation[0] && sim_agenda_take(&self->agenda, &event)) {
        self->now = event.at;
        self->events++;
        sim_happen(self, &event);
        if (self->follows && !self->over && !self->violation[0])
            begin_next(self);
    }
    if (self->violation[0])
        return;
    tnd_leader_core_state_t state = tnd_leader_core_state(self->run.session);
    if (state == TND_LEADER_CORE_FAILED && self->last_death &&
        strstr(tnd_leader_core_why(self->run.session), "the replicas that it carried")) {
        self->feeder_dead = true;
        return;
    }
    if (state == TND_LEADER_CORE_FAILED &&
        (sim_leader_names_stalled(self) || sim_finish_failed(self)))
        return;
    if (!self->leader_dead && state == TND_LEADER_CORE_FAILED && !self->feeder_dead)
        sim_violate(self, "the run failed: %s", tnd_leader_core_why(self->run.session));
    if (self->feeder_dead && state == TND_LEADER_CORE_FAILED &&
        tnd_leader_core_cause(self->run.session) != TND_LEADER_CORE_TOLD &&
        !strstr(tnd_leader_core_why(self->run.session), "feed.") &&
        !strstr(tnd_leader_core_why(self->run.session), "hold."))
        sim_violate(self, "a feeder died, but the run says: %s",
                    tnd_leader_core_why(self->run.session));
    if (state == TND_LEADER_CORE_DONE)
        sim_check_end(self);
}

/*  A failed assertion of the core ends the session. */
static void run_guarded(sim_t *self)
{
    self->escapes = true;
    if (sigsetjmp(self->escape, 0) == 0)
        run_session(self);
    self->escapes = false;
}

/*  Whether a run that ended well is resumed all the same, as a user may ask. */
static bool goes_on(const sim_t *self, uint32_t session)
{
    return self->plan.keep > 0 && session < SIM_SESSIONS && !self->rogue_found &&
           tnd_leader_core_state(self->run.session) == TND_LEADER_CORE_DONE &&
           sim_hash(self->plan.seed, 900 + session) % 100 < 30;
}

bool sim_run(sim_t *self, uint64_t seed, uint64_t fault_mask)
{
    self->violation[0] = 0;
    self->events = self->events_begin = self->blocks = 0;
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
    self->best = self->plan.judge;
    self->best_kept = 0;
    self->validation.made = TND_UNKNOWN;
    self->base = 0;
    self->ends_at = sim_validations_end(self);
    self->held = NULL;
    if (self->plan.dealt > 0)
        sim_parameters_make(self);
    sim_roster_run(self, seed);
    if (!self->violation[0])
        sim_resumptions_run(self, seed);
    if (!self->violation[0])
        sim_parameters_run(self, seed);
    if (!self->violation[0])
        run_guarded(self);
    for (uint32_t session = 1;
         !self->violation[0] && (self->leader_dead || self->feeder_dead || goes_on(self, session));
         session++) {
        tnd_error_t error;
        self->counts.again += !self->leader_dead && !self->feeder_dead;
        if (self->plan.keep > 0) {
            sim_checkpoint_killed(self, self->leader_dead);
            sim_checkpoint_resume(self);
        } else if (self->stored_bytes == 0)
            tnd_cursor_start(&self->from, self->plan.lanes);
        else if (tnd_cursor_decode(&self->from, self->stored, self->stored_bytes, &error) != TND_OK)
            sim_violate(self, "the stored cursor cannot be read: %s", error.text);
        self->leader_dead = self->feeder_dead = false;
        sim_plan_draw(&self->plan, seed, session);
        run_guarded(self);
    }
    self->counts.events += self->events;
    self->counts.blocks += self->blocks;
    return self->violation[0] == 0;
}
