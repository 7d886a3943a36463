/*  runtime/resources/memory_sum.h - the upper bound of a host's memory, term by term.
 *
 *  Each actor reports its terms (`estimate_memory` of runtime/interface/kind.h): pools,
 *  reservations, receive windows and slots.  Pages of mapped files belong to the system's cache and
 *  are not counted, nor what a user's step allocates, posts to reductions or retains of its
 *  batches.  The processes of isolated actors are part of their host: its sum contains their actors
 *  and the base memory of each process.
 *
 *  Ownership: free the result of tnd_memory_sum with tnd_memory_free.
 *  Threads: any. */
#ifndef TND_RUNTIME_RESOURCES_MEMORY_SUM_H
#define TND_RUNTIME_RESOURCES_MEMORY_SUM_H

#include "runtime/resources/process_memory.h"
#include "runtime/text/diagnostic.h"

typedef struct {
    tnd_memory_estimate_t estimate;
    uint32_t workers; /* of an actor with `workers: auto` that may be awake */
    bool known;       /* false: terms are missing because another host has to describe their rows */
} tnd_memory_t;

/*  Of a host that is not part of another, with as many workers of `workers: auto` as fit into its
 *  limit, at least one. */
void tnd_memory_sum(tnd_memory_t *self, const tnd_plan_t *plan, uint32_t host,
                    tnd_stream_of_t stream_of, const void *context);
void tnd_memory_free(tnd_memory_t *self);

/*  Whether the host stays within its `memory:`, or, without that option on this machine, within what
 *  the machine and the control groups of this process allow.  If not, an error tells the sum and its
 *  largest term.  An isolated actor's process is part of its parent's sum.  *workers_p: those of an
 *  actor with `workers: auto` that may be awake. */
bool tnd_memory_fits(const tnd_plan_t *plan, uint32_t host, tnd_stream_of_t stream_of,
                     const void *context, uint32_t *workers_p, tnd_diagnostics_t *diagnostics);

/*  Whether the hosts of this machine, each of which may fit alone, fit into it together.  If not, `text`
 *  says so, for a warning: the more hosts there are, the less of their sum is used. */
bool tnd_memory_fits_together(const tnd_plan_t *plan, tnd_stream_of_t stream_of,
                              const void *context, char *text, size_t room);

#endif
