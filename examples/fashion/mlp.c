/*  examples/fashion/mlp.c - the network and its gradient. */
#include "mlp.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mlp_kernels.h"

/*  Where the parts of the parameters, and of their gradient, begin. */
enum {
    HIDDEN_BIAS = MLP_INPUTS * MLP_HIDDEN,
    OUTPUT = HIDDEN_BIAS + MLP_HIDDEN,
    OUTPUT_BIAS = OUTPUT + MLP_HIDDEN * MLP_CLASSES,
    ALIGN = 64,
    SPAN = (MLP_PARAMS + MLP_LANES - 1) / MLP_LANES * MLP_LANES,
    BLOCK_ROWS = 64, /* as many rows at a time as keep what is in between in a near cache */
    WIDE = MLP_LANES /* scores have unused columns, so that they fill whole vectors */
};

_Static_assert(FLT_EVAL_METHOD == 0, "the same bits need sums of floats to be rounded to floats");

typedef struct mlp_scratch {
    _Alignas(ALIGN) float hidden[BLOCK_ROWS][MLP_HIDDEN];
    float delta[BLOCK_ROWS][MLP_HIDDEN]; /* the gradient of the loss by `hidden` */
    float scores[BLOCK_ROWS][WIDE];      /* per class; then the gradient of the loss by them */
    float output[MLP_HIDDEN][WIDE];      /* the output weights, transposed */
    const mlp_kernels_t *kernels;
} scratch_t;

#if defined(__x86_64__)
#include <pmmintrin.h>
#include <xmmintrin.h>

static const mlp_kernels_t *find_kernels(const char *isa)
{
    bool any = isa == NULL;
    if ((any || strcmp(isa, "avx512") == 0) && __builtin_cpu_supports("avx512f"))
        return &mlp_kernels_avx512;
    if ((any || strcmp(isa, "avx2") == 0) && __builtin_cpu_supports("avx2"))
        return &mlp_kernels_avx2;
    return any || strcmp(isa, "plain") == 0 ? &mlp_kernels_plain : NULL;
}

void mlp_flush_denormals(void)
{
    _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
    _MM_SET_DENORMALS_ZERO_MODE(_MM_DENORMALS_ZERO_ON);
}
#else
static const mlp_kernels_t *find_kernels(const char *isa)
{
    return isa == NULL || strcmp(isa, "plain") == 0 ? &mlp_kernels_plain : NULL;
}

void mlp_flush_denormals(void)
{
}
#endif

/*  The finaliser of splitmix64: a permutation of the 64-bit numbers that looks random. */
static uint64_t mix(uint64_t z)
{
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/*  A number in [-limit, limit), a function of (seed, index) alone. */
static float draw(uint64_t seed, uint64_t index, float limit)
{
    return ((float)(mix(mix(seed) + index) >> 40) * 0x1p-23f - 1.0f) * limit;
}

/*  exp(x) for x <= 0, within 2 units in the last place; 0 below -64, where a probability cannot
 *  matter.  x = n ln 2 + r with |r| <= ln 2 / 2, then Taylor's series of exp(r), times 2^n. */
static float exponential(float x)
{
    if (x < -64.0f)
        return 0.0f;
    const float round = 0x1.8p23f; /* adding it pushes the fraction out of a float */
    float shifted = x * 0x1.715476p0f + round, n = shifted - round;
    float r = (x - n * 0x1.62ep-1f) - n * 0x1.0bfbe8p-15f; /* ln 2, the first part exact */
    float sum = 1.0f / 5040;
    static const float terms[] = {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f};
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
        sum = sum * r + terms[i];

    uint32_t bits; /* the low bits of `shifted` are n; shifted left they are an exponent */
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 23) + 0x3f800000u;
    float power;
    memcpy(&power, &bits, sizeof power);
    return sum * power;
}

/*  log(x) for 1 <= x <= 10: halved until it is near 1, then the series of 2 atanh. */
static double logarithm(double x)
{
    double log = 0;
    for (; x > 1.5; x *= 0.5)
        log += 0x1.62e42fefa39efp-1;
    double t = (x - 1) / (x + 1), sum = 0;
    for (int k = 15; k >= 1; k -= 2)
        sum = sum * t * t + 1.0 / k;
    return log + 2 * t * sum;
}

mlp_t *mlp_new(uint64_t seed)
{
    mlp_t *self = malloc(sizeof *self);
    float *memory = aligned_alloc(ALIGN, 3 * SPAN * sizeof(float));
    scratch_t *scratch = aligned_alloc(ALIGN, sizeof *scratch);
    if (self == NULL || memory == NULL || scratch == NULL)
        abort();
    memset(memory, 0, 3 * SPAN * sizeof(float));
    memset(scratch, 0, sizeof *scratch);
    scratch->kernels = find_kernels(NULL);
    *self = (mlp_t){memory, memory + SPAN, memory + 2 * SPAN, scratch};
    for (size_t i = 0; i < HIDDEN_BIAS; i++)
        memory[i] = draw(seed, i, sqrtf(6.0f / (MLP_INPUTS + MLP_HIDDEN)));
    for (size_t i = OUTPUT; i < OUTPUT_BIAS; i++)
        memory[i] = draw(seed, i, sqrtf(6.0f / (MLP_HIDDEN + MLP_CLASSES)));
    return self;
}

void mlp_destroy(mlp_t **self_p)
{
    if (*self_p == NULL)
        return;
    free((*self_p)->weights);
    free((*self_p)->scratch);
    free(*self_p);
    *self_p = NULL;
}

/*  Fills `hidden` and `scores` for at most BLOCK_ROWS rows. */
static void forward(mlp_t *self, const float *images, size_t rows)
{
    scratch_t *s = self->scratch;
    const float *bias = self->weights + OUTPUT_BIAS;
    for (size_t i = 0; i < rows; i++) {
        memcpy(s->hidden[i], self->weights + HIDDEN_BIAS, sizeof s->hidden[i]);
        memcpy(s->scores[i], bias, MLP_CLASSES * sizeof *bias);
    }
    for (size_t c = 0; c < MLP_CLASSES; c++)
        for (size_t h = 0; h < MLP_HIDDEN; h++)
            s->output[h][c] = self->weights[OUTPUT + c * MLP_HIDDEN + h];

    s->kernels->multiply(rows, MLP_HIDDEN, MLP_INPUTS, images, MLP_INPUTS, 1, self->weights,
                         MLP_HIDDEN, s->hidden[0], MLP_HIDDEN, true);
    for (size_t i = 0; i < rows; i++)
        for (size_t h = 0; h < MLP_HIDDEN; h++)
            s->hidden[i][h] = s->hidden[i][h] < 0.0f ? 0.0f : s->hidden[i][h];
    s->kernels->multiply(rows, WIDE, MLP_HIDDEN, s->hidden[0], MLP_HIDDEN, 1, s->output[0], WIDE,
                         s->scores[0], WIDE, true);
}

/*  The class with the highest score, the first of equals. */
static size_t best(const float scores[WIDE])
{
    size_t best = 0;
    for (size_t c = 1; c < MLP_CLASSES; c++)
        if (scores[c] > scores[best])
            best = c;
    return best;
}

/*  Makes probabilities of scores and returns the loss of `label`. */
static double softmax(float scores[WIDE], uint8_t label)
{
    float top = scores[best(scores)], score = scores[label], sum = 0.0f;
    for (size_t c = 0; c < MLP_CLASSES; c++)
        sum += scores[c] = exponential(scores[c] - top);
    for (size_t c = 0; c < MLP_CLASSES; c++)
        scores[c] /= sum;
    return logarithm(sum) + ((double)top - score);
}

static bool labels_are_valid(const uint8_t *labels, size_t rows)
{
    uint8_t top = 0;
    for (size_t i = 0; i < rows; i++)
        top = labels[i] > top ? labels[i] : top;
    return top < MLP_CLASSES;
}

float mlp_backward(mlp_t *self, const float *images, const uint8_t *labels, size_t rows)
{
    scratch_t *s = self->scratch;
    float *grad = self->grad;
    double loss = 0;
    bool valid = labels_are_valid(labels, rows);
    if (rows == 0 || !valid) {
        memset(grad, 0, MLP_PARAMS * sizeof *grad);
        return valid ? 0.0f : NAN;
    }
    for (size_t done = 0, count; done < rows; done += count) {
        count = rows - done < BLOCK_ROWS ? rows - done : BLOCK_ROWS;
        const float *x = images + done * MLP_INPUTS, one = 1.0f;
        bool add = done > 0;

        forward(self, x, count);
        for (size_t i = 0; i < count; i++) {
            loss += softmax(s->scores[i], labels[done + i]);
            s->scores[i][labels[done + i]] -= 1.0f;
            for (size_t c = 0; c < MLP_CLASSES; c++)
                s->scores[i][c] /= (float)rows;
        }
        s->kernels->multiply(count, MLP_HIDDEN, MLP_CLASSES, s->scores[0], WIDE, 1,
                             self->weights + OUTPUT, MLP_HIDDEN, s->delta[0], MLP_HIDDEN, false);
        for (size_t i = 0; i < count; i++)
            for (size_t h = 0; h < MLP_HIDDEN; h++)
                s->delta[i][h] = s->hidden[i][h] > 0.0f ? s->delta[i][h] : 0.0f;

        s->kernels->multiply(MLP_CLASSES, MLP_HIDDEN, count, s->scores[0], 1, WIDE, s->hidden[0],
                             MLP_HIDDEN, grad + OUTPUT, MLP_HIDDEN, add);
        s->kernels->multiply(MLP_INPUTS, MLP_HIDDEN, count, x, 1, MLP_INPUTS, s->delta[0],
                             MLP_HIDDEN, grad, MLP_HIDDEN, add);
        s->kernels->multiply(1, MLP_HIDDEN, count, &one, 0, 0, s->delta[0], MLP_HIDDEN,
                             grad + HIDDEN_BIAS, MLP_HIDDEN, add);
        for (size_t c = 0; c < MLP_CLASSES; c++) {
            float sum = add ? grad[OUTPUT_BIAS + c] : 0.0f;
            for (size_t i = 0; i < count; i++)
                sum += s->scores[i][c];
            grad[OUTPUT_BIAS + c] = sum;
        }
    }
    return (float)(loss / (double)rows);
}

float mlp_rate(uint64_t epoch)
{
    float rate = 0.1f;
    for (uint64_t i = 0; i < epoch && rate > 0x1p-100f; i++)
        rate *= 0.7f;
    return rate;
}

void mlp_momentum(mlp_t *self, float rate, float momentum)
{
    self->scratch->kernels->momentum(MLP_PARAMS, self->weights, self->velocity, self->grad, rate,
                                     momentum);
}

void mlp_evaluate(mlp_t *self, const float *images, const uint8_t *labels, size_t rows,
                  size_t *correct_p, float *loss_p)
{
    scratch_t *s = self->scratch;
    double loss = labels_are_valid(labels, rows) ? 0 : NAN;
    size_t correct = 0;
    for (size_t done = 0, count; done < rows; done += count) {
        count = rows - done < BLOCK_ROWS ? rows - done : BLOCK_ROWS;
        forward(self, images + done * MLP_INPUTS, count);
        for (size_t i = 0; i < count; i++) {
            uint8_t label = labels[done + i];
            correct += best(s->scores[i]) == label;
            loss += softmax(s->scores[i], label < MLP_CLASSES ? label : 0);
        }
    }
    *correct_p = correct;
    *loss_p = rows > 0 ? (float)(loss / (double)rows) : 0.0f;
}

const char *mlp_isa(const mlp_t *self)
{
    return self->scratch->kernels->name;
}

bool mlp_use(mlp_t *self, const char *isa)
{
    const mlp_kernels_t *kernels = find_kernels(isa);
    if (kernels != NULL)
        self->scratch->kernels = kernels;
    return kernels != NULL;
}
