/*  tests/sim/touches.c - what a user asks of a run that is under way: pause, resume, restart,
 *  drain, another number of slots or of workers.
 *
 *  The stream must not change by any of it.  Each touch is carried out, or refused because the run
 *  is over or as it was asked to be.  While a run is paused, no feeder starts a step after the one at
 *  which all of them stop, and every feeder reaches that one. */
#include "tests/sim/cluster.h"

static const uint64_t ms = 1000 * 1000;

/*  A pause this long after the last fault is complete. */
static const uint64_t quiet_ns = 12ull * 1000 * 1000 * 1000;

/*  A restart takes at most so long after the last fault. */
static const uint64_t restart_ns = 2ull * 1000 * 1000 * 1000;

void sim_touches_plan(sim_t *self)
{
    const sim_plan_t *plan = &self->plan;
    self->touch_luck = sim_random(plan->seed, 1500 + plan->session + 10 * self->chain);
    sim_random_t *luck = &self->touch_luck;
    self->touched_until = self->burst = self->depth = 0;
    self->touches_left = sim_chance(luck, 35) ? sim_between(luck, 1, 12) : 0;
    if (self->touches_left > 0 || self->paused) /* the second chain of a paused run is paused */
        sim_agenda_put(&self->agenda,
                       self->now + sim_below(luck, sim_chance(luck, 30) ? 8000 : 400000) * 1000ull,
                       SIM_AT_TOUCH, 0, 0, 0);
}

static void ask(sim_t *self, bool pauses)
{
    tnd_error_t error = {.text = ""};
    tnd_leader_core_state_t state = tnd_leader_core_state(self->session);
    bool ends = state >= TND_LEADER_CORE_DRAINING;
    tnd_status_t status = pauses ? tnd_leader_core_pause(self->session, &error)
                                 : tnd_leader_core_resume(self->session, &error);
    sim_say(self, "TOUCH: %s%s%s", pauses ? "pause" : "resume", status == TND_OK ? "" : ": ",
            error.text);
    if ((status == TND_OK) != (!ends && self->paused != pauses))
        sim_violate(self, "a user asks to %s a run that is %spaused and in state %d: %s",
                    pauses ? "pause" : "resume", self->paused ? "" : "not ", (int)state,
                    status == TND_OK ? "this is done" : error.text);
    if (status == TND_OK) {
        self->paused = pauses;
        self->paused_at = self->now;
    }
}

/*  The run is paused, resumed and paused again while the answer of a feeder may be on its way. */
static void begin_burst(sim_t *self)
{
    self->burst = 3;
    sim_agenda_put(&self->agenda, self->now, SIM_AT_EARLY, SIM_LATE_CONTROL, 0, 0);
}

static void restart(sim_t *self)
{
    tnd_error_t error = {.text = ""};
    uint32_t id = sim_below(&self->touch_luck, self->plan.member_count);
    tnd_status_t status =
        tnd_leader_core_ask_restart(self->session, id, sim_clock(self, 0), &error);
    sim_say(self, "TOUCH: restart %s%s%s", sim_name(self, id), status == TND_OK ? "" : ": ",
            error.text);
    if (status == TND_OK && self->actors[id].role == TND_ROLE_FEEDER)
        sim_violate(self, "%s is restarted on request", sim_name(self, id));
    if (status == TND_OK) {
        self->actors[id].asked_life = self->actors[id].life;
        self->actors[id].asked_at = self->now;
    }
    for (uint32_t cuts = sim_below(&self->touch_luck, 4); cuts > 0; cuts--)
        sim_agenda_put(&self->agenda, self->now + sim_below(&self->touch_luck, 300 * 1000),
                       SIM_AT_EARLY, SIM_CUT_CONTROL, 0, 0);
}

static void set_depth(sim_t *self)
{
    tnd_error_t error = {.text = ""};
    uint32_t depth = sim_between(&self->touch_luck, 1, SIM_DEPTH);
    tnd_status_t status = tnd_leader_core_ask_depth(self->session, depth, &error);
    sim_say(self, "TOUCH: %u slots%s%s", depth, status == TND_OK ? "" : ": ", error.text);
    if (status == TND_OK) {
        self->depth = depth;
        self->depth_at = self->now;
    }
    if (sim_chance(&self->touch_luck, 60))
        sim_agenda_put(&self->agenda, self->now + sim_below(&self->touch_luck, 300 * 1000),
                       SIM_AT_EARLY, SIM_CUT_CONTROL, 0, 0);
}

/*  Readers and caches learn it with their next tickets. */
static void scale(sim_t *self)
{
    if (self->plan.workers == 0)
        return;
    self->scaled = true;
    self->scale = sim_between(&self->touch_luck, 1, self->plan.workers);
    sim_say(self, "TOUCH: %u workers", self->scale);
}

/*  When the next one comes; some pauses are long enough to become complete. */
static uint64_t pause_before_next(sim_t *self)
{
    sim_random_t *luck = &self->touch_luck;
    if (self->burst > 0)
        return sim_between(luck, 1, 200) * ms;
    bool resizes = self->depth > 0 && self->depth_at == self->now;
    if (self->paused && sim_chance(luck, resizes ? 30 : 6))
        return quiet_ns + 2000 * ms;
    if (sim_chance(luck, 40))
        return sim_below(luck, 2000) * 1000ull;
    return sim_below(luck, 300) * ms;
}

void sim_touch(sim_t *self)
{
    sim_random_t *luck = &self->touch_luck;
    uint32_t what = sim_below(luck, 100);
    sim_touches_check(self);
    if (self->violation[0])
        return;
    if (self->touches_left > 0)
        self->touches_left--;
    if (self->paused && self->burst == 0 && self->touches_left > 0 && sim_chance(luck, 25)) {
        set_depth(self); /* what the feeders hear of it is checked while they are paused */
    } else if (self->burst > 0) {
        self->burst--;
        ask(self, !self->paused);
    } else if (what < 40 && !self->paused) {
        begin_burst(self);
    } else if (what < 60 || (self->paused && self->touches_left == 0)) {
        ask(self, !self->paused);
    } else if (what < 72) {
        set_depth(self);
    } else if (what < 77) {
        scale(self);
    } else if (what < 90 || !self->plan.drain) {
        restart(self);
    } else {
        sim_drain(self);
    }
    if (self->paused && sim_chance(luck, 20))
        sim_agenda_put(&self->agenda, self->now + sim_below(luck, 20) * ms, SIM_AT_EARLY,
                       sim_chance(luck, 50) ? SIM_CUT_CONTROL : SIM_CRASH_READER, 0, 0);
    sim_leader_run(self);
    if (self->touches_left == 0 && self->burst == 0 && !self->paused)
        return;
    uint64_t next = pause_before_next(self);
    self->touched_until = self->now + next;
    self->events_begin = self->events;
    sim_agenda_put(&self->agenda, self->now + next, SIM_AT_TOUCH, 0, 0, 0);
}

/*  Every feeder learns how many slots are wanted, also after its connection was cut. */
static void check_depth(sim_t *self)
{
    const sim_plan_t *plan = &self->plan;
    uint64_t since = self->depth_at > self->faults_end ? self->depth_at : self->faults_end;
    if (self->depth == 0 || tnd_leader_core_generation(self->session) == 0 ||
        self->now <= since + quiet_ns)
        return;
    for (uint32_t id = plan->first_feeder; id < plan->first_feeder + plan->feeders; id++)
        if (self->actors[id].alive && self->actors[id].depth_told != self->depth)
            sim_violate(self, "%s does not know that %u slots are wanted", sim_name(self, id),
                        self->depth);
}

/*  An actor that a user wants replaced is, also if a connection was cut. */
static void check_restarts(sim_t *self)
{
    for (uint32_t id = 0; id < self->plan.member_count; id++) {
        const sim_actor_t *actor = &self->actors[id];
        uint64_t since = actor->asked_at > self->faults_end ? actor->asked_at : self->faults_end;
        if (actor->alive && actor->life == actor->asked_life && self->now > since + restart_ns)
            sim_violate(self, "%s is not replaced, although a user asks for it",
                        sim_name(self, id));
    }
}

void sim_touches_forget(sim_t *self, uint32_t host)
{
    for (uint32_t id = 0; id < self->plan.member_count; id++)
        if (self->actors[id].host == host)
            self->actors[id].asked_life = 0;
}

void sim_touches_check(sim_t *self)
{
    uint64_t step;
    bool paused = tnd_leader_core_is_paused(self->session, &step);
    bool ends = tnd_leader_core_state(self->session) >= TND_LEADER_CORE_DRAINING;
    if (!ends && paused != self->paused)
        sim_violate(self, "the run is %spaused, which the user did not ask for",
                    paused ? "" : "not ");
    if (!ends)
        check_restarts(self);
    if (!paused || self->leader_dead || self->feeder_dead)
        return;
    check_depth(self);
    const sim_plan_t *plan = &self->plan;
    for (uint32_t id = plan->first_feeder; id < plan->first_feeder + plan->feeders; id++)
        if (self->actors[id].alive && tnd_feeder_core_started(self->actors[id].machine) > step)
            sim_violate(self, "%s has started %llu steps of a run that pauses before step %llu",
                        sim_name(self, id),
                        (unsigned long long)tnd_feeder_core_started(self->actors[id].machine),
                        (unsigned long long)step);
    uint64_t since = self->paused_at > self->faults_end ? self->paused_at : self->faults_end;
    since =
        self->crossing_until > since ? self->crossing_until : since; /* slow links deliver first */
    if (tnd_leader_core_generation(self->session) > 0 && self->now > since + quiet_ns &&
        self->booked != step)
        sim_violate(self, "a paused run does not reach step %lld, before which it stops",
                    (long long)step);
}
