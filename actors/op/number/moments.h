/*  actors/op/number/moments.h - mean and variance of numbers that come one after the other.
 *
 *  The same numbers in the same order give the same bits, however they are divided into calls.  The
 *  sums are of differences from the first number, and are compensated: their error does not grow with
 *  the count.
 *
 *  Threads: one at a time. */
#ifndef TND_ACTORS_OP_NUMBER_MOMENTS_H
#define TND_ACTORS_OP_NUMBER_MOMENTS_H

#include <stdint.h>

/*  Zeroed: of no numbers. */
typedef struct {
    uint64_t count;
    double shift;              /* the first number */
    double sum[2], squares[2]; /* of the differences from it and their squares: high and low part */
    double part, part_squares; /* of the last numbers, which are not in these */
    uint32_t pending;          /* how many those are */
} tnd_moments_t;

enum { TND_MOMENTS_PENDING = 512 };

/*  Moves the last numbers to the sums.  Where this is called must depend on the numbers alone. */
void tnd_moments_fold(tnd_moments_t *self);

static inline void tnd_moments_add(tnd_moments_t *self, double number)
{
    if (self->count++ == 0)
        self->shift = number;
    double difference = number - self->shift;
    self->part += difference;
    self->part_squares += difference * difference;
    if (++self->pending == TND_MOMENTS_PENDING)
        tnd_moments_fold(self);
}

/*  Those of `count` numbers with this mean and standard deviation. */
tnd_moments_t tnd_moments_of(uint64_t count, double mean, double deviation);
/*  Adds the numbers of another. */
void tnd_moments_merge(tnd_moments_t *self, const tnd_moments_t *other);

/*  The mean, and the standard deviation of the whole population: of the count, not one less. */
double tnd_moments_mean(const tnd_moments_t *self);
double tnd_moments_deviation(const tnd_moments_t *self);

#endif
