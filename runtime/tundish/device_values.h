/*  tundish/device_values.h - reductions of values in the memory of devices.
 *
 *  For steps that compute on a device and leave their results there.  tundish/tundish.h has the rest. */
#ifndef TUNDISH_DEVICE_VALUES_H
#define TUNDISH_DEVICE_VALUES_H

#include <tundish/tundish.h>

#ifdef __cplusplus
extern "C" {
#endif

/*  As tnd_replica_reduce_to, of values in the memory of the replica's device: `in` is `out` or does not overlap
 *  it.  All replicas post the same arrays so.  The bits are those of tnd_replica_reduce.
 *
 *  `stream` has the numbers of tnd_tensor_share.  The reduction waits on the device for what is in the stream when
 *  the step has returned, and what is put into it from `apply` on waits there for the result.  The stream exists
 *  until `apply` runs.  With UNSYNCHRONIZED, or NONE where that means no stream, the values are ready, and so is
 *  the result when `apply` runs.
 *
 *  Replicas of one device are added there.  What they make together is copied to the host and the result back,
 *  4 MiB at a time; meanwhile the part before is copied in and the one after is copied out.  A device without memory
 *  of its own (cpu) copies nothing.
 *
 *  Memory: from the first call on, for each device that has its own, 12 MiB of that for each node of the reduction
 *  tree that its replicas make, which is one if its replicas and those of the run are powers of two; and
 *  page-locked memory, 12 MiB for each and 12 MiB more.  The memory sum contains it, whether a step calls this or
 *  not.
 *
 *  Errors: TND_FAILED as tnd_replica_reduce, and if the device cannot do that (pjrt), if the stream is none of
 *  the device, in a step whose model is shared, or after tnd_replica_begin.  The run fails if the memory is not
 *  the device's, or is freed before `apply` runs. */
TND_API tnd_status_t tnd_replica_reduce_device(tnd_replica_t *replica, const char *reducer,
                                               tnd_reduce_t reduce, tnd_dtype_t dtype,
                                               const void *in, void *out, size_t count,
                                               int64_t stream);

#ifdef __cplusplus
}
#endif
#endif
