/*  runtime/plan/placement_internal.h - the state of a placement, shared by its files.
 *
 *  placement_hosts.c reads the hosts, placement_devices.c devices, placement_assign.c assigns actors, lanes, workers and devices
 *  to them, placement_launched.c what depends on the processes of a launcher, placement.c builds the plan, and placement_ports.c
 *  counts its ports. */
#ifndef TND_RUNTIME_PLAN_PLACEMENT_INTERNAL_H
#define TND_RUNTIME_PLAN_PLACEMENT_INTERNAL_H

#include "runtime/core/session/roster.h"
#include "runtime/plan/placement.h"

#include <string.h>

enum { HOSTS_MAX = 4096, INSTANCES_MAX = 65536 };

typedef struct {
    const char *address;
    const char *listen;
    uint64_t port;
    const char *ports;
    const char *data;
    const tnd_value_t *actors;
    const char *lanes;
    const tnd_value_t *workers;
    const tnd_value_t *devices;
    int transport;
    int restart; /* tnd_restart_t */
    uint64_t more;
    const char *network;
    uint64_t min;
} host_options_t;

/*  HOST_ZMQ: as auto, and by ipc inside the host's own process. */
typedef enum { HOST_AUTO, HOST_IPC, HOST_TCP, HOST_ZMQ } host_transport_t;

typedef struct {
    const char *const *items, *const *written; /* see tnd_plan_host_t */
    size_t count;
    bool found; /* `auto` of several hosts: found when the others are known */
} devices_t;

/*  The share of an actor on a host. */
typedef struct {
    bool here;
    uint32_t lane_first, lanes; /* for an actor with one instance per lane */
    uint32_t workers;           /* 0: the actor's own option */
    bool tuned;                 /* `workers: auto` of this host */
    devices_t devices;          /* count 0: the actor's own option */
    uint32_t first, count;      /* its instances in the plan */
    const void *options;
    tnd_mark_t mark;
} share_t;

typedef struct {
    const char *name;
    const char *address, *listen;
    const char *data;
    tnd_mark_t mark;
    tnd_mark_t lanes_mark;
    const host_options_t *options; /* NULL: the implicit host of a file without hosts */
    const tnd_value_t *value;
    uint32_t lanes;  /* 0: not given */
    bool each;       /* `lanes: each`: an equal share of those that other hosts leave, or none */
    bool rest;       /* of the range `[*]` */
    share_t *shares; /* by actor */
    bool isolated;   /* see tnd_plan_host_t */
    uint32_t parent;
    const char *range; /* the text before the numbers of its range; NULL: none */
    const char *pool;
    bool spare;
} host_t;

typedef struct {
    const tnd_options_context_t *context;
    const tnd_topology_t *topology;
    const tnd_roster_list_t *launched; /* NULL: one process */
    uint32_t rest;                     /* hosts of the range `[*]` */
    tnd_plan_t *plan;
    host_t *hosts;
    uint32_t host_count; /* the spares follow them */
    uint32_t spare_count;
    tnd_plan_host_t *plan_hosts;
    tnd_instance_t *instances;
} placer_t;

static inline tnd_diagnostics_t *diagnostics_of(const placer_t *self)
{
    return self->context->diagnostics;
}

static inline tnd_arena_t *arena_of(const placer_t *self)
{
    return self->context->arena;
}
static inline bool same_machine(const char *address, const char *other)
{
    return strcmp(address, other) == 0 ||
           (tnd_placement_is_loopback(address) && tnd_placement_is_loopback(other));
}

static inline bool is_feeder(const tnd_topology_actor_t *actor)
{
    return actor->kind->role == TND_ROLE_FEEDER;
}

/* --- placement_hosts.c ------------------------------------------------------------------------ */

void tnd_placer_read_hosts(placer_t *self);
/*  The place of an option of a host, or of the host. */
tnd_mark_t tnd_placer_mark(const host_t *host, const char *name);

/* --- placement_launched.c --------------------------------------------------------------------- */

/*  What a process of the launcher told; NULL: nothing is known. */
const tnd_roster_process_t *tnd_placer_process(const placer_t *self, uint32_t host);
/*  Whether two hosts are on one machine, as far as it is known. */
bool tnd_placer_share_machine(const placer_t *self, uint32_t host, uint32_t other);
/*  The values of `${rank}` and so on there; a host that its parent starts has those of the parent. */
tnd_path_variables_t tnd_placer_variables(const placer_t *self, uint32_t host);
/*  `auto` of each host of an actor: its share of the devices of its machine. */
void tnd_placer_find_devices(placer_t *self, uint32_t actor);
/*  Takes the feeders from those hosts of `[*]` that would carry no replica. */
void tnd_placer_thin(placer_t *self);

/* --- placement_devices.c ---------------------------------------------------------------------- */

/*  Reads names of devices, written at `value`, which may be ranges or `auto`. Returns false after an
 *  error, which is reported. */
bool tnd_placer_read_devices(placer_t *self, const tnd_strings_t *written, const tnd_value_t *value,
                             devices_t *devices);

/* --- placement_ports.c ------------------------------------------------------------------------ */

/*  Checks that `ports:` has a port for each listener.  The edges exist. */
void tnd_placer_check_ports(placer_t *self);

/* --- placement_assign.c ----------------------------------------------------------------------- */

/*  The number of hosts of an actor. */
uint32_t tnd_placer_count(const placer_t *self, uint32_t actor);
/*  The number of copies of an actor on a host. */
uint32_t tnd_placer_workers(const placer_t *self, uint32_t host, uint32_t actor);
/*  Whether the number of workers that are awake changes in the run. */
bool tnd_placer_is_tuned(const placer_t *self, uint32_t host, uint32_t actor);
void tnd_placer_check_tuned(placer_t *self);
/*  Assigns lanes, workers and devices to hosts. */
void tnd_placer_deal(placer_t *self);
/*  Moves isolated actors to hosts that their host starts as processes. */
void tnd_placer_isolate(placer_t *self);
/*  Adds hosts that may join later. */
void tnd_placer_spare(placer_t *self);
void tnd_placer_deal_replicas(placer_t *self, const tnd_topology_chain_t *chain,
                              tnd_chain_plan_t *plan);

#endif
