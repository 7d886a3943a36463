/*  runtime/core/device/device_wait.h - why a device does nothing.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_CORE_DEVICE_DEVICE_WAIT_H
#define TND_RUNTIME_CORE_DEVICE_DEVICE_WAIT_H

/*  What a device has not done yet; work first, because later copies may wait for it. */
typedef enum { TND_PENDING_NOTHING, TND_PENDING_COPY, TND_PENDING_WORK } tnd_device_pending_t;

/*  What a device waits for while it has no work of a step. */
typedef enum {
    TND_DEVICE_WAIT_NONE, /* it has work */
    TND_DEVICE_WAIT_ROWS, /* no step has all its rows on the host */
    TND_DEVICE_WAIT_LINK, /* a copy of rows is under way */
    TND_DEVICE_WAIT_HOST  /* the next step may start, and its work is not on the device yet */
} tnd_device_wait_t;

enum { TND_DEVICE_WAITS = 4 };

#endif
