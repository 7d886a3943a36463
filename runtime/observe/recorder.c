/*  runtime/observe/recorder.c - records what an actor does: its events, and how long they take. */
#include "runtime/observe/recorder.h"

#include "runtime/base/clock.h"
#include "runtime/core/protocol/effect.h"
#include "runtime/observe/statistics.h"

/*  Hooks that found nothing to do are shorter. */
static const uint64_t work_worth_ns = 1000;

static void add(tnd_recorder_t *self, tnd_event_t *event)
{
    event->end_ns = self->now_ns;
    tnd_event_ring_add(self->ring, event);
}

static void time_part(tnd_recorder_t *self, unsigned part, uint64_t ns)
{
    if (self->timing != NULL)
        tnd_histogram_add(&self->timing->parts[part], ns);
}

static tnd_recorder_arrival_t *arrival_of(tnd_recorder_t *self, uint64_t first, uint64_t place)
{
    uint64_t mixed = (first ^ place << 17) * UINT64_C(0x9e3779b97f4a7c15);
    return &self->arrivals[mixed >> 56];
}

static uint64_t place_of(uint32_t lane, uint32_t epoch)
{
    return (uint64_t)epoch << 32 | lane;
}

static void note_arrival(tnd_recorder_t *self, uint64_t first, uint64_t place)
{
    *arrival_of(self, first, place) =
        (tnd_recorder_arrival_t){.first = first, .place = place, .at_ns = self->now_ns};
}

/*  The work on what arrived began at `began_ns`. */
static void time_queue(tnd_recorder_t *self, uint64_t first, uint64_t place, uint64_t began_ns)
{
    tnd_recorder_arrival_t *arrival = arrival_of(self, first, place);
    if (arrival->at_ns == 0 || arrival->first != first || arrival->place != place)
        return;
    time_part(self, TND_TIMING_QUEUE, began_ns > arrival->at_ns ? began_ns - arrival->at_ns : 0);
    arrival->at_ns = 0;
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
    time_queue(self, msg->block.first, place_of(msg->block.lane, msg->block.epoch),
               self->now_ns > took_ns ? self->now_ns - took_ns : 0);
}

void tnd_recorder_done(tnd_recorder_t *self, const tnd_block_note_t *block)
{
    time_queue(self, block->first, place_of(block->lane, block->epoch), self->now_ns);
}

void tnd_recorder_sends(tnd_recorder_t *self, const tnd_msg_t *msg)
{
    tnd_event_t event;
    if (!find_event(msg, true, &event))
        return;
    /* Steps are rarer than blocks, and cutting one takes long; its part of the cursor does not. */
    if (msg->kind == TND_MSG_SLICE && self->cut != msg->slice.step + 1) {
        tnd_recorder_time(self, tnd_clock_now());
        self->cut = msg->slice.step + 1;
    }
    event.peer = peer_of(msg->to);
    add(self, &event);
    self->passed++;
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
    self->passed++;
    if (msg->kind == TND_MSG_BLOCK)
        note_arrival(self, msg->block.first, place_of(msg->block.lane, msg->block.epoch));
    else if (msg->kind == TND_MSG_TICKET)
        note_arrival(self, msg->ticket.first, place_of(msg->ticket.lane, msg->ticket.epoch));
}

void tnd_recorder_link(tnd_recorder_t *self, tnd_actor_id_t peer, bool up)
{
    tnd_recorder_add(self, (tnd_event_t){
                               .kind = up ? TND_EVENT_PEER_UP : TND_EVENT_PEER_LOST,
                               .peer = peer_of(peer),
                           });
}

/*  An actor that wakes up, finds nothing and waits again has waited since before. */
static void time_room(tnd_recorder_t *self, uint32_t waits, uint64_t now)
{
    static const uint32_t room = TND_WAIT_CREDIT | TND_WAIT_WINDOW | TND_WAIT_MEMORY;
    bool blocked = waits != 0 && (room >> tnd_wait_foremost(waits) & 1) != 0;
    bool same = self->passed == self->blocked_passed;
    if (self->blocked_ns != 0 && !(blocked && same)) {
        time_part(self, TND_TIMING_SEND, self->woke_ns - self->blocked_ns);
        self->blocked_ns = 0;
    }
    if (blocked && self->blocked_ns == 0) {
        self->blocked_ns = now;
        self->blocked_passed = self->passed;
    }
}

void tnd_recorder_waits(tnd_recorder_t *self, uint32_t waits, uint64_t now)
{
    time_room(self, waits, now);
    self->waits = waits;
    self->wait_ns = now;
}

void tnd_recorder_wakes(tnd_recorder_t *self, uint64_t now)
{
    tnd_recorder_time(self, now);
    if (self->wait_ns == 0)
        return;
    self->woke_ns = now;
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
    time_part(self, TND_TIMING_SERVICE, ended_ns - began_ns);
}
