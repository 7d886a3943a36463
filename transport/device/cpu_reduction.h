/*  transport/device/cpu_reduction.h - reductions on a processor.
 *
 *  Threads: any. */
#ifndef TND_TRANSPORT_DEVICE_CPU_REDUCTION_H
#define TND_TRANSPORT_DEVICE_CPU_REDUCTION_H

#include "runtime/interface/device_reduction.h"

extern const tnd_device_reduction_t tnd_cpu_reduction;

/*  Its `reduce`; nothing of the device or the queue is used. */
tnd_status_t tnd_cpu_reduce(struct tnd_device *self, const tnd_device_queue_t *queue,
                            const tnd_reduction_tree_job_t *job, bool root, size_t begin,
                            size_t count, void *out, tnd_error_t *error);

#endif
