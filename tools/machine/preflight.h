/*  tools/machine/preflight.h - what can be known of a plan on this machine, before any start.
 *
 *  Opens the sources of the hosts that are this machine, as a run would, looks for their plugins
 *  and devices, and derives the schemas along each chain.  What other hosts have awaits them.  A
 *  source or an operation that hangs meanwhile is an error, and is left behind, with the graph.
 *
 *  Ownership: the caller's, to tnd_preflight_destroy; the plan must outlive it.  Threads: one.
 */
#ifndef TUNDISH_TOOLS_SURVEY_H
#define TUNDISH_TOOLS_SURVEY_H

#include "runtime/plan/graph.h"
#include "runtime/plan/placement.h"
#include "runtime/data/stream.h"

typedef struct {
    bool known; /* all of `stream` is */
    tnd_stream_t stream;
} tnd_preflight_chain_t;

/*  One thing that another host has to check. */
typedef struct {
    const char *host, *actor;
} tnd_preflight_await_t;

typedef struct {
    tnd_preflight_chain_t *chains; /* as in the plan */
    tnd_preflight_await_t *awaits;
    uint32_t await_count;
    bool hung; /* nothing is known */
} tnd_preflight_t;

/*  Reports what is missing or does not fit; the plan is one of `graph`. */
void tnd_preflight_make(tnd_preflight_t *self, tnd_graph_t *graph, const tnd_plan_t *plan,
                        tnd_diagnostics_t *diagnostics);
void tnd_preflight_destroy(tnd_preflight_t *self);

#endif
