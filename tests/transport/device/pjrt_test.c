/*  tests/transport/device/pjrt_test.c - what the conformance suite does not show of the device pjrt: casts
 *  that its plugin computes, and that nothing is left over after many cycles.
 *
 *  Usage: test_transport_device_pjrt [CYCLES].  With a number, such as 10000, also all pairs of types.
 *  Exits with 77 without a plugin. */
#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/interface/device.h"
#include "tests/support/pjrt/read_side.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not true: %s %s\n", __FILE__, __LINE__, #condition,            \
                    error.text);                                                                   \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { CHANNELS = 5, PIXELS = 333, ROWS = 7, ELEMENTS = CHANNELS * PIXELS };

static tnd_error_t error;
static tnd_device_t *device;
static uint64_t state = 1;

/*  Of normal numbers, denormals, ties, infinities and NaN. */
static const float scales[CHANNELS] = {0.017124753f, 0x1p-140f, 1 + 0x1p-8f, 3e38f, 0x1p-25f};
static const float biases[CHANNELS] = {-2.117904f, 0x1p-133f, 0x1p-9f, -0.0f, 0x1p-24f};

static uint64_t random_bits(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 16;
}

static void upload(tnd_stage_t *stage, const tnd_stage_piece_t *piece)
{
    tnd_status_t status;
    CHECK(device->ops->upload(device, stage, piece, 1, &error) == TND_OK);
    while ((status = device->ops->uploaded(device, stage, &error)) == TND_AGAIN)
        sched_yield();
    CHECK(status == TND_OK);
}

static uint64_t calls(tnd_device_call_t kind)
{
    tnd_device_facts_t facts;
    device->ops->facts(device, &facts);
    CHECK(strstr(facts.name, "on the host") == NULL);
    return facts.calls[kind];
}

/*  Numbers whose exponents are near each other meet ties and denormals more often. */
static void fill(tnd_dtype_t from, void *in)
{
    for (size_t i = 0; i < ROWS * ELEMENTS; i++)
        if (from == TND_U8)
            ((uint8_t *)in)[i] = (uint8_t)random_bits();
        else if (from != TND_F32)
            ((uint16_t *)in)[i] = (uint16_t)random_bits();
        else
            ((uint32_t *)in)[i] = i % 3 == 0   ? (uint32_t)random_bits()
                                  : i % 3 == 1 ? (uint32_t)random_bits() & 0x80ffffff
                                               : 0x3f000000 + (uint32_t)(random_bits() & 0xfff000);
}

/*  The second and later uploads of a number of rows are cast by a program. */
static void check_cast(tnd_dtype_t from, tnd_dtype_t to, bool first)
{
    tnd_row_cast_t cast = {from, to, ELEMENTS, CHANNELS, first, scales, biases};
    size_t row_bytes = ELEMENTS * tnd_dtype_size(from);
    size_t bytes = ROWS * ELEMENTS * tnd_dtype_size(to);
    void *expected = malloc(bytes), *found = malloc(bytes);
    tnd_stage_t stage;
    CHECK(device->ops->prepare(device, &cast, &error) == TND_OK);
    CHECK(device->ops->stage(device, ROWS * row_bytes, 64 + bytes, 0, &stage, &error) == TND_OK);
    uint64_t launched = calls(TND_DEVICE_CALL_LAUNCH);
    for (uint64_t cycle = 0; cycle < 6; cycle++) {
        tnd_stage_piece_t piece = {stage.host, 64, cycle < 4 ? ROWS : 2, row_bytes, &cast};
        fill(from, stage.host);
        tnd_row_cast(&cast, piece.rows, expected, stage.host);
        upload(&stage, &piece);
        pjrt_read_side(device, device->ops->address(device, &stage, 64), found,
                       piece.rows * (bytes / ROWS));
        CHECK(memcmp(found, expected, piece.rows * (bytes / ROWS)) == 0);
    }
    CHECK(calls(TND_DEVICE_CALL_LAUNCH) == launched + 4);
    device->ops->unstage(device, &stage);
    free(expected);
    free(found);
}

static void check_casts(bool all)
{
    static const tnd_dtype_t from[] = {TND_U8, TND_I16, TND_U16, TND_F32};
    static const tnd_dtype_t to[] = {TND_F32, TND_F16, TND_BF16};
    for (size_t i = 0; i < (all ? 12 : 6); i++)
        check_cast(from[i % 4], to[(i + i / 4) % 3], i % 2 == 0);
    puts("the plugin casts to the bits of the host");
}

/*  The heap of this process, without what the plugin maps of its own. */
static size_t heap(void)
{
    return mallinfo2().uordblks;
}

/*  Stages that come and go, with and without a cast. */
static void check_leaks(uint64_t cycles)
{
    tnd_row_cast_t cast = {TND_U8, TND_BF16, 60, 3, false, scales, biases};
    size_t before = 0;
    CHECK(device->ops->prepare(device, &cast, &error) == TND_OK);
    for (uint64_t cycle = 0; cycle < cycles; cycle++) {
        tnd_stage_t stage;
        if (cycle == cycles / 10)
            before = heap();
        CHECK(device->ops->stage(device, 600, 1200, 0, &stage, &error) == TND_OK);
        tnd_stage_piece_t plain = {stage.host, 0, 10, 60, NULL}, turned = plain;
        turned.cast = &cast;
        upload(&stage, &plain);
        upload(&stage, &turned);
        device->ops->unstage(device, &stage);
    }
    printf("heap: %zu bytes, then %zu\n", before, heap());
    size_t noise = (1 << 18) + 16 * cycles; /* an event or a buffer takes more */
    CHECK(heap() < before + noise);
}

int main(int argc, char **argv)
{
    uint64_t cycles = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
    const tnd_device_config_t config = {0};
    if (tnd_device_open(&device, "pjrt:0", &config, &error) != TND_OK) {
        printf("skipped: %s\n", error.text);
        return 77;
    }
    check_casts(argc > 1);
    check_leaks(cycles);
    tnd_device_close(&device);
    return 0;
}
