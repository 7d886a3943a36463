/*  runtime/core/numeric/index_shuffle.c - TensorFlow's shuffle of indices, bit for bit.  */
#include "runtime/core/numeric/index_shuffle.h"

#include <assert.h>
#include <string.h>

#include "runtime/core/numeric/random.h"

static uint32_t mask_of(uint32_t bits)
{
    return UINT32_MAX >> (32 - bits);
}

static uint32_t rotate_left(uint32_t value, uint32_t by, uint32_t bits)
{
    by %= bits;
    if (by == 0)
        return value;
    return (value << by | value >> (bits - by)) & mask_of(bits);
}

static uint32_t mix(uint32_t half, uint32_t bits)
{
    return (rotate_left(half, 1, bits) & rotate_left(half, 8, bits)) ^ rotate_left(half, 2, bits);
}

/*  Half of the block: 8 bits or more.  The log2 is of the last index and not of the count, so the
 *  block is too small for 4^k + 1. */
static uint32_t half_bits_of(uint64_t last)
{
    uint32_t log2_above = last <= 1 ? 0 : 64 - (uint32_t)__builtin_clzll(last - 1);
    uint32_t half = (log2_above + 1) / 2;
    return half < 8 ? 8 : half;
}

void tnd_index_shuffle_init(tnd_index_shuffle_t *self, const uint32_t key[3], uint64_t count,
                            uint32_t rounds)
{
    assert(count > 0 && count <= INT64_MAX);
    assert(rounds >= 4 && rounds <= TND_INDEX_SHUFFLE_MOST_ROUNDS && rounds % 2 == 0);
    uint32_t bits = half_bits_of(count - 1);
    uint32_t mask = mask_of(bits);
    uint64_t sequence = UINT64_C(0x7369f885192c0ef5) & mask;
    *self = (tnd_index_shuffle_t){.last = count - 1, .rounds = rounds, .half_bits = bits};
    uint32_t *keys = self->keys;
    for (uint32_t i = 0; i < 3; i++)
        keys[i] = key[i] & mask;
    for (uint32_t i = 3; i < rounds; i++) {
        uint32_t turned =
            rotate_left(keys[i - 1], bits - 3, bits) ^ rotate_left(keys[i - 1], bits - 4, bits);
        keys[i] = (UINT32_C(0xfffffffc) & mask) ^ (uint32_t)(sequence & 1) ^ keys[i - 3] ^ turned;
        sequence >>= 1;
    }
}

uint64_t tnd_index_shuffle_at(const tnd_index_shuffle_t *self, uint64_t index)
{
    assert(index <= self->last);
    uint32_t bits = self->half_bits;
    uint64_t value = index;
    do {
        uint32_t left = (uint32_t)value & mask_of(bits);
        uint32_t right = (uint32_t)(value >> bits) & mask_of(bits);
        for (uint32_t i = 0; i < self->rounds; i += 2) {
            right ^= mix(left, bits) ^ self->keys[i];
            left ^= mix(right, bits) ^ self->keys[i + 1];
        }
        value = (uint64_t)right << bits | left;
    } while (value > self->last);
    return value;
}

void tnd_index_shuffle_data_key(uint64_t seed, uint64_t seed2, bool reshuffle, uint64_t epoch,
                                uint32_t key[3])
{
    if (!reshuffle) {
        key[0] = (uint32_t)seed;
        key[1] = (uint32_t)seed2;
        key[2] = (uint32_t)seed;
        return;
    }
    /* An epoch takes four draws of the seed generator, a whole block; the last is unused. */
    const uint32_t philox_key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)epoch, (uint32_t)(epoch >> 32), (uint32_t)seed2,
                                 (uint32_t)(seed2 >> 32)};
    uint32_t words[4];
    tnd_philox(counter, philox_key, words);
    memcpy(key, words, 3 * sizeof words[0]);
}
