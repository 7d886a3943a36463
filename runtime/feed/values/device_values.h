/*  runtime/feed/values/device_values.h - values that replicas post in the memory of their devices.
 *
 *  A collective reads the host's memory.  This one is around another, and gives it such values in chunks: the
 *  replicas of a device are added there first, what they make is copied out, the other collective reduces it,
 *  and the result is copied in.  Meanwhile the next chunk is copied out, and the one before is copied in.  Each
 *  chunk is a round of the other collective; those of a member and of all others are the same.
 *
 *  Streams of the user wait for results on their devices: the round ends before these are there.
 *
 *  A device without memory of its own has its values in the host's: they are reduced where they are, in the
 *  same chunks.
 *
 *  Memory: TND_DEVICE_VALUES_CHUNKS chunks of a device that has its own, allocated when its replicas first post
 *  such values.
 *
 *  Threads, errors: those of runtime/interface/collective.h. */
#ifndef TND_RUNTIME_FEED_VALUES_DEVICE_VALUES_H
#define TND_RUNTIME_FEED_VALUES_DEVICE_VALUES_H

#include "runtime/interface/collective.h"

/*  Chunks under way on a device, and bytes that each has of every node of the tree that the device makes, and
 *  on the host also of the result. */
enum { TND_DEVICE_VALUES_CHUNKS = 3, TND_DEVICE_VALUES_BYTES = 4 << 20 };

/*  The memory of one device for values of `count` replicas, from `first` on, of `replicas` of the run: on the host
 *  and on the device. */
typedef struct {
    uint64_t host, device;
} tnd_device_values_bytes_t;

tnd_device_values_bytes_t tnd_device_values_bytes(uint32_t replicas, uint32_t first,
                                                  uint32_t count);

/*  Joins `ops`, and puts this around it.  Devices must be known. */
tnd_status_t tnd_device_values_join(tnd_collective_t **self_p, const tnd_collective_ops_t *ops,
                                    const tnd_collective_config_t *config,
                                    tnd_error_t *error) TND_CHECKED;

#endif
