/*  runtime/interface/device.h - what a step computes on: the interface of a device.
 *
 *  A device has memory that steps read from, and memory of the host that rows are gathered into;
 *  on a processor both are the same.  A slot's memory is allocated once, before the stream starts;
 *  afterwards a device thread uploads it and settles, and nothing is allocated.
 *
 *  A device is one file in transport/ and one line in devices.def; the runtime finds it by name.
 *
 *  Threads: open, stage and close on any, one at a time; unstage on any, also while others are
 *  called; upload and settle on the device's own thread.
 */
#ifndef TND_RUNTIME_INTERFACE_DEVICE_H
#define TND_RUNTIME_INTERFACE_DEVICE_H

#include "runtime/base/status.h"

typedef struct tnd_device tnd_device_t;

enum { TND_STAGE_ALIGN = 64 };

/*  The memory of one slot for one replica, aligned to TND_STAGE_ALIGN on both sides. */
typedef struct {
    void *host;   /* rows are gathered here */
    void *device; /* steps read here; equal to `host` where the device reads that */
    size_t bytes;
    bool mapped; /* the device's own */
} tnd_stage_t;

#define TND_DEVICES_ANY UINT32_MAX

typedef struct {
    const char *name; /* "cpu": it is meant by cpu:0, cpu:1 ... */
    bool any_thread;  /* upload, settle and steps may be on another thread each time */
    /*  How many there are on this machine; 0: none that can be used; TND_DEVICES_ANY: as many as
     *  one asks for.  `why` gets the reason where there are none.
     */
    uint32_t (*count)(char *why, size_t room);
    tnd_status_t (*open)(tnd_device_t **self_p, uint32_t ordinal, tnd_error_t *error);
    /*  After the last unstage, which may be long after the run: a program may still have read. */
    void (*close)(tnd_device_t **self_p);
    /*  Memory of zeros.  The pages of its first `warm` bytes are there when the stream starts;
     * those of the others take no memory before they are written, if the device can do that.
     */
    tnd_status_t (*stage)(tnd_device_t *self, size_t bytes, size_t warm, tnd_stage_t *stage,
                          tnd_error_t *error);
    void (*unstage)(tnd_device_t *self, tnd_stage_t *stage);
    /*  Begins to copy `bytes` from the host's side to the device's; the host's must not change
     *  until the device has settled.
     */
    tnd_status_t (*upload)(tnd_device_t *self, const tnd_stage_t *stage, size_t bytes,
                           tnd_error_t *error);
    /*  Waits until all that the device was asked to do is done. */
    tnd_status_t (*settle)(tnd_device_t *self, tnd_error_t *error);
} tnd_device_ops_t;

/*  Every implementation begins with this. */
struct tnd_device {
    const tnd_device_ops_t *ops;
    uint32_t ordinal;
};

/*  The devices of this build; defined with their list. */
const tnd_device_ops_t *const *tnd_registry_devices(size_t *count_p);

/*  TND_FAILED: there is no such device, as tnd_device_open says; none is opened. */
tnd_status_t tnd_device_check(const char *name, tnd_error_t *error) TND_CHECKED;

/*  Opens a device by name: "cpu:1", or "cpu" for the first.  TND_FAILED: there is no such kind, or
 *  this machine lacks it.
 */
tnd_status_t tnd_device_open(tnd_device_t **self_p, const char *name,
                             tnd_error_t *error) TND_CHECKED;
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_device_close(tnd_device_t **self_p);

#endif
