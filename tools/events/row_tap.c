/*  tools/events/row_tap.c - rows that pass an actor of a run. */
#include "tools/events/row_tap.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "tools/events/pace.h"

/*  How often requests are renewed; how often new processes are looked for; how often a copy of a
 *  process is taken. */
static const uint64_t renew_every_ns = 500000000, ask_every_ns = 500000000,
                      take_every_ns = 100000000;

/*  A process that is asked.  Its inspection lives as long, for the names. */
typedef struct {
    tnd_inspection_t *made;
    const tnd_inspected_t *process;
    tnd_tap_reader_t *reader;
    uint64_t took_ns;
} source_t;

struct tnd_row_tap {
    const char *from, *to;
    uint64_t every, renewed_ns;
    tnd_pace_t asks, takes;
    uint64_t took_ns; /* when the copy was taken that the caller shows now; 0: it shows none */
    uint64_t took_cpu_ns;
    source_t *sources;
    size_t count, room, next;
    tnd_error_t error;
};

tnd_row_tap_t *tnd_row_tap_new(const char *from, const char *to, uint64_t every)
{
    tnd_row_tap_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->from = from;
    self->to = to;
    self->every = every;
    self->asks.every_ns = ask_every_ns;
    self->error.text[0] = '\0';
    return self;
}

void tnd_row_tap_destroy(tnd_row_tap_t **self_p)
{
    tnd_row_tap_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    for (size_t s = 0; s < self->count; s++)
        tnd_tap_reader_destroy(&self->sources[s].reader);
    for (size_t s = 0; s < self->count; s++)
        tnd_inspection_destroy(&self->sources[s].made);
    free(self->sources);
    free(self);
}

const char *tnd_row_tap_error(const tnd_row_tap_t *self)
{
    return self->error.text;
}

static bool is_asked(const tnd_row_tap_t *self, const tnd_inspected_t *process)
{
    for (size_t s = 0; s < self->count; s++)
        if (strcmp(self->sources[s].process->path, process->path) == 0)
            return true;
    return false;
}

/*  Whether an instance of that name is in the process. */
static bool has_actor(const tnd_row_tap_t *self, const tnd_inspected_t *process)
{
    const tnd_run_record_t *record = &process->record;
    for (uint32_t i = 0; record->shape.hosts > 0 && i < record->shape.actors; i++)
        if (record->instances[i].ring_count > 0 &&
            tnd_event_names(self->from, record->instances[i].name, record->instances[i].actor))
            return true;
    return false;
}

/*  Asks the processes that are not asked yet. */
static void ask(tnd_row_tap_t *self, const tnd_event_stream_t *stream)
{
    tnd_inspection_t *made = tnd_inspection_new(TND_LOOK_NOW);
    bool used = false;
    for (uint32_t p = 0; p < made->count; p++) {
        const tnd_inspected_t *process = &made->processes[p];
        tnd_tap_reader_t *reader;
        if (process->killed || !tnd_event_stream_is_of(stream, process) ||
            !has_actor(self, process) || is_asked(self, process) ||
            tnd_tap_reader_new(&reader, process, self->from, self->every, &self->error) != TND_OK)
            continue;
        self->sources = tnd_grow(self->sources, self->count, &self->room, sizeof *self->sources);
        self->sources[self->count++] =
            (source_t){.made = used ? NULL : made, .process = process, .reader = reader};
        used = true;
    }
    if (!used)
        tnd_inspection_destroy(&made);
}

/*  The event of a copy; false: its names are not known, it goes elsewhere, or it is still of the
 *  request of an earlier tap. */
static bool name_copy(const tnd_row_tap_t *self, const source_t *source, const tnd_tap_t *tap,
                      tnd_event_entry_t *entry)
{
    const tnd_run_record_t *record = &source->process->record;
    const tnd_tap_note_t *note = &tap->note;
    if (note->from >= record->shape.actors || note->to >= record->shape.actors)
        return false;
    const tnd_instance_record_t *from = &record->instances[note->from];
    const tnd_instance_record_t *to = &record->instances[note->to];
    *entry = (tnd_event_entry_t){
        .host = source->process->host,
        .actor = from->name,
        .family = from->actor,
        .kind = from->kind,
        .peer = to->name,
        .peer_family = to->actor,
        .instance = note->from,
        .chain = from->chain,
        .process = source->process->process,
        .event = {.end_ns = note->at_ns,
                  .first = note->first,
                  .count = note->count,
                  .peer = (uint16_t)note->to,
                  .lane = (uint16_t)note->lane,
                  .epoch = (uint16_t)note->epoch,
                  .attempt = (uint8_t)note->attempt,
                  .kind = note->slice ? TND_EVENT_SLICE_SENT : TND_EVENT_BLOCK_SENT},
    };
    return tnd_event_names(self->from, from->name, from->actor) &&
           (self->to[0] == '\0' || tnd_event_names(self->to, to->name, to->actor));
}

const tnd_tap_t *tnd_row_tap_poll(tnd_row_tap_t *self, const tnd_event_stream_t *stream,
                                  tnd_event_entry_t *entry)
{
    uint64_t now = tnd_clock_now();
    if (now - self->renewed_ns >= renew_every_ns) {
        self->renewed_ns = now;
        for (size_t s = 0; s < self->count; s++)
            tnd_tap_reader_renew(self->sources[s].reader);
    }
    uint64_t cpu = tnd_clock_read(CLOCK_PROCESS_CPUTIME_ID);
    if (self->took_ns != 0)
        tnd_pace_worked(&self->takes, self->took_ns, cpu - self->took_cpu_ns);
    self->took_ns = 0;
    if (tnd_pace_is_due(&self->asks, now)) {
        ask(self, stream);
        uint64_t asked = tnd_clock_read(CLOCK_PROCESS_CPUTIME_ID);
        tnd_pace_worked(&self->asks, now, asked - cpu);
        cpu = asked;
    }
    if (!tnd_pace_is_due(&self->takes, now))
        return NULL;
    for (size_t s = 0; s < self->count; s++) {
        source_t *source = &self->sources[self->next++ % self->count];
        if (now - source->took_ns < take_every_ns)
            continue;
        const tnd_tap_t *tap = tnd_tap_reader_take(source->reader);
        if (tap == NULL)
            continue;
        source->took_ns = self->took_ns = now;
        self->took_cpu_ns = cpu;
        if (name_copy(self, source, tap, entry))
            return tap;
    }
    return NULL;
}
