/*  tests/sim/lives.c - what a host does about the lives of its actors: hangs, deaths, restarts.
 *
 *  The machines decide; here they are given the state of simulated actors.  An actor that died was
 *  noticed by its host, as one that hangs is, and is made again when the leader wants it. */
#include <inttypes.h>

#include "runtime/core/host/hang_watch.h"
#include "runtime/core/host/replacement.h"
#include "tests/sim/cluster.h"

void sim_life_works(sim_t *self, sim_actor_t *actor)
{
    const sim_host_t *host = &self->hosts[actor->host];
    actor->work_since = self->now;
    actor->work_stopped = host->stopped_ns;
    actor->work_stops = host->stops;
}

static void make(sim_t *self, uint32_t id)
{
    self->actors[id].watch = (tnd_hang_watch_t){0};
    self->actors[id].started = false;
    sim_after(self, 100 * 1000, SIM_AT_BORN, id, self->hosts[self->actors[id].host].boot, 0);
}

static void perform(sim_t *self, uint32_t id, tnd_replacement_step_t step)
{
    sim_actor_t *actor = &self->actors[id];
    switch (step) {
    case TND_REPLACEMENT_WAIT:
        break;
    case TND_REPLACEMENT_STOP:
        if (!actor->busy) /* else when its hook returns */
            sim_actor_dies(self, id);
        break;
    case TND_REPLACEMENT_ABANDON:
        sim_actor_dies(self, id);
        make(self, id);
        break;
    case TND_REPLACEMENT_FREE:
        make(self, id);
        break;
    case TND_REPLACEMENT_GO:
        sim_endpoints_go(self, id);
        sim_start_move(self, actor->host);
        break;
    case TND_REPLACEMENT_REPORT:
        sim_tell_leader(self, actor->host, TND_MSG_RESTARTED, id, NULL);
        break;
    }
}

void sim_life_follow(sim_t *self, uint32_t id)
{
    sim_actor_t *actor = &self->actors[id];
    tnd_replacement_step_t step;
    do {
        tnd_replacement_facts_t facts = {
            .ended = !actor->alive,
            .bound = actor->alive,
            .runs = actor->alive && actor->started,
            .reaches = tnd_leader_presence_reaches(&self->hosts[actor->host].leader)};
        step = tnd_replacement_next(&actor->replacement, &facts, sim_clock(self, actor->host));
        perform(self, id, step);
    } while (step != TND_REPLACEMENT_WAIT);
}

void sim_life_begin(sim_t *self, uint32_t id)
{
    sim_actor_born(self, id);
    self->actors[id].replaces = true;
    sim_endpoints_bind(self, self->actors[id].host);
    sim_life_follow(self, id);
}

void sim_life_ask(sim_t *self, uint32_t id, bool asked)
{
    sim_actor_t *actor = &self->actors[id];
    perform(self, id,
            tnd_replacement_ask(&actor->replacement, asked, SIM_HUNG_AFTER_NS,
                                sim_clock(self, actor->host)));
    sim_life_follow(self, id);
}

static void report(sim_t *self, uint32_t id)
{
    tnd_replacement_reported(&self->actors[id].replacement);
    self->actors[id].reported_at = self->now;
    tnd_msg_kind_t kind =
        !self->actors[id].alive && sim_failure_says(self, id) ? TND_MSG_DOWN : TND_MSG_HUNG;
    sim_tell_leader(self, self->actors[id].host, kind, id, NULL);
}

void sim_actor_crash(sim_t *self, uint32_t id)
{
    sim_actor_dies(self, id);
    if (sim_life_stops(&self->actors[id]))
        return; /* it ends as it was asked to */
    if (!self->hosts[self->actors[id].host].paused) {
        report(self, id);
        return;
    }
    tnd_replacement_reported(&self->actors[id].replacement);
    sim_life_ask(self, id, false);
}

bool sim_life_stops(const sim_actor_t *actor)
{
    return actor->replacement.state == TND_REPLACEMENT_STOPPING;
}

/*  A hang is judged by the time in which the process ran. */
static void check_hang(sim_t *self, uint32_t id, const sim_actor_t *actor)
{
    const sim_host_t *host = &self->hosts[actor->host];
    uint64_t ran = self->now - actor->work_since - (host->stopped_ns - actor->work_stopped);
    uint64_t missed = (host->stops - actor->work_stops) * tnd_hang_watch_every(SIM_HUNG_AFTER_NS);
    sim_say(self, "%s hangs", sim_name(self, id));
    self->counts.hangs++;
    if (ran + missed < SIM_HUNG_AFTER_NS && !host->stepped)
        sim_violate(self, "%s is said to hang, but its work has taken %" PRIu64 " ms",
                    sim_name(self, id), (ran / 1000000));
}

static void watch(sim_t *self, uint32_t id, sim_actor_t *actor)
{
    static const tnd_thread_progress_t nothing_read = {0};
    uint64_t since = actor->busy ? actor->work_since + self->hosts[actor->host].clock : 0;
    if (!tnd_hang_watch_look(&actor->watch, since, SIM_HUNG_AFTER_NS,
                             sim_clock(self, actor->host)) ||
        !tnd_leader_presence_reaches(&self->hosts[actor->host].leader) ||
        !tnd_hang_watch_judge(&actor->watch, &nothing_read, SIM_HUNG_AFTER_NS))
        return;
    check_hang(self, id, actor);
    self->faults_end = self->faults_end > self->now ? self->faults_end : self->now;
    report(self, id);
}

/*  The report of a hang that may be lost with a connection is repeated. */
static void check_report(sim_t *self, uint32_t id, const sim_actor_t *actor)
{
    const sim_host_t *host = &self->hosts[actor->host];
    if (actor->busy && actor->reported_at > actor->work_since &&
        actor->reported_at < host->greeted_at && tnd_leader_presence_reaches(&host->leader) &&
        self->now > host->greeted_at + 2 * SIM_HUNG_AFTER_NS)
        sim_violate(self, "%s hangs, which is not reported again", sim_name(self, id));
}

void sim_lives_tick(sim_t *self, uint32_t h)
{
    for (uint32_t id = 0; id < self->plan.member_count; id++) {
        sim_actor_t *actor = &self->actors[id];
        if (actor->host != h)
            continue;
        sim_life_follow(self, id);
        if (actor->alive && tnd_replacement_is_watched(&actor->replacement))
            watch(self, id, actor);
        if (actor->alive)
            check_report(self, id, actor);
    }
}

void sim_lives_forget(sim_t *self, uint32_t h)
{
    for (uint32_t id = 0; id < self->plan.member_count; id++)
        if (self->actors[id].host == h && self->actors[id].alive)
            tnd_replacement_forget(&self->actors[id].replacement);
        else if (self->actors[id].host == h &&
                 self->actors[id].replacement.state == TND_REPLACEMENT_REPORTED)
            report(self, id); /* it is noticed again */
}
