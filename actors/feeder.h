/*  actors/feeder.h - what a topology can say about a feeder. */
#ifndef TND_ACTORS_FEEDER_H
#define TND_ACTORS_FEEDER_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/graph/options.h"

typedef struct {
    uint64_t depth;
    tnd_strings_t devices;   /* empty: cpu:0 */
    const tnd_value_t *step; /* NULL: none */
    const char *after;       /* NULL: none */
    bool digest;
} tnd_feeder_options_t;

#endif
