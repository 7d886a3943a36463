/*  runtime/timing/histogram.c - how long something takes, as counts in shared memory. */
#include "runtime/timing/histogram.h"

#include "runtime/base/word.h"

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
        sum += tnd_word_read(&self->counts[c]);
    return sum;
}

uint64_t tnd_histogram_quantile(const tnd_histogram_t *self, double share)
{
    double wanted = share * (double)tnd_histogram_count(self);
    uint64_t below = 0, most = tnd_word_read(&self->most_ns);
    for (unsigned c = 0; c < TND_HISTOGRAM_CLASSES; c++) {
        uint64_t count = tnd_word_read(&self->counts[c]);
        below += count;
        if (count == 0 || (double)below < wanted)
            continue;
        bool last = c == TND_HISTOGRAM_CLASSES - 1;
        return last || tnd_histogram_end(c) > most ? most : tnd_histogram_end(c);
    }
    return 0;
}
