/*  runtime/observe/event_ring.c - the last events of a thread, in shared memory. */
#include "runtime/observe/event_ring.h"

_Static_assert(sizeof(tnd_event_slot_t) == 32, "an event has 32 bytes");

static const struct {
    const char *name, *first, *count;
} kinds[] = {[TND_EVENT_NONE] = {"none", "", ""},
#define TND_EVENT_ROW(NAME, name, first, count, text) [TND_EVENT_##NAME] = {name, first, count},
             TND_EVENTS(TND_EVENT_ROW)
#undef TND_EVENT_ROW
};

const char *tnd_event_name(tnd_event_kind_t kind)
{
    return kinds[kind].name;
}

const char *tnd_event_first(tnd_event_kind_t kind)
{
    return kinds[kind].first;
}

const char *tnd_event_count(tnd_event_kind_t kind)
{
    return kinds[kind].count;
}

bool tnd_event_is_span(tnd_event_kind_t kind)
{
    return kind == TND_EVENT_BLOCK_MADE || kind == TND_EVENT_WORK || kind == TND_EVENT_WAIT ||
           (kind >= TND_EVENT_STEP_RUN && kind <= TND_EVENT_STEP_SAVED);
}

static bool unpack(const tnd_event_slot_t *slot, tnd_event_t *event)
{
    uint64_t words[4];
    for (unsigned w = 0; w < 4; w++)
        words[w] = atomic_load_explicit(&slot->words[w], memory_order_relaxed);
    *event = (tnd_event_t){
        .end_ns = words[0],
        .first = words[1],
        .kind = (uint8_t)words[2],
        .attempt = (uint8_t)(words[2] >> 8),
        .epoch = (uint16_t)(words[2] >> 16),
        .lane = (uint16_t)(words[2] >> 32),
        .peer = (uint16_t)(words[2] >> 48),
        .count = (uint32_t)(words[3] & 0xffffff),
        .duration_ns = words[3] >> 24,
    };
    return event->kind > TND_EVENT_NONE && event->kind < TND_EVENT_KINDS && event->end_ns != 0 &&
           (!tnd_event_is_span(event->kind) || event->duration_ns <= event->end_ns);
}

size_t tnd_event_ring_take(const tnd_event_ring_t *copy, uint64_t next_after, uint64_t *from_p,
                           tnd_event_t *events, uint64_t *missed_p)
{
    uint64_t next = atomic_load_explicit(&copy->next, memory_order_relaxed);
    if (next_after < next || next < *from_p)
        return 0; /* the count of a ring only grows */
    /* Event `next_after` may be half written, in the slot of the one 512 before it. */
    uint64_t oldest = next_after >= TND_RING_EVENTS ? next_after - TND_RING_EVENTS + 1 : 0;
    uint64_t from = *from_p > oldest ? *from_p : oldest;
    *missed_p += (from < next ? from : next) - *from_p;
    size_t count = 0;
    for (uint64_t number = from; number < next; number++)
        count += unpack(&copy->slots[number % TND_RING_EVENTS], &events[count]);
    *from_p = next;
    return count;
}
