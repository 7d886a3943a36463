/*  transport/zmq/frames.h - a message as the frames of a ZeroMQ message, and back.
 *
 *  Frame 0 is the header (wire.h).  After it: of a block its marks (origins, then bad offsets, each
 *  u32 little-endian), if it has any, and its rows; of a slice its rows; of a buffer its bytes; of
 *  a REWIND the encoded cursor.  Rows are one frame per column.  If columns are ragged, a frame
 *  with the lengths of their rows precedes them, column by column, each u64 little-endian.  Without
 *  rows there are no such frames.
 *
 *  Packed columns leave without a copy: the frame refers to the buffer until the I/O thread has
 *  written it.  Gathered columns and slices of several blocks are packed once.  Received columns
 *  stay in libzmq's memory unless it is not aligned for their elements, as with small ones.  Copied
 *  bytes are counted.
 *
 *  Rows of fixed size are packed into buffers of pools.  Large ragged rows get memory of their
 *  exact size, because pools of all possible sizes would hold much more than is in use at once.
 *
 *  Threads: the owner's. */
#ifndef TND_TRANSPORT_ZMQ_FRAMES_H
#define TND_TRANSPORT_ZMQ_FRAMES_H

#include <zmq.h>

#include "runtime/interface/link.h"
#include "transport/wire.h"

enum { TND_FRAMES_MAX = 3 + TND_COLUMNS_MAX, TND_PACK_CLASSES = 48 };

/*  All zero but the counters: see init. */
typedef struct {
    tnd_block_pool_t *block_pool;          /* of received blocks and slices */
    tnd_pool_t *holders;                   /* of received frames */
    tnd_pool_t *classes[TND_PACK_CLASSES]; /* of packed rows: 2^class bytes each */
    uint64_t copied;                       /* bytes */
    tnd_cursor_t cursor;                   /* of the last REWIND that came in */
} tnd_frames_t;

void tnd_frames_init(tnd_frames_t *self);
void tnd_frames_fini(tnd_frames_t *self);

/*  Makes the frames of a message; the payload stays the caller's, the frames hold what they need.
 *  Returns their number. */
int tnd_frames_pack(tnd_frames_t *self, const tnd_msg_t *msg, tnd_carry_t carry,
                    zmq_msg_t parts[TND_FRAMES_MAX]);

/*  Gives a decoded message the payload that came in parts[1 ... count - 1]; what it takes of them
 *  it leaves empty.  `schema`: of the rows, NULL: none are expected.  TND_FAILED: the frames are
 *  not what the header says; nothing was made. */
tnd_status_t tnd_frames_unpack(tnd_frames_t *self, tnd_msg_t *msg, const tnd_wire_form_t *form,
                               const tnd_schema_t *schema, zmq_msg_t *parts, int count,
                               tnd_error_t *error) TND_CHECKED;

#endif
