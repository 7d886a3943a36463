/*  runtime/looks/history_span.c - the coarser part of an actor's history. */
#include "runtime/looks/history_span.h"

#include <string.h>

#include "runtime/base/word.h"
#include "runtime/observe/statistics.h"

enum { WHOLE = 65535 };

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
        rows += tnd_word_read(&second->rows);
        bytes += tnd_word_read(&second->bytes);
    }
    memcpy(&times, sums, sizeof times);
    tnd_times_pack(&times, span->shares);
    tnd_feeder_shares_pack(steps / TND_HISTORY_SPAN, programs / TND_HISTORY_SPAN, span->shares);
    tnd_word_write(&span->rows, rows);
    tnd_word_write(&span->bytes, bytes);
    tnd_word_write(&span->queue, tnd_word_read(&last->queue));
    tnd_word_write(&span->credit, tnd_word_read(&last->credit));
    tnd_word_write(&span->at_ns, tnd_word_read(&last->at_ns));
}
