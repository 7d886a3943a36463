/*  tests/sim/agenda.h - a heap of events by time, first in, first out at equal times. */
#ifndef TND_TESTS_SIM_AGENDA_H
#define TND_TESTS_SIM_AGENDA_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t at;    /* virtual nanoseconds */
    uint64_t order; /* of being put in */
    uint32_t kind, a, b, c;
} sim_event_t;

typedef struct {
    sim_event_t *heap; /* from 1 on */
    uint32_t count, room;
    uint64_t order;
} sim_agenda_t;

void sim_agenda_clear(sim_agenda_t *self);
void sim_agenda_free(sim_agenda_t *self);
void sim_agenda_put(sim_agenda_t *self, uint64_t at, uint32_t kind, uint32_t a, uint32_t b,
                    uint32_t c);
bool sim_agenda_take(sim_agenda_t *self, sim_event_t *event);

#endif
