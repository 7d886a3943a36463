/*  tools/bench/device/pjrt.c - uploads batches to a device of a PJRT plugin.  The bound is a loop of the
 *  calls of the plugin alone, on the same client and memory, in turns with ours. */
#include <sched.h>

#include "runtime/interface/device.h"
#include "tools/bench/bench.h"
#include "transport/device/pjrt_plugin.h"

enum { BATCH = 256 * 3 * 224 * 224, STAGES = 2, ROUNDS = 15 };

static const tnd_pjrt_plugin_t *plugin;
static tnd_device_t *device;
static tnd_stage_t stages[STAGES];
static void *buffers[STAGES];

static void must(bool right)
{
    if (right)
        return;
    fputs("bench_pjrt: a call failed\n", stderr);
    exit(1);
}

static void plain(unsigned place, void *args)
{
    must(plugin->table->calls[place](args) == NULL);
}

static void plain_wait(void *event)
{
    one_args_t args = {.size = sizeof args, .thing = event};
    plain(CALL_Event_Await, &args);
    plain(CALL_Event_Destroy, &args);
}

static void plain_upload(size_t slot)
{
    const int64_t size = BATCH;
    one_args_t old = {.size = sizeof old, .thing = buffers[slot]};
    upload_args_t upload = {.size = sizeof upload,
                            .client = plugin->client,
                            .data = stages[slot].host,
                            .type = TYPE_U8,
                            .sizes = &size,
                            .rank = 1,
                            .lends = 1,
                            .device = plugin->devices[0]};
    if (old.thing != NULL)
        plain(CALL_Buffer_Destroy, &old);
    plain(CALL_Client_BufferFromHostBuffer, &upload);
    of_args_t ready = {.size = sizeof ready, .thing = upload.buffer};
    plain(CALL_Buffer_ReadyEvent, &ready);
    plain_wait(upload.done);
    plain_wait(ready.result);
    of_args_t address = {.size = sizeof address, .thing = upload.buffer};
    plain(CALL_Buffer_UnsafePointer, &address);
    buffers[slot] = upload.buffer;
}

static void our_upload(size_t slot)
{
    tnd_error_t error;
    tnd_status_t status;
    tnd_stage_piece_t piece = {.from = stages[slot].host, .rows = 256, .row_bytes = BATCH / 256};
    must(device->ops->upload(device, &stages[slot], &piece, 1, &error) == TND_OK);
    while ((status = device->ops->uploaded(device, &stages[slot], &error)) == TND_AGAIN)
        sched_yield();
    must(status == TND_OK);
}

static double measure(void (*upload)(size_t slot), size_t count)
{
    uint64_t begin = tnd_clock_now();
    for (size_t i = 0; i < count; i++)
        upload(i % STAGES);
    return (double)(tnd_clock_now() - begin) / 1000 / (double)count;
}

int main(int argc, char **argv)
{
    bench_wish_t wish = bench_wish(argc, argv, ROUNDS);
    size_t count = wish.smoke ? 2 : 10;
    double ours[ROUNDS], bare[ROUNDS], ratios[ROUNDS];
    const tnd_device_config_t config = {0};
    tnd_error_t error;
    char why[256];
    plugin = tnd_pjrt_plugin(why, sizeof why);
    if (plugin == NULL || tnd_device_open(&device, "pjrt:0", &config, &error) != TND_OK) {
        fprintf(stderr, "bench_pjrt: skipped: %s\n", plugin == NULL ? why : error.text);
        return 0;
    }
    for (size_t i = 0; i < STAGES; i++)
        must(device->ops->stage(device, BATCH, BATCH, BATCH, &stages[i], &error) == TND_OK);
    measure(our_upload, STAGES);
    measure(plain_upload, STAGES);
    for (int round = 0; round < wish.runs; round++) {
        ours[round] = measure(our_upload, count);
        bare[round] = measure(plain_upload, count);
        ratios[round] = ours[round] / bare[round];
    }
    size_t runs = (size_t)wish.runs;
    double ratio = bench_median(ratios, runs);
    bench_print("pjrt_upload_us", bench_median(ours, runs), bench_median(bare, runs), ratio, 1.1,
                ratio <= 1.1);
    for (size_t i = 0; i < STAGES; i++)
        device->ops->unstage(device, &stages[i]);
    tnd_device_close(&device);
    return 0;
}
