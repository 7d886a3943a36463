/*  runtime/core/numeric/permute.c - a shuffle of [0, count) without a table.  */
#include "runtime/core/numeric/permute.h"

#include <assert.h>
#include <stdbool.h>

#include "runtime/core/numeric/random.h"

/*  How many positions are computed at a time: one alone waits for each multiplication, four use
 *  that time, eight no longer fit the registers. */
enum { ABREAST = 4 };

__extension__ typedef unsigned __int128 wide_t;

/*  Separates these keys from others that are derived from the same seed. */
static const uint32_t purpose = 0x7065726d;

typedef struct {
    uint64_t row;
    uint64_t column;
} cell_t;

/*  A number below `bound` <= 2^32, a function of a coordinate and the key of the round. */
static inline uint64_t mix(uint64_t coordinate, uint64_t key, uint64_t bound)
{
    uint64_t x = (coordinate ^ key) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return (x >> 32) * bound >> 32;
}

static inline uint64_t add_below(uint64_t a, uint64_t b, uint64_t bound)
{
    uint64_t sum = a + b;
    return sum >= bound ? sum - bound : sum;
}

static inline uint64_t subtract_below(uint64_t a, uint64_t b, uint64_t bound)
{
    return a >= b ? a - b : a + bound - b;
}

/*  Divides by multiplying: for values below 2^63 the estimate is at most one too small. */
static inline cell_t cell_of(const tnd_permute_t *self, uint64_t value)
{
    uint64_t row = (uint64_t)((wide_t)value * self->reciprocal >> 64);
    uint64_t column = value - row * self->width;
    bool short_by_one = column >= self->width;
    return (cell_t){row + short_by_one, short_by_one ? column - self->width : column};
}

static inline uint64_t value_of(const tnd_permute_t *self, cell_t cell)
{
    return cell.row * self->width + cell.column;
}

/*  Every other permutation exchanges the first two positions.  If the rectangle has an odd number
 *  of columns or rows, all rounds are even permutations; this adds the odd ones. */
static inline uint64_t swap_first(const tnd_permute_t *self, uint64_t position)
{
    return position ^ (position < 2 ? self->swap : 0);
}

static inline cell_t forward(const tnd_permute_t *self, cell_t cell, uint32_t round)
{
    const uint64_t *keys = self->keys + round;
    cell.row = add_below(cell.row, mix(cell.column, keys[0], self->height), self->height);
    cell.column = add_below(cell.column, mix(cell.row, keys[1], self->width), self->width);
    return cell;
}

static inline cell_t backward(const tnd_permute_t *self, cell_t cell, uint32_t round)
{
    const uint64_t *keys = self->keys + round;
    cell.column = subtract_below(cell.column, mix(cell.row, keys[1], self->width), self->width);
    cell.row = subtract_below(cell.row, mix(cell.column, keys[0], self->height), self->height);
    return cell;
}

static uint64_t encipher(const tnd_permute_t *self, uint64_t value)
{
    cell_t cell = cell_of(self, value);
    for (uint32_t round = 0; round < self->rounds; round += 2)
        cell = forward(self, cell, round);
    return value_of(self, cell);
}

static uint64_t decipher(const tnd_permute_t *self, uint64_t value)
{
    cell_t cell = cell_of(self, value);
    for (uint32_t round = self->rounds; round > 0; round -= 2)
        cell = backward(self, cell, round - 2);
    return value_of(self, cell);
}

/*  Six rounds pass tests of all pairs of neighbours for thousands of samples and more; for a few
 *  dozen samples a round has too few values to choose from, so more rounds are needed until all
 *  permutations occur equally often. */
static uint32_t rounds_for(uint64_t count)
{
    if (count < 32)
        return TND_PERMUTE_MOST_ROUNDS;
    return count < 256 ? 12 : 6;
}

/*  The least w with w * w >= count. */
static uint64_t root_above(uint64_t count)
{
    uint64_t below = 0; /* its square is less than count */
    for (uint64_t bit = UINT64_C(1) << 31; bit > 0; bit >>= 1)
        if ((below + bit) * (below + bit) < count)
            below += bit;
    return below + 1;
}

void tnd_permute_init(tnd_permute_t *self, uint64_t count, uint64_t seed, uint64_t epoch)
{
    assert(count > 0 && count <= INT64_MAX);
    uint64_t width = root_above(count);
    *self = (tnd_permute_t){
        .count = count,
        .width = width,
        .height = count / width + (count % width != 0),
        .reciprocal = UINT64_MAX / width,
        .rounds = rounds_for(count),
    };
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t counter[4] = {(uint32_t)epoch, (uint32_t)(epoch >> 32), UINT32_MAX, purpose};
    uint32_t words[4];
    tnd_philox(counter, key, words);
    self->swap = count > 1 ? words[0] & 1 : 0;
    for (uint32_t i = 0; i < self->rounds; i += 2) {
        counter[2] = i;
        tnd_philox(counter, key, words);
        self->keys[i] = words[0] | (uint64_t)words[1] << 32;
        self->keys[i + 1] = words[2] | (uint64_t)words[3] << 32;
    }
}

uint64_t tnd_permute_at(const tnd_permute_t *self, uint64_t position)
{
    assert(position < self->count);
    uint64_t value = swap_first(self, position);
    do
        value = encipher(self, value);
    while (value >= self->count);
    return value;
}

uint64_t tnd_permute_inverse(const tnd_permute_t *self, uint64_t sample)
{
    assert(sample < self->count);
    uint64_t value = sample;
    do
        value = decipher(self, value);
    while (value >= self->count);
    return swap_first(self, value);
}

void tnd_permute_many(const tnd_permute_t *self, uint64_t *positions, size_t count)
{
    size_t done = 0;
    for (; done + ABREAST <= count; done += ABREAST) {
        cell_t cells[ABREAST];
#pragma GCC unroll 8
        for (size_t i = 0; i < ABREAST; i++) {
            assert(positions[done + i] < self->count);
            cells[i] = cell_of(self, swap_first(self, positions[done + i]));
        }
        for (uint32_t round = 0; round < self->rounds; round += 2)
#pragma GCC unroll 8
            for (size_t i = 0; i < ABREAST; i++)
                cells[i] = forward(self, cells[i], round);
        for (size_t i = 0; i < ABREAST; i++) {
            uint64_t value = value_of(self, cells[i]);
            while (value >= self->count)
                value = encipher(self, value);
            positions[done + i] = value;
        }
    }
    for (; done < count; done++)
        positions[done] = tnd_permute_at(self, positions[done]);
}
