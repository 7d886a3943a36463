/*  runtime/observe/event_ring.h - the last events of a thread, in shared memory.
 *
 *  Each actor, and each device thread of a feeder, has a ring of its last 512 events.  The rings
 *  are in the statistics file (statistics.h), so they survive `kill -9` and are read without help
 *  from the process.  Recording is always on.
 *
 *  An event has 32 bytes: four words, each a single atomic.  The thread that owns a ring is its
 *  only writer.  A reader copies events and then discards those that the writer may have replaced
 *  meanwhile.
 *
 *  Threads: one writer per ring, any readers.  Units: nanoseconds of the monotonic clock. */
#ifndef TND_RUNTIME_OBSERVE_EVENT_RING_H
#define TND_RUNTIME_OBSERVE_EVENT_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*  X(NAME, name, meaning of `first`, meaning of `count`, what happened).  "": the field is 0. */
#define TND_EVENTS(X)                                                                              \
    X(TICKET_SENT, "ticket_sent", "position", "positions", "asked the peer for rows")              \
    X(TICKET_RECEIVED, "ticket_received", "position", "positions", "was asked for rows")           \
    X(BLOCK_MADE, "block_made", "position", "positions", "read or computed the rows of a block")   \
    X(BLOCK_SENT, "block_sent", "position", "positions", "handed a block to the peer")             \
    X(BLOCK_RECEIVED, "block_received", "position", "positions", "took a block from the peer")     \
    X(BATCH_CUT, "batch_cut", "position", "", "cut a batch; `position` is the first one after it") \
    X(SLICE_SENT, "slice_sent", "step", "rows", "handed its rows of a step to the peer")           \
    X(SLICE_RECEIVED, "slice_received", "step", "rows", "took rows of a step from the peer")       \
    X(STEP_READY, "step_ready", "step", "rows", "has all rows of a step")                          \
    X(STEP_RUN, "step_run", "step", "", "ran the step of a replica")                               \
    X(STEP_REDUCED, "step_reduced", "step", "", "waited for the other replicas and reduced")       \
    X(STEP_APPLIED, "step_applied", "step", "", "ran what follows the reduction")                  \
    X(STEP_SAVED, "step_saved", "step", "", "wrote the model to disk")                             \
    X(STEP_COMMITTED, "step_committed", "step", "rows", "committed a step")                        \
    X(WORK, "work", "", "", "ran a work hook")                                                     \
    X(WAIT, "wait", "reasons", "", "waited")                                                       \
    X(PEER_UP, "peer_up", "", "", "was connected to the peer")                                     \
    X(PEER_LOST, "peer_lost", "", "", "lost the connection to the peer")

typedef enum {
    TND_EVENT_NONE,
#define TND_EVENT_KIND(NAME, name, first, count, text) TND_EVENT_##NAME,
    TND_EVENTS(TND_EVENT_KIND)
#undef TND_EVENT_KIND
        TND_EVENT_KINDS
} tnd_event_kind_t;

enum { TND_EVENT_NO_PEER = 0xffff, TND_RING_EVENTS = 512 };

/*  One event.  A value that is too large for its bits is stored as the largest one. */
typedef struct {
    uint64_t end_ns;      /* when it ended */
    uint64_t first;       /* see TND_EVENTS; reasons: a set of TND_WAIT_* */
    uint64_t duration_ns; /* 40 bits; batch_cut: the step that was cut; 0: it took no time */
    uint32_t count;       /* 24 bits */
    uint16_t peer;        /* instance of the plan, or TND_EVENT_NO_PEER */
    uint16_t lane;        /* of a replica's step: the replica */
    uint16_t epoch;       /* its lowest 16 bits */
    uint8_t attempt;      /* of the ticket, from 0 */
    uint8_t kind;         /* tnd_event_kind_t */
} tnd_event_t;

typedef struct {
    _Atomic uint64_t words[4];
} tnd_event_slot_t;

typedef struct {
    _Alignas(64) _Atomic uint64_t next; /* events written so far */
    _Alignas(64) tnd_event_slot_t slots[TND_RING_EVENTS];
} tnd_event_ring_t;

static inline uint64_t tnd_event_limit(uint64_t value, unsigned bits)
{
    uint64_t most = (UINT64_C(1) << bits) - 1;
    return value < most ? value : most;
}

/*  Adds an event; the oldest one is dropped.  Only the ring's own thread. */
static inline void tnd_event_ring_add(tnd_event_ring_t *self, const tnd_event_t *event)
{
    uint64_t next = atomic_load_explicit(&self->next, memory_order_relaxed);
    tnd_event_slot_t *slot = &self->slots[next % TND_RING_EVENTS];
    uint64_t place = (uint64_t)event->kind | (uint64_t)event->attempt << 8 |
                     (uint64_t)event->epoch << 16 | (uint64_t)event->lane << 32 |
                     (uint64_t)event->peer << 48;
    uint64_t size = tnd_event_limit(event->count, 24) | tnd_event_limit(event->duration_ns, 40)
                                                            << 24;
    /* A reader that sees a new word also sees the count of events before it. */
    atomic_store_explicit(&slot->words[0], event->end_ns, memory_order_release);
    atomic_store_explicit(&slot->words[1], event->first, memory_order_release);
    atomic_store_explicit(&slot->words[2], place, memory_order_release);
    atomic_store_explicit(&slot->words[3], size, memory_order_release);
    atomic_store_explicit(&self->next, next + 1, memory_order_release);
}

/*  Appends to `events` (room for TND_RING_EVENTS) the valid events of a copy of a ring, from number
 *  `*from_p` on, and sets it to the number after the last one.  `next_after`: the ring's `next`,
 *  read after the copy was made.  Adds to `*missed_p` the events that are no longer there.  A copy
 *  of garbage yields no event. */
size_t tnd_event_ring_take(const tnd_event_ring_t *copy, uint64_t next_after, uint64_t *from_p,
                           tnd_event_t *events, uint64_t *missed_p);

/*  Names for users; the argument is a valid kind. */
const char *tnd_event_name(tnd_event_kind_t kind);
/*  What `first` counts: "position", "step", "reasons" or "". */
const char *tnd_event_first(tnd_event_kind_t kind);
/*  What `count` counts, or "". */
const char *tnd_event_count(tnd_event_kind_t kind);
/*  Whether the event took time, so that it is a span. */
bool tnd_event_is_span(tnd_event_kind_t kind);

#endif
