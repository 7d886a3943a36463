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

/*  Whether one of the entries is of the same thread and kind. */
static bool has_kind(const tnd_event_entry_t *entries, size_t count, const tnd_event_entry_t *entry)
{
    for (size_t e = 0; e < count; e++)
        if (entries[e].instance == entry->instance && entries[e].device == entry->device &&
            entries[e].event.kind == entry->event.kind)
            return true;
    return false;
}

static bool is_shown(const tnd_event_entry_t *entry)
{
    return entry->event.kind != TND_EVENT_WAIT && entry->event.kind != TND_EVENT_WORK;
}

void tnd_last_events_choose(tnd_last_events_t *self, size_t most, uint64_t span_ns)
{
    tnd_event_entries_sort(self->entries, self->count);
    size_t first = self->count; /* the chosen ones are from here on */
    for (size_t e = self->count; e > 0 && self->count - first < most; e--) {
        const tnd_event_entry_t entry = self->entries[e - 1];
        size_t chosen = self->count - first;
        if (!is_shown(&entry) || has_kind(self->entries + first, chosen, &entry))
            continue;
        if (chosen > 0 &&
            self->entries[self->count - 1].event.end_ns - entry.event.end_ns > span_ns)
            break;
        self->entries[--first] = entry;
    }
    self->count -= first;
    if (self->count > 0)
        memmove(self->entries, self->entries + first, self->count * sizeof *self->entries);
}

void tnd_last_events_free(tnd_last_events_t *self)
{
    free(self->entries);
    *self = (tnd_last_events_t){0};
}
