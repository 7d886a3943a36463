/*  tests/conformance/device/cpu.c - the fixture of the processor. */
#include "tests/conformance/device_fixture.h"

const device_fixture_t device_fixture_cpu = {.name = "cpu:0", .too_large = SIZE_MAX / 2};
