/*  runtime/plan/placement_ports.c - checks that ranges of ports are large enough. */
#include "runtime/plan/placement_internal.h"

/*  One tcp port for each port of an instance that other machines connect to. */
static void count_binds(const placer_t *self, uint32_t *needs)
{
    const tnd_plan_t *plan = self->plan;
    uint32_t instances = plan->instance_count + plan->spare_instances;
    uint32_t *bound = tnd_arena_array(arena_of(self), instances, sizeof *bound);
    for (uint32_t e = 0; e < plan->edge_count + plan->spare_edges; e++) {
        const tnd_edge_t *edge = &plan->edges[e];
        uint32_t who = edge->from_connects ? edge->to : edge->from;
        uint32_t bit = edge->from_connects ? TND_PORT_MAX + edge->inlet : edge->outlet;
        if (edge->transport != TND_TRANSPORT_TCP || (bound[who] >> bit & 1) != 0)
            continue;
        bound[who] |= 1u << bit;
        needs[plan->instances[who].host]++;
    }
}

/*  Whether two hosts share a range of ports. */
static bool share(const tnd_plan_host_t *a, const tnd_plan_host_t *b)
{
    return a->ports_first == b->ports_first && a->ports_last == b->ports_last &&
           strcmp(a->listen, b->listen) == 0 && same_machine(a->address, b->address);
}

/*  The place of the range of a host. */
static tnd_mark_t mark_of(const placer_t *self, uint32_t index)
{
    const tnd_value_t *ports = tnd_value_get(self->topology->root, "ports");
    const host_t *host = &self->hosts[index];
    if (host->isolated)
        host = &self->hosts[host->parent];
    bool own = host->options != NULL && host->options->ports != NULL;
    return !own && ports != NULL ? ports->mark : tnd_placer_mark(host, "ports");
}

static void refuse(placer_t *self, uint32_t index, uint32_t hosts, uint32_t needed)
{
    const tnd_plan_host_t *host = &self->plan_hosts[index];
    tnd_diagnostics_t *diagnostics = diagnostics_of(self);
    char others[64] = "";
    if (hosts > 1)
        snprintf(others, sizeof others, " and %u other%s on this machine", hosts - 1,
                 hosts > 2 ? "s" : "");
    tnd_diagnostics_add(diagnostics, TND_T052_PORTS, mark_of(self, index),
                        "host `%s`%s listen%s at %u ports, and `ports: %u-%u` has %u", host->name,
                        others, hosts > 1 ? "" : "s", needed, host->ports_first, host->ports_last,
                        host->ports_last - host->ports_first + 1);
    if (host->ports_first + needed - 1 <= UINT16_MAX)
        tnd_diagnostics_help(diagnostics, "the smallest range that is enough is `%u-%u`",
                             host->ports_first, host->ports_first + needed - 1);
}

void tnd_placer_check_ports(placer_t *self)
{
    uint32_t *needs =
        tnd_arena_array(arena_of(self), self->host_count + self->spare_count, sizeof *needs);
    const tnd_plan_host_t *leader = &self->plan_hosts[0];
    count_binds(self, needs);
    for (uint32_t i = 0; i < self->host_count; i++) {
        const tnd_plan_host_t *host = &self->plan_hosts[i];
        uint32_t needed = 0, hosts = 0;
        bool known = host->ports_first == 0;
        for (uint32_t j = 0; j < self->host_count && !known; j++) {
            if (!share(host, &self->plan_hosts[j]))
                continue;
            known = j < i;
            hosts += needs[j] > 0;
            needed += needs[j];
        }
        bool control = share(host, leader) && leader->port >= host->ports_first &&
                       leader->port <= host->ports_last;
        needed += control;
        if (!known && needed > host->ports_last - host->ports_first + 1)
            refuse(self, i, hosts, needed);
    }
}
