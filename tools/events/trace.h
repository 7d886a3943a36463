/*  tools/events/trace.h - the recorded events of a run as a timeline.
 *
 *  Each actor and each device thread is a track.  Work, waits and steps are slices, which nest.  All
 *  other events are instants.  Numbers such as the length of a queue are counters.
 *
 *  A flow connects the events of a block, from its ticket to the batch that takes its first row, and
 *  those of a step, from its batch to its commit.  Each flow has at least two events.
 *
 *  Ownership: zeroed memory is an empty trace; tnd_trace_free frees it.  Entries are copied, but their
 *  names must outlive the trace.  Pure.  Threads: one. */
#ifndef TND_TOOLS_EVENTS_TRACE_H
#define TND_TOOLS_EVENTS_TRACE_H

#include "tools/events/event_stream.h"

typedef enum {
    TND_TRACE_BEGIN, /* of a slice */
    TND_TRACE_END,
    TND_TRACE_INSTANT,
    TND_TRACE_QUEUE, /* counters of an actor */
    TND_TRACE_CREDIT
} tnd_trace_type_t;

typedef struct {
    uint64_t at_ns;
    size_t item; /* of the slice or instant */
    uint64_t value;
    uint32_t track;
    uint32_t type; /* tnd_trace_type_t */
} tnd_trace_mark_t;

typedef struct {
    uint64_t id;
    size_t item;
    bool ends; /* this is the last event of the flow */
} tnd_trace_flow_t;

typedef struct {
    tnd_event_entry_t entry; /* of its first event; `event` is not used */
    size_t top;              /* item + 1 of the last slice that is in no other; 0: none */
    uint64_t end_ns;         /* of its last event */
} tnd_trace_track_t;

typedef struct {
    tnd_event_t event;
    const char *peer; /* NULL: none */
    uint64_t begin_ns, end_ns;
    size_t below; /* item + 1 of the slice before it that is in no other */
    uint32_t track;
} tnd_trace_item_t;

/*  A block that a batcher has and that no batch has taken. */
typedef struct {
    uint64_t flow, first;
    uint32_t chain;
    uint16_t lane, epoch;
} tnd_trace_block_t;

typedef struct {
    tnd_trace_track_t *tracks;
    tnd_trace_item_t *items;
    tnd_trace_flow_t *flows; /* after tnd_trace_finish: by item */
    tnd_trace_mark_t *marks; /* after tnd_trace_finish: by time */
    tnd_trace_block_t *blocks;
    size_t track_count, track_room, item_count, item_room, flow_count, flow_room;
    size_t mark_count, mark_room, block_count, block_room;
} tnd_trace_t;

/*  Adds an event.  Those of a thread are added in the order of their ends. */
void tnd_trace_add(tnd_trace_t *self, const tnd_event_entry_t *entry);
/*  Adds the value of a counter of an actor, which `entry` names. */
void tnd_trace_count(tnd_trace_t *self, const tnd_event_entry_t *entry, tnd_trace_type_t counter,
                     uint64_t at_ns, uint64_t value);
/*  Orders the marks; nothing may be added after it. */
void tnd_trace_finish(tnd_trace_t *self);
/*  The flows of an item, after tnd_trace_finish, those that end there last; returns their number. */
size_t tnd_trace_flows(const tnd_trace_t *self, size_t item, const tnd_trace_flow_t **flows_p);
void tnd_trace_free(tnd_trace_t *self);

#endif
