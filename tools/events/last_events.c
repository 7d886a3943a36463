/*  tools/events/last_events.c - what a dead process did last, from its event rings. */
#include "tools/events/last_events.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

static void read_ring(tnd_last_events_t *self, const tnd_inspected_t *process,
                      tnd_event_reader_t *reader, uint32_t instance, uint32_t device)
{
    tnd_event_t *events = tnd_allocate(TND_RING_EVENTS, sizeof *events);
    uint64_t missed = 0;
    size_t count = tnd_event_reader_read(reader, process->record.instances[instance].ring + device,
                                         events, &missed);
    for (size_t e = 0; e < count; e++) {
        self->entries = tnd_grow(self->entries, self->count, &self->room, sizeof *self->entries);
        self->entries[self->count++] = tnd_event_entry_of(process, instance, device, &events[e]);
    }
    free(events);
}

void tnd_last_events_read(tnd_last_events_t *self, const tnd_inspected_t *process, size_t most,
                          uint64_t span_ns)
{
    const tnd_run_record_t *record = &process->record;
    *self = (tnd_last_events_t){0};
    tnd_event_reader_t *reader = tnd_event_reader_new(process);
    for (uint32_t i = 0; reader != NULL && record->shape.hosts > 0 && i < record->shape.actors; i++)
        for (uint32_t d = 0; d < record->instances[i].ring_count; d++)
            read_ring(self, process, reader, i, d);
    tnd_event_reader_destroy(&reader);
    tnd_last_events_choose(self, most, span_ns);
}

void tnd_last_events_choose(tnd_last_events_t *self, size_t most, uint64_t span_ns)
{
    size_t left = 0;
    for (size_t e = 0; e < self->count; e++)
        if (self->entries[e].event.kind != TND_EVENT_WAIT &&
            self->entries[e].event.kind != TND_EVENT_WORK)
            self->entries[left++] = self->entries[e];
    tnd_event_entries_sort(self->entries, left);
    size_t first = left > most ? left - most : 0;
    while (first < left &&
           self->entries[left - 1].event.end_ns - self->entries[first].event.end_ns > span_ns)
        first++;
    self->count = left - first;
    if (self->count > 0)
        memmove(self->entries, self->entries + first, self->count * sizeof *self->entries);
}

void tnd_last_events_free(tnd_last_events_t *self)
{
    free(self->entries);
    *self = (tnd_last_events_t){0};
}
