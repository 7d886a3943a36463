/*  tools/faults/step_gaps.h - when steps were seen, and how long there was none.
 *
 *  Times are nanoseconds of one monotonic clock, and come in order.
 *
 *  Lifecycle: zeroed; tnd_step_gaps_free.  Threads: any; one at a time.
 */
#ifndef TUNDISH_TOOLS_PULSE_H
#define TUNDISH_TOOLS_PULSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*  Numbers that are collected. */
typedef struct {
    uint64_t *values;
    size_t count, room;
} tnd_step_gaps_t;

typedef struct {
    size_t count;
    uint64_t half, most_of, most; /* not exceeded by 50 %, by 99 %, by any */
} tnd_spread_t;

void tnd_step_gaps_add(tnd_step_gaps_t *self, uint64_t value);
/*  Of times: the longest that was without one, of those that began before `to` and ended after
 *  `from`; what lay before `from` or behind `end` does not count.  False: none came after `from`.
 */
bool tnd_step_gaps_gap(const tnd_step_gaps_t *self, uint64_t from, uint64_t to, uint64_t end,
                       uint64_t *gap_p);
/*  Sorts them. */
tnd_spread_t tnd_step_gaps_spread(tnd_step_gaps_t *self);
void tnd_step_gaps_free(tnd_step_gaps_t *self);

#endif
