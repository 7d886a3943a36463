/*  Covers runtime/core/numeric/numeric.h: against TensorFlow's casts (tests/oracle/numeric.txt)
 *  wherever it promises a value, by arithmetic for all 2^16 halves, and the header's rules where C
 *  has none. */
#include "runtime/core/numeric/half.h"
#include "runtime/core/numeric/numeric.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double as_f64(tnd_dtype_t dtype, uint64_t bits)
{
    double value;
    tnd_cast(TND_F64, dtype, 1, &value, &bits);
    return value;
}

/*  Where TensorFlow's answer is an accident: it flushes denormals that are kept here, and clamps to
 *  the floats below 2^31 and 2^63 instead of to the integers. */
static bool is_accident(const char *rule, tnd_dtype_t from, tnd_dtype_t to, uint64_t in)
{
    double value = as_f64(from, in);
    if (strcmp(rule, "saturate") == 0)
        return (to == TND_I32 && value >= 0x1p31) || (to == TND_I64 && value >= 0x1p63);
    bool flushed = (from == TND_F32 && to == TND_F64) ||
                   (from == TND_F64 && (to == TND_F32 || to == TND_BF16 || to == TND_F16));
    return flushed && value != 0 && fabs(value) < 0x1p-126;
}

Test(numeric, pixels_become_floats)
{
    const uint8_t pixels[] = {0, 1, 255};
    float values[3];

    tnd_cast(TND_F32, TND_U8, 3, values, pixels);

    cr_assert(values[0] == 0 && values[1] == 1 && values[2] == 255);
}

Test(numeric, tensorflow_casts_to_the_same_bits)
{
    FILE *file = fopen("tests/oracle/numeric.txt", "r");
    cr_assert_not_null(file);
    static char line[65536];
    unsigned compared = 0, accidents = 0;

    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#')
            continue;
        char rule[16], from_name[8], to_name[8];
        int used = 0;
        cr_assert_eq(sscanf(line, "%15s %7s %7s :%n", rule, from_name, to_name, &used), 3);
        tnd_dtype_t from, to;
        cr_assert(tnd_dtype_parse(from_name, &from) && tnd_dtype_parse(to_name, &to));
        for (char *at = line + used; *at == ' ';) {
            uint64_t in = strtoull(at, &at, 16);
            uint64_t expected = strtoull(at + 1, &at, 16);
            uint64_t out = 0;
            if (strcmp(rule, "saturate") == 0)
                tnd_cast_saturate(to, from, 1, &out, &in);
            else
                tnd_cast(to, from, 1, &out, &in);
            if (is_accident(rule, from, to, in)) {
                accidents++;
                continue;
            }
            /* NaNs are compared as such; from f32 to bf16 there is one for all. */
            bool many_nans = tnd_dtype_is_float(to) && !(from == TND_F32 && to == TND_BF16);
            bool both_nan = many_nans && isnan(as_f64(to, out)) && isnan(as_f64(to, expected));
            cr_assert(both_nan || out == expected, "%s %s -> %s: %lx gave %lx, not %lx", rule,
                      from_name, to_name, in, out, expected);
            compared++;
        }
    }
    fclose(file);
    cr_assert(compared > 6000 && accidents < 40, "%u compared, %u accidents", compared, accidents);
}

Test(numeric, every_half_survives_the_way_to_f32_and_back)
{
    for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
        float f16 = tnd_f32_from_f16((uint16_t)bits), bf16 = tnd_f32_from_bf16((uint16_t)bits);
        int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 0x3ff);

        if (exponent == 31 && fraction != 0) {
            cr_assert(isnan(f16) && isnan(tnd_f32_from_f16(tnd_f16_from_f32(f16))));
        } else {
            double size = exponent == 31 ? INFINITY
                          : exponent > 0 ? ldexp(1024 + fraction, exponent - 25)
                                         : ldexp(fraction, -24);
            cr_assert_eq(f16, bits >> 15 ? -size : size, "%x", bits);
            cr_assert_eq(tnd_f16_from_f32(f16), bits, "%x", bits);
        }
        if (isnan(bf16))
            cr_assert_eq(tnd_bf16_from_f32(bf16), 0x7fc0);
        else
            cr_assert_eq(tnd_bf16_from_f32(bf16), bits);
    }
}

Test(numeric, between_two_halves_the_nearer_and_at_the_middle_the_even_one_is_taken)
{
    for (uint32_t bits = 0; bits < 0x7bff; bits++) {
        float low = tnd_f32_from_f16((uint16_t)bits), high = tnd_f32_from_f16((uint16_t)(bits + 1));
        float middle = (low + high) / 2;
        cr_assert_eq(tnd_f16_from_f32(middle), bits + (bits & 1), "%x", bits);
        cr_assert_eq(tnd_f16_from_f32(nextafterf(middle, low)), bits, "%x", bits);
        cr_assert_eq(tnd_f16_from_f32(-nextafterf(middle, high)), 0x8000 | (bits + 1), "%x", bits);
    }
    cr_assert_eq(tnd_f16_from_f32(65519.996f), 0x7bff);
    cr_assert_eq(tnd_f16_from_f32(65520.0f), 0x7c00);
}

Test(numeric, denormals_are_kept)
{
    const double tiny = 0x1p-149;
    float narrow;
    double wide;

    tnd_cast(TND_F32, TND_F64, 1, &narrow, &tiny);
    tnd_cast(TND_F64, TND_F32, 1, &wide, &narrow);

    cr_assert_eq(bits_of(narrow), 1);
    cr_assert_eq(wide, tiny);
}

Test(numeric, floats_outside_an_integer_become_its_ends_and_nan_becomes_zero)
{
    const float values[] = {INFINITY, -INFINITY, NAN, 1e30f, -1e30f, -0.99f, 127.99f, -128.99f};
    enum { COUNT = sizeof values / sizeof values[0] };
    uint8_t u8[COUNT];
    int8_t i8[COUNT];
    uint64_t u64[COUNT];
    int64_t i64[COUNT];

    tnd_cast(TND_U8, TND_F32, COUNT, u8, values);
    tnd_cast(TND_I8, TND_F32, COUNT, i8, values);
    tnd_cast_saturate(TND_U64, TND_F32, COUNT, u64, values);
    tnd_cast(TND_I64, TND_F32, COUNT, i64, values);

    cr_assert_arr_eq(u8, ((uint8_t[]){255, 0, 0, 255, 0, 0, 127, 0}), sizeof u8);
    cr_assert_arr_eq(i8, ((int8_t[]){127, -128, 0, 127, -128, 0, 127, -128}), sizeof i8);
    cr_assert_arr_eq(u64, ((uint64_t[]){UINT64_MAX, 0, 0, UINT64_MAX, 0, 0, 127, 0}), sizeof u64);
    cr_assert_arr_eq(i64,
                     ((int64_t[]){INT64_MAX, INT64_MIN, 0, INT64_MAX, INT64_MIN, 0, 127, -128}),
                     sizeof i64);
}

Test(numeric, integers_wrap_or_saturate_as_asked)
{
    const int64_t values[] = {-1, 255, 256, INT64_MIN, INT64_MAX};
    uint8_t wrapped[5], clamped[5];
    uint64_t positive[5];
    int8_t from_unsigned;

    tnd_cast(TND_U8, TND_I64, 5, wrapped, values);
    tnd_cast_saturate(TND_U8, TND_I64, 5, clamped, values);
    tnd_cast_saturate(TND_U64, TND_I64, 5, positive, values);
    tnd_cast_saturate(TND_I8, TND_U64, 1, &from_unsigned, (const uint64_t[]){UINT64_MAX});

    cr_assert_arr_eq(wrapped, ((uint8_t[]){255, 255, 0, 0, 255}), 5);
    cr_assert_arr_eq(clamped, ((uint8_t[]){0, 255, 255, 0, 255}), 5);
    cr_assert_arr_eq(positive, ((uint64_t[]){0, 255, 256, 0, INT64_MAX}), sizeof positive);
    cr_assert_eq(from_unsigned, 127);
}

Test(numeric, a_cast_of_many_is_the_cast_of_each)
{
    enum { COUNT = 1500 };
    static float values[COUNT];
    static uint64_t many[COUNT], one;
    for (int i = 0; i < COUNT; i++)
        values[i] = (float)(i - 700) * 1.37f;
    for (int from = 0; from < TND_DTYPE_COUNT; from++)
        for (int to = 0; to < TND_DTYPE_COUNT; to++) {
            static uint64_t source[COUNT];
            size_t from_size = tnd_dtype_size((tnd_dtype_t)from);
            size_t to_size = tnd_dtype_size((tnd_dtype_t)to);
            tnd_cast((tnd_dtype_t)from, TND_F32, COUNT, source, values);
            tnd_cast((tnd_dtype_t)to, (tnd_dtype_t)from, COUNT, many, source);
            for (size_t i = 0; i < COUNT; i += 97) {
                uint64_t element = 0;
                memcpy(&element, (char *)source + i * from_size, from_size);
                tnd_cast((tnd_dtype_t)to, (tnd_dtype_t)from, 1, &one, &element);
                cr_assert_arr_eq((char *)many + i * to_size, &one, to_size, "%s -> %s",
                                 tnd_dtype_name((tnd_dtype_t)from),
                                 tnd_dtype_name((tnd_dtype_t)to));
            }
        }
}
