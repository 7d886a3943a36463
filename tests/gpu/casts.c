/*  tests/gpu/casts.c - check 1: the casts of the device cuda have the bits of the host, in all types and
 *  layouts, for small rows, odd ones and a batch of pictures, and write nothing else.
 *
 *  With CUDA_FORCE_PTX_JIT=1 the driver compiles the kernels, instead of taking its machine code. */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/numeric/row_cast.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/gpu_device.h"

enum { CHANNELS = 33, AROUND = 256 };

static gpu_t gpu;
static tnd_device_t *device;
static tnd_error_t error;
static uint64_t state = 1;
static float scale[CHANNELS], bias[CHANNELS];
static double compared;

static uint32_t draw(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

/*  Every kind of f32. */
static float draw_float(void)
{
    static const uint32_t edges[] = {0,          1,          0x007fffff, 0x00800000, 0x33000000,
                                     0x33000001, 0x387fe000, 0x38800000, 0x3f800000, 0x3f808000,
                                     0x3f818000, 0x477fefff, 0x477ff000, 0x7f7f7fff, 0x7f7f8000,
                                     0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff};
    uint32_t bits = draw();
    if (bits % 2 == 0)
        bits = edges[draw() % (sizeof edges / sizeof edges[0])] | (bits << 30 & 0x80000000);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void fill(tnd_dtype_t from, uint8_t *in, uint64_t count)
{
    size_t size = tnd_dtype_size(from);
    for (uint64_t i = 0; i < count; i++) {
        float number = draw_float();
        uint32_t bits = draw();
        memcpy(in + i * size, from == TND_F32 ? (void *)&number : (void *)&bits, size);
    }
}

static void upload(tnd_stage_t *stage, const tnd_stage_piece_t *piece)
{
    gpu_must_do(gpu_upload(device, stage, piece, &error) == TND_OK, error.text);
}

/*  The first of those that differ, for an examination without the machine. */
static void print_wrong(const tnd_row_cast_t *cast, const uint8_t *found, const uint8_t *expected,
                        size_t bytes)
{
    enum { PRINTED = 64 };
    static unsigned printed;
    size_t size = tnd_dtype_size(cast->to);
    for (size_t at = 0; at < bytes && printed < PRINTED; at += size) {
        if (memcmp(found + at, expected + at, size) == 0)
            continue;
        uint32_t is = 0, should = 0;
        memcpy(&is, found + at, size);
        memcpy(&should, expected + at, size);
        fprintf(stderr,
                "%s to %s, %" PRIu64 " elements of %" PRIu32 " channels%s: byte %td is %#" PRIx32
                " and should be %#" PRIx32 "\n",
                tnd_dtype_name(cast->from), tnd_dtype_name(cast->to), cast->elements,
                cast->channels, cast->channels_first ? ", which come first" : "",
                (ptrdiff_t)at - AROUND, is, should);
        printed++;
    }
}

/*  How many bytes differ of those that the cast makes and of AROUND on either side of them. */
static uint64_t wrong_bytes(const tnd_row_cast_t *cast, uint64_t rows)
{
    size_t row_bytes = cast->elements * tnd_dtype_size(cast->from), wrong = 0;
    size_t made = rows * cast->elements * tnd_dtype_size(cast->to), all = made + 2 * AROUND;
    tnd_stage_t stage;
    gpu_must_do(device->ops->prepare(device, cast, &error) == TND_OK, error.text);
    gpu_must_do(device->ops->stage(device, rows * row_bytes > all ? rows * row_bytes : all, all, 0,
                                   &stage, &error) == TND_OK,
                error.text);
    uint8_t *expected = malloc(all), *found = gpu_allocate_host(&gpu, all, 0);
    memset(expected, 0x5a, all);
    memset(stage.host, 0x5a, all);
    tnd_stage_piece_t piece = {.from = stage.host, .to = 0, .rows = 1, .row_bytes = all};
    upload(&stage, &piece);
    fill(cast->from, stage.host, rows * cast->elements);
    tnd_row_cast(cast, rows, expected + AROUND, stage.host);
    piece = (tnd_stage_piece_t){
        .from = stage.host, .to = AROUND, .rows = rows, .row_bytes = row_bytes, .cast = cast};
    upload(&stage, &piece);
    gpu_must_do(gpu.copy_back(found, (CUdeviceptr)(uintptr_t)stage.device, all, gpu.stream) ==
                    CUDA_SUCCESS,
                "the copy back failed");
    gpu_wait(&gpu);
    for (size_t i = 0; i < all; i++)
        wrong += found[i] != expected[i];
    if (wrong > 0)
        print_wrong(cast, found, expected, all);
    compared += (double)all;
    free(expected);
    GPU_CALL(&gpu, cuMemFreeHost, found);
    device->ops->unstage(device, &stage);
    return wrong;
}

static uint64_t wrong_in_all(tnd_dtype_t from, tnd_dtype_t to)
{
    static const uint32_t channels[] = {1, 3, 4, 5, CHANNELS};
    static const uint64_t pixels[] = {1, 7, 64, 225, 4099};
    uint64_t wrong = 0;
    for (size_t i = 0; i < 2 * 5 * 5; i++) {
        uint32_t some = channels[i / 10];
        tnd_row_cast_t cast = {.from = from,
                               .to = to,
                               .channels_first = i % 2 != 0,
                               .channels = some,
                               .elements = some * pixels[i / 2 % 5],
                               .scale = scale,
                               .bias = bias};
        wrong += wrong_bytes(&cast, 1 + draw() % 5);
    }
    return wrong;
}

int main(int argc, char **argv)
{
    static const tnd_dtype_t froms[] = {TND_U8, TND_I16, TND_U16, TND_F32};
    static const tnd_dtype_t tos[] = {TND_F32, TND_F16, TND_BF16};
    gpu_begin(&gpu, argc, argv);
    device = gpu_open_device();
    if (!(device->ops->can & TND_DEVICE_CASTS)) {
        printf("skipped: the kernels were not compiled\n");
        tnd_device_close(&device);
        (void)gpu_end(&gpu);
        return 77;
    }
    for (size_t i = 0; i < CHANNELS; i++) {
        scale[i] = i % 4 == 3 ? draw_float() : (float)(draw() % 1000) / 999;
        bias[i] = i % 5 == 4 ? draw_float() : (float)(draw() % 1000) / 333 - 1;
    }
    for (size_t i = 0; i < 12; i++) {
        char name[48];
        snprintf(name, sizeof name, "wrong_bytes_%s_to_%s", tnd_dtype_name(froms[i / 3]),
                 tnd_dtype_name(tos[i % 3]));
        gpu_exact(1, name, (double)wrong_in_all(froms[i / 3], tos[i % 3]), 0);
    }
    tnd_row_cast_t pictures = {.from = TND_U8,
                               .to = TND_BF16,
                               .channels_first = true,
                               .channels = 3,
                               .elements = GPU_ROW,
                               .scale = scale,
                               .bias = bias};
    gpu_exact(1, "wrong_bytes_of_pictures",
              (double)wrong_bytes(&pictures, gpu.speeds ? GPU_BATCH : 4), 0);
    gpu_show(1, "compared", compared, "bytes", "");
    tnd_device_close(&device);
    return gpu_end(&gpu);
}
