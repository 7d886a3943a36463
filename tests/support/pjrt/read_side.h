/*  tests/support/pjrt/read_side.h - reads what a device of a PJRT plugin has in its memory.
 *
 *  The interface of devices has no call for it: steps read on the device.
 *
 *  Threads: one. */
#ifndef TND_TESTS_SUPPORT_PJRT_READ_SIDE_H
#define TND_TESTS_SUPPORT_PJRT_READ_SIDE_H

#include "runtime/interface/device.h"

/*  From an address of ops->address, after ops->uploaded: memory of the host, or of the first device of
 *  CUDA, whose driver must be there then. */
void pjrt_read_side(const tnd_device_t *device, const void *address, void *out, size_t bytes);

#endif
