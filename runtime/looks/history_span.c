/*  runtime/looks/history_span.c - the coarser part of an actor's history. */
#include "runtime/looks/history_span.h"

#include <string.h>

#include "runtime/observe/statistics.h"

enum { WHOLE = 65535 };

static uint64_t read_of(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void write_to(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

void tnd_history_span(tnd_history_t *self, uint64_t number)
{
    uint64_t sums[TND_HISTORY_SHARES] = {0}, parts[TND_HISTORY_SHARES], rows = 0, bytes = 0;
    double step, program, steps = 0, programs = 0;
    tnd_times_t times;
    if (number % TND_HISTORY_SPAN != TND_HISTORY_SPAN - 1)
        return;
    const tnd_history_second_t *last = &self->seconds[number % TND_HISTORY_SECONDS];
    tnd_history_second_t *span = &self->spans[number / TND_HISTORY_SPAN % TND_HISTORY_SPANS];
    for (uint64_t n = number + 1 - TND_HISTORY_SPAN; n <= number; n++) {
        const tnd_history_second_t *second = &self->seconds[n % TND_HISTORY_SECONDS];
        tnd_times_unpack(second->shares, WHOLE, &times);
        memcpy(parts, &times, sizeof parts);
        for (size_t i = 0; i < TND_HISTORY_SHARES; i++)
            sums[i] += parts[i];
        tnd_feeder_shares_unpack(second->shares, &step, &program);
        steps += step;
        programs += program;
        rows += read_of(&second->rows);
        bytes += read_of(&second->bytes);
    }
    memcpy(&times, sums, sizeof times);
    tnd_times_pack(&times, span->shares);
    tnd_feeder_shares_pack(steps / TND_HISTORY_SPAN, programs / TND_HISTORY_SPAN, span->shares);
    write_to(&span->rows, rows);
    write_to(&span->bytes, bytes);
    write_to(&span->queue, read_of(&last->queue));
    write_to(&span->credit, read_of(&last->credit));
    write_to(&span->at_ns, read_of(&last->at_ns));
}
