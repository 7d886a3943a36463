/*  tools/watch/actor_history.c - the last ten minutes of each actor of a run. */
#include "tools/watch/actor_history.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/resources/process_memory.h"
#include "tools/cli/json.h"

/*  Of a second: its age, rows and shares as text, in a buffer that may be twice as large. */
enum { SECOND_TEXT = 2 * (6 + 10 + 2 * TND_HISTORY_SHARES) };
_Static_assert(TND_ACTOR_HISTORY_SECONDS *(sizeof(tnd_actor_second_t) + SECOND_TEXT) <=
                   TND_OBSERVER_ACTOR_BYTES * 3 / 4,
               "the memory sum has these seconds, and what `ps` shows of the actor");

static void add_moment(tnd_actor_ring_t *ring, const tnd_history_second_t *from, uint64_t at_ns,
                       double rows)
{
    enum { SPAN = 255 };
    uint64_t parts[TND_HISTORY_SHARES];
    tnd_actor_second_t *second = &ring->seconds[ring->count++ % TND_ACTOR_HISTORY_SECONDS];
    tnd_times_t times;
    tnd_times_unpack(from->shares, SPAN, &times);
    memcpy(parts, &times, sizeof parts);
    *second = (tnd_actor_second_t){.at_ns = at_ns, .rows = (float)rows};
    for (unsigned s = 0; s < TND_HISTORY_SHARES; s++)
        second->shares[s] = (uint8_t)(parts[s] < SPAN ? parts[s] : SPAN);
}

static void add_second(tnd_actor_ring_t *ring, const tnd_history_second_t *from)
{
    uint64_t before =
        ring->count > 0 ? ring->seconds[(ring->count - 1) % TND_ACTOR_HISTORY_SECONDS].at_ns : 0;
    uint64_t at = from->at_ns;
    double seconds = before != 0 && at > before && at - before < UINT64_C(2000000000)
                         ? (double)(at - before) * 1e-9
                         : 1;
    add_moment(ring, from, at, (double)from->rows / seconds);
}

/*  The spans that ended before second `first`, each as its seconds. */
static void add_spans(tnd_actor_ring_t *ring, const tnd_history_t *history, uint64_t first,
                      uint64_t next)
{
    uint64_t end = first / TND_HISTORY_SPAN, all = next / TND_HISTORY_SPAN;
    /* The oldest span may be overwritten while it is read. */
    for (uint64_t n = all >= TND_HISTORY_SPANS ? all - TND_HISTORY_SPANS + 1 : 0; n < end; n++) {
        const tnd_history_second_t *span = &history->spans[n % TND_HISTORY_SPANS];
        for (uint64_t back = TND_HISTORY_SPAN; back-- > 0;)
            add_moment(ring, span, span->at_ns - back * UINT64_C(1000000000),
                       (double)span->rows / TND_HISTORY_SPAN);
    }
}

static void add_seconds(tnd_actor_ring_t *ring, const tnd_inspected_t *process,
                        const tnd_history_t *history)
{
    uint64_t next = process->record.page->history_next;
    if (ring->process != process->process || next < ring->next)
        ring->next = 0;
    ring->process = process->process;
    /* The oldest second may be overwritten while it is read. */
    uint64_t first = next >= TND_HISTORY_SECONDS ? next - TND_HISTORY_SECONDS + 1 : 0;
    if (ring->seconds == NULL && next > 0)
        ring->seconds = tnd_allocate_zeroed(TND_ACTOR_HISTORY_SECONDS, sizeof *ring->seconds);
    if (ring->next == 0 && first > 0) {
        first += (TND_HISTORY_SPAN - first % TND_HISTORY_SPAN) % TND_HISTORY_SPAN;
        add_spans(ring, history, first, next);
    }
    for (uint64_t n = ring->next > first ? ring->next : first; n < next; n++)
        add_second(ring, &history->seconds[n % TND_HISTORY_SECONDS]);
    ring->next = next;
}

static void begin(tnd_actor_history_t *self, const tnd_run_record_t *record, uint64_t session)
{
    tnd_actor_history_free(self);
    self->session = session;
    self->actor_count = record->shape.actors;
    self->actors = tnd_allocate_zeroed(self->actor_count + (size_t)1, sizeof *self->actors);
    for (uint32_t i = 0; i < self->actor_count; i++)
        snprintf(self->actors[i].name, sizeof self->actors[i].name, "%s",
                 record->instances[i].name);
}

void tnd_actor_history_add(tnd_actor_history_t *self, const tnd_inspection_t *look,
                           const tnd_inspected_t *process)
{
    if (process->record.shape.hosts == 0)
        return;
    if (self->actors == NULL || self->session != process->session ||
        self->actor_count != process->record.shape.actors)
        begin(self, &process->record, process->session);
    for (uint32_t p = 0; p < look->count; p++) {
        const tnd_inspected_t *from = &look->processes[p];
        const tnd_run_record_t *record = &from->record;
        if (!tnd_inspected_same(from, process) || from->killed || record->histories == NULL)
            continue;
        for (uint32_t i = 0; i < record->shape.actors && i < self->actor_count; i++)
            if (record->instances[i].history < record->shape.histories)
                add_seconds(&self->actors[i], from,
                            &record->histories[record->instances[i].history]);
    }
}

static uint64_t first_of(const tnd_actor_ring_t *ring)
{
    return ring->count > TND_ACTOR_HISTORY_SECONDS ? ring->count - TND_ACTOR_HISTORY_SECONDS : 0;
}

static void write_ring(const tnd_actor_ring_t *ring, uint64_t now, FILE *out)
{
    fputs(",\"ages_seconds\":[", out);
    for (uint64_t n = first_of(ring); n < ring->count; n++) {
        uint64_t at = ring->seconds[n % TND_ACTOR_HISTORY_SECONDS].at_ns;
        fprintf(out, "%s%.1f", n > first_of(ring) ? "," : "",
                now > at ? (double)(now - at) * 1e-9 : 0);
    }
    fputs("],\"rows_per_second\":[", out);
    for (uint64_t n = first_of(ring); n < ring->count; n++)
        fprintf(out, "%s%.0f", n > first_of(ring) ? "," : "",
                (double)ring->seconds[n % TND_ACTOR_HISTORY_SECONDS].rows);
    fputs("],\"shares\":\"", out);
    for (uint64_t n = first_of(ring); n < ring->count; n++)
        for (unsigned s = 0; s < TND_HISTORY_SHARES; s++)
            fprintf(out, "%02x", ring->seconds[n % TND_ACTOR_HISTORY_SECONDS].shares[s]);
    fputs("\"}", out);
}

void tnd_actor_history_json(const tnd_actor_history_t *self, uint64_t now, FILE *out)
{
    bool any = false;
    fputs("\"actors\":[", out);
    for (uint32_t i = 0; i < self->actor_count; i++) {
        if (self->actors[i].count == 0)
            continue;
        tnd_json_begin(out, any, "name", self->actors[i].name);
        write_ring(&self->actors[i], now, out);
        any = true;
    }
    fputs("]", out);
}

void tnd_actor_history_free(tnd_actor_history_t *self)
{
    for (uint32_t i = 0; i < self->actor_count; i++)
        free(self->actors[i].seconds);
    free(self->actors);
    *self = (tnd_actor_history_t){0};
}
