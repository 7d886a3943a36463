/*  Covers examples/fashion/mlp.h: the gradient against finite differences of the loss in double,
 *  the sums against a naive loop, every instruction set against the plain one bit for bit, and
 *  damaged files. */
#include "examples/fashion/mlp.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "examples/fashion/mlp_kernels.h"

enum { MOST_ROWS = 150 };

static const char *const isas[] = {"plain", "avx2", "avx512"};

static float images[MOST_ROWS * MLP_INPUTS];
static uint8_t labels[MOST_ROWS];

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/*  Grey pixels, two fifths of them black, as in pictures of clothes. */
static void make_rows(void)
{
    uint32_t state = 1;
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        uint32_t x = next(&state);
        images[i] = x % 5 < 2 ? 0.0f : (float)(x >> 4 & 255) / 255.0f;
    }
    for (size_t i = 0; i < MOST_ROWS; i++)
        labels[i] = (uint8_t)(next(&state) % MLP_CLASSES);
}

TestSuite(mlp, .init = make_rows);

static bool same_bits(const float *a, const float *b, size_t count)
{
    return memcmp(a, b, count * sizeof *a) == 0;
}

/*  The mean loss in double, straight from the definition. */
static double loss_of(const double *w, size_t rows)
{
    const double *hidden_bias = w + MLP_INPUTS * MLP_HIDDEN, *output = hidden_bias + MLP_HIDDEN;
    const double *output_bias = output + MLP_HIDDEN * MLP_CLASSES;
    double loss = 0;
    for (size_t r = 0; r < rows; r++) {
        double hidden[MLP_HIDDEN], scores[MLP_CLASSES], sum = 0;
        memcpy(hidden, hidden_bias, sizeof hidden);
        for (size_t k = 0; k < MLP_INPUTS; k++)
            for (size_t h = 0; h < MLP_HIDDEN; h++)
                hidden[h] += (double)images[r * MLP_INPUTS + k] * w[k * MLP_HIDDEN + h];
        for (size_t c = 0; c < MLP_CLASSES; c++) {
            scores[c] = output_bias[c];
            for (size_t h = 0; h < MLP_HIDDEN; h++)
                scores[c] += hidden[h] > 0 ? hidden[h] * output[c * MLP_HIDDEN + h] : 0;
            sum += exp(scores[c]);
        }
        loss += log(sum) - scores[labels[r]];
    }
    return loss / (double)rows;
}

static double *weights_in_double(const mlp_t *model)
{
    double *w = malloc(MLP_PARAMS * sizeof *w);
    for (size_t i = 0; i < MLP_PARAMS; i++)
        w[i] = model->weights[i];
    return w;
}

Test(mlp, twenty_steps_learn_a_batch_by_heart)
{
    mlp_t *model = mlp_new(7);
    size_t correct;
    float before = mlp_backward(model, images, labels, 32), loss;

    for (int step = 0; step < 20; step++) {
        mlp_backward(model, images, labels, 32);
        mlp_momentum(model, mlp_rate(0), 0.9f);
    }
    mlp_evaluate(model, images, labels, 32, &correct, &loss);

    cr_assert_gt(before, 2.0f);
    cr_assert_lt(loss, 0.5f * before);
    cr_assert_gt(correct, 16);
    mlp_destroy(&model);
    cr_assert_null(model);
}

Test(mlp, the_gradient_is_the_slope_of_the_loss)
{
    enum { ROWS = 3, PROBES = 150 };
    mlp_t *model = mlp_new(7);
    double *w = weights_in_double(model);
    uint32_t state = 5;

    mlp_backward(model, images, labels, ROWS);

    for (size_t probe = 0; probe < PROBES; probe++) {
        /* A third each: hidden weights, everything after them, output biases. */
        size_t start = probe % 3 == 0   ? 0
                       : probe % 3 == 1 ? MLP_INPUTS * MLP_HIDDEN
                                        : MLP_PARAMS - MLP_CLASSES;
        size_t i = start + next(&state) % (MLP_PARAMS - start);
        double kept = w[i], step = 1e-6;
        w[i] = kept + step;
        double above = loss_of(w, ROWS);
        w[i] = kept - step;
        double slope = (above - loss_of(w, ROWS)) / (2 * step);
        w[i] = kept;
        cr_assert_float_eq(model->grad[i], slope, 1e-6 + 1e-5 * fabs(slope), "%zu: %g, not %g", i,
                           (double)model->grad[i], slope);
    }
    free(w);
    mlp_destroy(&model);
}

Test(mlp, the_loss_is_that_of_double_arithmetic)
{
    mlp_t *model = mlp_new(3);
    for (size_t i = MLP_INPUTS * MLP_HIDDEN; i < MLP_PARAMS; i++)
        model->weights[i] *= 8.0f; /* confident and wrong: probabilities from 1 to e^-60 */
    double *w = weights_in_double(model);
    size_t correct;
    float loss;

    double expected = loss_of(w, 100);
    mlp_evaluate(model, images, labels, 100, &correct, &loss);

    cr_assert_gt(expected, 3.0);
    cr_assert_float_eq(loss, expected, 1e-6 * expected);
    cr_assert_eq(mlp_backward(model, images, labels, 100), loss);
    free(w);
    mlp_destroy(&model);
}

Test(mlp, rows_that_are_right_are_counted_one_by_one)
{
    mlp_t *model = mlp_new(7);
    size_t together, alone, sum = 0;
    float loss;
    mlp_evaluate(model, images, labels, 150, &together, &loss);
    for (size_t r = 0; r < 150; r++) {
        mlp_evaluate(model, images + r * MLP_INPUTS, labels + r, 1, &alone, &loss);
        cr_assert_leq(alone, 1);
        sum += alone;
    }
    cr_assert_gt(sum, 0);
    cr_assert_eq(together, sum);
    mlp_destroy(&model);
}

Test(mlp, a_gradient_of_many_rows_is_the_mean_of_its_slices)
{
    mlp_t *whole = mlp_new(7), *left = mlp_new(7), *right = mlp_new(7);

    mlp_backward(whole, images, labels, MOST_ROWS);
    mlp_backward(left, images, labels, 45);
    mlp_backward(right, images + 45 * MLP_INPUTS, labels + 45, MOST_ROWS - 45);

    for (size_t i = 0; i < MLP_PARAMS; i++) {
        float mean = (45 * left->grad[i] + (MOST_ROWS - 45) * right->grad[i]) / MOST_ROWS;
        cr_assert_float_eq(whole->grad[i], mean, 1e-6, "%zu", i);
    }
    mlp_destroy(&whole);
    mlp_destroy(&left);
    mlp_destroy(&right);
}

Test(mlp, no_rows_give_no_gradient_and_no_loss)
{
    mlp_t *model = mlp_new(7);
    static const float zeros[MLP_PARAMS];
    size_t correct = 1;
    float loss = 1.0f;
    mlp_backward(model, images, labels, 8);

    cr_assert_eq(mlp_backward(model, NULL, NULL, 0), 0.0f);
    mlp_evaluate(model, NULL, NULL, 0, &correct, &loss);

    cr_assert(same_bits(model->grad, zeros, MLP_PARAMS));
    cr_assert_eq(correct, 0);
    cr_assert_eq(loss, 0.0f);
    mlp_destroy(&model);
}

Test(mlp, an_invalid_label_gives_no_gradient_and_a_loss_of_nan)
{
    mlp_t *model = mlp_new(7);
    static const float zeros[MLP_PARAMS];
    size_t correct;
    float loss;
    labels[5] = MLP_CLASSES;

    cr_assert(isnan(mlp_backward(model, images, labels, 8)));
    mlp_evaluate(model, images, labels, 8, &correct, &loss);

    cr_assert(same_bits(model->grad, zeros, MLP_PARAMS));
    cr_assert(isnan(loss));
    cr_assert_lt(correct, 8);
    mlp_destroy(&model);
}

Test(mlp, a_seed_gives_one_model_and_another_seed_another)
{
    mlp_t *a = mlp_new(7), *b = mlp_new(7), *other = mlp_new(8);
    float limit = sqrtf(6.0f / (MLP_INPUTS + MLP_HIDDEN));
    double sum = 0;

    for (size_t i = 0; i < MLP_INPUTS * MLP_HIDDEN; i++) {
        cr_assert_leq(fabsf(a->weights[i]), limit);
        sum += a->weights[i];
    }

    cr_assert(same_bits(a->weights, b->weights, MLP_PARAMS));
    cr_assert_not(same_bits(a->weights, other->weights, MLP_INPUTS * MLP_HIDDEN));
    cr_assert_float_eq(sum / (MLP_INPUTS * MLP_HIDDEN), 0, limit / 100);
    mlp_destroy(&a);
    mlp_destroy(&b);
    mlp_destroy(&other);
}

Test(mlp, sums_have_the_order_of_a_naive_loop)
{
    enum { ROWS = 13, COLUMNS = 2 * MLP_LANES, TERMS = 100 };
    static float b[TERMS][COLUMNS], c[ROWS][COLUMNS], expected[ROWS][COLUMNS];
    for (size_t i = 0; i < TERMS * COLUMNS; i++)
        b[i / COLUMNS][i % COLUMNS] = images[i] - 0.4f;
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLUMNS; j++) {
            c[i][j] = expected[i][j] = b[i][j];
            for (size_t t = 0; t < TERMS; t++)
                expected[i][j] += images[i + t * MLP_INPUTS] * b[t][j];
        }

    mlp_kernels_plain.multiply(ROWS, COLUMNS, TERMS, images, 1, MLP_INPUTS, b[0], COLUMNS, c[0],
                               COLUMNS, true);

    cr_assert(same_bits(c[0], expected[0], ROWS * COLUMNS));
}

/*  A few steps with all kinds of row counts; the weights are what is left of everything. */
static mlp_t *trained(const char *isa)
{
    static const size_t counts[] = {32, 1, 7, 0, 64, 65, MOST_ROWS, 13};
    mlp_t *model = mlp_new(7);
    if (!mlp_use(model, isa))
        mlp_destroy(&model);
    for (size_t i = 0; model != NULL && i < sizeof counts / sizeof *counts; i++) {
        mlp_backward(model, images, labels, counts[i]);
        mlp_momentum(model, mlp_rate(i), 0.9f);
    }
    return model;
}

Test(mlp, every_instruction_set_gives_the_same_bits)
{
    mlp_t *plain = trained("plain");

    for (size_t i = 1; i < sizeof isas / sizeof *isas; i++) {
        mlp_t *model = trained(isas[i]);
        if (model == NULL)
            continue;
        cr_assert_str_eq(mlp_isa(model), isas[i]);
        cr_assert(same_bits(model->weights, plain->weights, MLP_PARAMS), "%s", isas[i]);
        cr_assert(same_bits(model->velocity, plain->velocity, MLP_PARAMS), "%s", isas[i]);
        cr_assert(same_bits(model->grad, plain->grad, MLP_PARAMS), "%s", isas[i]);
        mlp_destroy(&model);
    }
    mlp_destroy(&plain);
}

Test(mlp, flushed_denormals_give_the_same_bits_on_every_instruction_set)
{
    mlp_t *kept = trained("plain");

    mlp_flush_denormals();

    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
        mlp_t *model = trained(isas[i]);
        if (model == NULL)
            continue;
        cr_assert(same_bits(model->weights, kept->weights, MLP_PARAMS), "%s", isas[i]);
        mlp_destroy(&model);
    }
    mlp_destroy(&kept);
}

Test(mlp, an_unknown_instruction_set_is_refused_and_changes_nothing)
{
    mlp_t *model = mlp_new(7);
    const char *before = mlp_isa(model);

    cr_assert_not(mlp_use(model, "avx1024"));

    cr_assert_str_eq(mlp_isa(model), before);
    mlp_destroy(&model);
}

Test(mlp, momentum_is_its_formula_and_small_velocities_end)
{
    for (size_t k = 0; k < sizeof isas / sizeof *isas; k++) {
        mlp_t *model = mlp_new(7);
        if (!mlp_use(model, isas[k])) {
            mlp_destroy(&model);
            continue;
        }
        mlp_backward(model, images, labels, 16);
        for (size_t i = 0; i < MLP_PARAMS; i++)
            model->velocity[i] = model->weights[i];
        /* In the middle, and in the few last ones that fill no vector. */
        const size_t odd[] = {100, MLP_PARAMS - 1};
        for (size_t i = 0; i < 2; i++) {
            model->grad[odd[i]] = 0;
            model->velocity[odd[i]] = -0x1p-64f;
            model->grad[odd[i] - 1] = NAN;
        }
        mlp_t *before = mlp_new(7);

        mlp_momentum(model, 0.1f, 0.9f);

        for (size_t i = 0; i < MLP_PARAMS; i++) {
            bool cut = i == odd[0] || i == odd[1], lost = i + 1 == odd[0] || i + 1 == odd[1];
            float velocity = cut ? 0.0f : 0.9f * before->weights[i] - 0.1f * model->grad[i];
            float weight = before->weights[i] + velocity;
            cr_assert(lost ? isnan(model->velocity[i]) : model->velocity[i] == velocity, "%zu", i);
            cr_assert(lost ? isnan(model->weights[i]) : model->weights[i] == weight, "%zu", i);
        }
        mlp_destroy(&model);
        mlp_destroy(&before);
    }
}

Test(mlp, the_rate_falls_to_seven_tenths_each_epoch)
{
    cr_assert_eq(mlp_rate(0), 0.1f);
    cr_assert_eq(mlp_rate(1), 0.1f * 0.7f);
    cr_assert_eq(mlp_rate(3), 0.1f * 0.7f * 0.7f * 0.7f);
    cr_assert_eq(mlp_rate(UINT64_MAX), mlp_rate(1000));
}

/* ---- the file ---- */

static char folder[] = "/tmp/mlp_test_XXXXXX";
static char file[64];

static void make_folder(void)
{
    make_rows();
    cr_assert_not_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/model", folder);
}

/*  Fails when a temporary file was not removed. */
static void remove_folder(void)
{
    remove(file);
    cr_assert_eq(rmdir(folder), 0);
}

TestSuite(mlp_file, .init = make_folder, .fini = remove_folder);

Test(mlp_file, a_model_is_loaded_with_its_velocity)
{
    mlp_t *model = trained("plain"), *copy = mlp_new(1);
    char error[256] = "";

    cr_assert(mlp_save(model, file, error, sizeof error), "%s", error);
    cr_assert(mlp_save(model, file, error, sizeof error), "over the old one: %s", error);
    cr_assert(mlp_load(copy, file, error, sizeof error), "%s", error);

    cr_assert(same_bits(copy->weights, model->weights, MLP_PARAMS));
    cr_assert(same_bits(copy->velocity, model->velocity, MLP_PARAMS));
    mlp_destroy(&model);
    mlp_destroy(&copy);
}

/*  Saves a model, puts `bytes` at `offset`, cuts the file to `length`, and loads it. */
static void expect_refusal(long offset, const char *bytes, long length, const char *expected)
{
    mlp_t *model = mlp_new(7), *copy = mlp_new(1), *untouched = mlp_new(1);
    char error[256] = "";
    cr_assert(mlp_save(model, file, error, sizeof error));
    FILE *out = fopen(file, "rb+");
    fseek(out, offset, SEEK_SET);
    fputs(bytes, out);
    fclose(out);
    cr_assert_eq(truncate(file, length), 0);

    cr_assert_not(mlp_load(copy, file, error, sizeof error));

    cr_assert_not_null(strstr(error, expected), "%s", error);
    cr_assert_eq(strncmp(error, file, strlen(file)), 0, "%s", error);
    cr_assert(same_bits(copy->weights, untouched->weights, MLP_PARAMS));
    cr_assert(same_bits(copy->velocity, untouched->velocity, MLP_PARAMS));
    mlp_destroy(&model);
    mlp_destroy(&copy);
    mlp_destroy(&untouched);
}

enum { FILE_BYTES = 24 + 8 * MLP_PARAMS };

/*  What mlp_save asks of the disk, in order: S for a sync, R for a rename. */
static char asked[16];

static void note(char what)
{
    size_t used = strlen(asked);
    if (used + 1 < sizeof asked)
        asked[used] = what;
}

int fsync(int descriptor)
{
    note('S');
    return (int)syscall(SYS_fsync, descriptor);
}

int rename(const char *from, const char *to)
{
    note('R');
    return (int)syscall(SYS_rename, from, to);
}

Test(mlp_file, a_model_is_on_the_disk_before_it_has_its_name)
{
    mlp_t *model = mlp_new(7);
    char error[256] = "";
    asked[0] = '\0';
    cr_assert(mlp_save(model, file, error, sizeof error), "%s", error);
    cr_assert_str_eq(asked, "SR");
    mlp_destroy(&model);
}

Test(mlp_file, a_disk_that_is_full_leaves_the_old_model)
{
    mlp_t *model = mlp_new(7), *other = mlp_new(8);
    char error[256] = "";
    struct rlimit limit = {.rlim_cur = 4096, .rlim_max = RLIM_INFINITY};
    cr_assert(mlp_save(model, file, error, sizeof error), "%s", error);

    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_not(mlp_save(other, file, error, sizeof error));
    limit.rlim_cur = RLIM_INFINITY;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);

    cr_assert(mlp_load(other, file, error, sizeof error), "%s", error);
    cr_assert(same_bits(model->weights, other->weights, MLP_PARAMS));
    mlp_destroy(&model);
    mlp_destroy(&other);
}

Test(mlp_file, a_file_of_another_format_is_refused)
{
    expect_refusal(0, "PK", FILE_BYTES, "is not a saved model");
}

Test(mlp_file, an_empty_file_is_refused)
{
    expect_refusal(0, "", 0, "is not a saved model");
}

Test(mlp_file, a_model_of_another_size_is_refused)
{
    expect_refusal(16, "\1", FILE_BYTES, "other sizes");
}

Test(mlp_file, a_cut_file_is_refused)
{
    expect_refusal(0, "", FILE_BYTES - 1, "ends too early");
}

Test(mlp_file, a_file_that_is_too_long_is_refused)
{
    expect_refusal(0, "", FILE_BYTES + 1, "goes on");
}

Test(mlp_file, a_missing_file_and_a_missing_folder_are_named)
{
    mlp_t *model = mlp_new(7);
    char error[256] = "", nowhere[128];
    snprintf(nowhere, sizeof nowhere, "%s/no/model", folder);

    cr_assert_not(mlp_load(model, file, error, sizeof error));
    cr_assert_not_null(strstr(error, "/model: No such file"), "%s", error);
    cr_assert_not(mlp_save(model, nowhere, error, sizeof error));
    cr_assert_not_null(strstr(error, "/no/model"), "%s", error);
    mlp_destroy(&model);
}

Test(mlp_file, a_save_that_fails_leaves_the_old_file_and_nothing_else)
{
    mlp_t *model = mlp_new(7);
    char error[256] = "";

    /* A folder has its name: everything is written, only the renaming fails. */
    cr_assert_not(mlp_save(model, folder, error, sizeof error));

    cr_assert_not_null(strstr(error, "directory"), "%s", error);
    char part[128];
    snprintf(part, sizeof part, "%s.%ld.part", folder, (long)getpid());
    cr_assert_neq(access(part, F_OK), 0);
    mlp_destroy(&model);
}
