/*  tests/conformance/device/pjrt.c - the fixture of PJRT plugins, also those of GPUs. */
#include "tests/conformance/device_fixture.h"
#include "tests/support/pjrt/read_side.h"

static void read_side(tnd_device_t *device, const tnd_stage_t *stage, size_t to, void *out,
                      size_t bytes)
{
    pjrt_read_side(device, device->ops->address(device, stage, to), out, bytes);
}

const device_fixture_t device_fixture_pjrt = {.name = "pjrt:0", .hooks = {.read = read_side}};
