/*  runtime/core/numeric/row_cast.c - y = x * scale + bias, per channel, with the same bits anywhere. */
#include "runtime/core/numeric/row_cast.h"

#include <assert.h>
#include <math.h>

#include "runtime/core/numeric/half.h"

bool tnd_row_cast_takes(tnd_dtype_t from, tnd_dtype_t to)
{
    return (from == TND_U8 || from == TND_I16 || from == TND_U16 || from == TND_F32) &&
           (to == TND_F32 || to == TND_F16 || to == TND_BF16);
}

static float element(tnd_dtype_t from, const void *in, uint64_t at)
{
    switch (from) {
    case TND_U8:
        return ((const uint8_t *)in)[at];
    case TND_I16:
        return ((const int16_t *)in)[at];
    case TND_U16:
        return ((const uint16_t *)in)[at];
    default:
        return ((const float *)in)[at];
    }
}

static void store(tnd_dtype_t to, void *out, uint64_t at, float y)
{
    bool nan = y != y;
    switch (to) {
    case TND_F16:
        ((uint16_t *)out)[at] = nan ? 0x7e00 : tnd_f16_from_f32(y);
        break;
    case TND_BF16:
        ((uint16_t *)out)[at] = tnd_bf16_from_f32(y);
        break;
    default:
        ((float *)out)[at] = nan ? (float)NAN : y;
    }
}

void tnd_row_cast(const tnd_row_cast_t *cast, uint64_t rows, void *out, const void *in)
{
    uint64_t pixels = cast->elements / cast->channels;
    assert(tnd_row_cast_takes(cast->from, cast->to) && cast->elements % cast->channels == 0);
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t p = 0; p < pixels; p++)
            for (uint32_t c = 0; c < cast->channels; c++) {
                uint64_t base = r * cast->elements, at = base + p * cast->channels + c;
                float y = fmaf(element(cast->from, in, at), cast->scale[c], cast->bias[c]);
                store(cast->to, out, cast->channels_first ? base + c * pixels + p : at, y);
            }
}
