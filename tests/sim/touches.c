/*  tests/sim/touches.c - what users ask of a run that is under way: pause, resume, restart, drain,
 *  another number of slots or of workers.
 *
 *  A user asks at some host, which passes it on; the leader's machine decides who is told what
 *  (runtime/core/host/run_touches.h).  A user who is told that it is done may rely on it, and so does his
 *  host.
 *
 *  The stream must not change by any of it.  Each touch is carried out, or refused because the run
 *  is over or as it was asked to be.  While a run is paused, no feeder starts a step after the one at
 *  which all of them stop, and every feeder reaches that one. */
#include <inttypes.h>
#include <string.h>

#include "runtime/base/bounds.h"
#include "tests/sim/cluster.h"

static const uint64_t ms = 1000 * 1000;

/*  What was asked for this long after the last fault is complete. */
static const uint64_t quiet_ns = 5ull * 1000 * 1000 * 1000;

/*  A restart takes at most so long after the last fault. */
static const uint64_t restart_ns = 2ull * 1000 * 1000 * 1000;

/*  What one user asks for; messages about it carry it. */
typedef struct {
    tnd_verb_t verb;
    uint32_t host;   /* where he asks */
    uint32_t value;  /* the actor, the slots or the workers */
    bool done, told; /* by the leader; he is told so */
    uint32_t heard;  /* bits of hosts that know that it was done */
} sim_touch_t;

static bool is_paused(const sim_t *self)
{
    return self->run.touches.paused_ns != 0;
}

void sim_touches_plan(sim_t *self)
{
    const sim_plan_t *plan = &self->plan;
    self->touch_luck = sim_random(plan->seed, 1500 + plan->session + 10 * self->chain);
    sim_random_t *luck = &self->touch_luck;
    self->touched_at = self->touched_until = self->burst = self->depth = 0;
    self->touches_left = sim_chance(luck, 35) ? sim_between(luck, 1, 12) : 0;
    if (self->touches_left > 0 || is_paused(self)) /* the second chain of a paused run is paused */
        sim_after(self, sim_below(luck, sim_chance(luck, 30) ? 8000 : 400000) * 1000ull,
                  SIM_AT_TOUCH, 0, 0, 0);
}

/* --- a user and his host ---------------------------------------------------------------------- */

static void ask(sim_t *self, tnd_verb_t verb, uint32_t value)
{
    sim_random_t *luck = &self->touch_luck;
    uint32_t h = sim_chance(luck, 50) ? 0 : sim_below(luck, self->plan.hosts);
    const sim_host_t *host = &self->hosts[h];
    if (!host->alive || host->paused || !tnd_leader_presence_reaches(&host->leader))
        return; /* his command finds no process, or is told that the leader is away */
    sim_touch_t *touch = sim_store_take(&self->store, sizeof *touch);
    *touch = (sim_touch_t){.verb = verb, .host = h, .value = value};
    sim_tell_leader(self, h, TND_MSG_TOUCH, 1 + self->touches_left, touch);
}

void sim_touch_drain(sim_t *self)
{
    ask(self, TND_TOUCH_DRAIN, 0);
}

static void answered(sim_t *self, uint32_t h, const sim_touch_t *touch)
{
    const sim_host_t *host = &self->hosts[h];
    if (touch->host != h)
        sim_violate(self, "a user at host %s is answered at host %s", self->host_names[touch->host],
                    self->host_names[h]);
    if (!touch->told)
        return;
    if (!touch->done || !(touch->heard >> h & 1) ||
        (touch->verb == TND_TOUCH_SCALE && host->scale != touch->value))
        sim_violate(self, "a user at host %s is told that touch %d is done, which it is not%s",
                    self->host_names[h], (int)touch->verb, touch->done ? " there" : "");
}

void sim_touches_told(sim_t *self, uint32_t h, const tnd_msg_t *msg)
{
    sim_touch_t *touch = msg->note.payload;
    if (msg->kind == TND_MSG_SCALE)
        self->hosts[h].scale = (uint32_t)msg->note.number;
    else if (msg->note.number == 0)
        touch->heard |= 1u << h;
    else
        answered(self, h, touch);
}

/* --- the leader ------------------------------------------------------------------------------- */

/*  Keeps what must follow. */
static void note(sim_t *self, const sim_touch_t *touch)
{
    self->touched_at = self->now;
    if (touch->verb == TND_TOUCH_DRAIN)
        sim_fault_moment(self);
    if (touch->verb == TND_TOUCH_SET)
        self->depth = touch->value;
    if (touch->verb == TND_TOUCH_PAUSE && self->touched_until <= self->now)
        sim_after(self, 0, SIM_AT_TOUCH, 0, 0, 0); /* it is resumed */
    if (touch->verb != TND_TOUCH_RESTART)
        return;
    sim_actor_t *actor = &self->actors[touch->value];
    if (tnd_members_commits((tnd_role_t)actor->role))
        sim_violate(self, "%s is restarted on request", sim_name(self, touch->value));
    actor->asked_life = actor->life;
    actor->asked_at = self->now;
}

/*  The run drains, fails or is over. */
static bool is_ending(const sim_t *self)
{
    return tnd_leader_core_state(self->run.session) >= TND_LEADER_CORE_DRAINING ||
           tnd_leader_core_is_failing(self->run.session);
}

static void try(sim_t *self, sim_touch_t *touch)
{
    tnd_error_t error = {.text = ""};
    tnd_touch_scale_t workers = {.workers = touch->value};
    bool ends = is_ending(self);
    bool pauses = touch->verb == TND_TOUCH_PAUSE, paused = is_paused(self);
    uint64_t now = sim_clock(self, 0);
    touch->done = tnd_run_carry_out(&self->run, touch->verb, touch->value, now, &error) == TND_OK;
    sim_say(self, "TOUCH %d, %u: %s", (int)touch->verb, touch->value,
            touch->done ? "done" : error.text);
    if ((pauses || touch->verb == TND_TOUCH_RESUME) && touch->done != (!ends && paused != pauses))
        sim_violate(self, "a user asks to %s a run that is %spaused: %s",
                    pauses ? "pause" : "resume", paused ? "" : "not ",
                    touch->done ? "this is done" : error.text);
    tnd_run_touches_tried(&self->run.touches, touch->done, &workers, now);
    if (touch->done)
        note(self, touch);
}

static void tell(sim_t *self, const tnd_touches_step_t *step, sim_touch_t *touch)
{
    bool scales = step->kind == TND_TOUCHES_SCALE;
    tnd_msg_t msg = {.kind = scales ? TND_MSG_SCALE : TND_MSG_TOUCH, .from = TND_LEADER};
    self->hosts[step->host].scale_said = self->hosts[step->host].scale_said || scales;
    msg.to = SIM_HOST_ID + step->host;
    msg.note.number = scales ? step->scale.workers : step->client;
    msg.note.payload = touch;
    sim_route(self, 0, &msg);
}

/*  `touch`: NULL if a host is greeted. */
static void follow(sim_t *self, sim_touch_t *touch)
{
    tnd_touches_step_t step;
    while (tnd_run_touches_next(&self->run.touches, &step)) {
        if (step.kind == TND_TOUCHES_TRY)
            try(self, touch);
        else if (step.kind != TND_TOUCHES_OPTIONS) {
            if (step.kind == TND_TOUCHES_ANSWER)
                touch->told = touch->told || step.result == TND_TOUCH_DONE;
            tell(self, &step, touch);
        }
    }
}

void sim_touches_heard(sim_t *self, uint32_t h, const tnd_msg_t *msg)
{
    sim_touch_t *touch = msg->note.payload;
    tnd_run_touches_take(&self->run.touches, touch->verb, h, msg->note.number, self->over);
    follow(self, touch);
}

void sim_touches_follow(sim_t *self)
{
    follow(self, NULL);
}

/* --- when they come --------------------------------------------------------------------------- */

static tnd_verb_t verb_of(sim_t *self, uint32_t what, bool paused)
{
    sim_random_t *luck = &self->touch_luck;
    if (paused && self->burst == 0 && self->touches_left > 0 && sim_chance(luck, 25))
        return TND_TOUCH_SET; /* what the feeders hear of it is checked while they are paused */
    if (self->burst > 0 || what < 60 || (paused && self->touches_left == 0))
        return paused ? TND_TOUCH_RESUME : TND_TOUCH_PAUSE;
    if (what < 72)
        return TND_TOUCH_SET;
    if (what < 80 && self->plan.workers > 0)
        return TND_TOUCH_SCALE; /* readers and caches learn it with their next tickets */
    return what < 90 || !self->plan.drain ? TND_TOUCH_RESTART : TND_TOUCH_DRAIN;
}

static void ask_for(sim_t *self, tnd_verb_t verb)
{
    sim_random_t *luck = &self->touch_luck;
    uint32_t most[TND_TOUCH_KINDS] = {[TND_TOUCH_RESTART] = self->plan.member_count,
                                      [TND_TOUCH_SET] = SIM_DEPTH,
                                      [TND_TOUCH_SCALE] = self->plan.workers};
    uint32_t cuts = verb == TND_TOUCH_RESTART ? sim_below(luck, 4) : sim_chance(luck, 60);
    ask(self, verb, most[verb] > 0 ? sim_below(luck, most[verb]) + (verb != TND_TOUCH_RESTART) : 0);
    for (; most[verb] > 0 && cuts > 0; cuts--)
        sim_fault_after(self, sim_below(luck, 300 * 1000), SIM_CUT_CONTROL);
}

/*  When the next one comes; some pauses are long enough to become complete. */
static uint64_t pause_before_next(sim_t *self)
{
    sim_random_t *luck = &self->touch_luck;
    if (self->burst > 0)
        return sim_between(luck, 1, 200) * ms;
    if (is_paused(self) && sim_chance(luck, 9))
        return quiet_ns + 2000 * ms;
    if (sim_chance(luck, 40))
        return sim_below(luck, 2000) * 1000ull;
    return sim_below(luck, 300) * ms;
}

void sim_touch(sim_t *self)
{
    sim_random_t *luck = &self->touch_luck;
    uint32_t what = sim_below(luck, 100);
    bool paused = is_paused(self);
    sim_touches_check(self);
    if (self->violation[0])
        return;
    self->touches_left -= self->touches_left > 0;
    if (self->burst == 0 && what < 40 && !paused) {
        self->burst = 3; /* of pauses, perhaps while the answer of a feeder is on its way */
        sim_fault_after(self, 0, SIM_LATE_CONTROL);
    } else {
        ask_for(self, verb_of(self, what, paused));
        self->burst -= self->burst > 0;
    }
    if (paused && sim_chance(luck, 20))
        sim_fault_after(self, sim_below(luck, 20) * ms,
                        sim_chance(luck, 50) ? SIM_CUT_CONTROL : SIM_CRASH_READER);
    if (self->touches_left == 0 && self->burst == 0 && !paused)
        return;
    uint64_t next = pause_before_next(self);
    self->touched_until = self->now + next;
    self->events_begin = self->events;
    sim_agenda_put(&self->agenda, self->touched_until, SIM_AT_TOUCH, 0, 0, 0);
}

/* --- promises --------------------------------------------------------------------------------- */

/*  Every feeder learns how many slots are wanted, and every host how many workers, also after their
 *  connection was cut. */
static void check_wishes(sim_t *self)
{
    const sim_plan_t *plan = &self->plan;
    for (uint32_t id = plan->first_feeder; id < plan->first_feeder + plan->feeders; id++)
        if (self->depth > 0 && self->actors[id].alive && self->actors[id].depth_told != self->depth)
            sim_violate(self, "%s does not know that %u slots are wanted", sim_name(self, id),
                        self->depth);
    for (uint32_t h = 0; h < plan->hosts; h++)
        if (self->start_hosts[h].counted && self->presences[h].up &&
            self->hosts[h].scale != self->awake[0])
            sim_violate(self, "host %s does not know that %u workers are wanted",
                        self->host_names[h], self->awake[0]);
}

/*  Who is connected again is told again what is wanted. */
static void check_told(sim_t *self)
{
    const sim_plan_t *plan = &self->plan;
    bool runs = tnd_leader_core_state(self->run.session) == TND_LEADER_CORE_RUNNING &&
                !tnd_leader_core_is_failing(self->run.session);
    for (uint32_t id = 0; id < plan->member_count; id++) {
        const sim_actor_t *actor = &self->actors[id];
        if (!self->start_hosts[actor->host].counted || !self->presences[actor->host].up)
            continue;
        if (self->awake[0] > 0 && !self->hosts[actor->host].scale_said)
            sim_violate(self, "host %s is connected, but not told that %u workers are wanted",
                        self->host_names[actor->host], self->awake[0]);
        if (runs && actor->alive && actor->life == actor->asked_life && !actor->restart_said)
            sim_violate(self, "host %s is connected, but not told that %s is to be replaced",
                        self->host_names[actor->host], sim_name(self, id));
        if (runs && actor->role == TND_ROLE_FEEDER && self->depth > 0 && !actor->depth_said)
            sim_violate(self, "%s is connected, but not told that %u slots are wanted",
                        sim_name(self, id), self->depth);
    }
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

static uint64_t started_of(const sim_t *self, uint32_t id)
{
    const sim_actor_t *actor = &self->actors[id];
    return self->plan.dealt > 0 ? sim_holder_started(actor)
                                : tnd_feeder_core_started(actor->machine);
}

/*  Until when something may hold up the steps before a pause: a touch, a fault, rows on a slow link, a
 *  process that opens its data. */
static uint64_t moving_until(const sim_t *self)
{
    uint64_t until = tnd_most(tnd_most(self->touched_at, self->faults_end), self->crossing_until);
    for (uint32_t h = 0; h < self->plan.hosts; h++)
        until = tnd_most(until, self->hosts[h].open_until);
    return until;
}

void sim_touches_check(sim_t *self)
{
    uint64_t step;
    bool paused = tnd_leader_core_is_paused(self->run.session, &step);
    bool ends = is_ending(self);
    if (!ends && paused != is_paused(self))
        sim_violate(self, "the run is %spaused, which the user did not ask for",
                    paused ? "" : "not ");
    if (!ends)
        check_restarts(self);
    check_told(self);
    if (!paused || self->leader_dead || self->feeder_dead)
        return;
    const sim_plan_t *plan = &self->plan;
    uint32_t end;
    for (uint32_t id = sim_plan_committers(plan, &end); id < end; id++)
        if (self->actors[id].alive && started_of(self, id) > step)
            sim_violate(
                self, "%s has started %" PRIu64 " steps of a run that pauses before step %" PRIu64,
                sim_name(self, id), started_of(self, id), step);
    if (!tnd_leader_core_has_begun(self->run.session) || self->now <= moving_until(self) + quiet_ns)
        return;
    check_wishes(self);
    if (self->booked != step)
        sim_violate(self, "a paused run does not reach step %" PRIu64 ", before which it stops",
                    step);
}
