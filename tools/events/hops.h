/*  tools/events/hops.h - follows one position of a lane through a run, event by event.
 *
 *  The way of a position begins with a ticket.  It is followed by the blocks and tickets that contain it.  The batch that is cut next
 *  after it names the step that it belongs to, which is followed from there.  (With buckets, rows
 *  wait in the batcher, and the next batch need not contain them.)
 *
 *  Pure: events in, an answer out.  Threads: one. */
#ifndef TND_TOOLS_EVENTS_HOPS_H
#define TND_TOOLS_EVENTS_HOPS_H

#include "runtime/observe/event_ring.h"

typedef struct {
    uint64_t position;
    uint64_t step; /* valid if `cut` */
    uint16_t lane, epoch;
    bool placed;  /* lane and epoch, and with `cut` the step, are those that are followed */
    bool partial; /* accepts a way whose beginning is not recorded any more */
    bool found;   /* lane and epoch are those of its first event */
    bool joined;  /* a batcher has the block */
    bool cut, committed;
} tnd_hops_t;

/*  Whether the event concerns the position.  `joins`: it is of a batcher. */
bool tnd_hops_take(tnd_hops_t *self, const tnd_event_t *event, bool joins);

#endif
