/*  runtime/core/stream/cursor.h - the few hundred bytes from which a run resumes exactly.
 *
 *  The cursor of step s is the state of the stream after s has entered the model: `step` is the
 *  next one.  It does not depend on hosts, workers, devices or block sizes.
 *
 *  The batches of a lane need not be cut from its rows one after another: a batch may leave rows for
 *  later ones.  Then the lane's position is before the first row that is still needed, and
 *  `since` counts the batches made since.  A lane that resumes makes these once more and drops
 *  them.  Where rows are packed, the position is before the first row of which values are still
 *  needed, and `since` counts those that are not.
 *
 *  Encoded it takes at most TND_CURSOR_FIXED_BYTES + 24 bytes per lane (little-endian, with a
 *  version, protected by a hash).  The bytes are not trusted until they are decoded.
 *
 *  Threads: any; plain values. */
#ifndef TND_RUNTIME_CORE_STREAM_CURSOR_H
#define TND_RUNTIME_CORE_STREAM_CURSOR_H

#include <stddef.h>

#include "runtime/base/status.h"
#include "runtime/core/stream/ledger.h"
#include "runtime/core/stream/position.h"

enum { TND_LANES_MAX = 256, TND_CURSOR_FIXED_BYTES = 512 };

typedef struct tnd_cursor {
    uint64_t step;          /* next, over the run */
    uint64_t step_of_epoch; /* next, within `epoch` */
    uint64_t rank;          /* of the next row in the stream of the run */
    uint64_t seed;
    uint64_t graph[2];  /* fingerprint */
    uint64_t data;      /* hash of the table of data files in its checkpoint */
    uint64_t digest[2]; /* of the stream so far: low, high */
    tnd_ledger_t ledger;
    uint32_t epoch;
    uint32_t lanes;
    tnd_position_t part[TND_LANES_MAX];
    uint64_t since[TND_LANES_MAX]; /* batches of its epoch, or values of a row, since `part` */
} tnd_cursor_t;

/*  Whether a lane can have made so much since its position in a cursor after so many steps of an
 *  epoch, in any stream: a row has less than 2^40 values. */
static inline bool tnd_cursor_may_have(uint64_t since, uint64_t step_of_epoch)
{
    return since == 0 || (step_of_epoch > 0 && since < 1ull << 40);
}

/*  The cursor of a run that has not begun. */
void tnd_cursor_start(tnd_cursor_t *self, uint32_t lanes);

/*  Returns the bytes that the cursor takes, at most TND_CURSOR_FIXED_BYTES + 24 * lanes; writes
 *  them if that is not more than `room`. */
size_t tnd_cursor_encode(const tnd_cursor_t *self, void *bytes, size_t room);

/*  Reads a cursor.  TND_FAILED: not a cursor, cut short, of an unknown version, damaged or out of
 *  range; *self is unchanged. */
tnd_status_t tnd_cursor_decode(tnd_cursor_t *self, const void *bytes, size_t size,
                               tnd_error_t *error) TND_CHECKED;

#endif
