/*  tools/report/memory.h - the most memory that a host's part of a run takes, term by term.
 *
 *  What each actor takes it says itself (`needs` of runtime/interface/kind.h): pools, reservations,
 * receive windows and slots at their bounds.  Pages of mapped files are the system's cache and not
 * counted, nor what a user's step allocates, posts to reductions or keeps of its batches.  The
 * processes that a host starts for isolated actors are parts of it: their actors and what each
 * process takes by itself are in its sum, and they have none of their own.
 *
 *  Ownership: tnd_memory_free ends what tnd_memory_sum made.  Threads: any.
 */
#ifndef TUNDISH_TOOLS_MEMORY_H
#define TUNDISH_TOOLS_MEMORY_H

#include "runtime/plan/placement.h"
#include "runtime/observe/memory_estimate.h"
#include "tools/machine/preflight.h"

typedef struct {
    tnd_memory_estimate_t needs;
    bool known; /* false: terms are missing whose rows another host has to describe */
} tnd_memory_t;

/*  Of a host that is nobody's part. */
void tnd_memory_sum(tnd_memory_t *self, const tnd_plan_t *plan, uint32_t host,
                    const tnd_preflight_t *survey);
/*  Reports it if the host's part may take more than its `memory:` allows, or, without one on this
 *  machine, than the machine and the control groups of this process do: how much, and by what most.
 * Of an isolated actor's process its parent has reported.
 */
void tnd_memory_check(const tnd_plan_t *plan, uint32_t host, const tnd_preflight_t *survey,
                      tnd_diagnostics_t *diagnostics);
void tnd_memory_free(tnd_memory_t *self);

#endif
