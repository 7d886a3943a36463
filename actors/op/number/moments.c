/*  actors/op/number/moments.c - mean and variance of numbers that come one after the other. */
#include "actors/op/number/moments.h"

#include <math.h>

/*  The sum of two numbers and its rounding error, exactly (Knuth). */
static void add(double sum[2], double number)
{
    double high = sum[0] + number, part = high - sum[0];
    sum[1] += (sum[0] - (high - part)) + (number - part);
    sum[0] = high;
}

void tnd_moments_fold(tnd_moments_t *self)
{
    add(self->sum, self->part);
    add(self->squares, self->part_squares);
    self->part = self->part_squares = 0;
    self->pending = 0;
}

/*  The mean of the differences, and the sum of the squares of their distances from it. */
static double center(const tnd_moments_t *self, double *squares_p)
{
    double sum = (self->sum[0] + self->part) + self->sum[1];
    double squares = (self->squares[0] + self->part_squares) + self->squares[1];
    double mean = self->count > 0 ? sum / (double)self->count : 0;
    *squares_p = squares - sum * mean;
    return mean;
}

tnd_moments_t tnd_moments_of(uint64_t count, double mean, double deviation)
{
    return (tnd_moments_t){
        .count = count, .shift = mean, .squares = {deviation * deviation * (double)count, 0}};
}

/*  Chan's formula. */
void tnd_moments_merge(tnd_moments_t *self, const tnd_moments_t *other)
{
    if (other->count == 0)
        return;
    if (self->count == 0) {
        *self = *other;
        return;
    }
    double squares, more;
    double mean = self->shift + center(self, &squares);
    double distance = (other->shift + center(other, &more)) - mean;
    double one = (double)self->count, two = (double)other->count, all = one + two;
    *self =
        (tnd_moments_t){.count = self->count + other->count,
                        .shift = mean + distance * (two / all),
                        .squares = {squares + more + distance * distance * (one * two / all), 0}};
}

double tnd_moments_mean(const tnd_moments_t *self)
{
    double ignored;
    return self->shift + center(self, &ignored);
}

double tnd_moments_deviation(const tnd_moments_t *self)
{
    double squares;
    (void)center(self, &squares);
    return squares > 0 ? sqrt(squares / (double)self->count) : 0;
}
