/*  transport/device/devices.c - the list of devices, as the runtime asks for it. */
#include "runtime/interface/device.h"
#include "runtime/option/registry.h"

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

uint32_t tnd_registry_auto_devices(const char **kind_p, char *why, size_t room)
{
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        uint32_t count = devices[i]->preferred ? devices[i]->count(why, room) : 0;
        *kind_p = devices[i]->name;
        if (count > 0)
            return count;
    }
    return 0;
}
