/*  runtime/observe/recorder.c - records what an actor does in its event ring. */
#include "runtime/observe/recorder.h"

#include "runtime/base/clock.h"

/*  Hooks that found nothing to do are shorter. */
static const uint64_t work_worth_ns = 1000;

static void add(tnd_recorder_t *self, tnd_event_t *event)
{
    event->end_ns = self->now_ns;
    tnd_event_ring_add(self->ring, event);
}

static uint16_t peer_of(tnd_actor_id_t peer)
{
    return (uint16_t)(peer < TND_EVENT_NO_PEER ? peer : TND_EVENT_NO_PEER);
}

static uint8_t attempt_of(uint32_t attempt)
{
    return (uint8_t)(attempt < UINT8_MAX ? attempt : UINT8_MAX);
}

static tnd_event_t block_event(tnd_event_kind_t kind, const tnd_block_note_t *block)
{
    return (tnd_event_t){
        .kind = (uint8_t)kind,
        .first = block->first,
        .count = block->count,
        .lane = (uint16_t)block->lane,
        .epoch = (uint16_t)block->epoch,
        .attempt = attempt_of(block->attempt),
        .peer = TND_EVENT_NO_PEER,
    };
}

static bool find_event(const tnd_msg_t *msg, bool sent, tnd_event_t *event)
{
    switch (msg->kind) {
    case TND_MSG_BLOCK:
        *event = block_event(sent ? TND_EVENT_BLOCK_SENT : TND_EVENT_BLOCK_RECEIVED, &msg->block);
        return true;
    case TND_MSG_SLICE:
        *event = (tnd_event_t){
            .kind = sent ? TND_EVENT_SLICE_SENT : TND_EVENT_SLICE_RECEIVED,
            .first = msg->slice.step,
            .count = msg->slice.rows,
            .lane = (uint16_t)msg->slice.lane,
            .epoch = (uint16_t)msg->slice.epoch,
        };
        return true;
    case TND_MSG_TICKET:
        *event = (tnd_event_t){
            .kind = sent ? TND_EVENT_TICKET_SENT : TND_EVENT_TICKET_RECEIVED,
            .first = msg->ticket.first,
            .count = msg->ticket.count,
            .lane = (uint16_t)msg->ticket.lane,
            .epoch = (uint16_t)msg->ticket.epoch,
            .attempt = attempt_of(msg->ticket.attempt),
        };
        return true;
    case TND_MSG_PART:
        *event = (tnd_event_t){
            .kind = TND_EVENT_BATCH_CUT,
            .first = msg->part.position.index,
            .duration_ns = msg->part.step,
            .lane = (uint16_t)msg->part.lane,
            .epoch = (uint16_t)msg->part.position.epoch,
        };
        return sent;
    default:
        return false;
    }
}

void tnd_recorder_add(tnd_recorder_t *self, tnd_event_t event)
{
    tnd_recorder_time(self, tnd_clock_now());
    add(self, &event);
}

void tnd_recorder_made(tnd_recorder_t *self, const tnd_msg_t *msg, uint64_t took_ns)
{
    tnd_event_t event = block_event(TND_EVENT_BLOCK_MADE, &msg->block);
    event.duration_ns = took_ns;
    add(self, &event);
}

void tnd_recorder_sends(tnd_recorder_t *self, const tnd_msg_t *msg)
{
    tnd_event_t event;
    if (!find_event(msg, true, &event))
        return;
    /* Steps are rarer than blocks, and cutting one takes long. */
    if (msg->kind == TND_MSG_SLICE || msg->kind == TND_MSG_PART)
        tnd_recorder_time(self, tnd_clock_now());
    event.peer = peer_of(msg->to);
    add(self, &event);
}

void tnd_recorder_received(tnd_recorder_t *self, const tnd_msg_t *msg, bool first)
{
    tnd_event_t event;
    if (!find_event(msg, false, &event))
        return;
    if (!first)
        tnd_recorder_time(self, tnd_clock_now());
    event.peer = peer_of(msg->from);
    add(self, &event);
}

void tnd_recorder_link(tnd_recorder_t *self, tnd_actor_id_t peer, bool up)
{
    tnd_recorder_add(self, (tnd_event_t){
                               .kind = up ? TND_EVENT_PEER_UP : TND_EVENT_PEER_LOST,
                               .peer = peer_of(peer),
                           });
}

void tnd_recorder_waits(tnd_recorder_t *self, uint32_t waits, uint64_t now)
{
    self->waits = waits;
    self->wait_ns = now;
}

void tnd_recorder_wakes(tnd_recorder_t *self, uint64_t now)
{
    tnd_recorder_time(self, now);
    if (self->wait_ns == 0)
        return;
    tnd_event_t event = {
        .kind = TND_EVENT_WAIT,
        .first = self->waits,
        .duration_ns = now - self->wait_ns,
        .peer = TND_EVENT_NO_PEER,
    };
    self->wait_ns = 0;
    add(self, &event);
}

uint64_t tnd_recorder_count(const tnd_recorder_t *self)
{
    return atomic_load_explicit(&self->ring->next, memory_order_relaxed);
}

void tnd_recorder_work(tnd_recorder_t *self, uint64_t began_ns, uint64_t ended_ns, uint64_t count)
{
    if (tnd_recorder_count(self) == count && ended_ns - began_ns < work_worth_ns)
        return;
    tnd_event_t event = {
        .kind = TND_EVENT_WORK, .duration_ns = ended_ns - began_ns, .peer = TND_EVENT_NO_PEER};
    tnd_recorder_time(self, ended_ns);
    add(self, &event);
}
