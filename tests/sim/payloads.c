/*  tests/sim/payloads.c - payloads and their holders, and the packets that carry messages. */
#include <stdlib.h>

#include "runtime/base/allocation.h"
#include "runtime/core/protocol/message_table.h"
#include "tests/sim/cluster.h"

sim_packet_t *sim_packet(sim_t *self, uint32_t *index_p)
{
    if (self->packet_unused != SIM_NONE) {
        *index_p = self->packet_unused;
        self->packet_unused = self->packets[*index_p].next;
    } else {
        self->packets =
            tnd_grow(self->packets, self->packet_count, &self->packet_room, sizeof *self->packets);
        *index_p = self->packet_count++;
    }
    self->packets[*index_p].chain = self->chain;
    return &self->packets[*index_p];
}

void sim_packet_done(sim_t *self, uint32_t index)
{
    self->packets[index].next = self->packet_unused;
    self->packet_unused = index;
}

void sim_queue_put(sim_t *self, sim_queue_t *queue, uint32_t packet)
{
    self->packets[packet].next = SIM_NONE;
    if (queue->first == SIM_NONE)
        queue->first = packet;
    else
        self->packets[queue->last].next = packet;
    queue->last = packet;
}

uint32_t sim_queue_take(sim_t *self, sim_queue_t *queue)
{
    uint32_t packet = queue->first;
    queue->first = self->packets[packet].next;
    return packet;
}

void sim_queue_drop(sim_t *self, sim_queue_t *queue)
{
    while (queue->first != SIM_NONE)
        sim_packet_drop(self, sim_queue_take(self, queue));
}

void sim_packet_drop(sim_t *self, uint32_t packet)
{
    sim_free_msg(self, &self->packets[packet].msg);
    sim_packet_done(self, packet);
}

sim_payload_t *sim_payload(sim_t *self, uint32_t rows, uint32_t bad, uint32_t holder)
{
    if (holder < SIM_ACTORS)
        self->actors[holder].payloads++;
    return sim_payload_new(&self->store, rows, bad, holder);
}

static void hold(sim_t *self, sim_payload_t *payload, uint32_t holder)
{
    if (payload->holder < SIM_ACTORS)
        self->actors[payload->holder].payloads--;
    if (holder < SIM_ACTORS)
        self->actors[holder].payloads++;
    payload->holder = holder;
}

void sim_free(sim_t *self, void *payload, uint32_t holder)
{
    sim_payload_t *it = payload;
    if (!it)
        return;
    if (it->holder != holder)
        sim_violate(self, "%s gives back a payload that it does not hold",
                    holder == SIM_FLYING ? "the network" : sim_name(self, holder));
    else {
        hold(self, it, SIM_FREED);
        sim_payload_free(&self->store, it);
    }
}

void sim_free_msg(sim_t *self, tnd_msg_t *msg)
{
    tnd_msg_kind_t kind = msg->kind;
    if (kind == TND_MSG_BLOCK || kind == TND_MSG_SLICE || kind == TND_MSG_POST ||
        kind == TND_MSG_RESULT || kind == TND_MSG_SERVE || kind == TND_MSG_PUSH)
        sim_free(self, *tnd_msg_payload(msg), SIM_FLYING);
}

void sim_own(sim_t *self, void *payload, uint32_t from, uint32_t to)
{
    sim_payload_t *it = payload;
    if (!it)
        return;
    if (it->holder != from)
        sim_violate(self, "%s passes on a payload that it does not hold", sim_name(self, from));
    hold(self, it, to);
}
