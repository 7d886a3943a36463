/*  tests/gpu/gpu_device.c - opens the device, and waits for its uploads. */
#include "tests/gpu/gpu_device.h"

#include <sched.h>

#include "tests/gpu/gpu.h"

tnd_device_t *gpu_open_device(void)
{
    const tnd_device_config_t config = {0};
    tnd_device_t *device;
    tnd_error_t error;
    tnd_status_t status = tnd_device_open(&device, "cuda:0", &config, &error);
    gpu_must_do(status == TND_OK, error.text);
    return device;
}

tnd_status_t gpu_complete(tnd_device_t *device, tnd_stage_t *stage, tnd_error_t *error)
{
    tnd_status_t status;
    while ((status = device->ops->uploaded(device, stage, error)) == TND_AGAIN)
        sched_yield();
    return status;
}

tnd_status_t gpu_upload(tnd_device_t *device, tnd_stage_t *stage, const tnd_stage_piece_t *piece,
                        tnd_error_t *error)
{
    TND_TRY(device->ops->upload(device, stage, piece, 1, error));
    return gpu_complete(device, stage, error);
}
