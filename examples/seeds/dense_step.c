/*  examples/seeds/dense_step.c - two dense layers as a step plugin, trained as Keras 3 trains them.
 *
 *      step: {plugin: dense, input: x, target: y, loss: mse, optimizer: adam}
 *
 *  Options, with their defaults:
 *      input: x, target: y     the columns: f32 of any shape; and f32 of `outputs` values a row for mse,
 *                              one i32 for the other losses
 *      hidden: 16              units of the first layer, whose activation is relu
 *      outputs: 1              units of the second layer
 *      activation: linear      of the second layer; or sigmoid
 *      loss: mse               MeanSquaredError; cross_entropy: SparseCategoricalCrossentropy of logits;
 *                              weighted: the same of each row, times the sum of its column `weight`
 *      optimizer: sgd          or adam
 *      rate: 0.01              the learning rate
 *
 *  With `deal: whole`, another actor holds the parameters, f32 in the order below. It begins with the values
 *  below, and has the optimizer: those of the step are not used.
 *
 *  Of mse and cross_entropy, Keras takes the mean over the rows of each replica and then the mean over
 *  replicas, also if they have different numbers of rows or none.  `weighted` is a sum over all rows.
 *
 *  The parameters have the order of Keras: kernel and bias of the first layer, kernel and bias of the
 *  second.  Kernels are by input, then by output.  Biases start as 0, and element i of a kernel as the f32
 *      ((37 i mod 101) - 50) / 50 * sqrt(6 / (inputs + outputs of the layer))
 *  `save` writes a .npy file: the number of steps, the parameters, and Adam's momenta and velocities.
 *  All arithmetic is in f64, so results differ from TensorFlow in f32 by rounding only. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tundish/tundish.h>

extern TND_API const tnd_step_ops_t tnd_step_dense;

enum { SIZE_LIMIT = 1024 }; /* units of a layer */

typedef struct dense dense_t;

/*  What a loss reads of a row: f32 values or a label, and values whose sum is the weight of the row. */
typedef struct {
    const float *values;
    int32_t label;
    const float *weight;
} target_t;

typedef struct {
    const char *name;
    tnd_dtype_t dtype; /* of the target */
    bool sum, weighted;
    /*  Returns the loss of a row, and makes its gradient by them of the results. */
    double (*row)(const dense_t *self, const target_t *target, double *results);
} loss_t;

struct dense {
    char input[32], target[32];
    size_t inputs, hidden, outputs, weight_columns;
    bool sigmoid;
    const loss_t *loss;
    void (*optimize)(dense_t *self);
    double rate;
    const char *holder; /* an actor; NULL: the model has the parameters itself */
    float *pushed;      /* their gradient, for the holder */
    /*  `state` is what a file has: the number of steps, then three arrays of `count` values. */
    size_t count, state_count;
    double *state, *parameters, *momenta, *velocities;
    double *gradient, *row, *units, *units_gradient, *results;
};

/* --- losses and optimizers --------------------------------------------------------------------- */

static double mean_squared_error(const dense_t *self, const target_t *target, double *results)
{
    double loss = 0;
    for (size_t i = 0; i < self->outputs; i++) {
        double error = results[i] - target->values[i];
        loss += error * error / (double)self->outputs;
        results[i] = 2 * error / (double)self->outputs;
    }
    return loss;
}

static double cross_entropy(const dense_t *self, const target_t *target, double *results)
{
    double top = results[0], sum = 0, score = results[target->label];
    for (size_t i = 1; i < self->outputs; i++)
        top = fmax(top, results[i]);
    for (size_t i = 0; i < self->outputs; i++)
        sum += results[i] = exp(results[i] - top);
    for (size_t i = 0; i < self->outputs; i++)
        results[i] /= sum;
    results[target->label] -= 1;
    return log(sum) + top - score;
}

static double weighted_cross_entropy(const dense_t *self, const target_t *target, double *results)
{
    double weight = 0, loss = cross_entropy(self, target, results);
    for (size_t i = 0; i < self->weight_columns; i++)
        weight += target->weight[i];
    for (size_t i = 0; i < self->outputs; i++)
        results[i] *= weight;
    return loss * weight;
}

static const loss_t losses[] = {
    {.name = "mse", .dtype = TND_F32, .row = mean_squared_error},
    {.name = "cross_entropy", .dtype = TND_I32, .row = cross_entropy},
    {.name = "weighted",
     .dtype = TND_I32,
     .sum = true,
     .weighted = true,
     .row = weighted_cross_entropy},
};

static void descend(dense_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        self->parameters[i] -= self->rate * self->gradient[i];
}

/*  As Keras: epsilon is added to the root that is not corrected for its bias, and the correction uses
 *  betas that are rounded to f32, which changes the first steps by 2e-5. */
static void adam(dense_t *self)
{
    const double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
    double step = self->state[0];
    double alpha = self->rate * sqrt(1 - pow((float)beta_2, step)) / (1 - pow((float)beta_1, step));
    for (size_t i = 0; i < self->count; i++) {
        double gradient = self->gradient[i];
        double m = self->momenta[i] += (gradient - self->momenta[i]) * (1 - beta_1);
        double v = self->velocities[i] +=
            (gradient * gradient - self->velocities[i]) * (1 - beta_2);
        self->parameters[i] -= alpha * m / (sqrt(v) + epsilon);
    }
}

/* --- open and close ---------------------------------------------------------------------------- */

static tnd_status_t fail(tnd_replica_t *replica, const char *text)
{
    tnd_replica_error(replica, text);
    return TND_FAILED;
}

/*  Reads an option whose value is a word of "a, b", the first one by default. */
static tnd_status_t read_choice(const char *options, const char *option, const char *words,
                                size_t *choice_p, tnd_error_t *error)
{
    char value[32] = "";
    *choice_p = 0;
    if (tnd_option_text(options, option, value, sizeof value, error) != TND_OK)
        return TND_FAILED;
    if (*value == '\0')
        return TND_OK;
    for (const char *word = words; *word != '\0'; ++*choice_p) {
        size_t length = strcspn(word, ",");
        if (strlen(value) == length && memcmp(word, value, length) == 0)
            return TND_OK;
        word += length;
        word += strspn(word, ", ");
    }
    return tnd_fail(error, "option `%s` is %s; it can be %s", option, value, words);
}

static tnd_status_t read_size(const char *options, const char *name, size_t *size_p,
                              tnd_error_t *error)
{
    uint64_t size = *size_p;
    if (tnd_option_u64(options, name, &size, error) != TND_OK)
        return TND_FAILED;
    *size_p = size;
    return size >= 1 && size <= SIZE_LIMIT
               ? TND_OK
               : tnd_fail(error, "option `%s` is not 1 to %d", name, SIZE_LIMIT);
}

static tnd_status_t read_options(dense_t *self, const char *options, tnd_error_t *error)
{
    size_t activation, loss, optimizer;
    if (tnd_option_only(options,
                        "input, target, hidden, outputs, activation, loss, optimizer, rate",
                        error) != TND_OK ||
        tnd_option_text(options, "input", self->input, sizeof self->input, error) != TND_OK ||
        tnd_option_text(options, "target", self->target, sizeof self->target, error) != TND_OK ||
        read_size(options, "hidden", &self->hidden, error) != TND_OK ||
        read_size(options, "outputs", &self->outputs, error) != TND_OK ||
        read_choice(options, "activation", "linear, sigmoid", &activation, error) != TND_OK ||
        read_choice(options, "loss", "mse, cross_entropy, weighted", &loss, error) != TND_OK ||
        read_choice(options, "optimizer", "sgd, adam", &optimizer, error) != TND_OK ||
        tnd_option_f64(options, "rate", &self->rate, error) != TND_OK)
        return TND_FAILED;
    self->sigmoid = activation == 1;
    self->loss = &losses[loss];
    self->optimize = optimizer == 0 ? descend : adam;
    return self->sigmoid && self->loss->dtype == TND_I32
               ? tnd_fail(error, "loss %s wants logits: leave `activation: sigmoid` out",
                          self->loss->name)
               : TND_OK;
}

/*  The elements of a row of a column; 0 if the column does not exist or has another type. */
static size_t column_size(tnd_replica_t *replica, const char *name, tnd_dtype_t wanted)
{
    tnd_dtype_t dtype;
    uint32_t rank;
    uint64_t shape[TND_RANK_MAX], count = 1;
    if (!tnd_replica_spec(replica, name, &dtype, &rank, shape) || dtype != wanted)
        return 0;
    for (uint32_t i = 0; i < rank; i++)
        count *= shape[i];
    return count;
}

static tnd_status_t check_columns(dense_t *self, tnd_replica_t *replica, tnd_error_t *error)
{
    const loss_t *loss = self->loss;
    size_t wanted = loss->dtype == TND_F32 ? self->outputs : 1;
    self->inputs = column_size(replica, self->input, TND_F32);
    self->weight_columns = loss->weighted ? column_size(replica, "weight", TND_F32) : 0;
    if (self->inputs == 0)
        return tnd_fail(error, "the step wants a column `%s` of f32", self->input);
    if (column_size(replica, self->target, loss->dtype) != wanted)
        return tnd_fail(error, "loss %s wants a column `%s` with %zu %s per row", loss->name,
                        self->target, wanted, loss->dtype == TND_F32 ? "f32" : "i32");
    if (loss->weighted && self->weight_columns == 0)
        return tnd_fail(error, "loss %s wants a column `weight` of f32", loss->name);
    return TND_OK;
}

static double *fill_layer(double *at, size_t inputs, size_t outputs)
{
    double limit = sqrt(6.0 / (double)(inputs + outputs));
    for (size_t i = 0; i < inputs * outputs; i++)
        *at++ = (float)(((double)(37 * i % 101) - 50) / 50 * limit);
    return at + outputs;
}

/*  All arrays are one allocation. */
static bool allocate(dense_t *self)
{
    size_t hidden = self->hidden, outputs = self->outputs;
    self->count = (self->inputs + 1) * hidden + (hidden + 1) * outputs;
    self->state_count = 1 + 3 * self->count;
    self->state = calloc(self->state_count + self->count + self->inputs + 2 * hidden + outputs,
                         sizeof(double));
    self->pushed = calloc(self->count, sizeof *self->pushed);
    if (self->state == NULL || self->pushed == NULL)
        return false;
    self->parameters = self->state + 1;
    self->momenta = self->parameters + self->count;
    self->velocities = self->momenta + self->count;
    self->gradient = self->velocities + self->count;
    self->row = self->gradient + self->count;
    self->units = self->row + self->inputs;
    self->units_gradient = self->units + hidden;
    self->results = self->units_gradient + hidden;
    fill_layer(fill_layer(self->parameters, self->inputs, hidden), hidden, outputs);
    return true;
}

static void dense_close(void *model)
{
    dense_t *self = model;
    free(self->state);
    free(self->pushed);
    free(self);
}

/*  Where another actor holds the parameters, it begins with those of this model. */
static tnd_status_t give_initial(dense_t *self, tnd_replica_t *replica)
{
    self->holder = tnd_replica_holder(replica);
    if (self->holder == NULL)
        return TND_OK;
    for (size_t i = 0; i < self->count; i++)
        self->pushed[i] = (float)self->parameters[i];
    return tnd_replica_initial(replica, self->holder, TND_F32, self->pushed, self->count);
}

static tnd_status_t dense_open(void **model_p, const char *options, tnd_replica_t *replica)
{
    tnd_error_t error = {.text = "cannot allocate the model"};
    dense_t *self = malloc(sizeof *self);
    if (self == NULL)
        return fail(replica, error.text);
    *self = (dense_t){.input = "x", .target = "y", .hidden = 16, .outputs = 1, .rate = 0.01};
    if (read_options(self, options, &error) != TND_OK ||
        check_columns(self, replica, &error) != TND_OK || !allocate(self)) {
        dense_close(self);
        return fail(replica, error.text);
    }
    if (give_initial(self, replica) != TND_OK) {
        dense_close(self);
        return TND_FAILED;
    }
    *model_p = self;
    return TND_OK;
}

/* --- step and apply ---------------------------------------------------------------------------- */

/*  output = bias + input * kernel; the bias follows the kernel. */
static void forward_layer(size_t inputs, size_t outputs, const double *kernel, const double *input,
                          double *output)
{
    memcpy(output, kernel + inputs * outputs, outputs * sizeof *output);
    for (size_t i = 0; i < inputs; i++)
        for (size_t j = 0; j < outputs; j++)
            output[j] += input[i] * kernel[i * outputs + j];
}

/*  Adds to the gradient of kernel and bias. */
static void add_gradient(size_t inputs, size_t outputs, const double *input,
                         const double *output_gradient, double *gradient)
{
    for (size_t i = 0; i < inputs; i++)
        for (size_t j = 0; j < outputs; j++)
            gradient[i * outputs + j] += input[i] * output_gradient[j];
    for (size_t j = 0; j < outputs; j++)
        gradient[inputs * outputs + j] += output_gradient[j];
}

static void forward(dense_t *self, const float *input)
{
    for (size_t i = 0; i < self->inputs; i++)
        self->row[i] = input[i];
    forward_layer(self->inputs, self->hidden, self->parameters, self->row, self->units);
    for (size_t i = 0; i < self->hidden; i++)
        self->units[i] = fmax(self->units[i], 0);
    forward_layer(self->hidden, self->outputs, self->parameters + (self->inputs + 1) * self->hidden,
                  self->units, self->results);
    for (size_t i = 0; self->sigmoid && i < self->outputs; i++)
        self->results[i] = 1 / (1 + exp(-self->results[i]));
}

/*  Adds the gradient of a row, of which `forward` was called, and returns its loss. */
static double backward(dense_t *self, const target_t *target)
{
    size_t hidden = self->hidden, outputs = self->outputs, second = (self->inputs + 1) * hidden;
    double *results = self->results, slopes[SIZE_LIMIT];
    for (size_t i = 0; i < outputs; i++)
        slopes[i] = self->sigmoid ? results[i] * (1 - results[i]) : 1;
    double loss = self->loss->row(self, target, results);
    for (size_t i = 0; i < outputs; i++)
        results[i] *= slopes[i];
    for (size_t i = 0; i < hidden; i++) {
        double sum = 0;
        for (size_t j = 0; j < outputs; j++)
            sum += self->parameters[second + i * outputs + j] * results[j];
        self->units_gradient[i] = self->units[i] > 0 ? sum : 0;
    }
    add_gradient(self->inputs, hidden, self->row, self->units_gradient, self->gradient);
    add_gradient(hidden, outputs, self->units, results, self->gradient + second);
    return loss;
}

static tnd_status_t wrong_label(const dense_t *self, tnd_replica_t *replica, size_t row,
                                int32_t label)
{
    char text[128];
    snprintf(text, sizeof text,
             "row %zu of the replica has label %d in column `%s`; `outputs: %zu` "
             "has classes 0 to %zu",
             row, (int)label, self->target, self->outputs, self->outputs - 1);
    return fail(replica, text);
}

/*  Sums losses and gradients of all rows. */
static tnd_status_t run_rows(dense_t *self, tnd_replica_t *replica, double *loss_p)
{
    const float *input = tnd_replica_column(replica, self->input);
    const void *targets = tnd_replica_column(replica, self->target);
    const float *weights = tnd_replica_column(replica, "weight");
    memset(self->gradient, 0, self->count * sizeof *self->gradient);
    *loss_p = 0;
    for (size_t i = 0; i < tnd_replica_rows(replica); i++) {
        target_t target = {0};
        if (self->loss->dtype == TND_F32)
            target.values = (const float *)targets + i * self->outputs;
        else
            target.label = ((const int32_t *)targets)[i];
        if (self->loss->weighted)
            target.weight = weights + i * self->weight_columns;
        if (target.label < 0 || (size_t)target.label >= self->outputs)
            return wrong_label(self, replica, i, target.label);
        forward(self, input + i * self->inputs);
        *loss_p += backward(self, &target);
    }
    return TND_OK;
}

/*  Computes on parameters of the holder, and gives it the gradient. */
static tnd_status_t step_held(dense_t *self, tnd_replica_t *replica)
{
    const float *held = tnd_replica_parameters(replica, self->holder, NULL);
    double loss, rows = (double)tnd_replica_rows(replica);
    char text[160];
    if (tnd_replica_parameter_count(replica, self->holder) != self->count) {
        snprintf(text, sizeof text,
                 "the model has %zu parameters, but `%s` holds %zu: see its `count`", self->count,
                 self->holder, tnd_replica_parameter_count(replica, self->holder));
        return fail(replica, text);
    }
    for (size_t i = 0; i < self->count; i++)
        self->parameters[i] = held[i];
    if (run_rows(self, replica, &loss) != TND_OK)
        return TND_FAILED;
    for (size_t i = 0; i < self->count; i++)
        self->pushed[i] = (float)(self->loss->sum ? self->gradient[i] : self->gradient[i] / rows);
    tnd_replica_report(replica, "loss", loss, self->loss->sum ? 1 : rows);
    return tnd_replica_push(replica, self->holder, TND_F32, self->pushed, self->count);
}

static tnd_status_t dense_step(void *model, tnd_replica_t *replica)
{
    dense_t *self = model;
    size_t rows = tnd_replica_rows(replica);
    double loss;
    if (self->holder != NULL)
        return step_held(self, replica);
    if (run_rows(self, replica, &loss) != TND_OK)
        return TND_FAILED;
    if (self->loss->sum) {
        /* A report is a mean: with the weight of one replica it is the sum over all. */
        tnd_replica_report(replica, "loss", loss, tnd_replica_id(replica) == 0);
        return tnd_replica_reduce(replica, "mean", TND_SUM, TND_F64, self->gradient, self->count);
    }
    for (size_t i = 0; rows > 0 && i < self->count; i++)
        self->gradient[i] /= (double)rows;
    tnd_replica_report(replica, "loss", rows > 0 ? loss / (double)rows : 0, 1);
    return tnd_replica_mean(replica, "mean", TND_F64, self->gradient, self->count, 1);
}

static tnd_status_t dense_apply(void *model, tnd_replica_t *replica)
{
    dense_t *self = model;
    (void)replica;
    if (self->holder != NULL)
        return TND_OK;
    self->state[0] += 1;
    self->optimize(self);
    return TND_OK;
}

/* --- files ------------------------------------------------------------------------------------- */

enum { HEAD_BYTES = 128 };

/*  The head of a .npy file of `state`, which NumPy reads as well. */
static void print_head(const dense_t *self, char head[HEAD_BYTES + 1])
{
    memcpy(head, "\x93NUMPY\1\0\x76\0", 10);
    int used =
        snprintf(head + 10, HEAD_BYTES - 10,
                 "{'descr': '<f8', 'fortran_order': False, 'shape': (%zu,), }", self->state_count);
    snprintf(head + 10 + used, HEAD_BYTES + 1 - 10 - (size_t)used, "%*s\n", HEAD_BYTES - 11 - used,
             "");
}

static tnd_status_t dense_save(void *model, const char *file)
{
    dense_t *self = model;
    char head[HEAD_BYTES + 1];
    print_head(self, head);
    FILE *out = fopen(file, "wb");
    if (out == NULL)
        return TND_FAILED;
    bool written = fwrite(head, HEAD_BYTES, 1, out) == 1 &&
                   fwrite(self->state, sizeof(double), self->state_count, out) == self->state_count;
    return fclose(out) == 0 && written ? TND_OK : TND_FAILED;
}

static tnd_status_t dense_load(void *model, const char *file)
{
    dense_t *self = model;
    char head[HEAD_BYTES + 1], found[HEAD_BYTES];
    print_head(self, head);
    FILE *in = fopen(file, "rb");
    if (in == NULL)
        return TND_FAILED;
    bool good = fread(found, HEAD_BYTES, 1, in) == 1 && memcmp(head, found, HEAD_BYTES) == 0 &&
                fread(self->state, sizeof(double), self->state_count, in) == self->state_count;
    fclose(in);
    if (!good)
        fprintf(stderr, "%s: is not a model of %zu parameters\n", file, self->count);
    return good ? TND_OK : TND_FAILED;
}

const tnd_step_ops_t tnd_step_dense = {
    .abi = TND_ABI,
    .name = "dense",
    .open = dense_open,
    .step = dense_step,
    .apply = dense_apply,
    .save = dense_save,
    .load = dense_load,
    .close = dense_close,
};
