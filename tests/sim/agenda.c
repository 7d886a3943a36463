/*  tests/sim/agenda.c - a heap of events by time. */
#include "tests/sim/agenda.h"

#include <stdlib.h>

#include "runtime/base/allocation.h"

void sim_agenda_clear(sim_agenda_t *self)
{
    self->count = 0;
    self->order = 0;
}

void sim_agenda_free(sim_agenda_t *self)
{
    free(self->heap);
    *self = (sim_agenda_t){0};
}

static bool before(const sim_event_t *a, const sim_event_t *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

void sim_agenda_put(sim_agenda_t *self, uint64_t at, uint32_t kind, uint32_t a, uint32_t b,
                    uint32_t c)
{
    if (self->count + 2 > self->room) {
        self->room = self->room ? 2 * self->room : 1024;
        self->heap = tnd_resize(self->heap, self->room, sizeof *self->heap);
    }
    sim_event_t event = {.at = at, .order = self->order++, .kind = kind, .a = a, .b = b, .c = c};
    uint32_t i = ++self->count;
    while (i > 1 && before(&event, &self->heap[i / 2])) {
        self->heap[i] = self->heap[i / 2];
        i /= 2;
    }
    self->heap[i] = event;
}

bool sim_agenda_take(sim_agenda_t *self, sim_event_t *event)
{
    if (self->count == 0)
        return false;
    *event = self->heap[1];
    sim_event_t moved = self->heap[self->count--];
    uint32_t i = 1;
    for (uint32_t child = 2; child <= self->count; child = 2 * i) {
        if (child < self->count && before(&self->heap[child + 1], &self->heap[child]))
            child++;
        if (!before(&self->heap[child], &moved))
            break;
        self->heap[i] = self->heap[child];
        i = child;
    }
    if (self->count > 0)
        self->heap[i] = moved;
    return true;
}
