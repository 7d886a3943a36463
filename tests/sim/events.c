/*  tests/sim/events.c - what each event of the agenda does. */
#include <inttypes.h>

#include "tests/sim/cluster.h"

static const uint64_t still_ns =
    12ull * 1000 * 1000 * 1000; /* no progress for so long is a deadlock */
static const uint64_t events_most = 2 * 1000 * 1000;

void sim_discard(sim_t *self, const sim_event_t *event)
{
    if (event->kind != SIM_AT_LINK && event->kind != SIM_AT_LOCAL)
        return;
    sim_free_msg(self, &self->packets[event->a].msg);
    sim_packet_done(self, event->a);
}

static uint32_t host_of(const sim_t *self, const sim_event_t *event)
{
    switch ((sim_at_t)event->kind) {
    case SIM_AT_LINK: {
        const sim_packet_t *packet = &self->packets[event->a];
        return self->links[packet->link].host[packet->side];
    }
    case SIM_AT_LOCAL:
        return event->b;
    case SIM_AT_NOTICE:
        return self->links[event->a].host[event->b];
    case SIM_AT_TICK:
    case SIM_AT_OPEN:
    case SIM_AT_DELIVER:
        return event->a;
    case SIM_AT_WORKED:
    case SIM_AT_DEVICE:
    case SIM_AT_COPIED:
    case SIM_AT_EVENT:
    case SIM_AT_HUNG:
    case SIM_AT_READER:
    case SIM_AT_BORN:
    case SIM_AT_DUE:
        return self->actors[event->a].host;
    case SIM_AT_SESSION:
    case SIM_AT_WRITTEN:
        return 0;
    default:
        return SIM_NONE;
    }
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

void sim_happen(sim_t *self, const sim_event_t *event)
{
    uint32_t h = host_of(self, event);
    if (h != SIM_NONE && (!self->hosts[h].alive || self->hosts[h].paused)) {
        if (self->hosts[h].paused)
            sim_process_freeze(&self->hosts[h], event);
        else
            sim_discard(self, event);
        return;
    }
    if (h != SIM_NONE)
        sim_process_look(self, h);
    sim_actor_t *actor = &self->actors[event->a < SIM_ACTORS ? event->a : 0];
    bool same_life = actor->alive && (uint32_t)actor->life == event->b;
    switch ((sim_at_t)event->kind) {
    case SIM_AT_LINK:
        arrive(self, event);
        break;
    case SIM_AT_LOCAL:
        arrive_locally(self, event);
        break;
    case SIM_AT_NOTICE:
        if (self->links[event->a].actor[event->b] == SIM_NONE ||
            !sim_actor_away(&self->actors[self->links[event->a].actor[event->b]]))
            sim_link_notice(self, event->a, event->b, event->c);
        else /* the actor reads it when its hook has returned */
            sim_after(self, 100 * 1000, SIM_AT_NOTICE, event->a, event->b, event->c);
        break;
    case SIM_AT_DELIVER:
        if (self->hosts[event->a].boot == event->b)
            sim_deliver_unread(self, event->a);
        break;
    case SIM_AT_TICK:
        if (self->hosts[event->a].boot == event->b)
            sim_process_tick(self, event->a);
        break;
    case SIM_AT_WORKED:
        if (same_life)
            sim_actor_worked(self, event->a);
        break;
    case SIM_AT_DEVICE:
        if (same_life)
            sim_feeder_device(self, event->a);
        break;
    case SIM_AT_COPIED:
        if (same_life)
            sim_device_copied(self, event->a);
        break;
    case SIM_AT_EVENT:
        if (same_life)
            sim_device_event(self, event->a);
        break;
    case SIM_AT_HUNG:
        if (same_life)
            sim_device_hung(self, event->a);
        break;
    case SIM_AT_READER:
        if (same_life)
            sim_device_release(self, event->a, event->c);
        break;
    case SIM_AT_DUE:
        if (same_life)
            sim_actor_due(self, event->a);
        break;
    case SIM_AT_BORN:
        if (!actor->alive && self->hosts[actor->host].boot == event->b) {
            sim_actor_born(self, event->a);
            sim_endpoints_bind(self, actor->host);
            sim_life_follow(self, event->a);
        }
        break;
    case SIM_AT_BOOT:
        sim_process_boot(self, event->a);
        break;
    case SIM_AT_RESUME:
        sim_process_resume(self, event->a, event->b);
        break;
    case SIM_AT_PARENT:
        sim_process_look_after(self, event->a);
        break;
    case SIM_AT_SESSION:
        self->session_at = TND_NEVER;
        sim_leader_run(self);
        break;
    case SIM_AT_WRITTEN:
        sim_checkpoint_written(self, event->a);
        sim_leader_finish(self);
        sim_finish_end(self);
        break;
    case SIM_AT_FAULT:
        sim_fault_strike(self, event->a);
        break;
    case SIM_AT_EARLY:
        sim_fault_early(self, (sim_fault_kind_t)event->a);
        break;
    case SIM_AT_DRAIN:
        sim_touch_drain(self);
        break;
    case SIM_AT_TOUCH:
        sim_touch(self);
        break;
    case SIM_AT_OPEN:
        sim_start_open(self, event->a, event->b);
        break;
    case SIM_AT_SCAN:
        scan(self);
        break;
    }
}
