/*  tools/watch/time_totals.c - how actors have spent their time, as counters that never decrease. */
#include "tools/watch/time_totals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

static const tnd_process_totals_t *process_of(const tnd_time_totals_t *self,
                                              const tnd_inspected_t *process)
{
    for (uint32_t p = 0; p < self->count; p++)
        if (self->processes[p].session == process->session &&
            self->processes[p].process == process->process &&
            strcmp(self->processes[p].host, process->host) == 0)
            return &self->processes[p];
    return NULL;
}

/*  The actor of a process; it usually has the same place as in the previous look. */
static const tnd_time_total_t *actor_of(const tnd_process_totals_t *process, uint32_t place,
                                        const char *actor)
{
    if (process == NULL)
        return NULL;
    if (place < process->count && strcmp(process->actors[place].actor, actor) == 0)
        return &process->actors[place];
    for (uint32_t a = 0; a < process->count; a++)
        if (strcmp(process->actors[a].actor, actor) == 0)
            return &process->actors[a];
    return NULL;
}

static void add(tnd_time_total_t *total, const tnd_time_total_t *old, const tnd_statistics_t *page,
                uint64_t before_ns, uint64_t now_ns)
{
    tnd_times_t window;
    snprintf(total->actor, sizeof total->actor, "%s", page->actor);
    tnd_statistics_times(page, now_ns, &total->last);
    total->total = total->last;
    if (old == NULL)
        return;
    tnd_times_between(&old->last, &total->last, now_ns - before_ns, &window);
    total->total = old->total;
#define ADD_TIME(name, text) total->total.name += window.name;
    TND_TIMES(ADD_TIME)
#undef ADD_TIME
}

void tnd_time_totals_add(tnd_time_totals_t *self, const tnd_inspection_t *look)
{
    tnd_time_totals_t new = {.now_ns = look->now_ns, .count = look->count};
    new.processes = tnd_allocate_zeroed(look->count + (size_t)1, sizeof *new.processes);
    for (uint32_t p = 0; p < look->count; p++) {
        const tnd_inspected_t *process = &look->processes[p];
        const tnd_process_totals_t *old = process_of(self, process);
        tnd_process_totals_t *totals = &new.processes[p];
        *totals = (tnd_process_totals_t){
            .session = process->session, .process = process->process, .count = process->count};
        snprintf(totals->host, sizeof totals->host, "%s", process->host);
        totals->actors = tnd_allocate_zeroed(process->count + (size_t)1, sizeof *totals->actors);
        for (uint32_t a = 0; a < process->count; a++)
            add(&totals->actors[a], actor_of(old, a, process->actors[a].actor), &process->actors[a],
                self->now_ns, look->now_ns);
    }
    tnd_time_totals_free(self);
    *self = new;
}

void tnd_time_totals_free(tnd_time_totals_t *self)
{
    for (uint32_t p = 0; p < self->count; p++)
        free(self->processes[p].actors);
    free(self->processes);
    *self = (tnd_time_totals_t){0};
}
