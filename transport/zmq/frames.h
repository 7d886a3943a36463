/*  transport/zmq/frames.h - a message as the frames of a ZeroMQ message, and back.
 *
 *  Frame 0 is the header (wire.h).  Then follow, for a block, its marks (origins, then bad offsets,
 *  each u32 little-endian), if any, and its rows; for a slice its rows; for a buffer its bytes, or
 *  an empty frame and a reference to them (peer_memory.h); for a REWIND the encoded cursor.  Rows are one frame per column.  If columns are ragged, a frame
 *  with the lengths of their rows precedes them, column by column, each u64 little-endian.  Without
 *  rows there are no such frames.
 *
 *  Packed columns are sent without a copy: the frame refers to the buffer until the I/O thread has
 *  written it.  Gathered columns and slices of several blocks are packed once.  Received columns
 *  stay in libzmq's memory unless it is not aligned for their elements, as in small frames.  Copied
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
    tnd_cursor_t cursor;                   /* of the last REWIND received */
} tnd_frames_t;

void tnd_frames_init(tnd_frames_t *self);
void tnd_frames_fini(tnd_frames_t *self);

/*  Makes the frames of a message and returns their number.  The caller keeps the payload; the
 *  frames hold references. */
int tnd_frames_pack(tnd_frames_t *self, const tnd_msg_t *msg, tnd_carry_t carry,
                    zmq_msg_t parts[TND_FRAMES_MAX]);

/*  The frames of a message whose buffer the peer reads where it is. */
int tnd_frames_pack_reference(const tnd_msg_t *msg, const void *reference, size_t size,
                              zmq_msg_t parts[TND_FRAMES_MAX]);

/*  Adds the payload in parts[1 ... count - 1] to a decoded message and empties the parts that it
 *  takes.  `schema`: of the rows; NULL: none are expected.  Errors: TND_FAILED if the frames do
 *  not match the header; then nothing was made. */
tnd_status_t tnd_frames_unpack(tnd_frames_t *self, tnd_msg_t *msg, const tnd_wire_form_t *form,
                               const tnd_schema_t *schema, zmq_msg_t *parts, int count,
                               tnd_error_t *error) TND_CHECKED;

#endif
