/*  runtime/plan/pace.c - adapts time-outs to the number of connections. */
#include "runtime/plan/pace.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

/*  The first host of the plan on the same machine, judged by addresses. */
static uint32_t machine_of(const tnd_plan_t *plan, uint32_t host)
{
    const char *address = plan->hosts[host].address;
    bool loopback = tnd_placement_is_loopback(address);
    uint32_t h = 0;
    while (h < host && strcmp(plan->hosts[h].address, address) != 0 &&
           !(loopback && tnd_placement_is_loopback(plan->hosts[h].address)))
        h++;
    return h;
}

uint64_t tnd_pace_stretch(const tnd_plan_t *plan, uint64_t span_ns)
{
    uint64_t *ends = tnd_allocate_zeroed((size_t)plan->host_count + 1, sizeof *ends), most = 0;
    uint32_t *machine = tnd_allocate_zeroed((size_t)plan->host_count + 1, sizeof *machine);
    for (uint32_t h = 0; h < plan->host_count; h++)
        machine[h] = machine_of(plan, h);
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        const tnd_edge_t *edge = &plan->edges[e];
        uint32_t from = plan->instances[edge->from].host, to = plan->instances[edge->to].host;
        if (edge->transport == TND_TRANSPORT_INPROC || plan->hosts[from].spare ||
            plan->hosts[to].spare)
            continue;
        ends[machine[from]]++;
        ends[machine[to]]++;
    }
    for (uint32_t h = 1; h < plan->host_count; h++) {
        ends[machine[0]] += !plan->hosts[h].spare; /* control */
        ends[machine[h]] += !plan->hosts[h].spare;
    }
    for (uint32_t h = 0; h < plan->host_count; h++)
        most = ends[h] > most ? ends[h] : most;
    free(machine);
    free(ends);
    most = most > TND_PACE_ENDS ? most : TND_PACE_ENDS;
    most = most < TND_PACE_MOST * TND_PACE_ENDS ? most : TND_PACE_MOST * TND_PACE_ENDS;
    return span_ns / TND_PACE_ENDS * most;
}
