/*  runtime/core/numeric/numeric.c - casts numbers of one type to another.
 *
 *  One loop for each pair of types that C knows; f16 and bf16 pass by f32, some at a time. */
#include "runtime/core/numeric/numeric.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "runtime/core/numeric/half.h"

/*  How many numbers are cast through f32 at a time: they fit the first level of the cache. */
enum { SOME = 512 };

__extension__ typedef __int128 widest_t;

typedef uint8_t u8_t;
typedef int8_t i8_t;
typedef uint16_t u16_t;
typedef int16_t i16_t;
typedef uint32_t u32_t;
typedef int32_t i32_t;
typedef uint64_t u64_t;
typedef int64_t i64_t;
typedef float f32_t;
typedef double f64_t;
typedef uint8_t bool_t;

/*  Float to integer: `low` and `end` enclose the range, a NaN fails every comparison. */
#define WITHIN(value, to, low, end, least, most)                                                   \
    ((value) >= (low) ? (value) < (end) ? (to)(value) : (most) : (value) < (low) ? (least) : (to)0)

#define FLOAT_TO_u8(v) WITHIN(v, u8_t, 0, 0x1p8f, 0, UINT8_MAX)
#define FLOAT_TO_i8(v) WITHIN(v, i8_t, -0x1p7f, 0x1p7f, INT8_MIN, INT8_MAX)
#define FLOAT_TO_u16(v) WITHIN(v, u16_t, 0, 0x1p16f, 0, UINT16_MAX)
#define FLOAT_TO_i16(v) WITHIN(v, i16_t, -0x1p15f, 0x1p15f, INT16_MIN, INT16_MAX)
#define FLOAT_TO_u32(v) WITHIN(v, u32_t, 0, 0x1p32f, 0, UINT32_MAX)
#define FLOAT_TO_i32(v) WITHIN(v, i32_t, -0x1p31f, 0x1p31f, INT32_MIN, INT32_MAX)
#define FLOAT_TO_u64(v) WITHIN(v, u64_t, 0, 0x1p64f, 0, UINT64_MAX)
#define FLOAT_TO_i64(v) WITHIN(v, i64_t, -0x1p63f, 0x1p63f, INT64_MIN, INT64_MAX)
#define FLOAT_TO_f32(v) (f32_t)(v)
#define FLOAT_TO_f64(v) (f64_t)(v)
#define FLOAT_TO_bool(v) ((v) != 0)

#define WRAP_TO_u8(v) (u8_t)(v)
#define WRAP_TO_i8(v) (i8_t)(v)
#define WRAP_TO_u16(v) (u16_t)(v)
#define WRAP_TO_i16(v) (i16_t)(v)
#define WRAP_TO_u32(v) (u32_t)(v)
#define WRAP_TO_i32(v) (i32_t)(v)
#define WRAP_TO_u64(v) (u64_t)(v)
#define WRAP_TO_i64(v) (i64_t)(v)
#define WRAP_TO_f32(v) (f32_t)(v)
#define WRAP_TO_f64(v) (f64_t)(v)
#define WRAP_TO_bool(v) ((v) != 0)

#define CLAMP(v, to, least, most)                                                                  \
    ((widest_t)(v) < (least) ? (to)(least) : (widest_t)(v) > (most) ? (to)(most) : (to)(v))

#define CLAMP_TO_u8(v) CLAMP(v, u8_t, 0, UINT8_MAX)
#define CLAMP_TO_i8(v) CLAMP(v, i8_t, INT8_MIN, INT8_MAX)
#define CLAMP_TO_u16(v) CLAMP(v, u16_t, 0, UINT16_MAX)
#define CLAMP_TO_i16(v) CLAMP(v, i16_t, INT16_MIN, INT16_MAX)
#define CLAMP_TO_u32(v) CLAMP(v, u32_t, 0, UINT32_MAX)
#define CLAMP_TO_i32(v) CLAMP(v, i32_t, INT32_MIN, INT32_MAX)
#define CLAMP_TO_u64(v) CLAMP(v, u64_t, 0, UINT64_MAX)
#define CLAMP_TO_i64(v) CLAMP(v, i64_t, INT64_MIN, INT64_MAX)

/*  A cast of many numbers; the pointers never overlap. */
typedef void loop_fn(size_t count, void *restrict out, const void *restrict in);

#define LOOP(rule, to, from)                                                                       \
    static void rule##_##from##_##to(size_t count, void *restrict out, const void *restrict in)    \
    {                                                                                              \
        to##_t *restrict target = out;                                                             \
        const from##_t *restrict source = in;                                                      \
        for (size_t i = 0; i < count; i++)                                                         \
            target[i] = rule##_TO_##to(source[i]);                                                 \
    }

#define LOOPS_TO_INTEGERS(rule, from)                                                              \
    LOOP(rule, u8, from)                                                                           \
    LOOP(rule, i8, from)                                                                           \
    LOOP(rule, u16, from)                                                                          \
    LOOP(rule, i16, from)                                                                          \
    LOOP(rule, u32, from)                                                                          \
    LOOP(rule, i32, from)                                                                          \
    LOOP(rule, u64, from)                                                                          \
    LOOP(rule, i64, from)

#define LOOPS(rule, from)                                                                          \
    LOOPS_TO_INTEGERS(rule, from)                                                                  \
    LOOP(rule, f32, from)                                                                          \
    LOOP(rule, f64, from)                                                                          \
    LOOP(rule, bool, from)

LOOPS(WRAP, u8)
LOOPS(WRAP, i8)
LOOPS(WRAP, u16)
LOOPS(WRAP, i16)
LOOPS(WRAP, u32)
LOOPS(WRAP, i32)
LOOPS(WRAP, u64)
LOOPS(WRAP, i64)
LOOPS(FLOAT, f32)
LOOPS(FLOAT, f64)
LOOPS_TO_INTEGERS(CLAMP, u8)
LOOPS_TO_INTEGERS(CLAMP, i8)
LOOPS_TO_INTEGERS(CLAMP, u16)
LOOPS_TO_INTEGERS(CLAMP, i16)
LOOPS_TO_INTEGERS(CLAMP, u32)
LOOPS_TO_INTEGERS(CLAMP, i32)
LOOPS_TO_INTEGERS(CLAMP, u64)
LOOPS_TO_INTEGERS(CLAMP, i64)

#define ROW_OF_INTEGERS(rule, from)                                                                \
    [TND_U8] = rule##_##from##_u8, [TND_I8] = rule##_##from##_i8, [TND_U16] = rule##_##from##_u16, \
    [TND_I16] = rule##_##from##_i16, [TND_U32] = rule##_##from##_u32,                              \
    [TND_I32] = rule##_##from##_i32, [TND_U64] = rule##_##from##_u64,                              \
    [TND_I64] = rule##_##from##_i64

#define ROW(rule, rest, from)                                                                      \
    {                                                                                              \
        ROW_OF_INTEGERS(rule, from), [TND_F32] = rest##_##from##_f32,                              \
                                     [TND_F64] = rest##_##from##_f64,                              \
                                     [TND_BOOL] = rest##_##from##_bool                             \
    }

/*  By source and target; NULL if the cast goes through f32. */
static loop_fn *const wrapping[TND_DTYPE_COUNT][TND_DTYPE_COUNT] = {
    [TND_U8] = ROW(WRAP, WRAP, u8),     [TND_I8] = ROW(WRAP, WRAP, i8),
    [TND_U16] = ROW(WRAP, WRAP, u16),   [TND_I16] = ROW(WRAP, WRAP, i16),
    [TND_U32] = ROW(WRAP, WRAP, u32),   [TND_I32] = ROW(WRAP, WRAP, i32),
    [TND_U64] = ROW(WRAP, WRAP, u64),   [TND_I64] = ROW(WRAP, WRAP, i64),
    [TND_F32] = ROW(FLOAT, FLOAT, f32), [TND_F64] = ROW(FLOAT, FLOAT, f64),
    [TND_BOOL] = ROW(WRAP, WRAP, u8),
};

static loop_fn *const saturating[TND_DTYPE_COUNT][TND_DTYPE_COUNT] = {
    [TND_U8] = ROW(CLAMP, WRAP, u8),    [TND_I8] = ROW(CLAMP, WRAP, i8),
    [TND_U16] = ROW(CLAMP, WRAP, u16),  [TND_I16] = ROW(CLAMP, WRAP, i16),
    [TND_U32] = ROW(CLAMP, WRAP, u32),  [TND_I32] = ROW(CLAMP, WRAP, i32),
    [TND_U64] = ROW(CLAMP, WRAP, u64),  [TND_I64] = ROW(CLAMP, WRAP, i64),
    [TND_F32] = ROW(FLOAT, FLOAT, f32), [TND_F64] = ROW(FLOAT, FLOAT, f64),
    [TND_BOOL] = ROW(WRAP, WRAP, u8),
};

static void widen(tnd_dtype_t from, size_t count, float *out, const uint16_t *in)
{
    if (from == TND_F16)
        tnd_half()->f32_from_f16(count, out, in);
    else
        tnd_half()->f32_from_bf16(count, out, in);
}

static void narrow(tnd_dtype_t to, size_t count, uint16_t *out, const float *in)
{
    if (to == TND_F16)
        tnd_half()->f16_from_f32(count, out, in);
    else
        tnd_half()->bf16_from_f32(count, out, in);
}

static bool is_half(tnd_dtype_t dtype)
{
    return dtype == TND_F16 || dtype == TND_BF16;
}

/*  Casts at most SOME numbers of which one side or both are f16 or bf16. */
static void cast_by_f32(loop_fn *const table[TND_DTYPE_COUNT][TND_DTYPE_COUNT], tnd_dtype_t to,
                        tnd_dtype_t from, size_t count, void *out, const void *in)
{
    float middle[SOME];
    if (is_half(from))
        widen(from, count, middle, in);
    else if (from == TND_F32)
        memcpy(middle, in, count * sizeof middle[0]);
    else
        table[from][TND_F32](count, middle, in);
    if (is_half(to))
        narrow(to, count, out, middle);
    else if (to == TND_F32)
        memcpy(out, middle, count * sizeof middle[0]);
    else
        table[TND_F32][to](count, out, middle);
}

static void cast(loop_fn *const table[TND_DTYPE_COUNT][TND_DTYPE_COUNT], tnd_dtype_t to,
                 tnd_dtype_t from, size_t count, void *out, const void *in)
{
    size_t to_size = tnd_dtype_size(to), from_size = tnd_dtype_size(from);
    assert(((uintptr_t)out % to_size | (uintptr_t)in % from_size) == 0 || count == 0);
    if (to == from) {
        memcpy(out, in, count * to_size);
        return;
    }
    if (!is_half(to) && !is_half(from)) {
        table[from][to](count, out, in);
        return;
    }
    for (size_t done = 0; done < count; done += SOME) {
        size_t some = count - done < SOME ? count - done : SOME;
        cast_by_f32(table, to, from, some, (char *)out + done * to_size,
                    (const char *)in + done * from_size);
    }
}

void tnd_cast(tnd_dtype_t to, tnd_dtype_t from, size_t count, void *out, const void *in)
{
    cast(wrapping, to, from, count, out, in);
}

void tnd_cast_saturate(tnd_dtype_t to, tnd_dtype_t from, size_t count, void *out, const void *in)
{
    cast(saturating, to, from, count, out, in);
}
