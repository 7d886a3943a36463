/*  tools/events/trace_file.c - writes a trace in Perfetto's format. */
#include "tools/events/trace_file.h"

#include <stdlib.h>
#include <string.h>

#include "perfetto.pb-c.h"
#include "runtime/base/allocation.h"
#include "runtime/observe/statistics.h"

/*  All packets are of one sequence, whose first one has this flag: nothing precedes it. */
enum { SEQUENCE = 1, STATE_CLEARED = 1, ANNOTATIONS = 8, PACKET_BYTES = 1024 };

typedef struct {
    const tnd_trace_t *trace;
    uint64_t *flow_ids; /* of each flow of the trace */
    FILE *out;
} writer_t;

/*  A trace is a list of packets, so traces of a packet each, one after the other, are one too. */
static void write_packet(FILE *out, PerfettoPacket *packet)
{
    uint8_t bytes[PACKET_BYTES];
    ProtobufCBufferSimple buffer = PROTOBUF_C_BUFFER_SIMPLE_INIT(bytes);
    PerfettoTrace trace = PERFETTO_TRACE__INIT;
    packet->has_trusted_packet_sequence_id = true;
    packet->trusted_packet_sequence_id = SEQUENCE;
    trace.n_packet = 1;
    trace.packet = &packet;
    protobuf_c_message_pack_to_buffer(&trace.base, &buffer.base);
    (void)fwrite(buffer.data, 1, buffer.len, out);
    PROTOBUF_C_BUFFER_SIMPLE_CLEAR(&buffer);
}

/* --- tracks ----------------------------------------------------------------------------------- */

/*  Numbers of tracks: a process, its threads, and the counters of an actor have different ones. */
static uint64_t thread_uuid(uint32_t track)
{
    return ((uint64_t)track + 1) << 2;
}

static uint64_t counter_uuid(uint32_t track, uint32_t type)
{
    return thread_uuid(track) | (type == TND_TRACE_QUEUE ? 1 : 2);
}

static uint64_t process_uuid(int process)
{
    return (uint64_t)(uint32_t)process << 2 | 3;
}

static bool is_first(const tnd_trace_t *self, size_t track, bool thread)
{
    const tnd_event_entry_t *own = &self->tracks[track].entry;
    for (size_t t = 0; t < track; t++) {
        const tnd_event_entry_t *other = &self->tracks[t].entry;
        if (other->process == own->process && (!thread || other->thread == own->thread))
            return false;
    }
    return true;
}

static void write_track(FILE *out, PerfettoTrack *track, bool first)
{
    PerfettoPacket packet = PERFETTO_PACKET__INIT;
    packet.has_sequence_flags = first;
    packet.sequence_flags = STATE_CLEARED;
    packet.track_descriptor = track;
    track->has_uuid = true;
    write_packet(out, &packet);
}

static void write_process(const tnd_event_entry_t *entry, const char *run, FILE *out, bool first)
{
    char name[160];
    snprintf(name, sizeof name, "%s, host %s", run, entry->host);
    PerfettoProcess process = PERFETTO_PROCESS__INIT;
    process.has_pid = true;
    process.pid = entry->process;
    process.process_name = name;
    PerfettoTrack track = PERFETTO_TRACK__INIT;
    track.uuid = process_uuid(entry->process);
    track.process = &process;
    write_track(out, &track, first);
}

static void write_thread(const tnd_trace_t *self, size_t number, FILE *out)
{
    const tnd_event_entry_t *entry = &self->tracks[number].entry;
    char name[80];
    snprintf(name, sizeof name, entry->device > 0 ? "%s device %u" : "%s", entry->actor,
             (unsigned)entry->device - 1);
    PerfettoThread thread = PERFETTO_THREAD__INIT;
    thread.has_pid = thread.has_tid = true;
    thread.pid = entry->process;
    thread.tid = (int64_t)entry->thread;
    thread.thread_name = name;
    PerfettoTrack track = PERFETTO_TRACK__INIT;
    track.uuid = thread_uuid((uint32_t)number);
    track.has_parent_uuid = true;
    track.parent_uuid = process_uuid(entry->process);
    /* Viewers merge tracks of one thread, whose slices might overlap. */
    if (entry->thread != 0 && is_first(self, number, true))
        track.thread = &thread;
    else
        track.name = name;
    write_track(out, &track, false);
}

static void write_counter(const tnd_trace_t *self, size_t number, uint32_t type, FILE *out)
{
    const tnd_event_entry_t *entry = &self->tracks[number].entry;
    char name[80];
    snprintf(name, sizeof name, "%s %s", entry->actor,
             type == TND_TRACE_QUEUE ? "queue" : "credit");
    PerfettoCounter counter = PERFETTO_COUNTER__INIT;
    counter.has_unit = true;
    counter.unit = PERFETTO_COUNTER__UNIT__UNIT_COUNT;
    PerfettoTrack track = PERFETTO_TRACK__INIT;
    track.uuid = counter_uuid((uint32_t)number, type);
    track.has_parent_uuid = true;
    track.parent_uuid = process_uuid(entry->process);
    track.name = name;
    track.counter = &counter;
    write_track(out, &track, false);
}

static void write_tracks(const tnd_trace_t *self, const char *run, FILE *out)
{
    for (size_t t = 0; t < self->track_count; t++) {
        if (is_first(self, t, false))
            write_process(&self->tracks[t].entry, run, out, t == 0);
        write_thread(self, t, out);
        for (uint32_t type = TND_TRACE_QUEUE; type <= TND_TRACE_CREDIT; type++)
            if (self->tracks[t].entry.device == 0)
                write_counter(self, t, type, out);
    }
}

/* --- events ----------------------------------------------------------------------------------- */

typedef struct {
    PerfettoAnnotation items[ANNOTATIONS];
    PerfettoAnnotation *pointers[ANNOTATIONS];
    size_t count;
} annotations_t;

static PerfettoAnnotation *annotate(annotations_t *self, const char *name)
{
    PerfettoAnnotation *item = &self->items[self->count];
    perfetto_annotation__init(item);
    item->name = (char *)name;
    self->pointers[self->count++] = item;
    return item;
}

static void annotate_number(annotations_t *self, const char *name, uint64_t value)
{
    PerfettoAnnotation *item = annotate(self, name);
    item->has_uint_value = true;
    item->uint_value = value;
}

static void annotate_event(annotations_t *self, const tnd_trace_item_t *item)
{
    const tnd_event_t *event = &item->event;
    const char *first = tnd_event_first(event->kind), *count = tnd_event_count(event->kind);
    if (item->peer != NULL)
        annotate(self, "peer")->string_value = (char *)item->peer;
    if (*first != '\0' && strcmp(first, "reasons") != 0)
        annotate_number(self, first, event->first);
    if (*count != '\0')
        annotate_number(self, count, event->count);
    if (event->kind == TND_EVENT_BATCH_CUT)
        annotate_number(self, "step", event->duration_ns);
    if (strcmp(first, "position") == 0) {
        annotate_number(self, "epoch", event->epoch);
        annotate_number(self, "lane", event->lane);
    }
    if (event->attempt > 0)
        annotate_number(self, "attempt", event->attempt);
}

static void name_event(const tnd_event_t *event, char name[64])
{
    uint32_t waits = (uint32_t)event->first;
    const char *reason = event->kind == TND_EVENT_WAIT && waits != 0
                             ? tnd_wait_name(tnd_wait_foremost(waits))
                             : NULL;
    snprintf(name, 64, reason != NULL ? "%s: %s" : "%s", tnd_event_name(event->kind), reason);
}

static void fill_flows(const writer_t *self, size_t item, PerfettoEvent *event)
{
    const tnd_trace_flow_t *flows;
    size_t count = tnd_trace_flows(self->trace, item, &flows);
    size_t going = 0;
    while (going < count && !flows[going].ends)
        going++;
    uint64_t *ids = self->flow_ids + (flows - self->trace->flows);
    event->n_flow_ids = going;
    event->flow_ids = ids;
    event->n_terminating_flow_ids = count - going;
    event->terminating_flow_ids = ids + going;
}

static void write_mark(const writer_t *self, const tnd_trace_mark_t *mark)
{
    static const PerfettoEvent__Type types[] = {
        [TND_TRACE_BEGIN] = PERFETTO_EVENT__TYPE__TYPE_SLICE_BEGIN,
        [TND_TRACE_END] = PERFETTO_EVENT__TYPE__TYPE_SLICE_END,
        [TND_TRACE_INSTANT] = PERFETTO_EVENT__TYPE__TYPE_INSTANT,
        [TND_TRACE_QUEUE] = PERFETTO_EVENT__TYPE__TYPE_COUNTER,
        [TND_TRACE_CREDIT] = PERFETTO_EVENT__TYPE__TYPE_COUNTER,
    };
    char name[64];
    annotations_t annotations = {.count = 0};
    PerfettoPacket packet = PERFETTO_PACKET__INIT;
    PerfettoEvent event = PERFETTO_EVENT__INIT;
    packet.has_timestamp = true;
    packet.timestamp = mark->at_ns;
    packet.track_event = &event;
    event.has_type = event.has_track_uuid = true;
    event.type = types[mark->type];
    event.track_uuid = thread_uuid(mark->track);
    if (mark->type == TND_TRACE_BEGIN || mark->type == TND_TRACE_INSTANT) {
        const tnd_trace_item_t *item = &self->trace->items[mark->item];
        name_event(&item->event, name);
        event.name = name;
        annotate_event(&annotations, item);
        event.n_debug_annotations = annotations.count;
        event.debug_annotations = annotations.pointers;
        fill_flows(self, mark->item, &event);
    } else if (mark->type != TND_TRACE_END) {
        event.track_uuid = counter_uuid(mark->track, mark->type);
        event.has_counter_value = true;
        event.counter_value = (int64_t)mark->value;
    }
    write_packet(self->out, &packet);
}

void tnd_trace_write(const tnd_trace_t *self, const char *run, FILE *out)
{
    writer_t writer = {.trace = self, .out = out};
    writer.flow_ids = tnd_allocate(self->flow_count, sizeof *writer.flow_ids);
    for (size_t f = 0; f < self->flow_count; f++)
        writer.flow_ids[f] = self->flows[f].id;
    write_tracks(self, run, out);
    for (size_t m = 0; m < self->mark_count; m++)
        write_mark(&writer, &self->marks[m]);
    free(writer.flow_ids);
}
