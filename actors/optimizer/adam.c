/*  actors/optimizer/adam.c - gradient descent by moving averages of gradient and its square: adam.
 *
 *  The algorithm of Kingma and Ba (2015), in the form that Keras has and their section 2 gives as the
 *  more efficient one: epsilon is added to the root that is not corrected for its bias.  With parameters
 *  w, gradient g, averages m and v, which start as 0, and update number t, from 1:
 *
 *      m' = m + (g - m) (1 - beta_1)
 *      v' = v + (g g - v) (1 - beta_2)
 *      w' = w - (m' alpha) / (sqrt(v') + epsilon)
 *      alpha = rate sqrt(1 - beta_2^t) / (1 - beta_1^t)
 *
 *  1 - beta is rounded once to f32.  alpha is computed in f64 of betas that are rounded to f32, as Keras
 *  rounds them, and then rounded: Keras takes powers in f32, whose last bits depend on its back end. */
#include <math.h>

#include "actors/optimizer/arrays.h"
#include "actors/optimizer/optimizers.h"
#include "runtime/core/numeric/elementary.h"
#include "runtime/core/numeric/float_mode.h"

typedef struct {
    double rate, beta_1, beta_2, epsilon;
} adam_options_t;

typedef struct {
    double rate, beta_1, beta_2;
    float part_1, part_2; /* of a gradient and its square in the averages */
    float epsilon;
    tnd_optimizer_arrays_t kept; /* the averages */
} adam_t;

static const tnd_option_t options[] = {
    {TND_OPTION(adam_options_t, rate, F64, GRAPH), .range = "0..1000000", .fallback = "0.001",
     .help = "the learning rate: the size of a step where gradients agree"},
    {TND_OPTION(adam_options_t, beta_1, F64, GRAPH), .range = "0..1", .fallback = "0.9",
     .help = "the part of the average gradient that remains after each step; less than 1"},
    {TND_OPTION(adam_options_t, beta_2, F64, GRAPH), .range = "0..1", .fallback = "0.999",
     .help = "the part of the average square that remains after each step; less than 1"},
    {TND_OPTION(adam_options_t, epsilon, F64, GRAPH), .range = "0..1", .fallback = "1e-7",
     .help = "what is added to the root of the average square; above 0 as f32"},
};

static size_t adam_arrays(const void *chosen)
{
    (void)chosen;
    return 2;
}

static tnd_status_t adam_open(void *state, const void *chosen, size_t count, tnd_error_t *error)
{
    const adam_options_t *given = chosen;
    adam_t *self = state;
    /* As f32, so that neither the corrections nor a root of 0 divide by 0. */
    if ((float)given->beta_1 >= 1 || (float)given->beta_2 >= 1)
        return tnd_fail(error,
                        "`beta_1` is %.9g and `beta_2` %.9g; both must be less than 1 as f32",
                        given->beta_1, given->beta_2);
    if ((float)given->epsilon == 0)
        return tnd_fail(error, "`epsilon` is %g; it must be above 0 as f32", given->epsilon);
    self->rate = given->rate;
    self->beta_1 = (float)given->beta_1;
    self->beta_2 = (float)given->beta_2;
    self->part_1 = (float)(1 - given->beta_1);
    self->part_2 = (float)(1 - given->beta_2);
    self->epsilon = (float)given->epsilon;
    return tnd_optimizer_arrays_open(&self->kept, adam_arrays(given), count, error);
}

static float alpha_of(const adam_t *self, uint64_t number)
{
    double t = (double)number;
    return (float)(self->rate * sqrt(1 - tnd_pow(self->beta_2, t)) /
                   (1 - tnd_pow(self->beta_1, t)));
}

static void adam_apply(void *state, const tnd_update_t *update)
{
    const adam_t *self = state;
    tnd_float_mode_t before = tnd_float_mode_set(TND_FLOAT_STRICT);
    const float alpha = alpha_of(self, update->number), epsilon = self->epsilon;
    const float part_1 = self->part_1, part_2 = self->part_2;
    float *m = self->kept.values[0] + update->first, *v = self->kept.values[1] + update->first;
    for (size_t i = 0; i < update->count; i++) {
        float g = update->gradient[i];
        m[i] += (g - m[i]) * part_1;
        v[i] += (g * g - v[i]) * part_2;
        update->after[i] = update->before[i] - m[i] * alpha / (sqrtf(v[i]) + epsilon);
    }
    tnd_float_mode_restore(before);
}

static tnd_status_t adam_save(const void *state, const float *const *versions, size_t version_count,
                              const char *file, tnd_error_t *error)
{
    return tnd_optimizer_arrays_save(&((const adam_t *)state)->kept, versions, version_count, file,
                                     error);
}

static tnd_status_t adam_load(void *state, float *const *versions, size_t version_count,
                              const char *file, tnd_error_t *error)
{
    return tnd_optimizer_arrays_load(&((adam_t *)state)->kept, versions, version_count, file,
                                     error);
}

static void adam_close(void *state)
{
    tnd_optimizer_arrays_close(&((adam_t *)state)->kept);
}

const tnd_optimizer_ops_t tnd_optimizer_adam = {
    .table = {.name = "adam",
              .help = "Steps by the average gradient over the root of its average square, as "
                      "tf.keras.optimizers.Adam.",
              TND_OPTIONS(options, adam_options_t)},
    .state_bytes = sizeof(adam_t),
    .arrays = adam_arrays,
    .open = adam_open,
    .apply = adam_apply,
    .save = adam_save,
    .load = adam_load,
    .close = adam_close,
};
