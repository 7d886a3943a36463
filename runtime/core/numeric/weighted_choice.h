/*  runtime/core/numeric/weighted_choice.h - draws numbers by weights, as TensorFlow's
 *  `sample_from_datasets`.
 *
 *  A choice takes two words of the Philox sequence of two seeds (tnd_places_seeds), which seed one
 *  draw of `stateless_multinomial`.
 *
 *  Threads: one at a time. */
#ifndef TND_RUNTIME_CORE_NUMERIC_WEIGHTED_CHOICE_H
#define TND_RUNTIME_CORE_NUMERIC_WEIGHTED_CHOICE_H

#include <stdint.h>

enum { TND_WEIGHTED_MAX = 255 };

typedef struct {
    double sums[TND_WEIGHTED_MAX]; /* of the weights up to each, relative to the largest */
    uint32_t count;
    uint32_t seeds[2];
    uint64_t drawn; /* words */
    uint32_t words[4];
} tnd_weighted_choice_t;

/*  `weights` are finite and not negative, at least one of them is positive; NULL: all equal.
 *  1 <= count <= TND_WEIGHTED_MAX. */
void tnd_weighted_choice_init(tnd_weighted_choice_t *self, const double *weights, uint32_t count,
                              const uint32_t seeds[2]);
/*  A number below `count`; never one of weight 0. */
uint32_t tnd_weighted_choice_next(tnd_weighted_choice_t *self);

#endif
