/*  runtime/topology/best_options.h - `best:` of a feeder with `after:`: which validation is the best one.
 *
 *  Threads: const; any. */
#ifndef TND_RUNTIME_TOPOLOGY_BEST_OPTIONS_H
#define TND_RUNTIME_TOPOLOGY_BEST_OPTIONS_H

#include "runtime/core/session/best.h"
#include "runtime/option/option.h"

typedef struct tnd_best_options {
    const char *metric; /* that the step reports */
    int of;             /* 0: the most, 1: the least */
    uint64_t patience;  /* 0: the run does not end by it */
} tnd_best_options_t;

extern const tnd_table_t tnd_best_table;

/*  What decides, before any validation. */
tnd_best_t tnd_best_options_begin(const tnd_best_options_t *self);

#endif
