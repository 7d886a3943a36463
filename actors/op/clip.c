/*  actors/op/clip.c - numbers kept within bounds: clip.
 *
 *  x < low ? low : x > high ? high : x, in the column's own type; so a NaN stays. */
#include <string.h>

#include "actors/op/elements.h"
#include "actors/op/loops.h"
#include "runtime/core/numeric/half.h"
#include "runtime/core/numeric/numeric.h"

typedef struct {
    const char *column, *min, *max;
} clip_options_t;

typedef struct {
    tnd_elements_t made;
    uint64_t low, high; /* one element each */
    const tnd_loops_t *loops;
} clip_t;

static const tnd_option_t options[] = {
    {TND_OPTION(clip_options_t, column, COLUMN, GRAPH), .help = "the column to clip"},
    {TND_OPTION(clip_options_t, min, STRING, GRAPH), .unit = "number", .fallback = "",
     .help = "what is less becomes this, a number of the column's type"},
    {TND_OPTION(clip_options_t, max, STRING, GRAPH), .unit = "number", .fallback = "",
     .help = "what is greater becomes this, a number of the column's type"},
};

const tnd_op_spec_t tnd_op_clip_spec = {
    .table = {.name = "clip",
              .help = "Keeps numbers within bounds, as tf.clip_by_value.",
              TND_OPTIONS(options, clip_options_t)},
};

#define CLIP(type, name)                                                                           \
    static void clip_##name(size_t count, type *restrict out, const type *restrict in,             \
                            const void *low_p, const void *high_p)                                 \
    {                                                                                              \
        const type low = *(const type *)low_p, high = *(const type *)high_p;                       \
        for (size_t i = 0; i < count; i++) {                                                       \
            type x = in[i];                                                                        \
            x = x < low ? low : x;                                                                 \
            out[i] = x > high ? high : x;                                                          \
        }                                                                                          \
    }

CLIP(uint8_t, u8)
CLIP(int8_t, i8)
CLIP(uint16_t, u16)
CLIP(int16_t, i16)
CLIP(uint32_t, u32)
CLIP(int32_t, i32)
CLIP(uint64_t, u64)
CLIP(int64_t, i64)
CLIP(double, f64)

/*  f16 and bf16: compared as f32, which holds all of them. */
#define CLIP_HALF(name)                                                                            \
    static void clip_##name(size_t count, uint16_t *restrict out, const uint16_t *restrict in,     \
                            const void *low_p, const void *high_p)                                 \
    {                                                                                              \
        const uint16_t low = *(const uint16_t *)low_p, high = *(const uint16_t *)high_p;           \
        const float least = tnd_f32_from_##name(low), most = tnd_f32_from_##name(high);            \
        for (size_t i = 0; i < count; i++) {                                                       \
            float x = tnd_f32_from_##name(in[i]);                                                  \
            out[i] = x < least ? low : x > most ? high : in[i];                                    \
        }                                                                                          \
    }

CLIP_HALF(f16)
CLIP_HALF(bf16)

static void run(const void *op, size_t count, void *out, const void *in)
{
    const clip_t *self = op;
    float low, high;
    switch (self->made.to) {
    case TND_U8:
    case TND_BOOL:
        clip_u8(count, out, in, &self->low, &self->high);
        return;
    case TND_I8:
        clip_i8(count, out, in, &self->low, &self->high);
        return;
    case TND_U16:
        clip_u16(count, out, in, &self->low, &self->high);
        return;
    case TND_I16:
        clip_i16(count, out, in, &self->low, &self->high);
        return;
    case TND_U32:
        clip_u32(count, out, in, &self->low, &self->high);
        return;
    case TND_I32:
        clip_i32(count, out, in, &self->low, &self->high);
        return;
    case TND_U64:
        clip_u64(count, out, in, &self->low, &self->high);
        return;
    case TND_I64:
        clip_i64(count, out, in, &self->low, &self->high);
        return;
    case TND_F16:
        clip_f16(count, out, in, &self->low, &self->high);
        return;
    case TND_BF16:
        clip_bf16(count, out, in, &self->low, &self->high);
        return;
    case TND_F32:
        memcpy(&low, &self->low, sizeof low);
        memcpy(&high, &self->high, sizeof high);
        self->loops->clip_f32(count, out, in, low, high);
        return;
    case TND_F64:
        clip_f64(count, out, in, &self->low, &self->high);
        return;
    }
}

/*  The least and the greatest number of a type. */
static void widest(clip_t *self)
{
    static const double below = -1.0 / 0.0, above = 1.0 / 0.0;
    tnd_cast_saturate(self->made.to, TND_F64, 1, &self->low, &below);
    tnd_cast_saturate(self->made.to, TND_F64, 1, &self->high, &above);
}

static tnd_status_t clip_open(void *state, const void *given, const tnd_schema_t *in,
                              tnd_op_facts_t *facts, tnd_error_t *error)
{
    clip_t *self = state;
    const clip_options_t *chosen = given;
    TND_TRY(tnd_elements_find(&self->made, in, chosen->column, error));
    const tnd_column_t *column = &in->columns[self->made.column];
    if (column->dtype == TND_BOOL)
        return tnd_fail(error, "column `%s` is bool, which has no bounds to keep", column->name);
    if (chosen->min == NULL && chosen->max == NULL)
        return tnd_fail(error, "say `min`, `max` or both");
    self->loops = tnd_loops();
    widest(self);
    if (chosen->min != NULL)
        TND_TRY(tnd_op_number("min", chosen->min, column, &self->low, error));
    if (chosen->max != NULL)
        TND_TRY(tnd_op_number("max", chosen->max, column, &self->high, error));
    uint64_t bound = 0;
    run(self, 1, &bound, &self->low);
    if (memcmp(&bound, &self->low, tnd_dtype_size(self->made.to)) != 0)
        return tnd_fail(error, "`min` (%s) is greater than `max` (%s)", chosen->min, chosen->max);
    return tnd_elements_replace(&self->made, in, facts, error);
}

static tnd_status_t clip_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                               tnd_tile_t *out, tnd_error_t *error)
{
    (void)key, (void)error;
    const clip_t *self = state;
    tnd_elements_apply(&self->made, run, self, in, out);
    return TND_OK;
}

const tnd_op_t tnd_op_clip = {
    .spec = &tnd_op_clip_spec,
    .state_bytes = sizeof(clip_t),
    .open = clip_open,
    .apply = clip_apply,
};
