/*  tests/sim/control.c - control messages: within a host, to the leader and from it. */
#include "tests/sim/cluster.h"

/*  A message that is on its way when another chain begins is for actors that have ended. */
bool sim_packet_is_late(const sim_t *self, const sim_packet_t *packet)
{
    tnd_msg_kind_t kind = packet->msg.kind;
    bool lasts = kind == TND_MSG_OPENING || kind == TND_MSG_FACTS || kind == TND_MSG_STREAM ||
                 kind == TND_MSG_READY || kind == TND_MSG_TOUCH || kind == TND_MSG_SCALE ||
                 (kind == TND_MSG_ASK && packet->msg.note.number == TND_UNKNOWN);
    return packet->chain != self->chain && !self->plan.repeats && kind > TND_MSG_PONG && !lasts;
}

static void deliver_to(sim_t *self, uint32_t actor, const tnd_msg_t *msg)
{
    uint32_t index;
    sim_packet_t *packet = sim_packet(self, &index);
    packet->msg = *msg;
    packet->link = SIM_NONE;
    sim_actor_receive(self, actor, index);
}

/*  Its control thread gets no processor for a while once all actors of a host were told to rewind. */
static void preempt(sim_t *self, uint32_t host, tnd_actor_id_t told)
{
    if (host != self->plan.preempted_host || self->plan.preempted_ns == 0)
        return;
    for (uint32_t id = told + 1; id < self->plan.member_count; id++)
        if (self->actors[id].host == host)
            return;
    self->hosts[host].preempted_until = self->now + self->plan.preempted_ns;
}

static void hand_over(sim_t *self, uint32_t h, const tnd_msg_t *msg)
{
    sim_host_t *host = &self->hosts[h];
    if (msg->kind == TND_MSG_REWIND) {
        host->generation = tnd_relay_generation(host->generation, msg->kind, msg->generation);
        preempt(self, h, msg->to);
    }
    deliver_to(self, msg->to, msg);
}

static void deliver(sim_t *self, uint32_t host, const tnd_msg_t *msg)
{
    if (msg->to < SIM_ACTORS)
        hand_over(self, host, msg);
    else if (msg->kind == TND_MSG_TABLE || msg->kind == TND_MSG_STREAM)
        sim_start_told(self, host, msg);
    else if (msg->kind == TND_MSG_TOUCH || msg->kind == TND_MSG_SCALE)
        sim_touches_told(self, host, msg);
    else if (msg->kind == TND_MSG_RESTART)
        sim_life_ask(self, (uint32_t)msg->note.number, msg->note.payload != NULL);
}

void sim_deliver_unread(sim_t *self, uint32_t h)
{
    sim_host_t *host = &self->hosts[h];
    while (host->unread.first != SIM_NONE && self->now >= host->preempted_until) {
        uint32_t packet = sim_queue_take(self, &host->unread);
        tnd_msg_t msg = self->packets[packet].msg;
        bool late = sim_packet_is_late(self, &self->packets[packet]);
        sim_packet_done(self, packet);
        if (late)
            sim_free_msg(self, &msg);
        else
            deliver(self, h, &msg);
    }
    if (host->unread.first != SIM_NONE)
        sim_agenda_put(&self->agenda, host->preempted_until, SIM_AT_DELIVER, h, host->boot, 0);
}

/*  For a host or its actors: at once, or when its control thread has a processor again. */
static void deliver_soon(sim_t *self, uint32_t h, const tnd_msg_t *msg)
{
    sim_host_t *host = &self->hosts[h];
    if (host->unread.first == SIM_NONE && self->now >= host->preempted_until) {
        deliver(self, h, msg);
        return;
    }
    uint32_t index;
    sim_packet_t *packet = sim_packet(self, &index);
    packet->msg = *msg;
    packet->link = SIM_NONE;
    if (host->unread.first == SIM_NONE)
        sim_agenda_put(&self->agenda, host->preempted_until, SIM_AT_DELIVER, h, host->boot, 0);
    sim_queue_put(self, &host->unread, index);
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
    tnd_msg_t copy;
    if (msg->kind == TND_MSG_MARK && msg->to == TND_NOBODY) {
        for (uint32_t next = 0; tnd_relay_spread(&self->membership, msg, &next, &copy);)
            sim_control(self, host, &copy);
    } else if (host == 0 ||
               tnd_relay_of(&self->membership, host, msg->to).kind == TND_RELAY_ACTOR) {
        local(self, host, msg);
    } else {
        sim_link_send(self, self->hosts[host].control, 0, msg);
    }
}

void sim_route(sim_t *self, uint32_t h, const tnd_msg_t *msg)
{
    tnd_relay_t relay = tnd_relay_of(&self->membership, h, msg->to);
    if (relay.kind == TND_RELAY_LEADER)
        sim_leader_message(self, msg);
    else if (relay.kind == TND_RELAY_HOST)
        sim_link_send(self, self->hosts[h == 0 ? relay.host : h].control, h == 0, msg);
    else
        deliver_soon(self, h, msg);
}

void sim_host_message(sim_t *self, uint32_t link, uint32_t side, tnd_msg_t *msg)
{
    uint32_t h = self->links[link].host[0];
    sim_validator_relay(self, side == 1 ? 0 : h, side == 1 ? h : 0, msg);
    sim_route(self, side == 1 ? 0 : h, msg);
}
