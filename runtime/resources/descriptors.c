/*  runtime/resources/descriptors.c - how many file descriptors a host of a plan needs. */
#include "runtime/resources/descriptors.h"

#include <stdlib.h>

#include "runtime/base/allocation.h"
#include "runtime/data/open_files.h"

enum {
    /*  Three standard streams; statistics, report, metrics, lock of the run and of a checkpoint;
     *  signals (2), writers of lines (3) and the mailbox of control. */
    PROCESS = 14,
    ACTOR = 1, /* schedstat of its thread */
    CHILD = 2, /* its process, and a pipe while it is started */
    APART =
        9, /* an interpreter: its process, socket, memory, program and leash, two while it starts,
                  and its part of the process that it is a copy of */
    BRIEF = 8,      /* files of a checkpoint, a model, a plugin, a folder that is listed */
    BRIEF_DATA = 2, /* of each actor with data: a file being opened, another being loaded */
    WAYS = 2 * TND_PORT_MAX * 3 /* ports of an actor, by each transport */
};

/*  Of one process; counted twice for hosts that may join later. */
typedef struct {
    uint64_t listeners, accepted, dialled, spare_accepted, spare_dialled;
} counted_t;

/*  Counts the listener of an edge once, however many edges share it. */
static bool is_new(uint8_t *seen, const tnd_edge_t *edge)
{
    uint32_t instance = edge->from_connects ? edge->to : edge->from;
    uint32_t port = edge->from_connects ? TND_PORT_MAX + edge->inlet : edge->outlet;
    uint8_t *way = &seen[(size_t)instance * WAYS + port * 3 + (uint32_t)edge->transport];
    bool was = *way != 0;
    *way = 1;
    return !was;
}

/*  The operations of an actor that run in processes of their own. */
static uint64_t count_apart(const tnd_instance_t *instance)
{
    const tnd_part_list_t *ops =
        tnd_options_field(&instance->kind->table, instance->options, "ops", TND_OPTION_PARTS);
    uint64_t count = 0;
    for (size_t i = 0; ops != NULL && i < ops->count; i++)
        count += (tnd_op_spec_of(ops->items[i].table)->caps & TND_OP_APART) != 0;
    return count;
}

/*  Whether a feeder or a reducer has memory for values that other processes read, which is a file. */
static bool has_memory(const tnd_plan_t *plan, uint32_t instance)
{
    bool has = false;
    for (uint32_t e = 0; e < plan->edge_count && plan->host_count > 1; e++) {
        const tnd_edge_t *edge = &plan->edges[e];
        has = has || ((edge->from == instance || edge->to == instance) &&
                      plan->instances[edge->to].kind->role == TND_ROLE_REDUCER);
    }
    return has;
}

/*  Control: the leader listens, every other host connects to it. */
static void count_control(const tnd_plan_t *plan, uint32_t host, counted_t *counted)
{
    if (plan->host_count == 1)
        return;
    counted->listeners += host == 0;
    counted->dialled += host != 0;
    for (uint32_t h = 1; h < plan->host_count && host == 0; h++) {
        counted->accepted++;
        counted->spare_accepted += plan->hosts[h].spare;
    }
}

void tnd_descriptors_count(tnd_descriptors_t *self, const tnd_plan_t *plan, uint32_t host,
                           const tnd_link_cost_t *cost)
{
    uint64_t actors = 0, children = 0, data = 0, apart = 0, memories = 0;
    counted_t counted = {0};
    uint8_t *seen = tnd_allocate_zeroed((size_t)plan->instance_count + 1, WAYS);
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        if (plan->instances[i].host != host)
            continue;
        actors++;
        apart += count_apart(&plan->instances[i]);
        memories += has_memory(plan, i);
        data += plan->instances[i].kind->instances == TND_INSTANCE_LANE;
    }
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        const tnd_edge_t *edge = &plan->edges[e];
        uint32_t from = plan->instances[edge->from].host, to = plan->instances[edge->to].host;
        uint32_t binder = edge->from_connects ? to : from;
        uint32_t dialler = edge->from_connects ? from : to;
        if (edge->transport == TND_TRANSPORT_INPROC)
            continue;
        counted.listeners += binder == host && is_new(seen, edge);
        counted.accepted += binder == host;
        counted.dialled += dialler == host;
        counted.spare_accepted += binder == host && plan->hosts[dialler].spare;
        counted.spare_dialled += dialler == host && plan->hosts[binder].spare;
    }
    free(seen);
    count_control(plan, host, &counted);
    for (uint32_t h = 0; h < plan->host_count; h++)
        children += plan->hosts[h].isolated && plan->hosts[h].parent == host;
    *self = (tnd_descriptors_t){
        .process = PROCESS + cost->context,
        .actors = actors * (ACTOR + cost->hub) + memories,
        .listeners = counted.listeners * cost->listener,
        .connections = counted.dialled * cost->dialled + counted.accepted * cost->accepted,
        .children = children * CHILD + apart * APART,
        .reserve = BRIEF + data * BRIEF_DATA +
                   (counted.dialled - counted.spare_dialled) * cost->dialled +
                   (counted.accepted - counted.spare_accepted) * cost->accepted,
    };
    self->total = self->process + self->actors + self->listeners + self->connections +
                  self->children + self->reserve;
}

static tnd_status_t check_one(const tnd_plan_t *plan, uint32_t host, const tnd_link_cost_t *cost,
                              tnd_error_t *error)
{
    tnd_descriptors_t needed;
    tnd_error_t why;
    tnd_descriptors_count(&needed, plan, host, cost);
    if (tnd_open_files_reserve(needed.total, &why) != TND_OK)
        return tnd_fail(error, "host %s cannot start: %s", plan->hosts[host].name, why.text);
    tnd_open_files_release(needed.total);
    return TND_OK;
}

tnd_status_t tnd_descriptors_check(const tnd_plan_t *plan, uint32_t host,
                                   const tnd_link_cost_t *cost, tnd_error_t *error)
{
    TND_TRY(check_one(plan, host, cost, error));
    for (uint32_t h = 0; h < plan->host_count; h++)
        if (plan->hosts[h].isolated && plan->hosts[h].parent == host)
            TND_TRY(check_one(plan, h, cost, error));
    return TND_OK;
}
