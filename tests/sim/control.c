/*  tests/sim/control.c - control messages: within a host, to the leader and from it. */
#include "tests/sim/cluster.h"

/*  A message that is on its way when another chain begins is for actors that have ended. */
bool sim_packet_is_late(const sim_t *self, const sim_packet_t *packet)
{
    tnd_msg_kind_t kind = packet->msg.kind;
    bool lasts = kind == TND_MSG_OPENING || kind == TND_MSG_FACTS || kind == TND_MSG_STREAM ||
                 kind == TND_MSG_READY || kind == TND_MSG_TOUCH || kind == TND_MSG_SCALE;
    return packet->chain != self->chain && kind > TND_MSG_PONG && !lasts;
}

static void deliver_to(sim_t *self, uint32_t actor, const tnd_msg_t *msg)
{
    uint32_t index;
    sim_packet_t *packet = sim_packet(self, &index);
    packet->msg = *msg;
    packet->link = SIM_NONE;
    sim_actor_receive(self, actor, index);
}

static void pass_on(sim_t *self, uint32_t host, const tnd_msg_t *msg)
{
    if (msg->kind == TND_MSG_REWIND) {
        self->hosts[host].generation = msg->generation;
        if (host == self->plan.preempted_host && self->plan.preempted_ns > 0)
            self->hosts[host].preempted_until = self->now + self->plan.preempted_ns;
    }
    if (msg->to != TND_NOBODY) {
        if (msg->to < SIM_ACTORS && self->actors[msg->to].host == host)
            deliver_to(self, msg->to, msg);
        return;
    }
    for (uint32_t id = 0; id < self->plan.member_count; id++)
        if (self->actors[id].host == host && id != msg->from &&
            (msg->kind != TND_MSG_MARK || self->actors[id].role == TND_ROLE_JOIN))
            deliver_to(self, id, msg);
}

static void deliver(sim_t *self, uint32_t host, const tnd_msg_t *msg)
{
    if (msg->kind == TND_MSG_TABLE || msg->kind == TND_MSG_STREAM)
        sim_start_told(self, host, msg);
    else if (msg->kind == TND_MSG_TOUCH || msg->kind == TND_MSG_SCALE)
        sim_touches_told(self, host, msg);
    else if (msg->kind == TND_MSG_RESTART)
        sim_life_ask(self, (uint32_t)msg->note.number, msg->note.payload != NULL);
    else
        pass_on(self, host, msg);
}

static uint32_t take_unread(sim_t *self, uint32_t host)
{
    uint32_t packet = self->hosts[host].unread;
    self->hosts[host].unread = self->packets[packet].next;
    return packet;
}

void sim_deliver_unread(sim_t *self, uint32_t h)
{
    sim_host_t *host = &self->hosts[h];
    while (host->unread != SIM_NONE && self->now >= host->preempted_until) {
        uint32_t packet = take_unread(self, h);
        tnd_msg_t msg = self->packets[packet].msg;
        bool late = sim_packet_is_late(self, &self->packets[packet]);
        sim_packet_done(self, packet);
        if (late)
            sim_free_msg(self, &msg);
        else
            deliver(self, h, &msg);
    }
    if (host->unread != SIM_NONE)
        sim_agenda_put(&self->agenda, host->preempted_until, SIM_AT_DELIVER, h, host->boot, 0);
}

void sim_forget_unread(sim_t *self, uint32_t host)
{
    while (self->hosts[host].unread != SIM_NONE) {
        uint32_t packet = take_unread(self, host);
        sim_free_msg(self, &self->packets[packet].msg);
        sim_packet_done(self, packet);
    }
}

void sim_deliver(sim_t *self, uint32_t h, const tnd_msg_t *msg)
{
    sim_host_t *host = &self->hosts[h];
    if (host->unread == SIM_NONE && self->now >= host->preempted_until) {
        deliver(self, h, msg);
        return;
    }
    uint32_t index;
    sim_packet_t *packet = sim_packet(self, &index);
    packet->msg = *msg;
    packet->link = packet->next = SIM_NONE;
    if (host->unread == SIM_NONE) {
        host->unread = index;
        sim_agenda_put(&self->agenda, host->preempted_until, SIM_AT_DELIVER, h, host->boot, 0);
    } else {
        self->packets[host->unread_last].next = index;
    }
    host->unread_last = index;
}

static void local(sim_t *self, uint32_t host, const tnd_msg_t *msg)
{
    uint32_t index;
    sim_packet_t *packet = sim_packet(self, &index);
    packet->msg = *msg;
    packet->link = SIM_NONE;
    uint64_t at = self->now + 1000 + sim_below(&self->chance, 20000);
    if (at <= self->hosts[host].last_local)
        at = self->hosts[host].last_local + 1;
    self->hosts[host].last_local = at;
    sim_agenda_put(&self->agenda, at, SIM_AT_LOCAL, index, host, self->hosts[host].boot);
}

void sim_control(sim_t *self, uint32_t host, tnd_msg_t *msg)
{
    bool here = msg->to < SIM_ACTORS && self->actors[msg->to].host == host;
    if (host == 0 || here) {
        local(self, host, msg);
        return;
    }
    if (msg->to == TND_NOBODY)
        local(self, host, msg);
    sim_link_send(self, self->hosts[host].control, 0, msg);
}

void sim_forward(sim_t *self, uint32_t host, const tnd_msg_t *msg)
{
    if (host == 0)
        sim_deliver(self, 0, msg);
    else
        sim_link_send(self, self->hosts[host].control, 1, msg);
}

/*  The leader's process has a message from a host. */
void sim_route(sim_t *self, uint32_t origin, const tnd_msg_t *msg)
{
    if (msg->to == TND_LEADER) {
        if (msg->kind == TND_MSG_LAST)
            sim_fault_moment(self);
        if (msg->from >= SIM_HOST_ID) {
            sim_leader_heard(self, origin, msg);
        } else if (msg->kind == TND_MSG_MODEL) {
            self->model_said[msg->from] = true;
            if (self->checkpoint != NULL && msg->note.payload != NULL)
                sim_checkpoint_report(self, msg->note.payload);
            tnd_leader_core_message(self->session, msg, sim_clock(self, 0));
            sim_leader_finish(self);
        } else {
            sim_validator_report(self, msg);
            if (msg->kind == TND_MSG_COMMIT && self->checkpoint != NULL)
                sim_checkpoint_commit(self, msg);
            tnd_leader_core_message(self->session, msg, sim_clock(self, 0));
        }
        sim_leader_run(self);
        return;
    }
    if (msg->to != TND_NOBODY) {
        sim_forward(self, self->actors[msg->to].host, msg);
        return;
    }
    for (uint32_t h = 0; h < self->plan.hosts; h++)
        if (h != origin || h == 0)
            sim_forward(self, h, msg);
}

void sim_host_message(sim_t *self, uint32_t link, uint32_t side, tnd_msg_t *msg)
{
    uint32_t h = self->links[link].host[0];
    sim_validator_relay(self, side == 1 ? 0 : h, side == 1 ? h : 0, msg);
    if (side == 1)
        sim_route(self, h, msg);
    else
        sim_deliver(self, h, msg);
}
