/*  actors/op/scale.c - integers as fractions of their range, floats times a factor: scale.
 *
 *  What comes out, step by step; a step that is not asked for is left out, none is contracted.  C
 *  is f32 where both types have at most 16 bits or are f32, else f64.
 *
 *      range: [low, high], for integers, [0, 1] by default
 *          y = C(x - least of the type) / C(greatest - least)
 *          y = y * C(high - low) + C(low)                           unless it is [0, 1]
 *      factor, offset, for all types
 *          y = C(x) * C(factor)
 *          y = y + C(offset)
 *
 *  and y is rounded to `to`.  So u8 to f32 is x.astype(f32) / f32(255) of NumPy, bit for bit. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "actors/op/elements.h"
#include "actors/op/loops.h"
#include "runtime/core/numeric/numeric.h"

enum { CHUNK = 256, BYTES = 256 };

typedef struct {
    const char *column;
    const char *to;
    tnd_numbers_t range, factor, offset;
} scale_options_t;

typedef struct {
    tnd_elements_t made;
    bool wide;             /* C is f64 */
    bool ranged, has_span; /* by range; which is not [0, 1] */
    bool has_factor, has_offset;
    double divisor, span, low, factor, offset;
    tnd_elements_fn *run;
    const tnd_loops_t *loops;
    uint8_t table[BYTES][8]; /* of 8-bit types: what each byte becomes */
} scale_t;

static const tnd_option_t options[] = {
    {TND_OPTION(scale_options_t, column, COLUMN, GRAPH), .help = "the column to scale"},
    {TND_OPTION(scale_options_t, to, STRING, GRAPH), .unit = "type", .example = "f32",
     .fallback = "f32", .help = "the new type: f32, f64, f16 or bf16"},
    {TND_OPTION(scale_options_t, range, F64S, GRAPH), .fallback = "",
     .help =
         "what the least and the greatest integer of the type become; [0, 1] if nothing is said"},
    {TND_OPTION(scale_options_t, factor, F64S, GRAPH), .fallback = "",
     .help = "instead of a range: each number times this"},
    {TND_OPTION(scale_options_t, offset, F64S, GRAPH), .fallback = "",
     .help = "instead of a range: this is added, after the factor"},
};

const tnd_op_spec_t tnd_op_scale_spec = {
    .table = {.name = "scale",
              .help =
                  "Turns numbers into floats of another range, as tf.image.convert_image_dtype.",
              TND_OPTIONS(options, scale_options_t)},
};

/*  Greatest less least of an integer type. */
static double divisor_of(tnd_dtype_t dtype)
{
    size_t bits = 8 * tnd_dtype_size(dtype);
    return dtype == TND_BOOL ? 1.0
           : bits == 64      ? 18446744073709551615.0
                             : (double)((UINT64_C(1) << bits) - 1);
}

/*  x less the least of its type, as the unsigned type of the same size: the sign bit turns over. */
static tnd_dtype_t make_unsigned(tnd_dtype_t dtype, size_t count, void *out, const void *in)
{
    static const tnd_dtype_t types[9] = {[1] = TND_U8, [2] = TND_U16, [4] = TND_U32, [8] = TND_U64};
    size_t size = tnd_dtype_size(dtype);
    memcpy(out, in, count * size);
    if (!tnd_dtype_is_signed(dtype))
        return dtype;
    uint8_t *top = (uint8_t *)out + size - 1;
    for (size_t i = 0; i < count; i++)
        top[i * size] ^= 0x80;
    return types[size];
}

#define STEPS(type, name)                                                                          \
    static void steps_##name(const scale_t *self, size_t count, type *y)                           \
    {                                                                                              \
        type divisor = (type)self->divisor, span = (type)self->span, low = (type)self->low;        \
        type factor = (type)self->factor, offset = (type)self->offset;                             \
        if (self->ranged)                                                                          \
            for (size_t i = 0; i < count; i++)                                                     \
                y[i] = y[i] / divisor;                                                             \
        if (self->has_span)                                                                        \
            for (size_t i = 0; i < count; i++)                                                     \
                y[i] = y[i] * span + low;                                                          \
        if (self->has_factor)                                                                      \
            for (size_t i = 0; i < count; i++)                                                     \
                y[i] = y[i] * factor;                                                              \
        if (self->has_offset)                                                                      \
            for (size_t i = 0; i < count; i++)                                                     \
                y[i] = y[i] + offset;                                                              \
    }

STEPS(float, f32)
STEPS(double, f64)

/*  The definition itself, a chunk at a time; what is faster is measured against it. */
static void run_any(const void *op, size_t count, void *out, const void *in)
{
    const scale_t *self = op;
    _Alignas(64) uint8_t bits[CHUNK * 8];
    _Alignas(64) union {
        float narrow[CHUNK];
        double wide[CHUNK];
    } y;
    size_t from_size = tnd_dtype_size(self->made.from), to_size = tnd_dtype_size(self->made.to);
    for (size_t done = 0; done < count; done += CHUNK) {
        size_t now = count - done < CHUNK ? count - done : CHUNK;
        const void *x = (const uint8_t *)in + done * from_size;
        tnd_dtype_t from = self->made.from;
        if (self->ranged) {
            from = make_unsigned(from, now, bits, x);
            x = bits;
        }
        tnd_cast(self->wide ? TND_F64 : TND_F32, from, now, &y, x);
        if (self->wide)
            steps_f64(self, now, y.wide);
        else
            steps_f32(self, now, y.narrow);
        tnd_cast(self->made.to, self->wide ? TND_F64 : TND_F32, now,
                 (uint8_t *)out + done * to_size, &y);
    }
}

#define RUN_TABLE(bits)                                                                            \
    static void run_table_##bits(const void *op, size_t count, void *out, const void *in)          \
    {                                                                                              \
        const scale_t *self = op;                                                                  \
        const uint8_t *x = in;                                                                     \
        for (size_t i = 0; i < count; i++)                                                         \
            memcpy((uint8_t *)out + i * ((bits) / 8), self->table[x[i]], (bits) / 8);              \
    }

RUN_TABLE(16)
RUN_TABLE(32)
RUN_TABLE(64)

static void run_fraction(const void *op, size_t count, void *out, const void *in)
{
    const scale_t *self = op;
    const tnd_fraction_t fraction = {self->has_span, (float)self->span, (float)self->low};
    self->loops->fraction(&fraction, count, out, in);
}

static void choose_run(scale_t *self)
{
    self->run = run_any;
    if (tnd_dtype_size(self->made.from) != 1)
        return;
    size_t size = tnd_dtype_size(self->made.to);
    for (size_t i = 0; i < BYTES; i++) {
        uint8_t byte = (uint8_t)i;
        run_any(self, 1, self->table[i], &byte);
    }
    self->run = size == 2 ? run_table_16 : size == 4 ? run_table_32 : run_table_64;
    if (self->made.from == TND_U8 && self->made.to == TND_F32 && self->ranged) {
        self->loops = tnd_loops();
        self->run = run_fraction;
    }
}

static tnd_status_t one_number(const tnd_numbers_t *numbers, const char *name, double *number_p,
                               bool *given_p, tnd_error_t *error)
{
    *given_p = numbers->count != 0;
    if (numbers->count > 1)
        return tnd_fail(error, "`%s` is one number", name);
    if (numbers->count == 1)
        *number_p = numbers->items[0];
    return TND_OK;
}

static tnd_status_t read_options(scale_t *self, const scale_options_t *chosen,
                                 const tnd_column_t *column, tnd_error_t *error)
{
    bool is_float = tnd_dtype_is_float(self->made.from);
    TND_TRY(tnd_op_dtype(chosen->to, &self->made.to, error));
    if (!tnd_dtype_is_float(self->made.to))
        return tnd_fail(error, "`to` is %s; scale makes floats: f32, f64, f16 or bf16", chosen->to);
    TND_TRY(one_number(&chosen->factor, "factor", &self->factor, &self->has_factor, error));
    TND_TRY(one_number(&chosen->offset, "offset", &self->offset, &self->has_offset, error));
    self->ranged = !self->has_factor && !self->has_offset;
    if (chosen->range.count != 0 && !self->ranged)
        return tnd_fail(error, "say either `range`, or `factor` and `offset`");
    if (self->ranged && is_float)
        return tnd_fail(
            error, "column `%s` is %s, which has no range of its own; say `factor` or `offset`",
            column->name, tnd_dtype_name(self->made.from));
    if (chosen->range.count != 0 && chosen->range.count != 2)
        return tnd_fail(error, "`range` is two numbers, such as [0, 1]");
    double low = chosen->range.count != 0 ? chosen->range.items[0] : 0.0;
    double high = chosen->range.count != 0 ? chosen->range.items[1] : 1.0;
    self->has_span = self->ranged && (low != 0.0 || high != 1.0);
    self->low = low;
    self->span = high - low;
    self->divisor = self->ranged ? divisor_of(self->made.from) : 1.0;
    self->wide = self->made.to == TND_F64 || tnd_dtype_size(self->made.from) == 8 ||
                 (tnd_dtype_size(self->made.from) == 4 && !is_float);
    const double numbers[] = {self->factor, self->offset, self->span, self->low};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (!isfinite(self->wide ? numbers[i] : (double)(float)numbers[i]))
            return tnd_fail(error, "%g is too large to compute with in %s", numbers[i],
                            self->wide ? "f64" : "f32");
    return TND_OK;
}

static tnd_status_t scale_open(void *state, const void *given, const tnd_schema_t *in,
                               tnd_op_facts_t *facts, tnd_error_t *error)
{
    scale_t *self = state;
    const scale_options_t *chosen = given;
    TND_TRY(tnd_elements_find(&self->made, in, chosen->column, error));
    TND_TRY(read_options(self, chosen, &in->columns[self->made.column], error));
    choose_run(self);
    return tnd_elements_replace(&self->made, in, facts, error);
}

static tnd_status_t scale_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                tnd_tile_t *out, tnd_error_t *error)
{
    (void)key, (void)error;
    const scale_t *self = state;
    tnd_elements_apply(&self->made, self->run, self, in, out);
    return TND_OK;
}

const tnd_op_t tnd_op_scale = {
    .spec = &tnd_op_scale_spec,
    .state_bytes = sizeof(scale_t),
    .open = scale_open,
    .apply = scale_apply,
};
