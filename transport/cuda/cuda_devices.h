/*  transport/cuda/cuda_devices.h - which devices CUDA's driver has.
 *
 *  CUDA_VISIBLE_DEVICES hides devices and changes their order: the driver reads it.
 *
 *  Threads: any.
 *  Errors: TND_FAILED with the reason, in which no device is named. */
#ifndef TND_TRANSPORT_CUDA_CUDA_DEVICES_H
#define TND_TRANSPORT_CUDA_CUDA_DEVICES_H

#include "transport/cuda/cuda_driver.h"

/*  At least one; if there is none, the reason is the error. */
tnd_status_t tnd_cuda_devices_count(uint32_t *count_p, tnd_error_t *error) TND_CHECKED;

/*  The number of the device with this uuid, such as "GPU-5a1f0c9e-...", in any case. */
tnd_status_t tnd_cuda_devices_find(const char *uuid, uint32_t *ordinal_p,
                                   tnd_error_t *error) TND_CHECKED;

/*  What never changes: name, bus, uuid, memory and its node.  Makes no context. */
tnd_status_t tnd_cuda_devices_describe(uint32_t ordinal, tnd_device_facts_t *facts,
                                       tnd_error_t *error) TND_CHECKED;

#endif
