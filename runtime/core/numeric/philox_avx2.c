/*  runtime/core/numeric/philox_avx2.c - many blocks of Philox, with vectors of 32 bytes. */
#include <immintrin.h>

#include "runtime/core/numeric/random.h"

#define AVX2 __attribute__((target("avx2")))

/*  Vectors of four blocks that are enciphered together, while each waits for its multiplications. */
enum { TOGETHER = 4 };

/*  Word k of a block is the low half of an element of words[k]; its high half is not used. */
typedef struct {
    __m256i words[4];
} four_t;

AVX2 static inline four_t encipher_four(four_t of, __m256i key0, __m256i key1)
{
    __m256i a = _mm256_mul_epu32(of.words[0], _mm256_set1_epi64x(0xd2511f53));
    __m256i b = _mm256_mul_epu32(of.words[2], _mm256_set1_epi64x(0xcd9e8d57));
    __m256i high_a = _mm256_xor_si256(_mm256_srli_epi64(a, 32), of.words[3]);
    __m256i high_b = _mm256_xor_si256(_mm256_srli_epi64(b, 32), of.words[1]);
    return (four_t){
        {_mm256_xor_si256(high_b, key0), b, _mm256_xor_si256(high_a, key1), a},
    };
}

/*  The words of the first block, the second ... */
AVX2 static inline void store_four(four_t from, uint32_t to[16])
{
    const __m256i low = _mm256_set1_epi64x(0xffffffff);
    __m256i ends[2];
    for (int i = 0; i < 2; i++)
        ends[i] = _mm256_or_si256(_mm256_and_si256(from.words[2 * i], low),
                                  _mm256_slli_epi64(from.words[2 * i + 1], 32));
    __m256i even = _mm256_unpacklo_epi64(ends[0], ends[1]);
    __m256i odd = _mm256_unpackhi_epi64(ends[0], ends[1]);
    _mm256_storeu_si256((__m256i *)to, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256((__m256i *)(to + 8), _mm256_permute2x128_si256(even, odd, 0x31));
}

AVX2 static void encipher_some(uint64_t first, const uint32_t end[2], const uint32_t key[2],
                               uint32_t words[16 * TOGETHER])
{
    four_t some[TOGETHER];
    for (int i = 0; i < TOGETHER; i++) {
        __m256i number = _mm256_add_epi64(_mm256_set1_epi64x((long long)(first + 4 * (uint64_t)i)),
                                          _mm256_set_epi64x(3, 2, 1, 0));
        some[i] = (four_t){{number, _mm256_srli_epi64(number, 32), _mm256_set1_epi64x(end[0]),
                            _mm256_set1_epi64x(end[1])}};
    }
    for (uint32_t round = 0; round < 10; round++) {
        __m256i key0 = _mm256_set1_epi64x(key[0] + round * 0x9e3779b9);
        __m256i key1 = _mm256_set1_epi64x(key[1] + round * 0xbb67ae85);
        for (int i = 0; i < TOGETHER; i++)
            some[i] = encipher_four(some[i], key0, key1);
    }
    for (int i = 0; i < TOGETHER; i++)
        store_four(some[i], words + 16 * i);
}

AVX2 void tnd_philox_run_avx2(uint64_t first, const uint32_t end[2], const uint32_t key[2],
                              uint32_t words[TND_PHILOX_RUN])
{
    for (uint32_t i = 0; i < TND_PHILOX_RUN; i += 16 * TOGETHER)
        encipher_some(first + i / 4, end, key, words + i);
}

_Static_assert(TND_PHILOX_RUN % (16 * TOGETHER) == 0, "a run has no rest");
