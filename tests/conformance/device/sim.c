/*  tests/conformance/device/sim.c - the fixture of the simulated device, whose memory the host reads. */
#include "transport/device/sim.h"
#include "tests/conformance/device_fixture.h"

static void read_later(tnd_device_t *device, tnd_stream_handle_t stream, const tnd_stage_t *stage,
                       size_t to, void *out, size_t bytes, _Atomic bool *done)
{
    tnd_sim_read(device, stream, (const uint8_t *)stage->device + to, out, bytes, done);
}

const device_fixture_t device_fixture_sim = {
    .name = "sim:3",
    .config = {.link_bytes_per_s = 10000000000,
               .link_latency_ns = 1000,
               .memory_bytes = 1 << 20,
               .step_ns = 1000},
    .too_large = (1 << 20) + 1,
    .hooks = {.open = tnd_sim_stream_open,
              .close = tnd_sim_stream_close,
              .hold = tnd_sim_hold,
              .read_later = read_later},
};
