/*  transport/parcel.h - a message inside a process: one frame that holds its struct and payload.
 *
 *  The frame's free function drops what the receiver did not take, so that a connection that closes
 *  with messages in it leaks nothing.  Parcels come from their sender's pool.
 *
 *  Threads: pack on the pool owner's, open on the receiver's.
 */
#ifndef TND_TRANSPORT_PARCEL_H
#define TND_TRANSPORT_PARCEL_H

#include <zmq.h>

#include "runtime/link.h"

size_t tnd_parcel_bytes(void);

/*  Makes the frame.  The payload is the frame's from here on. */
void tnd_parcel_pack(tnd_pool_t *parcels, const tnd_msg_t *msg, tnd_carry_t carry,
                     zmq_msg_t *frame);
/*  Gives the payload back to the caller of pack and closes the frame. */
void tnd_parcel_unpack(zmq_msg_t *frame);

/*  The message in a received frame; its payload is the caller's from here on, other pointers are
 *  valid until the frame is closed.
 */
tnd_carry_t tnd_parcel_open(zmq_msg_t *frame, tnd_msg_t *msg);
/*  Puts back the payload that tnd_parcel_open gave: closing the frame drops it. */
void tnd_parcel_decline(zmq_msg_t *frame);

#endif
