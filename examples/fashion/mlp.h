/*  examples/fashion/mlp.h - a small network that recognises clothes: 784 pixels, 128 hidden units
 *  with ReLU, 10 classes with softmax and cross-entropy, trained by momentum.
 *
 *  Data-parallel: every replica has a model of its own, made from the same seed.  Each step it
 *  computes the mean gradient of its own rows into `grad`; the caller replaces `grad` by the mean
 *  over all replicas, weighted by their rows; then each replica applies it.  So all models stay
 *  equal, bit for bit, and the bits are the same on every machine and instruction set: sums have a
 *  fixed order, nothing is contracted, exp and log are polynomials of our own.
 *
 *  Threads: a model belongs to one thread at a time; different models share nothing. */
#ifndef MLP_H
#define MLP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MLP_INPUTS = 784,
    MLP_HIDDEN = 128,
    MLP_CLASSES = 10,
    MLP_PARAMS = MLP_INPUTS * MLP_HIDDEN + MLP_HIDDEN + MLP_HIDDEN * MLP_CLASSES + MLP_CLASSES
};

/*  `weights`, `velocity` and `grad` are MLP_PARAMS floats each, in one order: hidden weights
 *  [784][128], hidden biases [128], output weights [10][128], output biases [10].  Aligned to a
 *  cache line, owned by the model; the caller may read all and write `grad`. */
typedef struct {
    float *weights;
    float *velocity;
    float *grad;
    struct mlp_scratch *scratch;
} mlp_t;

/*  A model with weights drawn from `seed`, the same ones on every machine; velocity and gradient
 *  are 0.  Aborts when memory is exhausted. */
mlp_t *mlp_new(uint64_t seed);

/*  Frees the model and sets *self_p to NULL.  A NULL model is allowed. */
void mlp_destroy(mlp_t **self_p);

/*  Writes the mean gradient over `rows` images (784 floats each, 0 to 1) and labels into `grad`,
 *  and returns their mean loss.  0 rows give a zero gradient and loss 0.  A label of 10 or more
 *  gives a zero gradient and the loss NaN: no other input does while the weights are finite. */
float mlp_backward(mlp_t *self, const float *images, const uint8_t *labels, size_t rows);

/*  The learning rate of an epoch, counted from 0: 0.1 x 0.7^epoch, never below 2^-101. */
float mlp_rate(uint64_t epoch);

/*  One step of momentum along `grad`: velocity = momentum * velocity - rate * grad, then
 *  weights += velocity.  Velocities below 2^-64 become 0. */
void mlp_momentum(mlp_t *self, float rate, float momentum);

/*  How many of `rows` images are recognised, and their mean loss (0 without rows, NaN if a label is
 *  10 or more, which counts as not recognised).  Leaves weights, velocity and gradient alone. */
void mlp_evaluate(mlp_t *self, const float *images, const uint8_t *labels, size_t rows,
                  size_t *correct_p, float *loss_p);

/*  Save writes weights and velocity to a temporary file beside `file` and renames it, so that
 *  `file` is the old one or the new one, whole.  Load reads them back; on failure the model is
 *  unchanged.  Both return true, or false with a text of what is wrong, where and what to do. */
bool mlp_save(const mlp_t *self, const char *file, char *error, size_t error_bytes);
bool mlp_load(mlp_t *self, const char *file, char *error, size_t error_bytes);

/*  Makes the calling thread take numbers below 2^-126 as 0, where the processor can (x86).  Call it
 *  on threads that compute: a gradient that underflows may otherwise cost a hundred times its time.
 */
void mlp_flush_denormals(void);

/*  Which instruction set the model computes with, "avx512", "avx2" or "plain": the best that this
 *  machine has.  mlp_use chooses another; false, and nothing changes, if the machine lacks it. */
const char *mlp_isa(const mlp_t *self);
bool mlp_use(mlp_t *self, const char *isa);

#endif
