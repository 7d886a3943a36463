/*  tools/bench/flow.h - a graph that is run and counted, once it flows.
 *
 *  Its feeder has no step: it feeds and discards.  What comes after the first epoch is counted: by
 *  then all files have been touched, memory has been taken, threads have started.  With `steps`
 *  that many are run and counted, from the start of the session.  Exits with the reason when the
 *  run fails.
 */
#ifndef TND_TOOLS_BENCH_FLOW_H
#define TND_TOOLS_BENCH_FLOW_H

#include <stdint.h>

#include "tools/bench/bench.h"

/*  Options of the actors, in the language of topology files; `preprocessor` NULL: none. */
typedef struct {
    const char *reader, *preprocessor, *batcher, *feeder;
    uint64_t steps; /* 0: all of the epochs */
    uint32_t hosts; /* 0: this process alone; else as many, in threads of it, with a lane each */
} bench_graph_t;

bench_took_t bench_flow(const bench_graph_t *graph);

#endif
