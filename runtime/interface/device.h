/*  runtime/interface/device.h - the interface of a device, which steps compute on.
 *
 *  A device has memory that steps read, and memory of the host that rows are gathered into; on a
 *  processor both are the same.  The memory of a slot is allocated before the stream starts.  Then
 *  a device thread only uploads and settles.
 *
 *  One file in transport/device/ and one line in devices.def make a device, which is found by name.
 *
 *  Threads: open, stage and close on any, one at a time; unstage on any, also while others are
 *  called; upload and settle on the device's own thread. */
#ifndef TND_RUNTIME_INTERFACE_DEVICE_H
#define TND_RUNTIME_INTERFACE_DEVICE_H

#include "runtime/base/status.h"

typedef struct tnd_device tnd_device_t;

enum { TND_STAGE_ALIGN = 64 };

/*  The memory of one slot for one replica, aligned to TND_STAGE_ALIGN on both sides. */
typedef struct {
    void *host;   /* rows are gathered here */
    void *device; /* steps read here; equal to `host` if the device can read it */
    size_t bytes;
    bool mapped; /* the device's own */
} tnd_stage_t;

#define TND_DEVICES_ANY UINT32_MAX

typedef struct {
    const char *name; /* "cpu" names cpu:0, cpu:1 ... */
    bool any_thread;  /* upload, settle and steps may be on another thread each time */
    /*  The usable devices of this machine; TND_DEVICES_ANY: no limit. If 0, `why` is the reason. */
    uint32_t (*count)(char *why, size_t room);
    tnd_status_t (*open)(tnd_device_t **self_p, uint32_t ordinal, tnd_error_t *error);
    /*  Called after the last unstage: long after the run if a program keeps tensors. */
    void (*close)(tnd_device_t **self_p);
    /*  Memory of zeros. The pages of its first `warm` bytes are present when the stream starts; the
     *  others take memory when they are written, if the device can do that. */
    tnd_status_t (*stage)(tnd_device_t *self, size_t bytes, size_t warm, tnd_stage_t *stage,
                          tnd_error_t *error);
    void (*unstage)(tnd_device_t *self, tnd_stage_t *stage);
    /*  Starts to copy `bytes` from the host's side to the device's. The host's side must not change
     *  until the device has settled. */
    tnd_status_t (*upload)(tnd_device_t *self, const tnd_stage_t *stage, size_t bytes,
                           tnd_error_t *error);
    /*  Waits until the device has finished all its work. */
    tnd_status_t (*settle)(tnd_device_t *self, tnd_error_t *error);
} tnd_device_ops_t;

/*  Every implementation begins with this. */
struct tnd_device {
    const tnd_device_ops_t *ops;
    uint32_t ordinal;
};

/*  The devices of this build; devices.c defines it from the list. */
const tnd_device_ops_t *const *tnd_registry_devices(size_t *count_p);

/*  Errors: TND_FAILED as tnd_device_open; opens no device. */
tnd_status_t tnd_device_check(const char *name, tnd_error_t *error) TND_CHECKED;

/*  Opens a device by name: "cpu:1", or "cpu" for the first. Errors: TND_FAILED if its type is
 *  unknown or this machine does not have it. */
tnd_status_t tnd_device_open(tnd_device_t **self_p, const char *name,
                             tnd_error_t *error) TND_CHECKED;
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_device_close(tnd_device_t **self_p);

#endif
