/*  runtime/core/device/device_slots.c - the order of copies, steps and commits on one device. */
#include "runtime/core/device/device_slots.h"

#include "runtime/base/bug_injection.h"

uint64_t tnd_device_slots_to_copy(const tnd_device_slots_t *self)
{
    return self->ready;
}

uint64_t tnd_device_slots_to_start(const tnd_device_slots_t *self)
{
    return self->copied;
}

uint64_t tnd_device_slots_to_commit(const tnd_device_slots_t *self, bool discarded)
{
    if (discarded)
        return TND_BUG(SLOT_REFILLED_BEFORE_ITS_COPY) ? self->ready : self->copied;
    return TND_BUG(COMMIT_BEFORE_THE_EVENT) ? self->put : self->finished;
}

tnd_device_pending_t tnd_device_slots_pending(const tnd_device_slots_t *self)
{
    if (self->finished < self->put)
        return TND_PENDING_WORK;
    return self->copied < self->copying ? TND_PENDING_COPY : TND_PENDING_NOTHING;
}

tnd_device_wait_t tnd_device_slots_wait(const tnd_device_slots_t *self, bool discarded)
{
    if (self->finished < self->put)
        return TND_DEVICE_WAIT_NONE;
    if (self->copied > self->put && !discarded)
        return TND_DEVICE_WAIT_HOST;
    return self->copying > self->copied ? TND_DEVICE_WAIT_LINK : TND_DEVICE_WAIT_ROWS;
}

tnd_refill_t tnd_device_slots_refill(bool held, uint32_t spares, uint64_t room)
{
    if (!held || TND_BUG(SLOT_REFILLED_BEFORE_ITS_READER))
        return TND_REFILL_SAME;
    if (spares > 0)
        return TND_REFILL_SPARE;
    return room > 0 ? TND_REFILL_NEW : TND_REFILL_NONE;
}
