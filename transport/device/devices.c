/*  transport/device/devices.c - the list of devices, as the runtime asks for it. */
#include "runtime/interface/device.h"

#define DEVICE(name) extern const tnd_device_ops_t tnd_device_##name;
#include "transport/device/devices.def"
#undef DEVICE

static const tnd_device_ops_t *const devices[] = {
#define DEVICE(name) &tnd_device_##name,
#include "transport/device/devices.def"
#undef DEVICE
};

const tnd_device_ops_t *const *tnd_registry_devices(size_t *count_p)
{
    *count_p = sizeof devices / sizeof devices[0];
    return devices;
}
