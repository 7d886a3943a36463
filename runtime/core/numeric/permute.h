/*  runtime/core/numeric/permute.h - a shuffle of [0, count) without a table.
 *
 *  Position p of an epoch has sample tnd_permute_at(p): a bijection of [0, count) for every count,
 *  chosen by (seed, epoch), in constant memory and time.  It is a Feistel network over a rectangle
 *  of about sqrt(count) by sqrt(count) cells, at least count of them, applied until the value is
 *  below count.  A rectangle fits any count within one row, so a second application is rare, while
 *  a network over whole bits needs two for every count just above a power of two.  It is not a
 *  cipher for secrets.
 *
 *  index_shuffle.h computes TensorFlow's own order.
 *
 *  Threads: any thread may use a ready permutation, which is read-only. */
#ifndef TND_RUNTIME_CORE_NUMERIC_PERMUTE_H
#define TND_RUNTIME_CORE_NUMERIC_PERMUTE_H

#include <stddef.h>
#include <stdint.h>

enum { TND_PERMUTE_MOST_ROUNDS = 24 };

typedef struct {
    uint64_t count;
    uint64_t width;      /* of a row of the rectangle; at most 2^32, as is the height */
    uint64_t height;     /* width * height >= count */
    uint64_t reciprocal; /* of width */
    uint32_t rounds;
    uint32_t swap; /* 1: the first two positions are exchanged */
    uint64_t keys[TND_PERMUTE_MOST_ROUNDS];
} tnd_permute_t;

/*  Chooses the permutation.  0 < count < 2^63. */
void tnd_permute_init(tnd_permute_t *self, uint64_t count, uint64_t seed, uint64_t epoch);

/*  The sample at `position`.  position < count. */
uint64_t tnd_permute_at(const tnd_permute_t *self, uint64_t position);

/*  Replaces `count` positions by their samples.  Same as calls of tnd_permute_at, about a third
 *  cheaper. */
void tnd_permute_many(const tnd_permute_t *self, uint64_t *positions, size_t count);

/*  The position of `sample`.  sample < count. */
uint64_t tnd_permute_inverse(const tnd_permute_t *self, uint64_t sample);

#endif
