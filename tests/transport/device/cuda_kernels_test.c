/*  Covers transport/cuda/cuda_kernels.h, compiled for the host: its casts have the bits of
 *  runtime/core/numeric/row_cast.h.  Also that the embedded file has every kernel. */
#include "transport/cuda/cuda_kernels.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "runtime/core/numeric/row_cast.h"
#include "transport/cuda/cuda_image.h"

typedef struct {
    const char *name;
    tnd_dtype_t from, to;
    void (*run)(const tnd_cuda_cast_t *cast, unsigned thread, unsigned threads);
} kernel_t;

#define u8_f32_types TND_U8, TND_F32
#define u8_f16_types TND_U8, TND_F16
#define u8_bf16_types TND_U8, TND_BF16
#define i16_f32_types TND_I16, TND_F32
#define i16_f16_types TND_I16, TND_F16
#define i16_bf16_types TND_I16, TND_BF16
#define u16_f32_types TND_U16, TND_F32
#define u16_f16_types TND_U16, TND_F16
#define u16_bf16_types TND_U16, TND_BF16
#define f32_f32_types TND_F32, TND_F32
#define f32_f16_types TND_F32, TND_F16
#define f32_bf16_types TND_F32, TND_BF16

static const kernel_t kernels[] = {
#define KERNEL(name, in_t, out_t, round) {"tnd_cast_" #name, name##_types, tnd_kernel_##name},
    TND_CUDA_KERNELS(KERNEL)
#undef KERNEL
};

enum { KERNELS = sizeof kernels / sizeof kernels[0] };

static uint64_t state = 0x9e3779b97f4a7c15;

static uint32_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

/*  Numbers at which rounding, denormals, infinities and NaNs begin, of either sign; else any. */
static float draw_float(void)
{
    static const uint32_t edges[] = {
        0x00000000, 0x00000001, 0x007fffff, 0x00800000, 0x33000000, 0x33000001, 0x387fe000,
        0x38800000, 0x3f800000, 0x3f808000, 0x3f818000, 0x477fefff, 0x477ff000, 0x7f7f7fff,
        0x7f7f8000, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff,
    };
    uint32_t bits = draw();
    if (bits % 2 == 0)
        bits = edges[draw() % (sizeof edges / sizeof edges[0])] | (bits << 30 & 0x80000000);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void fill(tnd_dtype_t from, uint8_t *in, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        float number = draw_float();
        uint32_t bits = draw();
        memcpy(in + i * tnd_dtype_size(from), from == TND_F32 ? (void *)&number : (void *)&bits,
               tnd_dtype_size(from));
    }
}

/*  Runs all threads of a launch, from the last to the first. */
static void launch(const kernel_t *kernel, const tnd_row_cast_t *cast, uint64_t rows, void *out,
                   const void *in, unsigned threads)
{
    tnd_cuda_cast_t parameter = {.in = in,
                                 .out = out,
                                 .scale = cast->scale,
                                 .bias = cast->bias,
                                 .count = (unsigned)(rows * cast->elements),
                                 .elements = (unsigned)cast->elements,
                                 .channels = cast->channels,
                                 .pixels = (unsigned)(cast->elements / cast->channels),
                                 .channels_first = cast->channels_first};
    for (unsigned i = threads; i-- > 0;)
        kernel->run(&parameter, i, threads);
}

/*  Both casts write into the middle of poisoned memory, `skip` elements after an aligned address, and
 *  read `skip` / 2 elements after one. */
static void check(const kernel_t *kernel, const tnd_row_cast_t *cast, uint64_t rows, size_t skip,
                  unsigned threads)
{
    uint64_t count = rows * cast->elements;
    size_t to = tnd_dtype_size(cast->to), bytes = (count + skip) * to + 64;
    size_t from = tnd_dtype_size(cast->from);
    uint8_t *memory = aligned_alloc(64, (count * from + 127) / 64 * 64);
    uint8_t *in = memory + skip / 2 * from;
    uint8_t *expected = aligned_alloc(64, (bytes + 63) / 64 * 64);
    uint8_t *found = aligned_alloc(64, (bytes + 63) / 64 * 64);
    fill(cast->from, in, count);
    memset(expected, 0x5a, bytes);
    memset(found, 0x5a, bytes);
    tnd_row_cast(cast, rows, expected + skip * to, in);
    launch(kernel, cast, rows, found + skip * to, in, threads);
    for (size_t i = 0; i < bytes; i++)
        cr_assert_eq(found[i], expected[i],
                     "%s, %u channels%s, %llu rows of %llu, %zu skipped, %u threads: byte %zu",
                     kernel->name, cast->channels, cast->channels_first ? " first" : "",
                     (unsigned long long)rows, (unsigned long long)cast->elements, skip, threads,
                     i);
    free(memory);
    free(expected);
    free(found);
}

Test(cuda_kernels, have_the_bits_of_the_host_in_every_layout_and_length)
{
    static const uint32_t channels[] = {1, 2, 3, 4, 5, 8, 33};
    static const unsigned threads[] = {1, 3, 32, 256};
    float scale[33], bias[33];
    for (size_t i = 0; i < 33; i++) {
        scale[i] = i % 3 == 0 ? draw_float() : (float)(draw() % 1000) / 999;
        bias[i] = i % 5 == 0 ? draw_float() : (float)(draw() % 1000) / 333 - 1;
    }
    for (size_t i = 0; i < KERNELS * 2 * 7; i++) {
        tnd_row_cast_t cast = {.from = kernels[i % KERNELS].from,
                               .to = kernels[i % KERNELS].to,
                               .channels_first = i / KERNELS % 2 != 0,
                               .channels = channels[i / KERNELS / 2],
                               .scale = scale,
                               .bias = bias};
        for (uint64_t pixels = 1; pixels < 300; pixels += 1 + pixels / 3) {
            cast.elements = pixels * cast.channels;
            check(&kernels[i % KERNELS], &cast, draw() % 4, draw() % 5, threads[draw() % 4]);
        }
    }
}

/*  Random numbers as scale and bias, each for many numbers: every integer, every edge of a float. */
Test(cuda_kernels, have_the_bits_of_the_host_for_every_number)
{
    enum { PIXELS = 65536 };
    uint16_t *all = malloc(PIXELS * sizeof(float)), *expected = malloc(PIXELS * sizeof(float));
    uint16_t *found = malloc(PIXELS * sizeof(float));
    for (size_t i = 0; i < KERNELS * 40; i++) {
        const kernel_t *kernel = &kernels[i % KERNELS];
        float scale = i < 4 * KERNELS ? 1 : draw_float(), bias = i < 4 * KERNELS ? 0 : draw_float();
        tnd_row_cast_t cast = {.from = kernel->from,
                               .to = kernel->to,
                               .elements = kernel->from == TND_U8 ? 256 : PIXELS,
                               .channels = 1,
                               .scale = &scale,
                               .bias = &bias};
        if (kernel->from == TND_F32)
            fill(TND_F32, (uint8_t *)all, PIXELS);
        for (size_t x = 0; x < cast.elements && kernel->from != TND_F32; x++)
            memcpy((uint8_t *)all + x * tnd_dtype_size(kernel->from), &x,
                   tnd_dtype_size(kernel->from));
        tnd_row_cast(&cast, 1, expected, all);
        launch(kernel, &cast, 1, found, all, 64);
        cr_assert_eq(memcmp(found, expected, cast.elements * tnd_dtype_size(kernel->to)), 0,
                     "%s, scale %a, bias %a", kernel->name, (double)scale, (double)bias);
    }
    free(all);
    free(expected);
    free(found);
}

/*  Each thread of a small launch makes one group; large launches are bounded. */
Test(cuda_kernels, are_launched_with_as_many_blocks_as_they_need)
{
    enum { EACH = TND_KERNEL_THREADS * TND_KERNEL_EACH };
    cr_assert_eq(tnd_kernel_blocks(0), 1);
    cr_assert_eq(tnd_kernel_blocks(1), 1);
    cr_assert_eq(tnd_kernel_blocks(EACH), 1);
    cr_assert_eq(tnd_kernel_blocks(EACH + 1), 2);
    cr_assert_eq(tnd_kernel_blocks((1u << 31) - 1), TND_KERNEL_BLOCKS);
}

Test(cuda_kernels, are_all_in_the_embedded_file)
{
    size_t bytes = tnd_cuda_image_bytes();
    if (bytes == 0)
        cr_skip("the kernels were not compiled");
    cr_assert_eq(tnd_cuda_image[bytes], 0);
    for (size_t i = 0; i < KERNELS; i++)
        cr_assert_not_null(memmem(tnd_cuda_image, bytes, kernels[i].name, strlen(kernels[i].name)),
                           "%s", kernels[i].name);
}

Test(cuda_kernels, that_are_cut_off_are_refused)
{
    tnd_error_t error;
    size_t bytes = tnd_cuda_image_bytes();
    unsigned char fatbin[32] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 16};
    static const char text[] = ".visible .entry f() {\n ret;\n}\n\n";
    cr_assert_eq(tnd_cuda_image_check(tnd_cuda_image, bytes, &error), TND_OK);
    for (size_t part = 1; part < 16 && bytes > 0; part++)
        cr_assert_eq(tnd_cuda_image_check(tnd_cuda_image, bytes / 16 * part, &error), TND_FAILED,
                     "%zu of %zu bytes", bytes / 16 * part, bytes);
    for (size_t size = 1; size <= sizeof fatbin; size++)
        cr_assert_eq(tnd_cuda_image_check(fatbin, size, &error),
                     size == sizeof fatbin ? TND_OK : TND_FAILED, "%zu bytes", size);
    for (size_t size = 1; size < sizeof text; size++)
        cr_assert_eq(tnd_cuda_image_check((const unsigned char *)text, size, &error),
                     size >= sizeof text - 3 ? TND_OK : TND_FAILED, "%zu bytes", size);
    cr_assert_not_null(strstr(error.text, "cut off"));
}
