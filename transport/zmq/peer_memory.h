/*  transport/zmq/peer_memory.h - which memory both ends of a connection can read.
 *
 *  A buffer of shared memory (runtime/data/shared_memory.h) is not sent if the peer can read it where
 *  it is: then the message has an empty frame and a frame that names the bytes.  Whether the peer can
 *  is tested: with the first buffer of a memory an OFFER goes to the peer, which tries to find it and
 *  answers.  Until then, and if it cannot, bytes are sent.
 *
 *  OFFER and ANSWER are messages of one frame, whose first byte no header (wire.h) begins with.
 *  They are hostile: a memory is found only by its key, and every reference is checked.
 *
 *  Threads: the hub's. */
#ifndef TND_TRANSPORT_ZMQ_PEER_MEMORY_H
#define TND_TRANSPORT_ZMQ_PEER_MEMORY_H

#include <zmq.h>

#include "runtime/data/buffer.h"

enum { TND_PEER_MEMORIES = 4, TND_PEER_NOTE_BYTES = 48, TND_PEER_REFERENCE_BYTES = 24 };

typedef enum {
    TND_OFFER_NEW,     /* this connection has offered it just now */
    TND_OFFER_PENDING, /* the peer has not answered */
    TND_OFFER_TAKEN,   /* the peer reads it */
    TND_OFFER_REFUSED
} tnd_offer_t;

/*  Of one connection.  All zero: neither end has offered anything. */
typedef struct {
    struct {
        tnd_shared_memory_t *memory; /* held */
        tnd_offer_t state;
    } own[TND_PEER_MEMORIES];
    tnd_shared_memory_t *found[TND_PEER_MEMORIES]; /* the peer's, by its number; held */
} tnd_peer_memory_t;

/*  The connection has ended.  Buffers that were received keep their memory. */
void tnd_peer_memory_fini(tnd_peer_memory_t *self);

/*  Whether the peer can read this buffer.  If NEW, `note` gets the OFFER to send first. */
tnd_offer_t tnd_peer_memory_offer(tnd_peer_memory_t *self, const tnd_buffer_t *buffer,
                                  uint8_t note[TND_PEER_NOTE_BYTES]);
/*  Names the bytes of a buffer that is TAKEN. */
void tnd_peer_memory_refer(const tnd_peer_memory_t *self, tnd_buffer_t *buffer,
                           uint8_t reference[TND_PEER_REFERENCE_BYTES]);

/*  Whether a received frame is an OFFER or an ANSWER. */
bool tnd_peer_memory_is_note(const void *bytes, size_t size);
/*  Takes one.  Returns whether `answer` is to be sent.  Errors: TND_FAILED if it is not valid. */
tnd_status_t tnd_peer_memory_note(tnd_peer_memory_t *self, const void *bytes, size_t size,
                                  uint8_t answer[TND_PEER_NOTE_BYTES], bool *answers_p,
                                  tnd_error_t *error) TND_CHECKED;
/*  The bytes that a reference names, as a buffer.  Errors: TND_FAILED if they are not inside a memory
 *  of the peer's that was found. */
tnd_status_t tnd_peer_memory_read(const tnd_peer_memory_t *self, const void *reference, size_t size,
                                  tnd_buffer_t **buffer_p, tnd_error_t *error) TND_CHECKED;

#endif
