/*  tools/events/trace.c - the recorded events of a run as a timeline. */
#include "tools/events/trace.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"

/*  Blocks whose batch is not recorded are dropped beyond this number. */
enum { BLOCKS_MAX = 65536 };

/* --- tracks and slices ------------------------------------------------------------------------ */

static bool is_of(const tnd_trace_track_t *track, const tnd_event_entry_t *entry)
{
    return track->entry.process == entry->process && track->entry.instance == entry->instance &&
           track->entry.device == entry->device && strcmp(track->entry.host, entry->host) == 0;
}

static uint32_t find_track(tnd_trace_t *self, const tnd_event_entry_t *entry)
{
    for (size_t t = 0; t < self->track_count; t++)
        if (is_of(&self->tracks[t], entry))
            return (uint32_t)t;
    self->tracks =
        tnd_grow(self->tracks, self->track_count, &self->track_room, sizeof *self->tracks);
    self->tracks[self->track_count] = (tnd_trace_track_t){.entry = *entry};
    return (uint32_t)self->track_count++;
}

/*  Slices that begin later become parts of this one.  It begins after the end of one that it would
 *  overlap: two reads of the clock by different parts of an actor may differ. */
static void nest(tnd_trace_t *self, tnd_trace_track_t *track, tnd_trace_item_t *item)
{
    while (track->top > 0 && self->items[track->top - 1].begin_ns >= item->begin_ns)
        track->top = self->items[track->top - 1].below;
    item->below = track->top;
    if (track->top > 0 && self->items[track->top - 1].end_ns > item->begin_ns)
        item->begin_ns = self->items[track->top - 1].end_ns;
    track->top = self->item_count + 1;
}

/* --- flows ------------------------------------------------------------------------------------ */

/*  What a block or step is called in all processes. */
typedef struct {
    uint64_t first, lane, epoch, attempt, chain, is_step;
} flow_key_t;

static uint64_t id_of(const flow_key_t *key)
{
    return XXH3_64bits(key, sizeof *key);
}

static uint64_t block_flow(const tnd_event_entry_t *entry)
{
    const tnd_event_t *event = &entry->event;
    return id_of(&(flow_key_t){.first = event->first,
                               .lane = event->lane,
                               .epoch = event->epoch,
                               .attempt = event->attempt,
                               .chain = entry->chain});
}

static void add_flow(tnd_trace_t *self, uint64_t id)
{
    self->flows = tnd_grow(self->flows, self->flow_count, &self->flow_room, sizeof *self->flows);
    self->flows[self->flow_count++] = (tnd_trace_flow_t){.id = id, .item = self->item_count};
}

static void add_step_flow(tnd_trace_t *self, const tnd_event_entry_t *entry, uint64_t step)
{
    add_flow(self, id_of(&(flow_key_t){.first = step, .chain = entry->chain, .is_step = 1}));
}

static void keep_block(tnd_trace_t *self, const tnd_event_entry_t *entry, uint64_t flow)
{
    if (self->block_count == BLOCKS_MAX)
        self->block_count = 0;
    self->blocks =
        tnd_grow(self->blocks, self->block_count, &self->block_room, sizeof *self->blocks);
    self->blocks[self->block_count++] = (tnd_trace_block_t){.flow = flow,
                                                            .first = entry->event.first,
                                                            .chain = entry->chain,
                                                            .lane = entry->event.lane,
                                                            .epoch = entry->event.epoch};
}

/*  The batch takes the blocks of its lane that begin before its end. */
static void take_blocks(tnd_trace_t *self, const tnd_event_entry_t *entry)
{
    const tnd_event_t *cut = &entry->event;
    size_t left = 0;
    for (size_t b = 0; b < self->block_count; b++) {
        tnd_trace_block_t block = self->blocks[b];
        bool before = cut->epoch == block.epoch ? block.first < cut->first
                                                : cut->epoch == (uint16_t)(block.epoch + 1);
        if (block.chain == entry->chain && block.lane == cut->lane && before)
            add_flow(self, block.flow);
        else
            self->blocks[left++] = block;
    }
    self->block_count = left;
}

static void follow(tnd_trace_t *self, const tnd_event_entry_t *entry)
{
    const tnd_event_t *event = &entry->event;
    switch (event->kind) {
    case TND_EVENT_TICKET_SENT:
    case TND_EVENT_TICKET_RECEIVED:
    case TND_EVENT_BLOCK_MADE:
    case TND_EVENT_BLOCK_SENT:
        add_flow(self, block_flow(entry));
        break;
    case TND_EVENT_BLOCK_RECEIVED:
        add_flow(self, block_flow(entry));
        if (strcmp(entry->kind, "batcher") == 0)
            keep_block(self, entry, block_flow(entry));
        break;
    case TND_EVENT_BATCH_CUT:
        take_blocks(self, entry);
        add_step_flow(self, entry, event->duration_ns);
        break;
    case TND_EVENT_SLICE_SENT:
    case TND_EVENT_SLICE_RECEIVED:
    case TND_EVENT_STEP_READY:
    case TND_EVENT_STEP_RUN:
    case TND_EVENT_STEP_REDUCED:
    case TND_EVENT_STEP_APPLIED:
    case TND_EVENT_STEP_SAVED:
    case TND_EVENT_STEP_COMMITTED:
        add_step_flow(self, entry, event->first);
        break;
    default:
        break;
    }
}

/* --- all of it -------------------------------------------------------------------------------- */

void tnd_trace_add(tnd_trace_t *self, const tnd_event_entry_t *entry)
{
    uint32_t number = find_track(self, entry);
    tnd_trace_track_t *track = &self->tracks[number];
    const tnd_event_t *event = &entry->event;
    tnd_trace_item_t item = {
        .event = *event, .peer = entry->peer, .end_ns = event->end_ns, .track = number};
    if (item.end_ns < track->end_ns)
        item.end_ns = track->end_ns;
    item.begin_ns = item.end_ns;
    if (tnd_event_is_span(event->kind) && event->duration_ns <= item.end_ns) {
        item.begin_ns -= event->duration_ns;
        nest(self, track, &item);
    }
    track->end_ns = item.end_ns;
    follow(self, entry);
    self->items = tnd_grow(self->items, self->item_count, &self->item_room, sizeof *self->items);
    self->items[self->item_count++] = item;
}

static void add_mark(tnd_trace_t *self, tnd_trace_mark_t mark)
{
    self->marks = tnd_grow(self->marks, self->mark_count, &self->mark_room, sizeof *self->marks);
    self->marks[self->mark_count++] = mark;
}

void tnd_trace_count(tnd_trace_t *self, const tnd_event_entry_t *entry, tnd_trace_type_t counter,
                     uint64_t at_ns, uint64_t value)
{
    add_mark(self, (tnd_trace_mark_t){.at_ns = at_ns,
                                      .value = value,
                                      .track = find_track(self, entry),
                                      .type = (uint32_t)counter});
}

/*  A slice before its parts. */
static int by_begin(const void *left, const void *right, void *context)
{
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    const tnd_trace_item_t *items = context, *one = &items[a], *two = &items[b];
    if (one->track != two->track)
        return one->track < two->track ? -1 : 1;
    if (one->begin_ns != two->begin_ns)
        return one->begin_ns < two->begin_ns ? -1 : 1;
    if (one->end_ns != two->end_ns)
        return one->end_ns > two->end_ns ? -1 : 1;
    bool slice = tnd_event_is_span(one->event.kind);
    if (slice != tnd_event_is_span(two->event.kind))
        return slice ? 1 : -1;
    return slice ? (a < b) - (a > b) : (a > b) - (a < b);
}

static void end_slice(tnd_trace_t *self, size_t item)
{
    add_mark(self, (tnd_trace_mark_t){.at_ns = self->items[item].end_ns,
                                      .item = item,
                                      .track = self->items[item].track,
                                      .type = TND_TRACE_END});
}

/*  Adds the marks of items of one track, which are in the order of their begins. */
static void mark_track(tnd_trace_t *self, const size_t *order, size_t count)
{
    size_t open = 0; /* item + 1 of the innermost slice; `below` of each is the one around it */
    for (size_t i = 0; i < count; i++) {
        tnd_trace_item_t *item = &self->items[order[i]];
        while (open > 0 && self->items[open - 1].end_ns <= item->begin_ns) {
            end_slice(self, open - 1);
            open = self->items[open - 1].below;
        }
        bool slice = tnd_event_is_span(item->event.kind);
        add_mark(self, (tnd_trace_mark_t){.at_ns = item->begin_ns,
                                          .item = order[i],
                                          .track = item->track,
                                          .type = slice ? TND_TRACE_BEGIN : TND_TRACE_INSTANT});
        if (slice) {
            item->below = open;
            open = order[i] + 1;
        }
    }
    for (; open > 0; open = self->items[open - 1].below)
        end_slice(self, open - 1);
}

static int by_id(const void *left, const void *right, void *context)
{
    const tnd_trace_flow_t *a = left, *b = right;
    const tnd_trace_item_t *items = context;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    uint64_t one = items[a->item].begin_ns, two = items[b->item].begin_ns;
    if (one != two)
        return one < two ? -1 : 1;
    return (a->item > b->item) - (a->item < b->item);
}

static int by_item(const void *left, const void *right)
{
    const tnd_trace_flow_t *a = left, *b = right;
    if (a->item != b->item)
        return a->item < b->item ? -1 : 1;
    return a->ends - b->ends;
}

/*  Leaves out flows of one event: the other was not recorded. */
static void finish_flows(tnd_trace_t *self)
{
    size_t left = 0;
    if (self->flow_count > 0)
        qsort_r(self->flows, self->flow_count, sizeof *self->flows, by_id, self->items);
    for (size_t first = 0, next; first < self->flow_count; first = next) {
        for (next = first + 1;
             next < self->flow_count && self->flows[next].id == self->flows[first].id;)
            next++;
        for (size_t f = first; next - first > 1 && f < next; f++) {
            self->flows[left] = self->flows[f];
            self->flows[left++].ends = f == next - 1;
        }
    }
    self->flow_count = left;
    if (left > 0)
        qsort(self->flows, left, sizeof *self->flows, by_item);
}

/*  Those of one track stay in their order. */
static int by_time(const void *left, const void *right, void *context)
{
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    const tnd_trace_mark_t *marks = context;
    if (marks[a].at_ns != marks[b].at_ns)
        return marks[a].at_ns < marks[b].at_ns ? -1 : 1;
    return (a > b) - (a < b);
}

static size_t *numbers_to(size_t count)
{
    size_t *numbers = tnd_allocate(count + 1, sizeof *numbers);
    for (size_t n = 0; n < count; n++)
        numbers[n] = n;
    return numbers;
}

void tnd_trace_finish(tnd_trace_t *self)
{
    size_t *order = numbers_to(self->item_count);
    qsort_r(order, self->item_count, sizeof *order, by_begin, self->items);
    for (size_t first = 0, next; first < self->item_count; first = next) {
        uint32_t track = self->items[order[first]].track;
        for (next = first; next < self->item_count && self->items[order[next]].track == track;)
            next++;
        mark_track(self, order + first, next - first);
    }
    free(order);
    order = numbers_to(self->mark_count);
    qsort_r(order, self->mark_count, sizeof *order, by_time, self->marks);
    tnd_trace_mark_t *marks = tnd_allocate(self->mark_count + 1, sizeof *marks);
    for (size_t m = 0; m < self->mark_count; m++)
        marks[m] = self->marks[order[m]];
    free(order);
    free(self->marks);
    self->marks = marks;
    finish_flows(self);
}

size_t tnd_trace_flows(const tnd_trace_t *self, size_t item, const tnd_trace_flow_t **flows_p)
{
    size_t at, count = 0;
    TND_LOWER_BOUND(at, 0, self->flow_count, self->flows[at].item < item);
    *flows_p = self->flows + at;
    while (at + count < self->flow_count && self->flows[at + count].item == item)
        count++;
    return count;
}

void tnd_trace_free(tnd_trace_t *self)
{
    free(self->tracks);
    free(self->items);
    free(self->flows);
    free(self->marks);
    free(self->blocks);
    *self = (tnd_trace_t){0};
}
