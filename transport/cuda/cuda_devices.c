/*  transport/cuda/cuda_devices.c - counts, finds and describes devices of CUDA. */
#include "transport/cuda/cuda_devices.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "transport/cuda/cuda_image.h"
#include "transport/cuda/cuda_trace.h"

static tnd_status_t judge(tnd_cuda_call_t call, CUresult result, tnd_error_t *error)
{
    tnd_cuda_trace_result(call, result);
    return tnd_cuda_succeeded(call, result, error);
}

/*  Makes a call of the driver with the arguments after its name. */
#define CUDA(error, name, ...)                                                                     \
    (tnd_cuda_trace_call(TND_CUDA_##name), judge(TND_CUDA_##name, driver->name(__VA_ARGS__), error))

tnd_status_t tnd_cuda_devices_count(uint32_t *count_p, tnd_error_t *error)
{
    const tnd_cuda_driver_t *driver;
    int count = 0;
    TND_TRY(tnd_cuda_image_check(tnd_cuda_image, tnd_cuda_image_bytes(), error));
    TND_TRY(tnd_cuda_driver(&driver, error));
    TND_TRY(CUDA(error, cuDeviceGetCount, &count));
    if (count <= 0)
        return tnd_cuda_succeeded(TND_CUDA_cuDeviceGetCount, CUDA_ERROR_NO_DEVICE, error);
    *count_p = (uint32_t)count;
    return TND_OK;
}

/*  "GPU-5a1f0c9e-..." as the driver's own tools write it. */
static void write_uuid(const CUuuid *uuid, char text[48])
{
    char *at = text + sprintf(text, "GPU");
    for (size_t i = 0; i < sizeof uuid->bytes; i++)
        at += sprintf(at, i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
                      uuid->bytes[i]);
}

static tnd_status_t uuid_of(const tnd_cuda_driver_t *driver, CUdevice device, char text[48],
                            tnd_error_t *error)
{
    CUuuid uuid;
    TND_TRY(CUDA(error, cuDeviceGetUuid_v2, &uuid, device));
    write_uuid(&uuid, text);
    return TND_OK;
}

tnd_status_t tnd_cuda_devices_find(const char *uuid, uint32_t *ordinal_p, tnd_error_t *error)
{
    const tnd_cuda_driver_t *driver;
    uint32_t count = 0;
    char known[48], all[400] = "";
    TND_TRY(tnd_cuda_devices_count(&count, error));
    TND_TRY(tnd_cuda_driver(&driver, error));
    for (uint32_t i = 0; i < count; i++) {
        CUdevice device;
        TND_TRY(CUDA(error, cuDeviceGet, &device, (int)i));
        TND_TRY(uuid_of(driver, device, known, error));
        if (strcasecmp(known, uuid) == 0) {
            *ordinal_p = i;
            return TND_OK;
        }
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", i > 0 ? ", " : "", known);
    }
    return tnd_fail(error, "device cuda:%s is not there: this machine has %s", uuid, all);
}

/*  The memory node of a device on a PCI bus; -1 if the kernel does not know it. */
static int32_t node_of(const char *bus)
{
    char path[96], lower[sizeof((tnd_device_facts_t *)0)->bus];
    int node = -1;
    for (size_t i = 0; i < sizeof lower; i++)
        lower[i] = (char)tolower((unsigned char)bus[i]);
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", lower);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return -1;
    if (fscanf(file, "%d", &node) != 1 || node < 0)
        node = -1;
    fclose(file);
    return node;
}

tnd_status_t tnd_cuda_devices_describe(uint32_t ordinal, tnd_device_facts_t *facts,
                                       tnd_error_t *error)
{
    const tnd_cuda_driver_t *driver;
    CUdevice device;
    size_t bytes;
    *facts = (tnd_device_facts_t){.numa_node = -1};
    TND_TRY(tnd_cuda_driver(&driver, error));
    TND_TRY(CUDA(error, cuDeviceGet, &device, (int)ordinal));
    TND_TRY(CUDA(error, cuDeviceGetName, facts->name, sizeof facts->name, device));
    TND_TRY(CUDA(error, cuDeviceGetPCIBusId, facts->bus, sizeof facts->bus, device));
    TND_TRY(uuid_of(driver, device, facts->uuid, error));
    TND_TRY(CUDA(error, cuDeviceTotalMem_v2, &bytes, device));
    facts->memory = bytes;
    facts->numa_node = node_of(facts->bus);
    return TND_OK;
}
