/*  actors/op/number/normalize.c - numbers less the mean of their channel, over its deviation: normalize.
 *
 *  What is `auto` are the moments of the channel (moments.h), with `nan: mean` those of its numbers
 *  that are not NaN.
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
#include "actors/op/number/moments.h"
#include "runtime/base/allocation.h"
#include "runtime/core/numeric/numeric.h"
#include "runtime/text/quantity.h"

enum { CHUNK = 512, AXIS_ALL = 8, CHANNELS_MAX = 1 << 20 };

/*  Numbers that a double counts. */
#define COUNT_MAX 9007199254740992.0

/*  As Keras: a channel whose numbers are all the same becomes zeros. */
static const double deviation_least = 1e-7;

typedef struct {
    const char *column;
    tnd_numbers_t mean, std;
    int64_t axis;
    const char *to;
    int nan; /* nan_use_t */
} normalize_options_t;

typedef enum { NAN_STAYS, NAN_IS_MEAN } nan_use_t;

typedef struct {
    tnd_elements_t made;
    size_t period, run;     /* numbers of the pattern below; neighbours that each of them is for */
    bool wide;              /* C is f64 */
    bool adapts;            /* its mean or deviation is `auto` */
    bool fills;             /* a NaN becomes 0, as the mean does */
    size_t channels;        /* that have moments; if it adapts */
    tnd_moments_t *learned; /* of each channel */
    const tnd_loops_t *loops;
    void *mean, *std; /* the pattern, in C: by channel, more than once if they are neighbours */
} normalize_t;

static const tnd_option_t options[] = {
    {TND_OPTION(normalize_options_t, column, COLUMN, GRAPH), .help = "the column to normalize"},
    {TND_OPTION(normalize_options_t, mean, F64S, GRAPH), .choices = "auto",
     .help =
         "what is subtracted: one number, or one for each channel; `auto`: the mean of the rows "
         "that train, computed once before the first step"},
    {TND_OPTION(normalize_options_t, std, F64S, GRAPH), .choices = "auto",
     .help = "what is divided by, afterwards: one number, or one for each channel; `auto`: the "
             "standard deviation of the rows that train, at least 1e-7, as in Keras"},
    {TND_OPTION(normalize_options_t, axis, I64, GRAPH), .fallback = "-1", .range = "-8..7",
     .choices = "all=8",
     .help = "the axis of a row that counts channels: -1 is the last, 0 the first; `all`: what is "
             "`auto` is one number for all channels"},
    {TND_OPTION(normalize_options_t, to, STRING, GRAPH), .unit = "type", .example = "f32",
     .fallback = "f32", .help = "the new type: f32, f64, f16 or bf16"},
    {TND_OPTION(normalize_options_t, nan, ENUM, GRAPH), .fallback = "keep", .choices = "keep|mean",
     .help = "what becomes of a NaN, such as a missing value: it stays, or it is taken for the "
             "`mean` and so becomes 0; then what is `auto` is computed of the other numbers"},
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

/*  Makes numbers of C that are NaN zero. */
static void fill(const normalize_t *self, size_t count, void *numbers)
{
    float *narrow = numbers;
    double *wide = numbers;
    for (size_t i = 0; i < count && self->wide; i++)
        wide[i] = isnan(wide[i]) ? 0 : wide[i];
    for (size_t i = 0; i < count && !self->wide; i++)
        narrow[i] = isnan(narrow[i]) ? 0 : narrow[i];
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
        if (self->fills)
            fill(self, now, y);
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

/*  Whether `auto` is one number for all channels. */
static bool is_one(const normalize_options_t *chosen, const tnd_column_t *column)
{
    return chosen->axis == AXIS_ALL || column->rank == 0 ||
           (column->ragged && chosen->axis + (chosen->axis < 0 ? column->rank : 0) == 0);
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
    if (axis == AXIS_ALL)
        return tnd_fail(error, "`axis: all` is for one number, and here are several");
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

/*  The next word, after the space; NULL at the end. */
static const char *next_word(const char **at_p, char word[TND_QUANTITY_NUMBER])
{
    size_t size = strcspn(*at_p, " ");
    if (size == 0 || size >= TND_QUANTITY_NUMBER)
        return NULL;
    memcpy(word, *at_p, size);
    word[size] = '\0';
    *at_p += size + ((*at_p)[size] == ' ');
    return word;
}

static bool read_numbers(const char **at_p, const char *name, double *numbers, size_t count)
{
    char word[TND_QUANTITY_NUMBER];
    const char *found = next_word(at_p, word);
    bool good = found != NULL && strcmp(found, name) == 0;
    for (size_t i = 0; i < count && good; i++) {
        found = next_word(at_p, word);
        good = found != NULL && tnd_quantity_f64(found, &numbers[i]) == TND_QUANTITY_OK;
    }
    return good;
}

/*  Channels may have different counts if NaNs are left out. */
static size_t counts_of(const normalize_t *self)
{
    return self->fills ? self->channels : 1;
}

/*  Adds the moments of a lane, "count 8 mean 0.5 ... std 0.1 ...". */
static tnd_status_t read_lane(normalize_t *self, const char *text, double *numbers,
                              tnd_error_t *error)
{
    size_t channels = self->channels, count = counts_of(self);
    double *means = numbers, *deviations = means + channels, *counts = deviations + channels;
    bool good = read_numbers(&text, "count", counts, count) &&
                read_numbers(&text, "mean", means, channels) &&
                read_numbers(&text, "std", deviations, channels) && *text == '\0';
    for (size_t i = 0; i < count && good; i++)
        good = counts[i] >= 0 && counts[i] <= COUNT_MAX;
    if (!good)
        return tnd_fail(error, "the stored values of `auto` are not those of %zu channels",
                        channels);
    for (size_t i = 0; i < channels; i++) {
        tnd_moments_t lane =
            tnd_moments_of((uint64_t)counts[count > 1 ? i : 0], means[i], deviations[i]);
        tnd_moments_merge(&self->learned[i], &lane);
    }
    return TND_OK;
}

/*  Whether a channel has no number. */
static bool lacks_numbers(const normalize_t *self)
{
    for (size_t i = 0; i < counts_of(self); i++)
        if (self->learned[i].count == 0)
            return true;
    return false;
}

/*  Sets `mean` and `std` to the moments, if those are known, where they are `auto`: to `numbers`, which has
 *  room for three for each channel. */
static tnd_status_t use_moments(normalize_t *self, const tnd_op_facts_t *facts, double *numbers,
                                tnd_numbers_t *mean, tnd_numbers_t *std, tnd_error_t *error)
{
    static const double zero = 0, one = 1;
    bool known = facts->adapted_count > 0;
    for (size_t i = 0; i < facts->adapted_count; i++)
        TND_TRY(read_lane(self, facts->adapted[i].text, numbers, error));
    if (known && lacks_numbers(self))
        return tnd_fail(error, "`auto` cannot be computed: there are no numbers to train on");
    for (size_t i = 0; i < self->channels && known; i++) {
        double deviation = tnd_moments_deviation(&self->learned[i]);
        numbers[i] = tnd_moments_mean(&self->learned[i]);
        numbers[self->channels + i] = deviation > deviation_least ? deviation : deviation_least;
    }
    if (mean->items == NULL)
        *mean = known ? (tnd_numbers_t){numbers, self->channels} : (tnd_numbers_t){&zero, 1};
    if (std->items == NULL)
        *std = known ? (tnd_numbers_t){numbers + self->channels, self->channels}
                     : (tnd_numbers_t){&one, 1};
    return TND_OK;
}

/*  Takes `mean` and `std` as they are given, or as they were learned. */
static tnd_status_t take_numbers(normalize_t *self, const normalize_options_t *chosen,
                                 const tnd_column_t *column, uint64_t channels,
                                 const tnd_op_facts_t *facts, tnd_error_t *error)
{
    tnd_numbers_t mean = chosen->mean, std = chosen->std;
    double *numbers = NULL;
    tnd_status_t status = TND_OK;
    if (self->adapts && channels > CHANNELS_MAX)
        return tnd_fail(error,
                        "column `%s` has %" PRIu64 " channels along `axis`, of which `auto` takes "
                        "at most %d; `axis: all` computes one number for all",
                        column->name, channels, CHANNELS_MAX);
    if (self->adapts) {
        self->channels = channels;
        self->learned = tnd_allocate_zeroed(channels, sizeof *self->learned);
        numbers = tnd_allocate(3 * channels, sizeof *numbers);
        status = use_moments(self, facts, numbers, &mean, &std, error);
    }
    if (status == TND_OK)
        status = read_channels(self, "mean", &mean, column, channels, &self->mean, error);
    if (status == TND_OK)
        status = read_channels(self, "std", &std, column, channels, &self->std, error);
    free(numbers);
    return status;
}

static void normalize_close(void *state)
{
    normalize_t *self = state;
    free(self->learned);
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
    bool auto_mean = chosen->mean.items == NULL, auto_std = chosen->std.items == NULL;
    self->adapts = facts->adapts = auto_mean || auto_std;
    self->fills = chosen->nan == NAN_IS_MEAN && tnd_dtype_is_float(self->made.from);
    facts->unknown = UINT64_C(1) << self->made.column;
    bool several = (!auto_mean && chosen->mean.count != 1) || (!auto_std && chosen->std.count != 1);
    several = several || (self->adapts && !is_one(chosen, column));
    TND_TRY(find_channels(self, chosen->axis, column, several, &channels, error));
    tnd_status_t status = take_numbers(self, chosen, column, channels, facts, error);
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

/*  Adds the numbers of a row to the moments of their channels. */
static void learn_numbers(normalize_t *self, size_t count, const uint8_t *in)
{
    double wide[CHUNK];
    size_t size = tnd_dtype_size(self->made.from), channel = 0, left = self->run;
    for (size_t done = 0; done < count; done += CHUNK) {
        size_t now = count - done < CHUNK ? count - done : CHUNK;
        tnd_cast(TND_F64, self->made.from, now, wide, in + done * size);
        for (size_t i = 0; i < now; i++) {
            if (!self->fills || !isnan(wide[i]))
                tnd_moments_add(&self->learned[channel], wide[i]);
            if (--left > 0)
                continue;
            left = self->run;
            channel = channel + 1 == self->channels ? 0 : channel + 1;
        }
    }
}

static tnd_status_t normalize_learn(void *state, const tnd_tile_t *in, tnd_error_t *error)
{
    normalize_t *self = state;
    const tnd_ragged_t *ragged = in->columns[self->made.column].ragged;
    const void *data = ragged != NULL ? ragged->data : in->columns[self->made.column].base;
    learn_numbers(self, self->made.elements * (ragged != NULL ? ragged->length : 1), data);
    for (size_t i = 0; i < self->channels; i++) {
        tnd_moments_fold(&self->learned[i]);
        if (!isfinite(self->learned[i].squares[0]))
            return tnd_fail(error,
                            "it has a number that is not finite, or too large to be squared, so "
                            "`auto` cannot be computed; replace it before%s",
                            self->fills ? "" : ", or if it is NaN, say `nan: mean`");
    }
    return TND_OK;
}

static tnd_status_t normalize_tell(const void *state, FILE *out, tnd_error_t *error)
{
    const normalize_t *self = state;
    char text[TND_QUANTITY_NUMBER];
    (void)error;
    fputs("count", out);
    for (size_t i = 0; i < counts_of(self); i++)
        fprintf(out, " %" PRIu64, self->learned[i].count);
    fputs(" mean", out);
    for (size_t i = 0; i < self->channels; i++)
        fprintf(out, " %s", tnd_quantity_number(tnd_moments_mean(&self->learned[i]), 1, text));
    fputs(" std", out);
    for (size_t i = 0; i < self->channels; i++)
        fprintf(out, " %s", tnd_quantity_number(tnd_moments_deviation(&self->learned[i]), 1, text));
    return TND_OK;
}

const tnd_op_t tnd_op_normalize = {
    .spec = &tnd_op_normalize_spec,
    .state_bytes = sizeof(normalize_t),
    .open = normalize_open,
    .apply = normalize_apply,
    .learn = normalize_learn,
    .tell = normalize_tell,
    .close = normalize_close,
};
