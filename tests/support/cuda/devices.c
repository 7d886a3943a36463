/*  tests/support/cuda/devices.c - the driver, its devices and the names of errors.
 *
 *  CUDA_VISIBLE_DEVICES chooses devices, by numbers with commas between them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cuda/calls.h"
#include "tests/support/cuda/contexts.h"
#include "tests/support/cuda/memory.h"
#include "tests/support/cuda/settings.h"

enum { DEVICES = 8 };

static bool initialized;
static int visible[DEVICES], count; /* the device of each number */

/* --- which there are -------------------------------------------------------------------------- */

/*  Ends at the first number that is none of a device. */
static void find_visible(void)
{
    const char *text = getenv("CUDA_VISIBLE_DEVICES");
    char *end;
    for (count = 0; text == NULL && count < hostile_settings()->devices; count++)
        visible[count] = count;
    while (text != NULL && count < DEVICES) {
        long device = strtol(text, &end, 10);
        if (end == text || device < 0 || device >= hostile_settings()->devices)
            return;
        visible[count++] = (int)device;
        text = *end == ',' ? end + 1 : end;
    }
}

static CUresult init(void)
{
    if (hostile_settings()->init != CUDA_SUCCESS)
        return hostile_settings()->init;
    find_visible();
    if (count == 0)
        return CUDA_ERROR_NO_DEVICE;
    initialized = true;
    return CUDA_SUCCESS;
}

static CUresult check(CUdevice device)
{
    if (!initialized)
        return CUDA_ERROR_NOT_INITIALIZED;
    return hostile_context(device) != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

static CUresult get_count(int *count_p)
{
    if (!initialized)
        return CUDA_ERROR_NOT_INITIALIZED;
    *count_p = count;
    return CUDA_SUCCESS;
}

static CUresult get(CUdevice *device, int ordinal)
{
    if (!initialized)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (ordinal < 0 || ordinal >= count)
        return CUDA_ERROR_INVALID_DEVICE;
    *device = visible[ordinal];
    return CUDA_SUCCESS;
}

/* --- what they are ---------------------------------------------------------------------------- */

static CUresult write_text(char *text, int room, CUdevice device, const char *format)
{
    HOSTILE_TRY(check(device));
    snprintf(text, (size_t)room, format, device);
    return CUDA_SUCCESS;
}

static CUresult get_uuid(CUuuid *uuid, CUdevice device)
{
    HOSTILE_TRY(check(device));
    for (size_t i = 0; i < sizeof uuid->bytes; i++)
        uuid->bytes[i] = (unsigned char)(0xc0 + i);
    uuid->bytes[0] = (unsigned char)device;
    return CUDA_SUCCESS;
}

static CUresult get_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    HOSTILE_TRY(check(device));
    if (attribute != CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR &&
        attribute != CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
        return CUDA_ERROR_INVALID_VALUE;
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 0;
    return CUDA_SUCCESS;
}

static CUresult get_memory(size_t *bytes, CUdevice device)
{
    HOSTILE_TRY(check(device));
    *bytes = hostile_settings()->memory;
    return CUDA_SUCCESS;
}

/* --- errors ----------------------------------------------------------------------------------- */

static const struct {
    CUresult result;
    const char *name, *meaning;
} errors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_STUB_LIBRARY, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
};

static CUresult describe(CUresult result, const char **text, bool name)
{
    *text = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].result == result)
            *text = name ? errors[i].name : errors[i].meaning;
    return *text != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* --- calls ------------------------------------------------------------------------------------ */

CUresult cuInit(unsigned flags)
{
    HOSTILE_CALL(cuInit, flags == 0 ? init() : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuDriverGetVersion(int *version)
{
    HOSTILE_CALL(cuDriverGetVersion, (*version = hostile_settings()->version, CUDA_SUCCESS));
}

CUresult cuGetErrorName(CUresult result, const char **text)
{
    HOSTILE_CALL(cuGetErrorName, describe(result, text, true));
}

CUresult cuGetErrorString(CUresult result, const char **text)
{
    HOSTILE_CALL(cuGetErrorString, describe(result, text, false));
}

CUresult cuDeviceGetCount(int *count_p)
{
    HOSTILE_CALL(cuDeviceGetCount, get_count(count_p));
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    HOSTILE_CALL(cuDeviceGet, get(device, ordinal));
}

CUresult cuDeviceGetName(char *name, int room, CUdevice device)
{
    HOSTILE_CALL(cuDeviceGetName, write_text(name, room, device, "Hostile device %d"));
}

CUresult cuDeviceGetPCIBusId(char *bus, int room, CUdevice device)
{
    HOSTILE_CALL(cuDeviceGetPCIBusId, write_text(bus, room, device, "0000:C%d:00.0"));
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    HOSTILE_CALL(cuDeviceGetUuid_v2, get_uuid(uuid, device));
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    HOSTILE_CALL(cuDeviceGetAttribute, get_attribute(value, attribute, device));
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    HOSTILE_CALL(cuDeviceTotalMem_v2, get_memory(bytes, device));
}
