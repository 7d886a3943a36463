/*  runtime/resources/process_memory.h - the upper bound of the memory of one process of a run.
 *
 *  Each actor adds its own terms (`estimate_memory` of runtime/interface/kind.h), and the process a
 *  base, its threads, and its observers: statistics pages, what inspectors and the report copy of
 *  them, the summary, and lines of the log and of metrics that are not written yet.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_RESOURCES_PROCESS_MEMORY_H
#define TND_RUNTIME_RESOURCES_PROCESS_MEMORY_H

#include "runtime/data/stream.h"
#include "runtime/plan/memory_estimate.h"
#include "runtime/plan/placement.h"

/*  The most that an observer of a run keeps in the process of a host, besides copies of pages: in
 *  total, and on the leader in addition for each actor of the run. */
enum { TND_OBSERVER_BYTES = 4 << 20, TND_OBSERVER_ACTOR_BYTES = 96 << 10 };

/*  The stream of a chain, or NULL if it is not known. */
typedef const tnd_stream_t *(*tnd_stream_of_t)(const void *context, uint32_t chain);

/*  Adds the terms of the process of `host`, which is called `who` there.  Of an actor with
 *  `workers: auto`, `workers` are awake.  Returns false if terms are missing, because the stream of
 *  a chain is not known. */
bool tnd_process_memory_add(tnd_memory_estimate_t *estimate, const tnd_plan_t *plan, uint32_t host,
                            const char *who, uint32_t workers, tnd_stream_of_t stream_of,
                            const void *context);

#endif
