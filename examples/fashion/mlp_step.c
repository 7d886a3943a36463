/*  examples/fashion/mlp_step.c - the network as a step plugin: `step: {plugin: mlp, seed: 7}`.
 *
 *  Each replica computes the gradient of its own rows and posts it; `apply` then uses the mean over
 *  all replicas.  The columns are "image" (784 floats, 0 to 1) and "label". */
#include <stdio.h>

#include <tundish/tundish.h>

#include "mlp.h"

extern TND_API const tnd_step_ops_t tnd_step_mlp;

static bool has_column(tnd_replica_t *replica, const char *name, tnd_dtype_t wanted,
                       uint64_t elements)
{
    tnd_dtype_t dtype;
    uint32_t rank;
    uint64_t shape[8], found = 1;
    if (!tnd_replica_spec(replica, name, &dtype, &rank, shape))
        return false;
    for (uint32_t i = 0; i < rank; i++)
        found *= shape[i];
    return dtype == wanted && found == elements;
}

static tnd_status_t fail(tnd_replica_t *replica, const char *text)
{
    tnd_replica_error(replica, text);
    return TND_FAILED;
}

static tnd_status_t mlp_open(void **model_p, const char *options, tnd_replica_t *replica)
{
    uint64_t seed = 7;
    tnd_error_t error;
    if (tnd_option_only(options, "seed", &error) != TND_OK ||
        tnd_option_u64(options, "seed", &seed, &error) != TND_OK)
        return fail(replica, error.text);
    if (!has_column(replica, "image", TND_F32, MLP_INPUTS))
        return fail(replica, "the network wants a column `image` of 784 f32 a row; an operation "
                             "`scale: {column: image, to: f32, range: [0, 1]}` makes it");
    if (!has_column(replica, "label", TND_U8, 1))
        return fail(replica, "the network wants a column `label`, one u8 a row");
    *model_p = mlp_new(seed);
    return TND_OK;
}

/*  Which label is none, in words. */
static tnd_status_t wrong_label(tnd_replica_t *replica, const uint8_t *labels, size_t rows)
{
    char text[96] = "a label is not a class";
    for (size_t i = 0; i < rows; i++)
        if (labels[i] >= MLP_CLASSES) {
            snprintf(text, sizeof text, "row %zu of the replica has label %u; classes are 0 to 9",
                     i, (unsigned)labels[i]);
            break;
        }
    return fail(replica, text);
}

static tnd_status_t mlp_step(void *model, tnd_replica_t *replica)
{
    mlp_t *self = model;
    size_t rows = tnd_replica_rows(replica);
    const uint8_t *labels = tnd_replica_column(replica, "label");
    mlp_flush_denormals();
    float loss = mlp_backward(self, tnd_replica_column(replica, "image"), labels, rows);
    if (loss != loss)
        return wrong_label(replica, labels, rows);
    tnd_replica_report(replica, "loss", (double)loss * (double)rows, (double)rows);
    return tnd_replica_reduce(replica, "mean", TND_MEAN, TND_F32, self->grad, MLP_PARAMS);
}

static tnd_status_t mlp_apply(void *model, tnd_replica_t *replica)
{
    mlp_momentum(model, mlp_rate(tnd_replica_epoch(replica)), 0.9f);
    return TND_OK;
}

static tnd_status_t mlp_test(void *model, tnd_replica_t *replica)
{
    size_t rows = tnd_replica_rows(replica), correct;
    const uint8_t *labels = tnd_replica_column(replica, "label");
    float loss;
    mlp_flush_denormals();
    mlp_evaluate(model, tnd_replica_column(replica, "image"), labels, rows, &correct, &loss);
    if (loss != loss)
        return wrong_label(replica, labels, rows);
    tnd_replica_report(replica, "accuracy", (double)correct, (double)rows);
    tnd_replica_report(replica, "loss", (double)loss * (double)rows, (double)rows);
    return TND_OK;
}

static tnd_status_t write_file(void *model, const char *file)
{
    char text[512];
    return mlp_save(model, file, text, sizeof text) ? TND_OK : TND_FAILED;
}

static tnd_status_t read_file(void *model, const char *file)
{
    char text[512];
    if (mlp_load(model, file, text, sizeof text))
        return TND_OK;
    fprintf(stderr, "%s\n", text);
    return TND_FAILED;
}

static void mlp_close(void *model)
{
    mlp_t *self = model;
    mlp_destroy(&self);
}

const tnd_step_ops_t tnd_step_mlp = {
    .abi = TND_ABI,
    .name = "mlp",
    .open = mlp_open,
    .step = mlp_step,
    .apply = mlp_apply,
    .evaluate = mlp_test,
    .save = write_file,
    .load = read_file,
    .close = mlp_close,
};
