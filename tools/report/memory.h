/*  tools/report/memory.h - the upper bound of a host's memory, term by term.
 *
 *  Each actor reports its terms (`estimate_memory` of runtime/interface/kind.h): pools,
 *  reservations, receive windows and slots.  Pages of mapped files belong to the system's cache and
 *  are not counted, nor what a user's step allocates, posts to reductions or retains of its
 *  batches.  The processes of isolated actors are part of their host: its sum contains their actors
 *  and the base memory of each process.
 *
 *  Ownership: free the result of tnd_memory_sum with tnd_memory_free.
 *  Threads: any. */
#ifndef TND_TOOLS_REPORT_MEMORY_H
#define TND_TOOLS_REPORT_MEMORY_H

#include "runtime/plan/placement.h"
#include "runtime/host/host_config.h"
#include "runtime/observe/memory_estimate.h"
#include "tools/machine/preflight.h"

typedef struct {
    tnd_memory_estimate_t estimate;
    uint32_t workers; /* of an actor with `workers: auto` that may be awake */
    bool known;       /* false: terms are missing because another host has to describe their rows */
} tnd_memory_t;

/*  Of a host that is not part of another, with as many workers of `workers: auto` as fit into its
 *  limit, at least one. */
void tnd_memory_sum(tnd_memory_t *self, const tnd_plan_t *plan, uint32_t host,
                    const tnd_preflight_t *preflight);
/*  Reports an error if the host may use more than its `memory:`, or, without that option on this
 *  machine, than the machine and the control groups of this process allow: the sum and its largest
 *  term.  An isolated actor's process is reported by its parent.  Returns `workers` of the sum. */
uint32_t tnd_memory_check(const tnd_plan_t *plan, uint32_t host, const tnd_preflight_t *preflight,
                          tnd_diagnostics_t *diagnostics);
/*  Preflight and memory check of all hosts. */
void tnd_memory_preflight(tnd_preflight_t *preflight, tnd_graph_t *graph,
                          tnd_diagnostics_t *diagnostics);
void tnd_memory_free(tnd_memory_t *self);

/*  Checks a host in this way once its data are open, before a session starts. */
extern const tnd_review_t tnd_memory_review;

#endif
