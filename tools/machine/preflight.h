/*  tools/machine/preflight.h - checks a plan against this machine before the start.
 *
 *  Opens the sources of the hosts on this machine, as a run would, searches their plugins and
 *  devices, derives the schemas along each chain, and compares the memory of each host with its limit.
 *  What only other hosts can check is listed.
 *  A source or an operation that hangs is an error; its memory and the graph are then leaked.
 *
 *  Ownership: the caller's, until tnd_preflight_destroy; the plan must outlive it.
 *  Threads: one. */
#ifndef TND_TOOLS_MACHINE_PREFLIGHT_H
#define TND_TOOLS_MACHINE_PREFLIGHT_H

#include "runtime/data/stream.h"
#include "runtime/plan/graph.h"
#include "runtime/plan/placement.h"
#include "runtime/resources/resources.h"

typedef struct {
    bool known; /* all fields of `stream` are known */
    tnd_stream_t stream;
} tnd_preflight_chain_t;

/*  Something that another host has to check. */
typedef struct {
    const char *host, *actor;
} tnd_preflight_await_t;

typedef struct {
    tnd_preflight_chain_t *chains; /* as in the plan */
    uint32_t chain_count;
    tnd_preflight_await_t *awaits;
    uint32_t await_count;
} tnd_preflight_t;

/*  Reports what is missing or does not fit; the plan belongs to `graph`. */
void tnd_preflight_make(tnd_preflight_t *self, tnd_graph_t *graph, const tnd_plan_t *plan,
                        tnd_diagnostics_t *diagnostics);
/*  What is open: the data of hosts of this machine. */
typedef struct {
    const tnd_plan_t *plan;
    const tnd_preflight_t *preflight;
    const tnd_resources_t *hosts;
    uint32_t host_count;
} tnd_preflight_opened_t;

/*  The same without the memory sums; calls `use` while all data are open, also spools, as a run would
 *  have them.  `use` is called on another thread, and must report its progress to `call`. */
typedef void tnd_preflight_use_fn(void *context, const tnd_preflight_opened_t *opened,
                                  tnd_guarded_call_t *call);
void tnd_preflight_use(tnd_preflight_t *self, tnd_graph_t *graph, const tnd_plan_t *plan,
                       tnd_preflight_use_fn *use, void *context, tnd_diagnostics_t *diagnostics);
/*  The stream of a chain, or NULL if it is not known; a tnd_stream_of_t. */
const tnd_stream_t *tnd_preflight_stream(const void *preflight, uint32_t chain);
void tnd_preflight_destroy(tnd_preflight_t *self);

#endif
