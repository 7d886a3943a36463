/*  runtime/observe/tap.h - rows that pass an actor, copied for an inspector.
 *
 *  The statistics file of a process (statistics.h) ends with a tap.  An inspector of the same user
 *  asks there for the rows that an actor sends: it writes a request that is valid for at most two
 *  seconds, and writes it again while it wants more (tools/events/tap_reader.h).  Meanwhile the actor copies the
 *  first rows of one block in so many, or of one slice.  So an inspector that hangs or dies costs nothing,
 *  and messages, credit and order are not touched.
 *
 *  An actor never waits: it copies nothing while the inspector has not taken the last copy, or
 *  while another actor copies.  Without a request it reads one word per block.  What an inspector writes is
 *  not trusted; garbage can only prevent or cause copies.
 *
 *  Threads: those of all actors of the process, and one inspector.  Units: nanoseconds of the
 *  monotonic clock. */
#ifndef TND_RUNTIME_OBSERVE_TAP_H
#define TND_RUNTIME_OBSERVE_TAP_H

#include <stdatomic.h>

#include "runtime/core/protocol/message_table.h"
#include "runtime/data/schema.h"

enum { TND_TAP_BYTES = 256 << 10, TND_TAP_ROWS = 32, TND_TAP_NAME = 48 };

#define TND_TAP_LEASE_NS UINT64_C(2000000000)

/*  What was copied.  The rows follow one another; a row has its columns in their order, a ragged one
 *  after its length (8 bytes, along its first axis). */
typedef struct {
    uint64_t at_ns;
    uint64_t first;    /* position, or step */
    uint32_t from, to; /* instances of the plan */
    uint32_t count;    /* positions of the block, or rows of the slice */
    uint32_t lane, epoch, attempt;
    uint32_t slice;         /* boolean */
    uint32_t rows, of_rows; /* copied, of so many */
    uint32_t bytes;         /* copied */
} tnd_tap_note_t;

typedef struct tnd_tap {
    /*  Written by the inspector. */
    _Alignas(64) _Atomic uint64_t until_ns; /* the request is valid until then; 0: there is none */
    _Atomic uint64_t every;                 /* one block in so many */
    _Atomic uint64_t taken;                 /* number of the last copy that was taken */
    _Atomic uint64_t inspector;             /* number of its process */
    char name[TND_TAP_NAME];                /* an instance, or an actor for all of its instances */
    /*  Written by actors. */
    _Alignas(64) _Atomic uint64_t busy; /* an actor copies */
    _Atomic uint64_t made;              /* number of the last copy */
    tnd_tap_note_t note;
    tnd_schema_t schema;
    uint8_t rows[TND_TAP_BYTES - 12288];
} tnd_tap_t;

/*  An actor's side of the tap of its process. */
typedef struct {
    tnd_tap_t *tap;
    const char *instance, *actor; /* its names */
    uint32_t id;                  /* its number in the plan */
    uint64_t passed;              /* blocks and slices during requests */
} tnd_tap_source_t;

/*  Copies rows of a message that carries a block or slice, if a request is valid. */
void tnd_tap_copy(tnd_tap_source_t *self, const struct tnd_msg *msg, tnd_carry_t carry,
                  uint64_t now);

/*  A message is sent. */
static inline void tnd_tap_pass(tnd_tap_source_t *self, const struct tnd_msg *msg,
                                tnd_carry_t carry, uint64_t now)
{
    if (atomic_load_explicit(&self->tap->until_ns, memory_order_relaxed) != 0)
        tnd_tap_copy(self, msg, carry, now);
}

#endif
