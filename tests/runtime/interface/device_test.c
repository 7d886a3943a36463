/*  Covers runtime/interface/device.h: devices are found by name, or refused with a text. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "runtime/interface/device.h"

static const tnd_device_config_t config;

Test(device, opens_any_number_of_cpus)
{
    static const char *const names[] = {"cpu", "cpu:0", "cpu:3", "cpu:127"};
    static const uint32_t ordinals[] = {0, 0, 3, 127};
    for (size_t i = 0; i < 4; i++) {
        tnd_device_t *device;
        tnd_error_t error;
        tnd_stage_t stage;
        cr_assert(tnd_device_open(&device, names[i], &config, &error) == TND_OK, "%s", error.text);
        cr_assert(eq(u32, device->ordinal, ordinals[i]));
        cr_assert(device->ops->stage(device, 1000, 1000, 1000, &stage, &error) == TND_OK);
        cr_assert(eq(ptr, stage.host, stage.device));
        cr_assert(eq(sz, (uintptr_t)stage.host % TND_STAGE_ALIGN, 0));
        device->ops->unstage(device, &stage);
        tnd_device_close(&device);
        cr_assert(device == NULL);
    }
}

Test(device, says_what_there_is_when_another_is_asked_for)
{
    static const struct {
        const char *name, *words;
    } wrong[] = {
        {"npu:0", "this program has cpu, cuda, pjrt, sim"},
        {"cpux", "this program has cpu, cuda, pjrt, sim"},
        {"", "this program has cpu, cuda, pjrt, sim"},
        {"tpu:0", "did you mean pjrt:0?"},
        {"gpu", "did you mean cuda:0?"},
        {"gpu:3", "did you mean cuda:3?"},
        {"cpu:", "such devices have numbers, as cpu:0"},
        {"cpu:x", "such devices have numbers, as cpu:0"},
        {"cpu:1x", "such devices have numbers, as cpu:0"},
        {"cpu:-1", "such devices have numbers, as cpu:0"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        tnd_device_t *device;
        tnd_error_t error;
        cr_assert(tnd_device_open(&device, wrong[i].name, &config, &error) == TND_FAILED, "%s",
                  wrong[i].name);
        cr_assert(strstr(error.text, wrong[i].words) != NULL, "%s", error.text);
        cr_assert(device == NULL);
    }
}
