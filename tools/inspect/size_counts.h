/*  tools/inspect/size_counts.h - how many records have which size: exact quantiles of any number of
 *  records, in memory for each different size.
 *
 *  Threads: one at a time. */
#ifndef TND_TOOLS_INSPECT_SIZE_COUNTS_H
#define TND_TOOLS_INSPECT_SIZE_COUNTS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t size, count; /* count 0: the place is free */
} tnd_size_count_t;

/*  Zeroed; add; free. */
typedef struct {
    tnd_size_count_t *places; /* a hash table of `room` places */
    size_t used, room;
    uint64_t count, sum, min, max;
} tnd_size_counts_t;

void tnd_size_counts_add(tnd_size_counts_t *self, uint64_t size);
/*  The least size that at least `percent` of 100 records do not exceed; 0 without records. */
uint64_t tnd_size_counts_quantile(const tnd_size_counts_t *self, unsigned percent);
void tnd_size_counts_free(tnd_size_counts_t *self);

#endif
