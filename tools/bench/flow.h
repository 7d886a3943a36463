/*  tools/bench/flow.h - runs a graph and measures it.
 *
 *  Its feeder has no step, so it discards the batches.  The first epoch is not measured: it reads
 *  all files, allocates memory and starts threads.  With `steps` that many steps are measured, from
 *  the start of the session.  Exits with the reason if the run fails. */
#ifndef TND_TOOLS_BENCH_FLOW_H
#define TND_TOOLS_BENCH_FLOW_H

#include <stdint.h>

#include "tools/bench/bench.h"

/*  Options of the actors, in the language of topology files; `preprocessor` and `cache` NULL:
 *  none. */
typedef struct {
    const char *reader, *preprocessor, *cache, *batcher, *feeder;
    uint64_t steps; /* 0: all steps of the epochs */
    uint32_t hosts; /* 0: this process alone; else this many hosts as threads, a lane each */
} bench_graph_t;

bench_took_t bench_flow(const bench_graph_t *graph);
/*  A port that is free now. */
unsigned bench_free_port(void);

#endif
