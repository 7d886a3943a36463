/*  runtime/timing/histogram.c - how long something takes, as counts in shared memory. */
#include "runtime/timing/histogram.h"

static uint64_t read_of(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void write_to(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

uint64_t tnd_histogram_end(unsigned number)
{
    enum { PARTS = 1 << TND_HISTOGRAM_PART_BITS };
    if (number == 0)
        return UINT64_C(1) << TND_HISTOGRAM_LEAST_BIT;
    unsigned place = number - 1;
    return (uint64_t)(PARTS + place % PARTS + 1)
           << (TND_HISTOGRAM_LEAST_BIT - TND_HISTOGRAM_PART_BITS + place / PARTS);
}

uint64_t tnd_histogram_count(const tnd_histogram_t *self)
{
    uint64_t sum = 0;
    for (unsigned c = 0; c < TND_HISTOGRAM_CLASSES; c++)
        sum += read_of(&self->counts[c]);
    return sum;
}

uint64_t tnd_histogram_quantile(const tnd_histogram_t *self, double share)
{
    double wanted = share * (double)tnd_histogram_count(self);
    uint64_t below = 0, most = read_of(&self->most_ns);
    for (unsigned c = 0; c < TND_HISTOGRAM_CLASSES; c++) {
        uint64_t count = read_of(&self->counts[c]);
        below += count;
        if (count == 0 || (double)below < wanted)
            continue;
        bool last = c == TND_HISTOGRAM_CLASSES - 1;
        return last || tnd_histogram_end(c) > most ? most : tnd_histogram_end(c);
    }
    return 0;
}

void tnd_histogram_between(const tnd_histogram_t *before, const tnd_histogram_t *after,
                           tnd_histogram_t *window)
{
    uint64_t was = read_of(&before->sum_ns), is = read_of(&after->sum_ns);
    write_to(&window->sum_ns, is > was ? is - was : 0);
    write_to(&window->most_ns, read_of(&after->most_ns));
    for (unsigned c = 0; c < TND_HISTOGRAM_CLASSES; c++) {
        was = read_of(&before->counts[c]);
        is = read_of(&after->counts[c]);
        write_to(&window->counts[c], is > was ? is - was : 0);
    }
}
