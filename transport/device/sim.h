/*  transport/device/sim.h - work for the streams of a simulated device, as another library puts it
 *  into those of a real one.
 *
 *  What was put into a stream happens when the device is asked about a stage, in the order of its
 *  time.
 *
 *  Threads: any.  The device outlives its streams. */
#ifndef TND_TRANSPORT_DEVICE_SIM_H
#define TND_TRANSPORT_DEVICE_SIM_H

#include <stdatomic.h>

#include "runtime/interface/device.h"

/*  Errors: none; a device has TND_SIM_STREAMS of them, its own included. */
enum { TND_SIM_STREAMS = 8 };
tnd_stream_handle_t tnd_sim_stream_open(tnd_device_t *device);
/*  All its work must have ended. */
void tnd_sim_stream_close(tnd_device_t *device, tnd_stream_handle_t stream);

/*  Keeps the stream busy for so long / until `go` is set. */
void tnd_sim_work(tnd_device_t *device, tnd_stream_handle_t stream, uint64_t ns);
void tnd_sim_hold(tnd_device_t *device, tnd_stream_handle_t stream, const _Atomic bool *go);
/*  Copies from the device's memory, then sets `done`. */
void tnd_sim_read(tnd_device_t *device, tnd_stream_handle_t stream, const void *from, void *out,
                  size_t bytes, _Atomic bool *done);

#endif
