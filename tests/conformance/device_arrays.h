/*  tests/conformance/device_arrays.h - values of a replica in the memory of a device, for tests of collectives.
 *
 *  They are copied there and back in the order of the device's own stream, and nothing waits in between.
 *
 *  Threads: one at a time for each device. */
#ifndef TND_TESTS_CONFORMANCE_DEVICE_ARRAYS_H
#define TND_TESTS_CONFORMANCE_DEVICE_ARRAYS_H

#include "runtime/interface/device.h"
#include "runtime/posts/postings.h"

typedef struct {
    tnd_device_area_t area;
    void *from, *data; /* where the values are on the host */
} device_array_t;

/*  Moves what was posted to the device, as far as it can be reduced there; `arrays`: by posting. */
void device_arrays_move(tnd_device_t *device, const tnd_device_queue_t *queue,
                        tnd_postings_t *posts, device_array_t *arrays);
/*  Brings the results back, and waits for them. */
void device_arrays_bring(tnd_device_t *device, const tnd_device_queue_t *queue,
                         tnd_postings_t *posts, device_array_t *arrays);

#endif
