/*  tests/sim/random.h - random numbers that depend on a seed and a counter, the same on every
 *  machine. */
#ifndef TND_TESTS_SIM_RANDOM_H
#define TND_TESTS_SIM_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t key, counter;
} sim_random_t;

static inline uint64_t sim_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

static inline uint64_t sim_hash(uint64_t a, uint64_t b)
{
    return sim_mix(sim_mix(a + 0x9e3779b97f4a7c15ull) ^ (b * 0xd1342543de82ef95ull));
}

/*  Another stream of numbers for each use of one seed. */
static inline sim_random_t sim_random(uint64_t seed, uint64_t use)
{
    return (sim_random_t){.key = sim_hash(seed, use)};
}

static inline uint64_t sim_draw(sim_random_t *self)
{
    return sim_mix(self->key + 0x9e3779b97f4a7c15ull * ++self->counter);
}

/*  0 ... count - 1. */
static inline uint32_t sim_below(sim_random_t *self, uint32_t count)
{
    return (uint32_t)(((sim_draw(self) >> 32) * count) >> 32);
}

static inline uint32_t sim_between(sim_random_t *self, uint32_t least, uint32_t most)
{
    return least + sim_below(self, most - least + 1);
}

static inline bool sim_chance(sim_random_t *self, uint32_t percent)
{
    return sim_below(self, 100) < percent;
}

#endif
