/*  runtime/core/stream/position.h - the place of a row in the order of its lane.
 *
 *  A lane processes its epochs one after another.  Within an epoch its source has positions 0 ...
 *  n-1, and one position may become no row (a filter) or several (a one-to-many operation).
 *  Blocks, tickets and cursors are named by positions, so they mean the same with any placement.
 *
 *  Threads: any; plain values. */
#ifndef TND_RUNTIME_CORE_STREAM_POSITION_H
#define TND_RUNTIME_CORE_STREAM_POSITION_H

#include "runtime/tundish/types.h"

#define TND_ENDLESS UINT32_MAX /* a number of epochs without end */

/*  The next row to use: of the rows made from position `index` of `epoch`, that after the first
 *  `used`. */
typedef struct {
    uint64_t index;
    uint32_t epoch;
    uint32_t used;
} tnd_position_t;

/*  Less than, equal to or greater than zero as `a` is before, at or after `b`. */
static inline int tnd_position_compare(tnd_position_t a, tnd_position_t b)
{
    if (a.epoch != b.epoch)
        return a.epoch < b.epoch ? -1 : 1;
    if (a.index != b.index)
        return a.index < b.index ? -1 : 1;
    return a.used < b.used ? -1 : a.used > b.used;
}

#endif
