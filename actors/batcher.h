/*  actors/batcher.h - what a topology can say about a batcher. */
#ifndef TND_ACTORS_BATCHER_H
#define TND_ACTORS_BATCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/core/join.h"
#include "runtime/core/split.h"
#include "runtime/graph/options.h"

typedef struct {
    uint64_t size;
    uint64_t replicas;
    int split;     /* tnd_split_t */
    int remainder; /* tnd_remainder_t */
    bool span_epochs;
    tnd_extent_t block; /* zero: chosen from the links and the rows */
} tnd_batcher_options_t;

#endif
