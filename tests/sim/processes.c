/*  tests/sim/processes.c - processes of hosts: start, tick, pause, resume, death. */
#include <inttypes.h>

#include <stdlib.h>

#include "runtime/base/allocation.h"
#include "tests/sim/cluster.h"

/*  As runtime/host/host.c: control that looks much too late was away, or its clock has jumped, and
 *  the messages of that time are still unread. */
void sim_process_look(sim_t *self, uint32_t h)
{
    sim_host_t *host = &self->hosts[h];
    uint64_t now = sim_clock(self, h);
    if (now >= host->expected_ns + self->plan.link_timeout_ns / 4) {
        uint64_t away = now - host->expected_ns;
        tnd_leader_presence_excuse(&host->leader, away, now);
        if (h == 0)
            tnd_run_excuse(&self->run, away, now);
    }
    host->expected_ns = now + self->plan.link_timeout_ns / 8;
}

void sim_process_tick(sim_t *self, uint32_t h)
{
    const sim_plan_t *plan = &self->plan;
    self->hosts[h].beat_ns = self->now;
    for (uint32_t id = 0; id < plan->member_count; id++) {
        sim_actor_t *actor = &self->actors[id];
        if (actor->host != h || !actor->alive)
            continue;
        if (!sim_actor_away(actor))
            sim_validator_confirm(self, id);
        sim_links_tick(self, id);
    }
    sim_lives_tick(self, h);
    sim_signals_follow(self, h);
    if (h > 0)
        sim_link_tick(self, self->hosts[h].control, 0);
    /* A host ends without its leader, which lives as long as the session here. */
    if (tnd_leader_presence_is_over(&self->hosts[h].leader, false, sim_clock(self, h)))
        sim_violate(self,
                    "host %s gives up its leader, which lives, %" PRIu64 " ms after it was lost",
                    self->host_names[h], ((self->now - self->hosts[h].leader_lost_at) / 1000000));
    for (uint32_t other = 1; h == 0 && other < plan->hosts; other++)
        sim_link_tick(self, self->hosts[other].control, 1);
    if (h == 0)
        sim_leader_lose(self);
    sim_after(self, plan->link_timeout_ns / 8, SIM_AT_TICK, h, self->hosts[h].boot, 0);
}

bool sim_process_is_soft(const sim_t *self, uint32_t h)
{
    bool soft = h > 0;
    uint32_t end;
    for (uint32_t id = sim_plan_committers(&self->plan, &end); id < end; id++)
        soft = soft && self->actors[id].host != h;
    return soft;
}

void sim_process_look_after(sim_t *self, uint32_t h)
{
    const sim_plan_t *plan = &self->plan;
    sim_host_t *host = &self->hosts[h];
    uint64_t every = plan->dead_after_ns / 8, lag = 0;
    if (self->now < self->starved_until) {
        sim_agenda_put(&self->agenda, self->starved_until, SIM_AT_PARENT, h, 0, 0);
        return;
    }
    uint64_t silent =
        tnd_heartbeat_look(&host->heartbeat, host->alive ? host->beat_ns : 0, every, self->now);
    if (host->alive && sim_process_is_soft(self, h) &&
        silent >= tnd_heartbeat_limit(plan->link_timeout_ns, plan->dead_after_ns)) {
        /* Of each time without a processor the parent does not see what passes before its next look. */
        if (!host->paused || self->now + host->starves * every <
                                 host->paused_at + host->starved_ns + plan->dead_after_ns)
            sim_violate(self, "host %s is replaced, although it works", self->host_names[h]);
        sim_say(self, "host %s stays stopped, and its parent kills it", self->host_names[h]);
        self->counts.replaced++;
        lag = sim_hash(plan->seed + host->life, h) % 100 * 1000 * 1000;
        sim_process_dies(self, h, 1000 * 1000 + lag);
    }
    sim_after(self, every, SIM_AT_PARENT, h, 0, 0);
}

void sim_process_boot(sim_t *self, uint32_t h)
{
    sim_host_t *host = &self->hosts[h];
    if (self->now < self->starved_until) {
        sim_agenda_put(&self->agenda, self->starved_until, SIM_AT_BOOT, h, 0, 0);
        return;
    }
    host->alive = true;
    host->life = ++self->lives;
    if (host->boot > 0 && sim_hash(self->plan.seed + host->life, h) % 3 == 0 &&
        !sim_links_greet(self, h)) {
        host->day -= (int64_t)(1 + sim_hash(host->life, h) % 3600) * 1000 * 1000 * 1000;
        self->counts.faults[SIM_CLOCK_BACK]++;
    }
    host->said = sim_life(self, h);
    tnd_leader_presence_begin(&host->leader, h == 0, self->plan.start_timeout_ns,
                              sim_clock(self, h));
    host->expected_ns = sim_clock(self, h) + self->plan.link_timeout_ns / 8;
    host->generation = 0;
    if (h > 0)
        sim_link_birth(self, host->control, 0, false);
    host->table = NULL;
    host->ending = (tnd_ending_t){0};
    sim_start_boot(self, h);
    sim_after(self, sim_below(&self->chance, 1000000), SIM_AT_TICK, h, host->boot, 0);
}

void sim_process_dies(sim_t *self, uint32_t h, uint64_t back_ns)
{
    sim_host_t *host = &self->hosts[h];
    if (!host->alive)
        return;
    sim_say(self, "the process of host %s dies", self->host_names[h]);
    host->alive = host->paused = false;
    host->beat_ns = 0;
    host->boot++;
    for (uint32_t id = 0; id < self->plan.member_count; id++)
        if (self->actors[id].host == h) {
            sim_actor_dies(self, id);
            self->actors[id].replacement = (tnd_replacement_t){0};
        }
    if (h > 0) {
        sim_leader_ends_early(self, h);
        sim_link_drop(self, host->control, 0);
    }
    for (uint32_t i = host->frozen_next; i < host->frozen_count; i++)
        sim_discard(self, &host->frozen[i]);
    host->frozen_next = host->frozen_count = 0;
    sim_queue_drop(self, &host->unread);
    sim_after(self, back_ns, SIM_AT_BOOT, h, 0, 0);
}

void sim_process_freeze(sim_host_t *host, const sim_event_t *event)
{
    host->frozen =
        tnd_grow(host->frozen, host->frozen_count, &host->frozen_room, sizeof *host->frozen);
    host->frozen[host->frozen_count++] = *event;
}

void sim_process_resume(sim_t *self, uint32_t h, uint32_t boots)
{
    sim_host_t *host = &self->hosts[h];
    if (!host->paused || host->boot != boots || self->now < host->resume_at)
        return;
    host->paused = false;
    host->resumed_at = self->now;
    sim_say(self, "the process of host %s resumes", self->host_names[h]);
    uint64_t away = self->now - host->paused_at;
    host->stopped_ns += away;
    host->stops++;
    sim_process_look(self, h);
    if (h > 0 &&
        away > host->starved_ns + self->plan.dead_after_ns + 4 * self->plan.link_timeout_ns &&
        host->control_at_stop != 0 && self->links[host->control].bound == host->control_at_stop)
        sim_violate(self,
                    "host %s was stopped for %" PRIu64 " ms, and the leader did not give it up",
                    self->host_names[h], (away / 1000000));
    for (uint32_t link = 0; host->keeps_links && link < self->link_count; link++)
        if (self->links[link].host[0] == h && self->links[link].host[1] == h)
            sim_link_excuse(self, link);
    for (host->frozen_next = 0;
         host->frozen_next < host->frozen_count && !self->over && !self->violation[0];) {
        sim_event_t event = host->frozen[host->frozen_next++];
        sim_happen(self, &event);
    }
    host->frozen_next = host->frozen_count = 0;
}
