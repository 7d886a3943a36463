/*  tools/events/event_stream.c - the events of a run on this machine, merged by time. */
#include "tools/events/event_stream.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "tools/choice/absent_run.h"
#include "tools/choice/run_choice.h"
#include "tools/events/pace.h"

/*  A process whose rings are read.  Its inspection lives as long, for the names. */
typedef struct {
    tnd_inspection_t *made;
    const tnd_inspected_t *process;
    tnd_event_reader_t *reader;
} source_t;

struct tnd_event_stream {
    char run[64];
    uint64_t session;
    source_t *sources;
    size_t source_count, source_room;
    tnd_event_entry_t *entries; /* those of the last poll come first */
    size_t given, count, room, fullest;
    tnd_pace_t looks; /* for new processes */
    uint64_t polled_ns, missed;
    bool past, lives;
    tnd_event_t scratch[TND_RING_EVENTS];
};

bool tnd_event_names(const char *name, const char *actor, const char *family)
{
    return actor != NULL && (strcmp(name, actor) == 0 || strcmp(name, family) == 0);
}

static bool is_read(const tnd_event_stream_t *self, const char *path)
{
    for (size_t s = 0; s < self->source_count; s++)
        if (strcmp(self->sources[s].process->path, path) == 0)
            return true;
    return false;
}

const char *tnd_event_stream_run(const tnd_event_stream_t *self)
{
    return self->run;
}

bool tnd_event_stream_is_of(const tnd_event_stream_t *self, const tnd_inspected_t *process)
{
    return strcmp(process->run, self->run) == 0 && process->session == self->session;
}

/*  Adds processes that are not read yet.  Takes the inspection. */
static void add_sources(tnd_event_stream_t *self, tnd_inspection_t *made, bool past)
{
    bool used = false;
    self->lives = false;
    for (uint32_t p = 0; p < made->count; p++) {
        const tnd_inspected_t *process = &made->processes[p];
        if (!tnd_event_stream_is_of(self, process))
            continue;
        self->lives = self->lives || !process->killed;
        tnd_event_reader_t *reader =
            is_read(self, process->path) ? NULL : tnd_event_reader_new(process);
        if (reader == NULL)
            continue;
        for (uint32_t ring = 0; !past && ring < process->record.shape.rings; ring++)
            tnd_event_reader_skip(reader, ring);
        self->sources =
            tnd_grow(self->sources, self->source_count, &self->source_room, sizeof *self->sources);
        self->sources[self->source_count++] = (source_t){used ? NULL : made, process, reader};
        used = true;
    }
    if (!used)
        tnd_inspection_destroy(&made);
}

/*  The run to watch: the only one that lives, or else the one that was killed last. */
static const tnd_inspected_t *choose(const tnd_inspection_t *made, const tnd_run_choice_t *choice,
                                     tnd_error_t *error)
{
    const tnd_inspected_t *found = NULL, *dead = NULL;
    char absent[sizeof error->text];
    for (uint32_t p = 0; p < made->count; p++) {
        const tnd_inspected_t *process = &made->processes[p];
        if (!tnd_run_choice_fits(choice, process))
            continue;
        if (process->killed && (dead == NULL || process->last_ns > dead->last_ns))
            dead = process;
        if (process->killed || (found != NULL && tnd_inspected_same(found, process)))
            continue;
        if (found != NULL) {
            (void)tnd_run_choice_several(choice, made, error->text, sizeof error->text);
            return NULL;
        }
        found = process;
    }
    found = found != NULL ? found : dead;
    if (found == NULL)
        (void)tnd_fail(error, "%s",
                       tnd_absent_run_text(choice->name, NULL, made, absent, sizeof absent));
    return found;
}

tnd_event_stream_t *tnd_event_stream_new(const char *run, bool past, tnd_error_t *error)
{
    tnd_run_choice_t choice;
    tnd_run_choice_read(&choice, run);
    tnd_inspection_t *made = tnd_inspection_of_run(choice.name, TND_LOOK_NOW);
    const tnd_inspected_t *process = choose(made, &choice, error);
    if (process == NULL) {
        tnd_inspection_destroy(&made);
        return NULL;
    }
    tnd_event_stream_t *self = tnd_allocate_zeroed(1, sizeof *self);
    memcpy(self->run, process->run, sizeof self->run);
    self->session = process->session;
    self->past = past;
    self->polled_ns = tnd_clock_now();
    self->looks = (tnd_pace_t){.every_ns = 250000000, .next_ns = self->polled_ns + 250000000};
    add_sources(self, made, past);
    return self;
}

void tnd_event_stream_destroy(tnd_event_stream_t **self_p)
{
    tnd_event_stream_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    for (size_t s = 0; s < self->source_count; s++)
        tnd_event_reader_destroy(&self->sources[s].reader);
    for (size_t s = 0; s < self->source_count; s++)
        tnd_inspection_destroy(&self->sources[s].made);
    free(self->sources);
    free(self->entries);
    free(self);
}

static uint64_t thread_of(const tnd_inspected_t *process, uint32_t instance, uint32_t device)
{
    for (uint32_t a = 0; a < process->count; a++) {
        const tnd_statistics_t *page = &process->actors[a];
        if (page->instance == instance)
            return device == 0                    ? page->thread
                   : device <= page->device_count ? page->devices[device - 1].thread
                                                  : 0;
    }
    return 0;
}

tnd_event_entry_t tnd_event_entry_of(const tnd_inspected_t *process, uint32_t instance,
                                     uint32_t device, const tnd_event_t *event)
{
    const tnd_run_record_t *record = &process->record;
    const tnd_instance_record_t *own = &record->instances[instance];
    tnd_event_entry_t entry = {
        .host = process->host,
        .actor = own->name,
        .family = own->actor,
        .kind = own->kind,
        .instance = instance,
        .chain = own->chain,
        .device = device,
        .process = process->process,
        .thread = thread_of(process, instance, device),
    };
    if (event == NULL)
        return entry;
    entry.event = *event;
    if (event->peer < record->shape.actors) {
        entry.peer = record->instances[event->peer].name;
        entry.peer_family = record->instances[event->peer].actor;
    }
    return entry;
}

bool tnd_event_stream_name(const tnd_event_stream_t *self, const tnd_inspected_t *process,
                           const tnd_statistics_t *page, tnd_event_entry_t *entry)
{
    for (size_t s = 0; s < self->source_count; s++) {
        const tnd_inspected_t *own = self->sources[s].process;
        if (strcmp(own->path, process->path) != 0 || own->record.shape.hosts == 0 ||
            page->instance >= own->record.shape.actors)
            continue;
        *entry = tnd_event_entry_of(own, page->instance, 0, NULL);
        return true;
    }
    return false;
}

/*  Adds the new events of one ring. */
static void take_ring(tnd_event_stream_t *self, source_t *source, uint32_t instance,
                      uint32_t device)
{
    const tnd_run_record_t *record = &source->process->record;
    size_t count = tnd_event_reader_read(source->reader, record->instances[instance].ring + device,
                                         self->scratch, &self->missed);
    if (count > self->fullest)
        self->fullest = count;
    for (size_t e = 0; e < count; e++) {
        self->entries = tnd_grow(self->entries, self->count, &self->room, sizeof *self->entries);
        self->entries[self->count++] =
            tnd_event_entry_of(source->process, instance, device, &self->scratch[e]);
    }
}

static void take_rings(tnd_event_stream_t *self, source_t *source)
{
    const tnd_run_record_t *record = &source->process->record;
    for (uint32_t i = 0; record->shape.hosts > 0 && i < record->shape.actors; i++)
        for (uint32_t d = 0; d < record->instances[i].ring_count; d++)
            take_ring(self, source, i, d);
}

static int by_end(const void *left, const void *right)
{
    const tnd_event_entry_t *a = left, *b = right;
    if (a->event.end_ns != b->event.end_ns)
        return a->event.end_ns < b->event.end_ns ? -1 : 1;
    /* What was sent is before what was received at the same time. */
    bool a_received = a->event.kind == TND_EVENT_BLOCK_RECEIVED ||
                      a->event.kind == TND_EVENT_SLICE_RECEIVED ||
                      a->event.kind == TND_EVENT_TICKET_RECEIVED;
    bool b_received = b->event.kind == TND_EVENT_BLOCK_RECEIVED ||
                      b->event.kind == TND_EVENT_SLICE_RECEIVED ||
                      b->event.kind == TND_EVENT_TICKET_RECEIVED;
    return a_received - b_received;
}

void tnd_event_entries_sort(tnd_event_entry_t *entries, size_t count)
{
    if (count > 0)
        qsort(entries, count, sizeof *entries, by_end);
}

void tnd_event_stream_look(tnd_event_stream_t *self)
{
    uint64_t now = tnd_clock_now();
    if (!tnd_pace_is_due(&self->looks, now))
        return;
    uint64_t before = tnd_clock_read(CLOCK_PROCESS_CPUTIME_ID);
    add_sources(self, tnd_inspection_new(TND_LOOK_NOW), true);
    tnd_pace_worked(&self->looks, now, tnd_clock_read(CLOCK_PROCESS_CPUTIME_ID) - before);
}

size_t tnd_event_stream_poll(tnd_event_stream_t *self, bool last,
                             const tnd_event_entry_t **entries_p)
{
    uint64_t now = tnd_clock_now();
    self->count -= self->given;
    if (self->count > 0)
        memmove(self->entries, self->entries + self->given, self->count * sizeof *self->entries);
    self->given = self->fullest = 0;
    tnd_event_stream_look(self);
    for (size_t s = 0; s < self->source_count; s++)
        take_rings(self, &self->sources[s]);
    tnd_event_entries_sort(self->entries, self->count);
    /* An event that ended before the last poll was in its ring by now. */
    while (self->given < self->count &&
           (last || self->entries[self->given].event.end_ns < self->polled_ns))
        self->given++;
    self->polled_ns = now;
    *entries_p = self->entries;
    return self->given;
}

bool tnd_event_stream_lives(const tnd_event_stream_t *self)
{
    return self->lives;
}

size_t tnd_event_stream_fullest(const tnd_event_stream_t *self)
{
    return self->fullest;
}

uint64_t tnd_event_stream_missed(const tnd_event_stream_t *self)
{
    return self->missed;
}

bool tnd_event_stream_linked(const tnd_event_stream_t *self, const char *from, const char *to)
{
    for (size_t s = 0; s < self->source_count; s++) {
        const tnd_run_record_t *record = &self->sources[s].process->record;
        for (uint32_t e = 0; record->shape.hosts > 0 && e < record->shape.edges; e++) {
            const tnd_instance_record_t *a = &record->instances[record->edges[e].from];
            const tnd_instance_record_t *b = &record->instances[record->edges[e].to];
            if (tnd_event_names(from, a->name, a->actor) && tnd_event_names(to, b->name, b->actor))
                return true;
        }
    }
    return false;
}

const char *tnd_event_stream_stopped(const tnd_event_stream_t *self, const char *name,
                                     int *process_p)
{
    for (size_t s = 0; s < self->source_count; s++) {
        const tnd_inspected_t *process = self->sources[s].process;
        bool stopped = process->stopped && process->record.shape.hosts > 0;
        for (uint32_t i = 0; stopped && i < process->record.shape.actors; i++) {
            const tnd_instance_record_t *instance = &process->record.instances[i];
            bool named = name == NULL || tnd_event_names(name, instance->name, instance->actor);
            if (instance->ring_count == 0 || !named)
                continue;
            *process_p = process->process;
            return instance->name;
        }
    }
    return NULL;
}

static const tnd_instance_record_t *find(const tnd_event_stream_t *self, const char *name,
                                         bool elsewhere)
{
    const tnd_instance_record_t *found = NULL;
    for (size_t s = 0; s < self->source_count; s++) {
        const tnd_run_record_t *record = &self->sources[s].process->record;
        for (uint32_t i = 0; record->shape.hosts > 0 && i < record->shape.actors; i++) {
            const tnd_instance_record_t *instance = &record->instances[i];
            if (!tnd_event_names(name, instance->name, instance->actor))
                continue;
            if (!elsewhere)
                return instance;
            if (instance->ring_count > 0)
                return NULL; /* at least one is here */
            found = instance;
        }
    }
    return found;
}

bool tnd_event_stream_has(const tnd_event_stream_t *self, const char *name)
{
    return find(self, name, false) != NULL;
}

const char *tnd_event_stream_elsewhere(const tnd_event_stream_t *self, const char *name,
                                       const char **host_p)
{
    const tnd_instance_record_t *found = find(self, name, true);
    if (found == NULL)
        return NULL;
    *host_p = self->sources[0].process->record.hosts[found->host].name;
    return found->name;
}
