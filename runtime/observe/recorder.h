/*  runtime/observe/recorder.h - records what an actor does: its events, and how long they take.
 *
 *  Events of a ring end in order.  Reading the clock takes longer than adding an event, so events of
 *  blocks have the last time that the actor read for another reason.  The slices of a step have that of
 *  the first one.
 *
 *  Threads: that of the actor. */
#ifndef TND_RUNTIME_OBSERVE_RECORDER_H
#define TND_RUNTIME_OBSERVE_RECORDER_H

#include "runtime/core/protocol/message.h"
#include "runtime/observe/event_ring.h"
#include "runtime/timing/timing.h"

/*  Arrivals whose work has not begun; of two with the same place, the later one counts. */
enum { TND_RECORDER_ARRIVALS = 256 };

typedef struct {
    uint64_t first, place; /* position; lane and epoch */
    uint64_t at_ns;        /* 0: none */
} tnd_recorder_arrival_t;

typedef struct {
    tnd_event_ring_t *ring;
    tnd_timing_t *timing; /* NULL: times are not counted */
    uint64_t now_ns;      /* the last known time */
    uint64_t cut;         /* steps up to that of the last slice that was sent */
    uint64_t wait_ns;     /* when the actor began to wait; 0: it does not wait */
    uint32_t waits;       /* for what */
    /*  Since when it waits for room, although it may have woken up meanwhile, and until when. */
    uint64_t blocked_ns, woke_ns;
    uint64_t passed, blocked_passed; /* blocks and slices so far, and until then */
    tnd_recorder_arrival_t arrivals[TND_RECORDER_ARRIVALS];
} tnd_recorder_t;

/*  Sets the time of the events that follow, unless a later one is known. */
static inline void tnd_recorder_time(tnd_recorder_t *self, uint64_t now)
{
    if (now > self->now_ns)
        self->now_ns = now;
}
/*  Adds an event; reads the clock. */
void tnd_recorder_add(tnd_recorder_t *self, tnd_event_t event);
/*  The rows of `msg`, a block, were read or computed in the last `took_ns`. */
void tnd_recorder_made(tnd_recorder_t *self, const tnd_msg_t *msg, uint64_t took_ns);
/*  The work on a block that was received is done. */
void tnd_recorder_done(tnd_recorder_t *self, const tnd_block_note_t *block);
/*  A message is sent or was received.  Ignores messages that neither carry rows nor ask for them.
 *  Call it before sending, so that no peer receives a message before it was sent.  `first`: since
 *  the time was set. */
void tnd_recorder_sends(tnd_recorder_t *self, const tnd_msg_t *msg);
void tnd_recorder_received(tnd_recorder_t *self, const tnd_msg_t *msg, bool first);
/*  A connection came up, or was lost. */
void tnd_recorder_link(tnd_recorder_t *self, tnd_actor_id_t peer, bool up);
/*  A wait begins; it ends, if one began. */
void tnd_recorder_waits(tnd_recorder_t *self, uint32_t waits, uint64_t now);
void tnd_recorder_wakes(tnd_recorder_t *self, uint64_t now);
/*  How many events there were. */
uint64_t tnd_recorder_count(const tnd_recorder_t *self);
/*  A work hook ended; `count`: of events, before it.  Short ones without events are left out. */
void tnd_recorder_work(tnd_recorder_t *self, uint64_t began_ns, uint64_t ended_ns, uint64_t count);

#endif
