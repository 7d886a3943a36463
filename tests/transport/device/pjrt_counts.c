/*  tests/transport/device/pjrt_counts.c - after 1,000 steps a device pjrt has as many buffers, events and
 *  programs as after 10, and none when it is closed; and its link was busy until the plugin called back.
 *
 *  Usage: with TUNDISH_PJRT for the plugin of tests/support/pjrt/counting.c. */
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/interface/device.h"
#include "tests/support/pjrt/counting.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not true: %s %s\n", __FILE__, __LINE__, #condition,            \
                    error.text);                                                                   \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { STEPS = 1000, STAGES = 3, ROWS = 4, ELEMENTS = 6, CHANNELS = 3, PLAIN = 512 };

static tnd_error_t error;
static tnd_device_t *device;
static counting_pjrt_now_t *ask;
static counting_pjrt_called_t *ask_callbacks;
static const float scale[CHANNELS] = {0.5f, 2, -1}, bias[CHANNELS] = {1, 0, -3};
static const tnd_row_cast_t cast = {TND_U8, TND_F32, ELEMENTS, CHANNELS, false, scale, bias};

static void expect(const char *when, counting_pjrt_t wanted)
{
    counting_pjrt_t found = ask();
    if (memcmp(&found, &wanted, sizeof found) == 0)
        return;
    fprintf(stderr,
            "%s: %u buffers, %u events, %u executables, %u mapped, %u wrong; expected %u, %u, %u, "
            "%u, %u\n",
            when, found.buffers, found.events, found.executables, found.mapped, found.wrong,
            wanted.buffers, wanted.events, wanted.executables, wanted.mapped, wanted.wrong);
    exit(1);
}

/*  Uploads a plain column and one that is cast. */
static void run_step(tnd_stage_t *stage, uint32_t step)
{
    uint8_t *host = stage->host;
    const tnd_stage_piece_t pieces[] = {{host, 0, ROWS, ELEMENTS, NULL},
                                        {host + 64, PLAIN, ROWS, ELEMENTS, &cast}};
    float wanted[ROWS * ELEMENTS];
    tnd_status_t status;
    for (uint32_t i = 0; i < ROWS * ELEMENTS; i++)
        host[i] = host[64 + i] = (uint8_t)(step * 7 + i);
    tnd_row_cast(&cast, ROWS, wanted, host + 64);
    CHECK(device->ops->upload(device, stage, pieces, 2, &error) == TND_OK);
    while ((status = device->ops->uploaded(device, stage, &error)) == TND_AGAIN)
        sched_yield();
    CHECK(status == TND_OK);
    CHECK(memcmp(device->ops->address(device, stage, 0), host, ROWS * ELEMENTS) == 0);
    CHECK(memcmp(device->ops->address(device, stage, PLAIN), wanted, sizeof wanted) == 0);
}

static void find_counts(void)
{
    void *plugin = dlopen(getenv("TUNDISH_PJRT"), RTLD_NOW | RTLD_NOLOAD);
    CHECK(plugin != NULL);
    *(void **)&ask = dlsym(plugin, "counting_pjrt_now");
    CHECK(ask != NULL);
    *(void **)&ask_callbacks = dlsym(plugin, "counting_pjrt_called");
    CHECK(ask_callbacks != NULL);
}

static uint64_t link_ns(void)
{
    tnd_device_facts_t facts;
    device->ops->facts(device, &facts);
    return facts.link_ns;
}

/*  The host asks 5 ms after the end of a copy that takes 20 ms. */
static void time_a_copy(tnd_stage_t *stage)
{
    const tnd_stage_piece_t piece = {stage->host, 0, ROWS, ELEMENTS, NULL};
    uint64_t before = link_ns(), calls = ask_callbacks().count + 2, begun = tnd_clock_now();
    setenv("COUNTING_PJRT_US", "20000", 1);
    CHECK(device->ops->upload(device, stage, &piece, 1, &error) == TND_OK);
    CHECK(device->ops->uploaded(device, stage, &error) == TND_AGAIN);
    while (ask_callbacks().count < calls)
        sched_yield();
    uint64_t ended = ask_callbacks().last_ns;
    while (tnd_clock_now() < ended + 5000000)
        sched_yield();
    CHECK(device->ops->uploaded(device, stage, &error) == TND_OK);
    uint64_t busy = link_ns() - before;
    CHECK(busy >= 20000000 && busy <= ended - begun);
    unsetenv("COUNTING_PJRT_US");
}

int main(void)
{
    const tnd_device_config_t config = {0};
    tnd_stage_t stages[STAGES];
    CHECK(tnd_device_open(&device, "pjrt:0", &config, &error) == TND_OK);
    find_counts();
    expect("opened", (counting_pjrt_t){0});
    for (int again = 0; again < 2; again++)
        CHECK(device->ops->prepare(device, &cast, &error) == TND_OK);
    /* Its scale and its bias. */
    expect("prepared", (counting_pjrt_t){.buffers = 2});
    for (int i = 0; i < STAGES; i++)
        CHECK(device->ops->stage(device, 1024, 1024, 0, &stages[i], &error) == TND_OK);
    /* Zeros of each. */
    expect("staged", (counting_pjrt_t){.buffers = 2 + STAGES, .mapped = STAGES});
    const counting_pjrt_t full = {.buffers = 2 + 2 * STAGES, .executables = 1, .mapped = STAGES};
    for (uint32_t step = 0; step < STEPS; step++) {
        run_step(&stages[step % STAGES], step);
        if (step + 1 == 10 || step + 1 == STEPS)
            expect(step + 1 == 10 ? "after 10 steps" : "after 1,000 steps", full);
    }
    for (int i = 0; i < STAGES; i++)
        time_a_copy(&stages[i]);
    expect("timed", full);
    for (int i = 0; i < STAGES; i++)
        device->ops->unstage(device, &stages[i]);
    expect("unstaged", (counting_pjrt_t){.buffers = 2, .executables = 1});
    tnd_device_close(&device);
    expect("closed", (counting_pjrt_t){0});
    return 0;
}
