/*  tests/gpu/gpu_device.h - the device cuda:0, for checks that upload to it themselves.
 *
 *  Threads: one. */
#ifndef TND_TESTS_GPU_GPU_DEVICE_H
#define TND_TESTS_GPU_GPU_DEVICE_H

#include "runtime/interface/device.h"

/*  Ends the program with 1 if it cannot be opened. */
tnd_device_t *gpu_open_device(void);

/*  Waits until the upload of a stage is complete. */
tnd_status_t gpu_complete(tnd_device_t *device, tnd_stage_t *stage, tnd_error_t *error) TND_CHECKED;
/*  Uploads one piece, and waits. */
tnd_status_t gpu_upload(tnd_device_t *device, tnd_stage_t *stage, const tnd_stage_piece_t *piece,
                        tnd_error_t *error) TND_CHECKED;

#endif
