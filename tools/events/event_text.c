/*  tools/events/event_text.c - prints events as text or JSON. */
#include "tools/events/event_text.h"

#include <inttypes.h>
#include <string.h>

#include "runtime/observe/statistics.h"
#include "tools/cli/json.h"

static void print_waits(FILE *out, uint64_t waits, const char *quote, const char *between)
{
    bool any = false;
    for (unsigned bit = 0; bit < TND_WAIT_REASONS; bit++) {
        if ((waits >> bit & 1) == 0 || tnd_wait_name(bit) == NULL)
            continue;
        fprintf(out, "%s%s%s%s", any ? between : "", quote, tnd_wait_name(bit), quote);
        any = true;
    }
}

static void print_span(FILE *out, uint64_t duration_ns)
{
    if (duration_ns < 1000000)
        fprintf(out, ", took %.1f us", (double)duration_ns * 1e-3);
    else
        fprintf(out, ", took %.1f ms", (double)duration_ns * 1e-6);
}

void tnd_event_print(FILE *out, const tnd_event_entry_t *entry, uint64_t zero_ns)
{
    const tnd_event_t *event = &entry->event;
    const char *first = tnd_event_first(event->kind), *count = tnd_event_count(event->kind);
    char actor[64];
    snprintf(actor, sizeof actor, entry->device > 0 ? "%s:%u" : "%s", entry->actor,
             (unsigned)entry->device - 1);
    fprintf(out, "%+12.6f s  %-12s %-15s", ((double)event->end_ns - (double)zero_ns) * 1e-9, actor,
            tnd_event_name(event->kind));
    if (entry->peer != NULL)
        fprintf(out, " %-12s", entry->peer);
    if (strcmp(first, "reasons") == 0) {
        fputc(' ', out);
        print_waits(out, event->first, "", ",");
    } else if (*first != '\0') {
        fprintf(out, " %s %" PRIu64, first, event->first);
    }
    if (*count != '\0')
        fprintf(out, ", %" PRIu32 " %s", event->count, count);
    if (event->kind == TND_EVENT_BATCH_CUT)
        fprintf(out, ", step %" PRIu64, event->duration_ns);
    if (strcmp(first, "position") == 0)
        fprintf(out, ", epoch %u, lane %u", (unsigned)event->epoch, (unsigned)event->lane);
    if (event->attempt > 0)
        fprintf(out, ", attempt %u", (unsigned)event->attempt);
    if (tnd_event_is_span(event->kind))
        print_span(out, event->duration_ns);
    fputc('\n', out);
}

void tnd_event_begin_json(FILE *out, const tnd_event_entry_t *entry)
{
    const tnd_event_t *event = &entry->event;
    const char *first = tnd_event_first(event->kind), *count = tnd_event_count(event->kind);
    fprintf(out, "{\"monotonic_seconds\":%.9f", (double)event->end_ns * 1e-9);
    tnd_json_member(out, "host", entry->host);
    tnd_json_member(out, "actor", entry->actor);
    if (entry->device > 0)
        fprintf(out, ",\"device\":%u", (unsigned)entry->device - 1);
    tnd_json_member(out, "event", tnd_event_name(event->kind));
    if (entry->peer != NULL)
        tnd_json_member(out, "peer", entry->peer);
    if (strcmp(first, "reasons") == 0) {
        fputs(",\"waits\":[", out);
        print_waits(out, event->first, "\"", ",");
        fputc(']', out);
    } else if (*first != '\0') {
        fprintf(out, ",\"%s\":%" PRIu64, first, event->first);
    }
    if (*count != '\0')
        fprintf(out, ",\"%s\":%" PRIu32, count, event->count);
    if (event->kind == TND_EVENT_BATCH_CUT)
        fprintf(out, ",\"step\":%" PRIu64, event->duration_ns);
    if (strcmp(first, "position") == 0)
        fprintf(out, ",\"epoch\":%u,\"lane\":%u,\"attempt\":%u", (unsigned)event->epoch,
                (unsigned)event->lane, (unsigned)event->attempt);
    if (tnd_event_is_span(event->kind))
        fprintf(out, ",\"duration_seconds\":%.9f", (double)event->duration_ns * 1e-9);
}

void tnd_event_print_json(FILE *out, const tnd_event_entry_t *entry)
{
    tnd_event_begin_json(out, entry);
    fputs("}\n", out);
}
