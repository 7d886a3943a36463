/*  runtime/core/device/device_slots.h - the order of copies, steps and commits on one device.
 *
 *  The rows of a step are gathered into the host's side of a slot, copied to where the step reads
 *  them, and read by work that the step puts on the device.  Events say when a copy is complete and
 *  when the device has done its work; they may come late.  Steps are counted from 0; each count is
 *  of all steps before it, and only grows.
 *
 *  Threads: any; plain values. */
#ifndef TND_RUNTIME_CORE_DEVICE_DEVICE_SLOTS_H
#define TND_RUNTIME_CORE_DEVICE_DEVICE_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/core/device/device_wait.h"

typedef struct {
    uint64_t ready;    /* the rows are in their slot */
    uint64_t copying;  /* the copy was started ... */
    uint64_t copied;   /* ... and is complete */
    uint64_t put;      /* all work of the step was put on the device ... */
    uint64_t finished; /* ... and is done */
} tnd_device_slots_t;

/*  Steps before this one may be copied. */
uint64_t tnd_device_slots_to_copy(const tnd_device_slots_t *self);
/*  Steps before this one may start: their rows are there. */
uint64_t tnd_device_slots_to_start(const tnd_device_slots_t *self);
/*  Steps before this one may be committed, and their slots filled again.  `discarded`: no step runs
 *  on the rows. */
uint64_t tnd_device_slots_to_commit(const tnd_device_slots_t *self, bool discarded);

/*  The step is number `copied` or `finished`. */
tnd_device_pending_t tnd_device_slots_pending(const tnd_device_slots_t *self);

/*  `discarded`: no step runs on the rows. */
tnd_device_wait_t tnd_device_slots_wait(const tnd_device_slots_t *self, bool discarded);

/*  The memory that a slot has for its next step. */
typedef enum {
    TND_REFILL_SAME,
    TND_REFILL_SPARE, /* one that was set aside for this */
    TND_REFILL_NEW,   /* one that is allocated now */
    TND_REFILL_NONE   /* all of them are read, and another one does not fit */
} tnd_refill_t;

/*  `held`: a program still reads rows of the last step.  `spares` are free; `room` is for so many
 *  further memories. */
tnd_refill_t tnd_device_slots_refill(bool held, uint32_t spares, uint64_t room);

#endif
