/*  transport/wire.h - a message as bytes: one msgpack array, positional, versioned, bounded.
 *
 *  [version, kind, form, generation, from, to, fields of the kind ...].  `form` declares what
 *  follows the header: a payload, and whether a block has the origins of its rows.  Payloads,
 *  origins and cursors are frames of their own (frames.h).
 *
 *  Received bytes are hostile: every bound is checked and nothing is allocated.
 *
 *  Threads: any. */
#ifndef TND_TRANSPORT_WIRE_H
#define TND_TRANSPORT_WIRE_H

#include "runtime/interface/link.h"

enum { TND_WIRE_VERSION = 8, TND_WIRE_BYTES_MAX = 512, TND_WIRE_TEXT_MAX = 255 };

/*  The contents of a header apart from the message. */
typedef struct {
    tnd_carry_t carry;
    bool has_origin;                  /* of a block: a list of origins follows */
    char text[TND_WIRE_TEXT_MAX + 1]; /* of a REFUSE: what msg.refuse.why points to */
} tnd_wire_form_t;

/*  Writes the header, at most TND_WIRE_BYTES_MAX bytes, and returns its length.  Longer texts are
 *  cut. */
size_t tnd_wire_encode(const tnd_msg_t *msg, tnd_carry_t carry, uint8_t bytes[TND_WIRE_BYTES_MAX]);

/*  Reads a header.  Pointers of the message are NULL, except for the text of a REFUSE, which is
 *  valid as long as `form`.  Errors: TND_REFUSED if the header has another version; TND_FAILED if
 *  it is not a header, truncated, out of range or followed by extra bytes. */
tnd_status_t tnd_wire_decode(tnd_msg_t *msg, tnd_wire_form_t *form, const void *bytes, size_t size,
                             tnd_error_t *error) TND_CHECKED;

/*  For a fuzzer: decodes the bytes and, if they are a header, checks that encoding the message and
 *  decoding it again gives the same result.  Returns 0. */
int tnd_wire_fuzz(const uint8_t *bytes, size_t size);

#endif
