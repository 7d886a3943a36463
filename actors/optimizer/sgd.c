/*  actors/optimizer/sgd.c - stochastic gradient descent: sgd.
 *
 *  As Keras' SGD, in this order, with parameters w, gradient g and momentum m, which starts as 0:
 *
 *      without momentum                  w' = w - g rate
 *      momentum                          m' = m momentum - g rate,  w' = w + m'
 *      nesterov                          m' likewise,               w' = w + (m' momentum - g rate)
 */
#include "actors/optimizer/arrays.h"
#include "actors/optimizer/optimizers.h"
#include "runtime/core/numeric/float_mode.h"

typedef struct {
    double rate, momentum;
    bool nesterov;
} sgd_options_t;

typedef struct {
    float rate, momentum;
    bool nesterov;
    tnd_optimizer_arrays_t kept; /* the momentum, if there is one */
} sgd_t;

static const tnd_option_t options[] = {
    {TND_OPTION(sgd_options_t, rate, F64, GRAPH), .range = "0..1000000", .fallback = "0.01",
     .help = "the learning rate: the part of the gradient that is subtracted"},
    {TND_OPTION(sgd_options_t, momentum, F64, GRAPH), .range = "0..1", .fallback = "0",
     .help = "the part of the last change that is made again; less than 1"},
    {TND_OPTION(sgd_options_t, nesterov, BOOL, GRAPH), .fallback = "false",
     .help = "the momentum is applied once more before each gradient; needs `momentum`"},
};

static size_t sgd_arrays(const void *chosen)
{
    return ((const sgd_options_t *)chosen)->momentum > 0 ? 1 : 0;
}

static tnd_status_t sgd_open(void *state, const void *chosen, size_t count, tnd_error_t *error)
{
    const sgd_options_t *given = chosen;
    sgd_t *self = state;
    if (given->momentum >= 1)
        return tnd_fail(error, "`momentum` is %g; it must be less than 1", given->momentum);
    if (given->nesterov && given->momentum == 0)
        return tnd_fail(error, "`nesterov` needs a `momentum` above 0");
    self->rate = (float)given->rate;
    self->momentum = (float)given->momentum;
    self->nesterov = given->nesterov;
    return tnd_optimizer_arrays_open(&self->kept, sgd_arrays(given), count, error);
}

static void descend(const sgd_t *self, const tnd_update_t *update)
{
    const float rate = self->rate;
    for (size_t i = 0; i < update->count; i++)
        update->after[i] = update->before[i] - update->gradient[i] * rate;
}

static void descend_with_momentum(const sgd_t *self, const tnd_update_t *update)
{
    const float rate = self->rate, momentum = self->momentum;
    float *kept = self->kept.values[0] + update->first;
    for (size_t i = 0; i < update->count; i++) {
        kept[i] = kept[i] * momentum - update->gradient[i] * rate;
        update->after[i] = update->before[i] + kept[i];
    }
}

static void descend_by_nesterov(const sgd_t *self, const tnd_update_t *update)
{
    const float rate = self->rate, momentum = self->momentum;
    float *kept = self->kept.values[0] + update->first;
    for (size_t i = 0; i < update->count; i++) {
        float change = update->gradient[i] * rate;
        kept[i] = kept[i] * momentum - change;
        update->after[i] = update->before[i] + (kept[i] * momentum - change);
    }
}

static void sgd_apply(void *state, const tnd_update_t *update)
{
    const sgd_t *self = state;
    tnd_float_mode_t before = tnd_float_mode_set(TND_FLOAT_STRICT);
    if (self->kept.arrays == 0)
        descend(self, update);
    else if (self->nesterov)
        descend_by_nesterov(self, update);
    else
        descend_with_momentum(self, update);
    tnd_float_mode_restore(before);
}

static tnd_status_t sgd_save(const void *state, const float *const *versions, size_t version_count,
                             const char *file, tnd_error_t *error)
{
    return tnd_optimizer_arrays_save(&((const sgd_t *)state)->kept, versions, version_count, file,
                                     error);
}

static tnd_status_t sgd_load(void *state, float *const *versions, size_t version_count,
                             const char *file, tnd_error_t *error)
{
    return tnd_optimizer_arrays_load(&((sgd_t *)state)->kept, versions, version_count, file, error);
}

static void sgd_close(void *state)
{
    tnd_optimizer_arrays_close(&((sgd_t *)state)->kept);
}

const tnd_optimizer_ops_t tnd_optimizer_sgd = {
    .table = {.name = "sgd",
              .help = "Stochastic gradient descent, with or without momentum, as "
                      "tf.keras.optimizers.SGD.",
              TND_OPTIONS(options, sgd_options_t)},
    .state_bytes = sizeof(sgd_t),
    .arrays = sgd_arrays,
    .open = sgd_open,
    .apply = sgd_apply,
    .save = sgd_save,
    .load = sgd_load,
    .close = sgd_close,
};
