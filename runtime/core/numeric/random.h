/*  runtime/core/numeric/random.h - random numbers that are a function of their purpose.
 *
 *  A draw is a pure function of (seed, epoch, sample, operation, number of the draw).  So a random
 *  operation gives the same result on any worker, on a retry and after a resume, and no state has
 *  to be saved.
 *
 *  The generator is Philox-4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
 *  2011): the key and two counter words are Philox of (epoch, operation) under the seed, the other
 *  counter words are the sample and the number of the block.
 *
 *  Threads: any; a generator belongs to one thread at a time. */
#ifndef TND_RUNTIME_CORE_NUMERIC_RANDOM_H
#define TND_RUNTIME_CORE_NUMERIC_RANDOM_H

#include "runtime/base/status.h"

/*  Philox-4x32-10: the four words of block `counter` under `key`, least significant word first. */
void tnd_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t words[4]);

/*  The words of the blocks from `first` on, of the counters that end in `end`: in a third of the time
 *  that one after the other takes. */
enum { TND_PHILOX_RUN = 128 };
typedef void tnd_philox_run_fn(uint64_t first, const uint32_t end[2], const uint32_t key[2],
                               uint32_t words[TND_PHILOX_RUN]);
tnd_philox_run_fn tnd_philox_run, tnd_philox_run_avx2;
/*  As many as tnd_vector_paths() can run. */
tnd_philox_run_fn *const *tnd_philox_run_paths(void);

/*  A generator.  A copy continues at the same place of the sequence. */
typedef struct tnd_random {
    uint32_t key[2];
    uint32_t counter[4];
    uint32_t words[4];
    uint32_t unused; /* words of the block that are not used yet */
} tnd_random_t;

/*  Starts the sequence of draws that `operation` makes for `sample` in `epoch`.  `operation` is the
 *  number of the operation within its run, below 2^32.  A sequence has 2^34 words. */
void tnd_random_init(tnd_random_t *self, uint64_t seed, uint64_t epoch, uint64_t sample,
                     uint32_t operation);

/*  The next word. */
TND_API uint32_t tnd_random_u32(tnd_random_t *self);

/*  The next two words, the first one low. */
TND_API uint64_t tnd_random_u64(tnd_random_t *self);

/*  Uniform over the multiples of 2^-24 in [0, 1); takes one word. */
TND_API float tnd_random_f32(tnd_random_t *self);

/*  Uniform over the multiples of 2^-53 in [0, 1); takes two words. */
TND_API double tnd_random_f64(tnd_random_t *self);

/*  What TensorFlow's stateless functions make of one word: a number in [low, high), of the last 23
 *  bits of the word; and one of `places` places, as stateless_random_crop draws them, where the first
 *  ones are likelier by at most places / 2^31. */
float tnd_random_scale(uint32_t word, float low, float high);
uint64_t tnd_random_place(uint32_t word, uint64_t places);

/*  Uniform over 0 ... bound - 1 without bias; takes two words, rarely more.  bound > 0. */
TND_API uint64_t tnd_random_below(tnd_random_t *self, uint64_t bound);

#endif
