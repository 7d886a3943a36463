/*  runtime/core/lane/reservations.h - the bytes and blocks that a lane has reserved or holds.
 *
 *  A ticket reserves the bytes of the largest block that may answer it.  The reservation shrinks to
 *  the size of the block that arrives and ends when the block's rows are taken.  Payloads that are
 *  no longer needed wait here until the driver asks for them.
 *
 *  Threads: one.  The caller provides the memory of `drops`. */
#ifndef TND_RUNTIME_CORE_LANE_RESERVATIONS_H
#define TND_RUNTIME_CORE_LANE_RESERVATIONS_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t bytes;
    uint32_t blocks;
    void **drops;
    uint64_t drop_mask, drop_head, drop_tail;
} tnd_reservations_t;

/*  Gives `payload` back to the driver; NULL is ignored. */
static inline void tnd_reservations_drop(tnd_reservations_t *self, void *payload)
{
    if (payload == NULL)
        return;
    assert(self->drop_tail - self->drop_head <= self->drop_mask);
    self->drops[self->drop_tail++ & self->drop_mask] = payload;
}

static inline void tnd_reservations_take(tnd_reservations_t *self, uint64_t bytes)
{
    self->bytes += bytes;
    self->blocks++;
}

/*  Ends the reservation of one block and drops its payload. */
static inline void tnd_reservations_release(tnd_reservations_t *self, void *payload, uint64_t bytes)
{
    tnd_reservations_drop(self, payload);
    assert(bytes <= self->bytes && self->blocks > 0);
    self->bytes -= bytes;
    self->blocks--;
}

#endif
