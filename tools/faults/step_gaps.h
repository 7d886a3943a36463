/*  tools/faults/step_gaps.h - the times of steps, and the gaps between them.
 *
 *  Times are nanoseconds of one monotonic clock, in ascending order.
 *
 *  Lifecycle: zeroed; tnd_step_gaps_free.  Threads: any; one at a time. */
#ifndef TND_TOOLS_FAULTS_STEP_GAPS_H
#define TND_TOOLS_FAULTS_STEP_GAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*  Times, or gaps. */
typedef struct {
    uint64_t *values;
    size_t count, room;
} tnd_step_gaps_t;

typedef struct {
    size_t count;
    uint64_t half, most_of, most; /* the 50th and 99th percentile, and the maximum */
} tnd_spread_t;

void tnd_step_gaps_add(tnd_step_gaps_t *self, uint64_t value);
/*  For times: the longest gap that begins before `to` and ends after `from`, cut to [from, end].
 *  False: no time is later than `from`. */
bool tnd_step_gaps_gap(const tnd_step_gaps_t *self, uint64_t from, uint64_t to, uint64_t end,
                       uint64_t *gap_p);
/*  Sorts the values. */
tnd_spread_t tnd_step_gaps_spread(tnd_step_gaps_t *self);
void tnd_step_gaps_free(tnd_step_gaps_t *self);

#endif
