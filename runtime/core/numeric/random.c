/*  runtime/core/numeric/random.c - random numbers that are a function of their purpose. */
#include "runtime/core/numeric/random.h"

#include <assert.h>

/*  Separates these draws from others that are derived from the same seed. */
static const uint32_t purpose = 0x6f706572;

void tnd_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t words[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t a = UINT64_C(0xd2511f53) * c0;
        uint64_t b = UINT64_C(0xcd9e8d57) * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9e3779b9;
        k1 += 0xbb67ae85;
    }
    words[0] = c0;
    words[1] = c1;
    words[2] = c2;
    words[3] = c3;
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
