/*  runtime/core/numeric/random.c - random numbers that are a function of their purpose. */
#include "runtime/core/numeric/random.h"

#include <assert.h>
#include <string.h>

#include "runtime/core/numeric/vector_paths.h"

/*  Separates these draws from others that are derived from the same seed. */
static const uint32_t purpose = 0x6f706572;

typedef struct {
    uint32_t words[4];
} block_t;

static inline block_t encipher(block_t block, uint32_t key0, uint32_t key1)
{
    uint64_t a = UINT64_C(0xd2511f53) * block.words[0];
    uint64_t b = UINT64_C(0xcd9e8d57) * block.words[2];
    return (block_t){{(uint32_t)(b >> 32) ^ block.words[1] ^ key0, (uint32_t)b,
                      (uint32_t)(a >> 32) ^ block.words[3] ^ key1, (uint32_t)a}};
}

void tnd_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t words[4])
{
    block_t block = {{counter[0], counter[1], counter[2], counter[3]}};
    for (uint32_t round = 0; round < 10; round++)
        block = encipher(block, key[0] + round * 0x9e3779b9, key[1] + round * 0xbb67ae85);
    memcpy(words, block.words, sizeof block.words);
}

/*  A block alone waits for each multiplication; two use that time. */
static void tnd_philox_run_plain(uint64_t first, const uint32_t end[2], const uint32_t key[2],
                                 uint32_t words[TND_PHILOX_RUN])
{
    for (uint32_t i = 0; i < TND_PHILOX_RUN; i += 8, first += 2) {
        uint64_t next = first + 1;
        block_t one = {{(uint32_t)first, (uint32_t)(first >> 32), end[0], end[1]}};
        block_t two = {{(uint32_t)next, (uint32_t)(next >> 32), end[0], end[1]}};
        for (uint32_t round = 0; round < 10; round++) {
            uint32_t key0 = key[0] + round * 0x9e3779b9, key1 = key[1] + round * 0xbb67ae85;
            one = encipher(one, key0, key1);
            two = encipher(two, key0, key1);
        }
        memcpy(words + i, one.words, sizeof one.words);
        memcpy(words + i + 4, two.words, sizeof two.words);
    }
}

#define ADDRESS(name, target, has) tnd_philox_run_##name,

static tnd_philox_run_fn *const paths[] = {TND_VECTOR_PATHS(ADDRESS)};

tnd_philox_run_fn *const *tnd_philox_run_paths(void)
{
    return paths;
}

void tnd_philox_run(uint64_t first, const uint32_t end[2], const uint32_t key[2],
                    uint32_t words[TND_PHILOX_RUN])
{
    paths[tnd_vector_paths() - 1](first, end, key, words);
}

void tnd_random_init(tnd_random_t *self, uint64_t seed, uint64_t epoch, uint64_t sample,
                     uint32_t operation)
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)epoch, (uint32_t)(epoch >> 32), operation, purpose};
    uint32_t mixed[4];
    tnd_philox(counter, key, mixed);
    *self = (tnd_random_t){
        .key = {mixed[0], mixed[1]},
        .counter = {0, mixed[2], (uint32_t)sample, (uint32_t)(sample >> 32) ^ mixed[3]},
    };
}

uint32_t tnd_random_u32(tnd_random_t *self)
{
    if (self->unused == 0) {
        tnd_philox(self->counter, self->key, self->words);
        self->counter[0]++;
        self->unused = 4;
    }
    return self->words[4 - self->unused--];
}

uint64_t tnd_random_u64(tnd_random_t *self)
{
    uint64_t low = tnd_random_u32(self);
    return low | (uint64_t)tnd_random_u32(self) << 32;
}

float tnd_random_f32(tnd_random_t *self)
{
    return (float)(tnd_random_u32(self) >> 8) * 0x1p-24f;
}

double tnd_random_f64(tnd_random_t *self)
{
    return (double)(tnd_random_u64(self) >> 11) * 0x1p-53;
}

float tnd_random_scale(uint32_t word, float low, float high)
{
    uint32_t bits = (word & 0x7fffff) | 0x3f800000;
    float value;
    memcpy(&value, &bits, sizeof value);
    value = (value - 1.0f) * (high - low);
    return value + low;
}

uint64_t tnd_random_place(uint32_t word, uint64_t places)
{
    assert(places > 0);
    return word % INT32_MAX % places;
}

uint64_t tnd_random_below(tnd_random_t *self, uint64_t bound)
{
    assert(bound > 0);
    /* Values below 2^64 mod bound would make the small residues likelier. */
    uint64_t refused = -bound % bound;
    uint64_t value;
    do
        value = tnd_random_u64(self);
    while (value < refused);
    return value % bound;
}
