/*  runtime/core/numeric/index_shuffle.h - TensorFlow's shuffle of indices, bit for bit.
 *
 *  Computes what tf.random.experimental.index_shuffle and tf.data's shuffle of whole datasets
 *  compute: a Simon-like cipher over at least 16 bits, repeated until the value is below count.
 *
 *  It is not a permutation if count is 4^k + 1 >= 65537: its block is one bit too small, so the
 *  last index gets the value of index 0, and one value never occurs.  If the exact order of
 *  TensorFlow does not matter, permute.h has no such gap and is faster.
 *
 *  Threads: any thread may use a ready shuffle, which is read-only. */
#ifndef TND_RUNTIME_CORE_NUMERIC_INDEX_SHUFFLE_H
#define TND_RUNTIME_CORE_NUMERIC_INDEX_SHUFFLE_H

#include <stdbool.h>
#include <stdint.h>

/*  Rounds of the public function and of the dataset shuffle. */
enum { TND_INDEX_SHUFFLE_API_ROUNDS = 4, TND_INDEX_SHUFFLE_DATA_ROUNDS = 8 };
enum { TND_INDEX_SHUFFLE_MOST_ROUNDS = 64 };

typedef struct {
    uint64_t last; /* the greatest index */
    uint32_t keys[TND_INDEX_SHUFFLE_MOST_ROUNDS];
    uint32_t rounds;
    uint32_t half_bits;
} tnd_index_shuffle_t;

/*  Prepares the shuffle of [0, count).  0 < count < 2^63; rounds is even, 4 ... MOST_ROUNDS. */
void tnd_index_shuffle_init(tnd_index_shuffle_t *self, const uint32_t key[3], uint64_t count,
                            uint32_t rounds);

/*  The value at `index`, which is below count. */
uint64_t tnd_index_shuffle_at(const tnd_index_shuffle_t *self, uint64_t index);

/*  The key of the dataset shuffle for pass number `epoch` over a dataset with the operation's two
 *  seeds.  With `reshuffle` every epoch has another key. */
void tnd_index_shuffle_data_key(uint64_t seed, uint64_t seed2, bool reshuffle, uint64_t epoch,
                                uint32_t key[3]);

#endif
