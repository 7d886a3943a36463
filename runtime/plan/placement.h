/*  runtime/plan/placement.h - the plan of a run: where each part of a graph runs.
 *
 *  A plan is flat, ordered and the same on every host that reads the same files: hosts, instances
 *  of actors, connections between instances, and which replica is carried by which device of which
 *  feeder.  An instance's number is its place in the list; control, links and statistics use it.
 *
 *  Ownership: the graph owns the plan.  Threads: const; any. */
#ifndef TND_RUNTIME_PLAN_PLACEMENT_H
#define TND_RUNTIME_PLAN_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/core/protocol/admission.h"
#include "runtime/core/stream/split.h"
#include "runtime/option/spec.h"
#include "runtime/topology/topology.h"

typedef struct tnd_program_array tnd_program_array_t;
typedef struct tnd_roster_list tnd_roster_list_t;
typedef struct tnd_roster_request tnd_roster_request_t;

typedef enum { TND_TRANSPORT_INPROC, TND_TRANSPORT_IPC, TND_TRANSPORT_TCP } tnd_transport_t;

typedef struct {
    const char *name;
    const char *address;              /* "127.0.0.1" where none was given */
    const char *listen;               /* the address that it binds; by default `address` */
    uint32_t port;                    /* of control; others connect to that of the leader; 0: any */
    uint32_t ports_first, ports_last; /* `ports:`; 0, 0: ephemeral */
    const char *data;                 /* value of ${data} there, or NULL */
    const char *const *devices;       /* "cpu:0", ...: of its feeders, in order of use */
    const char *const *written; /* of each: its name, or that of several: "cpu:[0-3]", "auto" */
    uint32_t device_count;
    uint64_t memory;       /* budget in bytes; 0: none given */
    tnd_restart_t restart; /* NEVER for the leader and hosts with replicas */
    bool isolated;         /* a process that host `parent` starts, for one of its actors */
    uint32_t parent;       /* of an isolated one: index */
    const char *pool;      /* "pool" of `pool[0-9]` where it carries only workers; NULL otherwise */
    bool spare;            /* additional host of such a range, which may join later */
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
    bool tuned; /* `workers: auto`: one of several of which the run decides how many work */
    const tnd_topology_actor_t *written; /* as in the file, with places; NULL: in none */
} tnd_instance_t;

/*  Two instances connected by a data link; `to` is downstream.  Stateless actors connect and
 *  stateful ones bind; if both bind, the downstream one connects. */
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
    const char *feeder; /* name of the actor; NULL: the graph is open-ended */
    const char *after;  /* the feeder of the preceding chain; NULL for the first */
    tnd_period_t every; /* how often it is fed while that chain rests; both 0: only after its end */
    const tnd_best_options_t *best; /* NULL: none is wanted, or another chain has it */
    tnd_lane_feed_t feed;           /* how its lanes feed replicas */
    uint32_t replicas;
    uint64_t batch;                /* rows of a global batch; 0: none are given */
    const tnd_carrier_t *carriers; /* by replica; NULL without a feeder */
} tnd_chain_plan_t;

/*  Whether it is fed several times in a run. */
static inline bool tnd_chain_repeats(const tnd_chain_plan_t *self)
{
    return self->every.steps > 0 || self->every.epochs > 0;
}

typedef struct tnd_plan {
    const char *name;      /* of the graph */
    const char *directory; /* of its first file, searched for plugins; NULL: not known */
    const char *plugins;   /* a line for each, with its build; NULL: not known */
    const tnd_program_array_t *arrays; /* of the program, for its readers; NULL: none */
    const tnd_topology_t *topology;    /* that it places */
    uint64_t seed;
    uint32_t lanes;
    uint64_t fingerprint[2];
    uint64_t link_timeout_ns, dead_after_ns, start_timeout_ns, hung_after_ns, restart_timeout_ns;
    tnd_restarts_t restarts;
    const tnd_checkpoint_options_t *checkpoint; /* NULL: no checkpoints */
    bool tolerant;                              /* numeric: tolerant */
    const struct tnd_plan *whole;               /* of which it shows some actors; NULL: it is all */
    bool unread;               /* its data are only opened to check them: no row is read */
    tnd_admission_t admission; /* which processes may connect to those of this user */
    const tnd_plan_host_t *hosts;
    uint32_t host_count; /* hosts[0] leads */
    const tnd_instance_t *instances;
    uint32_t instance_count;
    const tnd_edge_t *edges;
    uint32_t edge_count;
    const tnd_chain_plan_t *chains;
    uint32_t chain_count;
    /*  The hosts of the range `[*]`, in the order of the file; rest_count 0: there is none. */
    uint32_t rest_first, rest_count;
    uint64_t roster; /* the number of the roster by which they were dealt; 0: none */
    const tnd_roster_request_t *met; /* what this process has said there; NULL: none met */
    struct tnd_liveness *liveness;   /* of its processes; borrowed; NULL: not known */
    const char *leader_machine; /* its name, as the processes learnt when they met; "": not known */
    uint32_t least;             /* of them are enough (`min:`); 0: all */
    const char *network;        /* theirs, such as "10.1.0.0/16"; NULL: not given */
    /*  At the end of each list: hosts that may join by `--host POOL+`, with instances and edges. */
    uint32_t spare_hosts, spare_instances, spare_edges;
} tnd_plan_t;

/*  The plan including its spares, which a run uses. */
tnd_plan_t tnd_placement_whole(const tnd_plan_t *plan);
/*  Whether a holder of parameters deals the steps of a chain, each to one replica. */
bool tnd_plan_is_dealt(const tnd_plan_t *plan, uint32_t chain);
/*  The role that an instance plays in the protocol: that of its kind, but for a feeder of such a chain. */
tnd_role_t tnd_plan_role(const tnd_plan_t *plan, uint32_t instance);
/*  Whether several devices reduce, so that each may wait for the others. */
bool tnd_placement_reduces(const tnd_plan_t *plan);

/*  Whether an instance gets its rows from a cache. */
bool tnd_plan_is_cached(const tnd_plan_t *plan, uint32_t instance);

/*  The chain whose models a chain evaluates: itself without `after:`, or if that chain is not in the plan. */
uint32_t tnd_plan_trains(const tnd_plan_t *plan, uint32_t chain);

/*  An instance of the next actor by the links, on any host; NULL after a batcher. */
const tnd_instance_t *tnd_plan_next(const tnd_plan_t *plan, const tnd_instance_t *instance);

/*  Places a topology.  `data`: value of ${data} on every host, overriding the files;
 *  `fallback_data`: value if neither sets one; `local`: the host of this process, whose paths must
 *  be known, NULL: all; `launched`: the processes that a launcher has started, to which the range
 *  `[*]` is dealt, NULL: one process.  Returns NULL after an error; all errors are reported in one
 *  pass. */
const tnd_plan_t *tnd_placement_resolve(const tnd_options_context_t *context,
                                        const tnd_topology_t *topology, const char *data,
                                        const char *fallback_data, const char *local,
                                        const tnd_roster_list_t *launched);

/*  Reports errors in the hosts of a topology that could not be resolved. */
void tnd_placement_look(const tnd_options_context_t *context, const tnd_topology_t *topology);

/*  The part of an unresolved topology that can still be inspected: a plan of one host with an
 *  instance for each actor with valid options.  NULL if the topology has hosts. */
const tnd_plan_t *tnd_placement_sketch(const tnd_options_context_t *context,
                                       const tnd_topology_t *topology, const char *data,
                                       const char *fallback_data);

/*  Reports an error about an instance at its place in the file. */
void tnd_placement_report(const tnd_instance_t *instance, tnd_diagnostic_code_t code,
                          const tnd_error_t *error, tnd_diagnostics_t *diagnostics);

/*  "inproc", "ipc", "tcp" */
const char *tnd_transport_name(tnd_transport_t transport);

/*  Whether an address is a loopback address: 127.x, ::1, localhost. */
bool tnd_placement_is_loopback(const char *address);

/*  The table of a host, for help and editors. */
extern const tnd_table_t tnd_host_table;

#endif
