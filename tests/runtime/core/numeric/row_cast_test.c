/*  Covers runtime/core/numeric/row_cast.h: single elements against exact arithmetic
 *  (tests/oracle/row_cast.txt), and every path, layout and length against them. */
#include "runtime/core/numeric/row_cast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

static const tnd_dtype_t froms[] = {TND_U8, TND_I16, TND_U16, TND_F32};
static const tnd_dtype_t tos[] = {TND_F32, TND_F16, TND_BF16};

static tnd_dtype_t type_of(const char *name)
{
    tnd_dtype_t dtype;
    cr_assert(tnd_dtype_parse(name, &dtype), "%s", name);
    return dtype;
}

/*  One element by one path. */
static uint32_t cast_one(size_t path, tnd_dtype_t from, tnd_dtype_t to, uint32_t x, float scale,
                         float bias)
{
    tnd_row_cast_t cast = {
        .from = from, .to = to, .elements = 1, .channels = 1, .scale = &scale, .bias = &bias};
    uint32_t out = 0;
    tnd_row_cast_by(path, &cast, 1, &out, &x);
    return out;
}

Test(row_cast, elements_are_rounded_as_exact_arithmetic_says)
{
    FILE *in = fopen("tests/oracle/row_cast.txt", "r");
    char line[128], name[8];
    uint32_t x, scale_bits, bias_bits, expected[3], count = 0;
    cr_assert_not_null(in);
    while (fgets(line, sizeof line, in) != NULL) {
        float scale, bias;
        if (sscanf(line, "%7s %x %x %x %x %x %x", name, &x, &scale_bits, &bias_bits, &expected[0],
                   &expected[1], &expected[2]) != 7)
            continue;
        memcpy(&scale, &scale_bits, sizeof scale);
        memcpy(&bias, &bias_bits, sizeof bias);
        for (size_t path = 0; path < tnd_row_cast_paths(); path++)
            for (size_t t = 0; t < 3; t++)
                cr_assert_eq(cast_one(path, type_of(name), tos[t], x, scale, bias), expected[t],
                             "path %zu, to %s: %s", path, tnd_dtype_name(tos[t]), line);
        count++;
    }
    fclose(in);
    cr_assert_gt(count, 1500);
}

static uint64_t state = 0x9e3779b97f4a7c15;

static uint32_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

static float draw_float(void)
{
    uint32_t bits = draw();
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/*  Every element of a cast, at its place, is what the plain path gives for it alone. */
static void check(size_t path, const tnd_row_cast_t *cast, uint64_t rows)
{
    size_t from = tnd_dtype_size(cast->from), to = tnd_dtype_size(cast->to);
    uint64_t count = rows * cast->elements, pixels = cast->elements / cast->channels;
    uint8_t *in = malloc(count * from + 1), *out = malloc(count * to + 4);
    for (uint64_t i = 0; i < count * from; i++)
        in[i] = (uint8_t)draw();
    memset(out, 0x5a, count * to + 4);
    tnd_row_cast_by(path, cast, rows, out, in);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t row = i / cast->elements, e = i % cast->elements;
        uint64_t c = e % cast->channels, p = e / cast->channels;
        uint64_t at = row * cast->elements + (cast->channels_first ? c * pixels + p : e);
        uint32_t x = 0, found = 0;
        memcpy(&x, in + i * from, from);
        memcpy(&found, out + at * to, to);
        cr_assert_eq(found, cast_one(0, cast->from, cast->to, x, cast->scale[c], cast->bias[c]),
                     "path %zu, %s to %s, %u channels, element %llu of %llu", path,
                     tnd_dtype_name(cast->from), tnd_dtype_name(cast->to), cast->channels,
                     (unsigned long long)i, (unsigned long long)count);
    }
    cr_assert(memcmp(out + count * to, "ZZZZ", 4) == 0, "what follows the rows was changed");
    free(in);
    free(out);
}

Test(row_cast, every_path_and_layout_gives_these_at_every_length)
{
    static const uint32_t channels[] = {1, 2, 3, 4, 7, 1023, 1024, 1025, 2100};
    float scale[2100], bias[2100];
    for (size_t c = 0; c < 2100; c++) {
        scale[c] = c % 3 == 0 ? draw_float() : (float)(draw() % 1000) / 999;
        bias[c] = c % 5 == 0 ? draw_float() : (float)(draw() % 1000) / 333 - 1;
    }
    for (size_t i = 0; i < 4 * 3 * 2 * 9; i++) {
        tnd_row_cast_t cast = {.from = froms[i % 4],
                               .to = tos[i / 4 % 3],
                               .channels_first = i / 12 % 2 != 0,
                               .channels = channels[i / 24],
                               .scale = scale,
                               .bias = bias};
        for (size_t path = 0; path < tnd_row_cast_paths(); path++)
            for (uint64_t pixels = 1; pixels < 5000 / cast.channels + 2; pixels = pixels * 3 + 1) {
                cast.elements = pixels * cast.channels;
                check(path, &cast, 1 + pixels % 3);
            }
    }
}
