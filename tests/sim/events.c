/*  tests/sim/events.c - what each event of the agenda does. */
#include <inttypes.h>

#include "tests/sim/cluster.h"

static const uint64_t still_ns =
    12ull * 1000 * 1000 * 1000; /* no progress for so long is a deadlock */
static const uint64_t events_most = 2 * 1000 * 1000;

void sim_discard(sim_t *self, const sim_event_t *event)
{
    if (event->kind == SIM_AT_LINK || event->kind == SIM_AT_LOCAL)
        sim_packet_drop(self, event->a);
}

static void arrive(sim_t *self, const sim_event_t *event)
{
    sim_packet_t *packet = &self->packets[event->a];
    const sim_link_t *link = &self->links[packet->link];
    bool is_of_before = link->actor[0] == SIM_NONE && sim_packet_is_late(self, packet);
    if (is_of_before)
        sim_link_heard(self, event->a);
    if (packet->net <= link->broken || is_of_before) {
        sim_discard(self, event);
        return;
    }
    sim_say_msg(self, &packet->msg);
    if (link->actor[0] == SIM_NONE)
        sim_link_arrive(self, event->a);
    else if (packet->side == 1 && packet->net == link->net && link->stray)
        sim_link_stray(self, event->a);
    else
        sim_actor_receive(self, link->actor[packet->side], event->a);
}

static void arrive_locally(sim_t *self, const sim_event_t *event)
{
    if (event->c != self->hosts[event->b].boot ||
        sim_packet_is_late(self, &self->packets[event->a])) {
        sim_discard(self, event);
        return;
    }
    tnd_msg_t msg = self->packets[event->a].msg;
    sim_packet_done(self, event->a);
    sim_say_msg(self, &msg);
    sim_route(self, event->b, &msg);
}

static void scan(sim_t *self)
{
    sim_check_all(self);
    sim_links_check(self);
    sim_touches_check(self);
    sim_signals_check(self);
    uint64_t since = self->progress_at > self->faults_end ? self->progress_at : self->faults_end;
    since = since > self->touched_until ? since : self->touched_until;
    since = since > self->crossing_until ? since : self->crossing_until;
    if (self->now > since + still_ns)
        sim_violate(self, "nothing moves for %" PRIu64 " s of its time: a deadlock",
                    (still_ns / 1000000000u));
    if (self->events > self->events_begin + events_most)
        sim_violate(self, "the run does not end: a livelock");
    sim_after(self, SIM_SCAN_NS, SIM_AT_SCAN, 0, 0, 0);
}

/*  What happens to actor a in its life b, and to host a in its boot b, at that place. */
static void (*const of_actor[SIM_AT_KINDS])(sim_t *, uint32_t) = {
    [SIM_AT_WORKED] = sim_actor_worked,  [SIM_AT_DUE] = sim_actor_due,
    [SIM_AT_DEVICE] = sim_feeder_device, [SIM_AT_COPIED] = sim_device_copied,
    [SIM_AT_EVENT] = sim_device_event,   [SIM_AT_HUNG] = sim_device_hung};
static void (*const of_host[SIM_AT_KINDS])(sim_t *,
                                           uint32_t) = {[SIM_AT_TICK] = sim_process_tick,
                                                        [SIM_AT_OPEN] = sim_start_open,
                                                        [SIM_AT_DELIVER] = sim_deliver_unread};
/*  What no process is needed for; and what has no number. */
static void (*const of_none[SIM_AT_KINDS])(sim_t *,
                                           uint32_t) = {[SIM_AT_BOOT] = sim_process_boot,
                                                        [SIM_AT_PARENT] = sim_process_look_after,
                                                        [SIM_AT_FAULT] = sim_fault_strike,
                                                        [SIM_AT_SIGNAL] = sim_signal,
                                                        [SIM_AT_EARLY] = sim_fault_early};
static void (*const of_run[SIM_AT_KINDS])(sim_t *) = {[SIM_AT_DRAIN] = sim_touch_drain,
                                                      [SIM_AT_TOUCH] = sim_touch,
                                                      [SIM_AT_SCAN] = scan,
                                                      [SIM_AT_VALIDATED] = sim_validated};

static uint32_t host_of(const sim_t *self, const sim_event_t *event)
{
    if (event->kind == SIM_AT_LINK)
        return self->links[self->packets[event->a].link].host[self->packets[event->a].side];
    if (event->kind == SIM_AT_LOCAL)
        return event->b;
    if (event->kind == SIM_AT_NOTICE)
        return self->links[event->a].host[event->b];
    if (of_host[event->kind] != NULL)
        return event->a;
    if (of_actor[event->kind] != NULL || event->kind == SIM_AT_READER || event->kind == SIM_AT_BORN)
        return self->actors[event->a].host;
    return event->kind == SIM_AT_SESSION || event->kind == SIM_AT_WRITTEN ? 0 : SIM_NONE;
}

static void notice(sim_t *self, const sim_event_t *event)
{
    uint32_t actor = self->links[event->a].actor[event->b];
    if (actor == SIM_NONE || !sim_actor_away(&self->actors[actor]))
        sim_link_notice(self, event->a, event->b, event->c);
    else /* the actor reads it when its hook has returned */
        sim_after(self, 100 * 1000, SIM_AT_NOTICE, event->a, event->b, event->c);
}

void sim_happen(sim_t *self, const sim_event_t *event)
{
    uint32_t h = host_of(self, event), a = event->a;
    if (h != SIM_NONE && (!self->hosts[h].alive || self->hosts[h].paused)) {
        if (self->hosts[h].paused)
            sim_process_freeze(&self->hosts[h], event);
        else
            sim_discard(self, event);
        return;
    }
    if (h != SIM_NONE)
        sim_process_look(self, h);
    sim_actor_t *actor = &self->actors[a < SIM_ACTORS ? a : 0];
    bool same_life = actor->alive && (uint32_t)actor->life == event->b;
    if (of_actor[event->kind] != NULL && same_life)
        of_actor[event->kind](self, a);
    else if (of_host[event->kind] != NULL && self->hosts[a].boot == event->b)
        of_host[event->kind](self, a);
    else if (of_none[event->kind] != NULL)
        of_none[event->kind](self, a);
    else if (of_run[event->kind] != NULL)
        of_run[event->kind](self);
    else if (event->kind == SIM_AT_LINK)
        arrive(self, event);
    else if (event->kind == SIM_AT_LOCAL)
        arrive_locally(self, event);
    else if (event->kind == SIM_AT_NOTICE)
        notice(self, event);
    else if (event->kind == SIM_AT_READER && same_life)
        sim_device_release(self, a, event->c);
    else if (event->kind == SIM_AT_BORN && !actor->alive && self->hosts[h].boot == event->b)
        sim_life_begin(self, a);
    else if (event->kind == SIM_AT_RESUME)
        sim_process_resume(self, a, event->b);
    else if (event->kind == SIM_AT_SESSION || event->kind == SIM_AT_WRITTEN)
        sim_leader_due(self, event);
}
