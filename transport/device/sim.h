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
enum { TND_SIM_STREAMS = 16 };
tnd_stream_handle_t tnd_sim_stream_open(tnd_device_t *device);
/*  All its work must have ended. */
void tnd_sim_stream_close(tnd_device_t *device, tnd_stream_handle_t stream);

/*  Keeps the stream busy for so long / until `go` is set. */
void tnd_sim_work(tnd_device_t *device, tnd_stream_handle_t stream, uint64_t ns);
void tnd_sim_hold(tnd_device_t *device, tnd_stream_handle_t stream, const _Atomic bool *go);
/*  Copies from the device's memory, then sets `done`. */
void tnd_sim_read(tnd_device_t *device, tnd_stream_handle_t stream, const void *from, void *out,
                  size_t bytes, _Atomic bool *done);

/*  After `ns` of work, calls `call` with `context`, which it frees. */
void tnd_sim_call(tnd_device_t *device, tnd_stream_handle_t stream, uint64_t ns,
                  void (*call)(void *context), void *context);
/*  How long a copy of so many bytes is on the link. */
uint64_t tnd_sim_link_ns(tnd_device_t *device, size_t bytes);
/*  Makes a stream wait for what is in another one so far. */
void tnd_sim_follow(tnd_device_t *device, tnd_stream_handle_t stream, tnd_stream_handle_t other);
/*  How much work was put into a stream so far / TND_AGAIN: so much is not done. */
uint64_t tnd_sim_put(tnd_device_t *device, tnd_stream_handle_t stream);
tnd_status_t tnd_sim_done(tnd_device_t *device, tnd_stream_handle_t stream, uint64_t work,
                          tnd_error_t *error) TND_CHECKED;
/*  Waits until all that was put into a stream is done, or the device is lost. */
void tnd_sim_drain(tnd_device_t *device, tnd_stream_handle_t stream);
/*  Takes memory of the device for `what`, as far as there is any, and gives it back. */
tnd_status_t tnd_sim_take(tnd_device_t *device, uint64_t bytes, const char *what,
                          tnd_error_t *error) TND_CHECKED;
void tnd_sim_give(tnd_device_t *device, uint64_t bytes);

/*  Reductions there (sim_reduction.c): copies take the time of the link, one direction for each queue; nodes of
 *  the tree take none. */
extern const tnd_device_reduction_t tnd_sim_reduction;

#endif
