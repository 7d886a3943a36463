/*  runtime/resources/process_memory.c - the upper bound of the memory of one process of a run. */
#include "runtime/resources/process_memory.h"

#include <inttypes.h>

#include "runtime/interface/kind.h"

enum { MIB = 1 << 20 };

/*  Threads of a process besides actors and devices: main, control, signals, messages. */
enum { THREADS = 4 };

static bool retains_processes(const tnd_plan_t *plan, uint32_t host)
{
    for (uint32_t h = 0; h < plan->host_count; h++)
        if (plan->hosts[h].isolated && plan->hosts[h].parent == host)
            return true;
    return false;
}

bool tnd_process_memory_add(tnd_memory_estimate_t *estimate, const tnd_plan_t *plan, uint32_t host,
                            const char *who, uint32_t workers, tnd_stream_of_t stream_of,
                            const void *context)
{
    uint64_t threads = THREADS + retains_processes(plan, host), before = estimate->threads;
    bool known = true;
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        if (instance->host != host)
            continue;
        const tnd_stream_t *stream = stream_of(context, instance->chain);
        const tnd_kind_t *kind = tnd_kind_of(instance->kind);
        threads++;
        if (instance->kind->role == TND_ROLE_FEEDER)
            threads += plan->hosts[host].device_count > 0 ? plan->hosts[host].device_count : 1;
        known = known && stream != NULL;
        estimate->asleep = instance->tuned && instance->number >= workers;
        if (stream != NULL && kind->estimate_memory != NULL)
            kind->estimate_memory(plan, i, stream, estimate);
    }
    threads += estimate->threads - before;
    tnd_memory_estimate_add(estimate, who, (16 + threads) * MIB,
                            "16 MiB, and 1 MiB for each of %" PRIu64 " threads", threads);
    return known;
}
