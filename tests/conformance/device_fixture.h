/*  tests/conformance/device_fixture.h - what the conformance suite of devices needs to try one.
 *
 *  A fixture names a device, and has hooks for what is not in its interface: to read its side, and
 *  streams of another library. */
#ifndef TND_TESTS_CONFORMANCE_DEVICE_FIXTURE_H
#define TND_TESTS_CONFORMANCE_DEVICE_FIXTURE_H

#include <stdatomic.h>

#include "runtime/interface/device.h"

/*  What `read` and `read_later` read is `bytes` from `to` on, of the device's side of a stage. */
typedef struct {
    /*  NULL: the host can read where the device's side is. */
    void (*read)(tnd_device_t *device, const tnd_stage_t *stage, size_t to, void *out,
                 size_t bytes);
    /*  Streams other than the device's own.  NULL without TND_DEVICE_STREAMS. */
    tnd_stream_handle_t (*open)(tnd_device_t *device);
    void (*close)(tnd_device_t *device, tnd_stream_handle_t stream);
    /*  Puts work into a stream that ends once `go` is set. */
    void (*hold)(tnd_device_t *device, tnd_stream_handle_t stream, const _Atomic bool *go);
    /*  Puts a copy to the host into a stream, which sets `done`: at once, or at the latest when the
     *  device is asked about the stage. */
    void (*read_later)(tnd_device_t *device, tnd_stream_handle_t stream, const tnd_stage_t *stage,
                       size_t to, void *out, size_t bytes, _Atomic bool *done);
} device_hooks_t;

typedef struct {
    const char *name; /* to open it by */
    tnd_device_config_t config;
    const char *missing; /* a device of this kind that is not there; NULL: there are all */
    size_t too_large;    /* bytes of a stage that cannot be allocated; 0: the host's limits apply */
    device_hooks_t hooks;
} device_fixture_t;

#endif
