/*  actors/op/normalize.c - numbers less the mean of their channel, over its deviation: normalize.
 *
 *  What comes out, where C is f32 if both types have at most 16 bits or are f32, else f64:
 *
 *      y = (C(x) - C(mean)) / C(std)
 *
 *  each step rounded, none contracted, and y is rounded to `to`.  So u8 to f32 is (x.astype(f32) -
 *  f32(mean)) / f32(std) of NumPy, bit for bit. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/op/elements.h"
#include "actors/op/loops.h"
#include "runtime/core/numeric/numeric.h"

enum { CHUNK = 512 };

typedef struct {
    const char *column;
    tnd_numbers_t mean, std;
    int64_t axis;
    const char *to;
} normalize_options_t;

typedef struct {
    tnd_elements_t made;
    size_t period, run; /* numbers of the pattern below; neighbours that each of them is for */
    bool wide;          /* C is f64 */
    const tnd_loops_t *loops;
    void *mean, *std; /* the pattern, in C: by channel, more than once if they are neighbours */
} normalize_t;

static const tnd_option_t options[] = {
    {TND_OPTION(normalize_options_t, column, COLUMN, GRAPH), .help = "the column to normalize"},
    {TND_OPTION(normalize_options_t, mean, F64S, GRAPH),
     .help = "what is subtracted: one number, or one for each channel"},
    {TND_OPTION(normalize_options_t, std, F64S, GRAPH),
     .help = "what is divided by, afterwards: one number, or one for each channel"},
    {TND_OPTION(normalize_options_t, axis, I64, GRAPH), .fallback = "-1", .range = "-8..7",
     .help = "the axis of a row that counts channels: -1 is the last, 0 the first"},
    {TND_OPTION(normalize_options_t, to, STRING, GRAPH), .unit = "type", .example = "f32",
     .fallback = "f32", .help = "the new type: f32, f64, f16 or bf16"},
};

const tnd_op_spec_t tnd_op_normalize_spec = {
    .table = {.name = "normalize",
              .help = "Subtracts a mean and divides by a deviation, for each channel, as "
                      "tf.keras.layers.Normalization.",
              TND_OPTIONS(options, normalize_options_t)},
};

static void each_f64(size_t count, double *restrict out, const double *restrict in,
                     const double *restrict mean, const double *restrict std)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (in[i] - mean[i]) / std[i];
}

static void all_f64(size_t count, double *restrict out, const double *restrict in, double mean,
                    double std)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (in[i] - mean) / std;
}

/*  `count` numbers of C, or bytes, by number `at` of the pattern and those after it, or if `one` by
 *  that alone. */
static void steps(const normalize_t *self, size_t count, void *out, const void *in, bool bytes,
                  size_t at, bool one)
{
    const tnd_loops_t *loops = self->loops;
    if (self->wide) {
        const double *mean = (const double *)self->mean + at, *std = (const double *)self->std + at;
        if (one)
            all_f64(count, out, in, *mean, *std);
        else
            each_f64(count, out, in, mean, std);
        return;
    }
    const float *mean = (const float *)self->mean + at, *std = (const float *)self->std + at;
    if (bytes && one)
        loops->normalize_all_u8(count, out, in, *mean, *std);
    else if (bytes)
        loops->normalize_each_u8(count, out, in, mean, std);
    else if (one)
        loops->normalize_all_f32(count, out, in, *mean, *std);
    else
        loops->normalize_each_f32(count, out, in, mean, std);
}

/*  A chunk at a time, which stays in the first level of the cache; casts only where needed. */
static void run_some(const normalize_t *self, size_t count, uint8_t *out, const uint8_t *in,
                     size_t at, bool one)
{
    _Alignas(64) double wide[CHUNK], results[CHUNK];
    tnd_dtype_t middle = self->wide ? TND_F64 : TND_F32;
    bool bytes = self->made.from == TND_U8 && !self->wide;
    size_t from_size = tnd_dtype_size(self->made.from), to_size = tnd_dtype_size(self->made.to);
    for (size_t done = 0; done < count; done += CHUNK) {
        size_t now = count - done < CHUNK ? count - done : CHUNK;
        const void *x = in + done * from_size;
        void *y = self->made.to == middle ? (void *)(out + done * to_size) : results;
        if (!bytes && self->made.from != middle) {
            tnd_cast(middle, self->made.from, now, wide, x);
            x = wide;
        }
        steps(self, now, y, x, bytes, one ? at : at + done, one);
        if (self->made.to != middle)
            tnd_cast(self->made.to, middle, now, out + done * to_size, y);
    }
}

/*  The first number is of the first channel, in each row and in each step of a ragged one. */
static void run(const void *op, size_t count, void *out, const void *in)
{
    const normalize_t *self = op;
    size_t from_size = tnd_dtype_size(self->made.from), to_size = tnd_dtype_size(self->made.to);
    bool one = self->run > 1;
    size_t some = one ? self->run : self->period;
    for (size_t done = 0, channel = 0; done < count; done += some) {
        if (some > count - done)
            some = count - done;
        run_some(self, some, (uint8_t *)out + done * to_size,
                 (const uint8_t *)in + done * from_size, one ? channel : 0, one);
        channel = channel + 1 == self->period ? 0 : channel + 1;
    }
}

/*  One number or one a channel, as a pattern of `period` numbers in C. */
static tnd_status_t read_channels(normalize_t *self, const char *name, const tnd_numbers_t *given,
                                  const tnd_column_t *column, uint64_t channels, void **pattern_p,
                                  tnd_error_t *error)
{
    if (given->count != 1 && given->count != channels)
        return tnd_fail(error,
                        "`%s` has %zu numbers; column `%s` has %" PRIu64 " channels along `axis`, "
                        "so it is one number or %" PRIu64,
                        name, given->count, column->name, channels, channels);
    *pattern_p = malloc(self->period * sizeof(double));
    if (*pattern_p == NULL)
        return tnd_fail(error, "cannot allocate %zu channels", self->period);
    for (size_t i = 0; i < self->period; i++) {
        double number = given->items[given->count == 1 ? 0 : i % channels];
        if (self->wide)
            ((double *)*pattern_p)[i] = number;
        else
            ((float *)*pattern_p)[i] = (float)number;
        if (!isfinite(self->wide ? number : (float)number))
            return tnd_fail(error, "`%s` has %g in it, which is not finite", name, number);
        if (pattern_p == &self->std && (self->wide ? number : (float)number) == 0)
            return tnd_fail(error, "`std` has %g in it; nothing can be divided by it", number);
    }
    return TND_OK;
}

static tnd_status_t find_channels(normalize_t *self, int64_t axis, const tnd_column_t *column,
                                  bool several, uint64_t *channels_p, tnd_error_t *error)
{
    int64_t rank = column->rank;
    *channels_p = 1;
    self->run = SIZE_MAX;
    self->period = 1;
    if (!several)
        return TND_OK;
    if (axis < -rank || axis >= rank)
        return tnd_fail(error, "column `%s` has %u dimensions and no axis %" PRId64, column->name,
                        column->rank, axis);
    axis += axis < 0 ? rank : 0;
    if (column->ragged && axis == 0)
        return tnd_fail(error,
                        "column `%s` is ragged, its rows have no fixed number of channels along "
                        "axis 0; `mean` and `std` are one number each",
                        column->name);
    *channels_p = column->shape[axis];
    self->run = 1;
    for (int64_t i = axis + 1; i < rank; i++)
        self->run *= column->shape[i];
    self->period = *channels_p;
    if (self->run == 1)
        while (self->period < CHUNK / 2)
            self->period += *channels_p;
    return TND_OK;
}

static void normalize_close(void *state)
{
    normalize_t *self = state;
    free(self->mean);
    free(self->std);
}

static tnd_status_t normalize_open(void *state, const void *given, const tnd_schema_t *in,
                                   tnd_op_facts_t *facts, tnd_error_t *error)
{
    normalize_t *self = state;
    const normalize_options_t *chosen = given;
    uint64_t channels;
    TND_TRY(tnd_elements_find(&self->made, in, chosen->column, error));
    TND_TRY(tnd_op_dtype(chosen->to, &self->made.to, error));
    const tnd_column_t *column = &in->columns[self->made.column];
    if (!tnd_dtype_is_float(self->made.to))
        return tnd_fail(error, "`to` is %s; normalize makes floats: f32, f64, f16 or bf16",
                        chosen->to);
    self->loops = tnd_loops();
    self->wide = self->made.to == TND_F64 ||
                 (tnd_dtype_size(self->made.from) >= 4 && self->made.from != TND_F32);
    TND_TRY(find_channels(self, chosen->axis, column,
                          chosen->mean.count != 1 || chosen->std.count != 1, &channels, error));
    tnd_status_t status =
        read_channels(self, "mean", &chosen->mean, column, channels, &self->mean, error);
    if (status == TND_OK)
        status = read_channels(self, "std", &chosen->std, column, channels, &self->std, error);
    if (status == TND_OK)
        status = tnd_elements_replace(&self->made, in, facts, error);
    if (status != TND_OK)
        normalize_close(self);
    return status;
}

static tnd_status_t normalize_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                    tnd_tile_t *out, tnd_error_t *error)
{
    (void)key, (void)error;
    const normalize_t *self = state;
    tnd_elements_apply(&self->made, run, self, in, out);
    return TND_OK;
}

const tnd_op_t tnd_op_normalize = {
    .spec = &tnd_op_normalize_spec,
    .state_bytes = sizeof(normalize_t),
    .open = normalize_open,
    .apply = normalize_apply,
    .close = normalize_close,
};
