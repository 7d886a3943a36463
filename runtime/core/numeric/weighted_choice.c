/*  runtime/core/numeric/weighted_choice.c - draws numbers by weights, as TensorFlow does. */
#include "runtime/core/numeric/weighted_choice.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "runtime/core/numeric/random.h"

/*  TensorFlow takes logarithms in float32, and the sums of their powers in float64. */
void tnd_weighted_choice_init(tnd_weighted_choice_t *self, const double *weights, uint32_t count,
                              const uint32_t seeds[2])
{
    float most = -INFINITY;
    double sum = 0;
    assert(count >= 1 && count <= TND_WEIGHTED_MAX);
    *self = (tnd_weighted_choice_t){.count = count, .seeds = {seeds[0], seeds[1]}};
    for (uint32_t i = 0; i < count; i++)
        most = fmaxf(most, logf(weights != NULL ? (float)weights[i] : 1));
    for (uint32_t i = 0; i < count; i++) {
        float weight = weights != NULL ? (float)weights[i] : 1;
        sum += weight > 0 ? exp((double)logf(weight) - (double)most) : 0;
        self->sums[i] = sum;
    }
}

static uint32_t next_word(tnd_weighted_choice_t *self)
{
    if (self->drawn % 4 == 0) {
        uint64_t block = self->drawn / 4;
        const uint32_t key[2] = {self->seeds[0], 0};
        const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), self->seeds[1], 0};
        tnd_philox(counter, key, self->words);
    }
    return self->words[self->drawn++ % 4];
}

/*  The first number that a stateless operation with this pair of seeds draws, in [0, 1). */
static double draw_stateless(uint32_t seed, uint32_t seed2)
{
    const uint32_t mixer[2] = {0x3ec8f720, 0x02461e29};
    const uint32_t given[4] = {seed, 0, seed2, 0};
    uint32_t mixed[4], words[4];
    tnd_philox(given, mixer, mixed);
    const uint32_t counter[4] = {0, 0, mixed[2], mixed[3]};
    tnd_philox(counter, mixed, words);
    uint64_t bits = UINT64_C(1023) << 52 | (uint64_t)(words[0] & 0xfffff) << 32 | words[1];
    double number;
    memcpy(&number, &bits, sizeof number);
    return number - 1;
}

uint32_t tnd_weighted_choice_next(tnd_weighted_choice_t *self)
{
    uint32_t seed = next_word(self), seed2 = next_word(self), choice = 0;
    double drawn = draw_stateless(seed, seed2) * self->sums[self->count - 1];
    while (choice + 1 < self->count && self->sums[choice] <= drawn)
        choice++;
    return choice;
}
