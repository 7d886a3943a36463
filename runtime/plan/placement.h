/*  runtime/plan/placement.h - where everything of a graph stands: the plan of a run.
 *
 *  A plan is flat, ordered and the same on every host that reads the same files: hosts, instances
 *  of actors, connections between instances, and which replica is carried by which device of which
 *  feeder.  An instance's number is its place in the list; control, links and statistics use it.
 *
 *  Ownership: the plan belongs to the graph and lives as long.  Threads: const; any.
 */
#ifndef TND_RUNTIME_PLAN_PLACEMENT_H
#define TND_RUNTIME_PLAN_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/option/spec.h"
#include "runtime/topology/topology.h"
#include "runtime/base/status.h"

typedef enum { TND_TRANSPORT_INPROC, TND_TRANSPORT_IPC, TND_TRANSPORT_TCP } tnd_transport_t;

typedef struct {
    const char *name;
    const char *address; /* "127.0.0.1" where none was given */
    const char *listen;  /* what it binds: `address`, unless something stands before it */
    uint32_t port;       /* of control; the leader's is the one that others connect to; 0: any */
    uint32_t ports_first, ports_last; /* `ports:`; 0, 0: ephemeral */
    const char *data;                 /* what ${data} stands for there; NULL: not given */
    const char *const *devices;       /* "cpu:0", ...: of its feeders, in order of use */
    uint32_t device_count;
    uint64_t memory;       /* budget in bytes; 0: none given */
    tnd_restart_t restart; /* when it died; NEVER for who leads or carries replicas */
    bool isolated;         /* a process that host `parent` starts, for one of its actors */
    uint32_t parent;       /* of an isolated one: index */
    const char *pool;      /* "pool" of `pool[0-9]` where it carries only workers; NULL otherwise */
    bool spare;            /* one more of such a range: nobody waits for it */
} tnd_plan_host_t;

typedef struct {
    const char *actor; /* as in the file: "read" */
    const char *name;  /* of the instance: "read.0", "prep.3", "feed@b", "mean" */
    const tnd_kind_spec_t *kind;
    const void *options; /* the struct that kind->table describes; paths are those of its host */
    uint32_t host;       /* index */
    uint32_t chain;      /* index: 0 is the first chain of the file, those with `after:` follow */
    uint32_t lane;       /* of a reader or batcher */
    uint32_t number;     /* of a worker or reader among those of its actor (and lane) */
    uint32_t lane_first, lane_count;       /* lanes that a worker serves; all of them for others */
    uint32_t replica_first, replica_count; /* that a feeder carries */
    const tnd_topology_actor_t *written;   /* as in the file, with places; NULL: in none */
} tnd_instance_t;

/*  Two instances that talk over a data link.  `to` is downstream; the connecting end follows from
 *  the kinds: stateless actors connect, stateful ones bind, and where both bind the downstream one
 *  connects.
 */
typedef struct {
    uint32_t from, to;      /* instances */
    uint32_t outlet, inlet; /* indices into the kinds' ports */
    tnd_transport_t transport;
    bool from_connects;
} tnd_edge_t;

typedef struct {
    uint32_t instance; /* the feeder */
    uint32_t device;   /* index into its host's devices */
} tnd_carrier_t;

typedef struct {
    const char *feeder; /* name of the actor; NULL: the graph ends before one */
    const char *after;  /* the feeder whose chain comes first; NULL: it is the first */
    uint32_t replicas;
    const tnd_carrier_t *carriers; /* by replica; NULL without a feeder */
} tnd_chain_plan_t;

typedef struct tnd_plan {
    const char *name;      /* of the graph */
    const char *directory; /* of its first file, where plugins are looked for; NULL: not known */
    const tnd_topology_t *topology; /* that it places */
    uint64_t seed;
    uint32_t lanes;
    uint64_t fingerprint[2];
    uint64_t link_timeout_ns, dead_after_ns, start_timeout_ns, hung_after_ns, restart_timeout_ns;
    tnd_restarts_t restarts;
    const tnd_checkpoint_options_t *checkpoint; /* NULL: the state is not kept */
    bool tolerant;                              /* numeric: tolerant */
    bool insecure;
    const tnd_plan_host_t *hosts;
    uint32_t host_count; /* hosts[0] leads */
    const tnd_instance_t *instances;
    uint32_t instance_count;
    const tnd_edge_t *edges;
    uint32_t edge_count;
    const tnd_chain_plan_t *chains;
    uint32_t chain_count;
    /*  Behind the lists: hosts that may join by `--host POOL+`, what they would carry, and how it
     * is connected.
     */
    uint32_t spare_hosts, spare_instances, spare_edges;
} tnd_plan_t;

/*  A plan that counts its spares in: what a run goes by. */
tnd_plan_t tnd_placement_whole(const tnd_plan_t *plan);
/*  Whether several devices reduce what their replicas post: each of them may wait for the others.
 */
bool tnd_placement_reduces(const tnd_plan_t *plan);

/*  Places a topology.  `data`: what ${data} stands for on every host, above what the files say;
 *  `fallback_data`: where neither says anything; `local`: the host of this process, whose paths
 * must be known, NULL: all.  NULL after an error; all that can be found in one pass are reported.
 */
const tnd_plan_t *tnd_placement_resolve(const tnd_options_context_t *context,
                                        const tnd_topology_t *topology, const char *data,
                                        const char *fallback_data, const char *local);

/*  Reports what is wrong with the hosts of a topology that could not be resolved. */
void tnd_placement_look(const tnd_options_context_t *context, const tnd_topology_t *topology);

/*  What of a topology that could not be resolved can still be looked at: as a plan of one host, an
 *  instance for each actor whose own options are good, and nothing else.  NULL: it has hosts, and
 *  nobody knows what stands where.
 */
const tnd_plan_t *tnd_placement_sketch(const tnd_options_context_t *context,
                                       const tnd_topology_t *topology, const char *data,
                                       const char *fallback_data);

/*  Reports an error about an instance at the place that it is about. */
void tnd_placement_report(const tnd_instance_t *instance, tnd_diagnostic_code_t code,
                          const tnd_error_t *error, tnd_diagnostics_t *diagnostics);

/*  "inproc", "ipc", "tcp" */
const char *tnd_transport_name(tnd_transport_t transport);

/*  Whether an address is this machine's own: 127.x, ::1, localhost. */
bool tnd_placement_is_loopback(const char *address);

/*  The table of a host, for help and editors. */
extern const tnd_table_t tnd_host_table;

#endif
