/*  tools/top/close_up.c - what `tundish top` shows of one actor when it is opened. */
#include "tools/top/close_up.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/observe/event_reader.h"
#include "runtime/observe/thread_state.h"
#include "tools/events/event_text.h"

static double seconds_of(const tnd_histogram_t *histogram, double share)
{
    return (double)tnd_histogram_quantile(histogram, share) * 1e-9;
}

static void add_timing(tnd_top_close_up_t *self, const char *device, const char *part,
                       const tnd_histogram_t *histogram)
{
    tnd_top_timing_t *timing = &self->timings[self->timing_count++];
    snprintf(timing->name, sizeof timing->name, "%s%s%s", device, *device != '\0' ? " " : "", part);
    timing->count = tnd_histogram_count(histogram);
    timing->p50 = seconds_of(histogram, 0.5);
    timing->p90 = seconds_of(histogram, 0.9);
    timing->p99 = seconds_of(histogram, 0.99);
    timing->p999 = seconds_of(histogram, 0.999);
    timing->most = seconds_of(histogram, 1);
    for (unsigned c = 0; c < TND_HISTOGRAM_CLASSES; c++) {
        unsigned octave = c == 0 ? 0 : 1 + ((c - 1) >> TND_HISTOGRAM_PART_BITS);
        timing->octaves[octave] += histogram->counts[c];
    }
}

static void add_timings(tnd_top_close_up_t *self, const tnd_run_record_t *record,
                        const tnd_statistics_t *page)
{
    static const char *const of_actor[] = {
#define TIMING_NAME(NAME, name, text) name,
        TND_ACTOR_TIMINGS(TIMING_NAME)};
    static const char *const of_device[] = {TND_DEVICE_TIMINGS(TIMING_NAME)};
#undef TIMING_NAME
    const tnd_timing_t *timing = tnd_run_record_timing(record, page->instance, 0);
    for (unsigned p = 0; timing != NULL && p < TND_ACTOR_TIMING_COUNT; p++)
        add_timing(self, "", of_actor[p], &timing->parts[p]);
    for (uint32_t d = 0; d < page->device_count; d++) {
        timing = tnd_run_record_timing(record, page->instance, d + 1);
        for (unsigned p = 0; timing != NULL && p < TND_DEVICE_TIMING_COUNT; p++)
            add_timing(self, page->devices[d].name, of_device[p], &timing->parts[p]);
    }
}

static void add_detail(tnd_top_close_up_t *self, const tnd_actor_detail_t *detail)
{
    snprintf(self->options, sizeof self->options, "%s", detail->options);
    for (uint64_t o = 0; o < detail->operation_count; o++) {
        const tnd_operation_time_t *from = &detail->operations[o];
        tnd_top_operation_t *operation = &self->operations[self->operation_count++];
        snprintf(operation->name, sizeof operation->name, "%s", from->name);
        if (from->blocks > 0)
            operation->seconds = (double)from->ns * 1e-9 / (double)from->blocks;
    }
    if (!tnd_actor_detail_file(detail, self->file, sizeof self->file))
        return;
    self->record = detail->record;
    self->offset = detail->offset;
}

static void print_thread(FILE *out, const tnd_inspected_t *process, const char *name,
                         uint64_t thread)
{
    char text[512];
    if (thread != 0 &&
        tnd_thread_state_describe_other(process->process, (pid_t)thread, text, sizeof text))
        fprintf(out, "%-10s %s\n", name, text);
}

static void print_threads(FILE *out, const tnd_inspected_t *process, const tnd_statistics_t *page)
{
    if (process->killed || process->machine[0] != '\0')
        return;
    print_thread(out, process, page->actor, page->thread);
    for (uint32_t d = 0; d < page->device_count; d++)
        print_thread(out, process, page->devices[d].name, page->devices[d].thread);
}

/*  Waits and work without a result are left out, because actors that wait have many of them. */
static void print_events(FILE *out, const tnd_inspected_t *process, uint32_t instance,
                         uint64_t now_ns)
{
    const tnd_instance_record_t *own = &process->record.instances[instance];
    tnd_event_reader_t *reader = process->machine[0] == '\0' ? tnd_event_reader_new(process) : NULL;
    tnd_event_entry_t *entries = NULL;
    tnd_event_t *events = tnd_allocate(TND_RING_EVENTS, sizeof *events);
    size_t count = 0, room = 0;
    uint64_t missed = 0;
    for (uint32_t d = 0; reader != NULL && d < own->ring_count; d++) {
        size_t added = tnd_event_reader_read(reader, own->ring + d, events, &missed);
        for (size_t e = 0; e < added; e++) {
            if (events[e].kind == TND_EVENT_WAIT || events[e].kind == TND_EVENT_WORK)
                continue;
            entries = tnd_grow(entries, count, &room, sizeof *entries);
            entries[count++] = tnd_event_entry_of(process, instance, d, &events[e]);
        }
    }
    tnd_event_entries_sort(entries, count);
    size_t first = count > TND_CLOSE_UP_EVENTS ? count - TND_CLOSE_UP_EVENTS : 0;
    for (size_t e = first; e < count; e++)
        tnd_event_print(out, &entries[e], now_ns);
    free(entries);
    free(events);
    tnd_event_reader_destroy(&reader);
}

static const tnd_statistics_t *find_page(const tnd_inspected_t *process, const char *actor)
{
    for (uint32_t a = 0; a < process->count; a++)
        if (strcmp(process->actors[a].actor, actor) == 0)
            return &process->actors[a];
    return NULL;
}

tnd_top_close_up_t *tnd_top_close_up_new(const tnd_inspection_t *look,
                                         const tnd_inspected_t *process, const char *actor)
{
    const tnd_inspected_t *home = NULL;
    const tnd_statistics_t *page = NULL;
    for (uint32_t p = 0; p < look->count; p++) {
        const tnd_inspected_t *other = &look->processes[p];
        const tnd_statistics_t *found = find_page(other, actor);
        /* A process that was replaced has the actor too. */
        if (!tnd_inspected_same(other, process) || found == NULL ||
            (page != NULL && other->killed && !home->killed))
            continue;
        home = other;
        page = found;
    }
    const tnd_actor_detail_t *detail =
        page != NULL ? tnd_run_record_detail(&home->record, page->instance) : NULL;
    if (detail == NULL)
        return NULL;
    tnd_top_close_up_t *self = tnd_allocate_zeroed(1, sizeof *self);
    size_t size = 0;
    snprintf(self->actor, sizeof self->actor, "%s", actor);
    add_timings(self, &home->record, page);
    add_detail(self, detail);
    FILE *out = tnd_memory_stream(&self->threads, &size);
    print_threads(out, home, page);
    fclose(out);
    out = tnd_memory_stream(&self->events, &size);
    print_events(out, home, page->instance, look->now_ns);
    fclose(out);
    return self;
}

void tnd_top_close_up_destroy(tnd_top_close_up_t **self_p)
{
    tnd_top_close_up_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    free(self->threads);
    free(self->events);
    free(self);
}
