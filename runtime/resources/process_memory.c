/*  runtime/resources/process_memory.c - the upper bound of the memory of one process of a run. */
#include "runtime/resources/process_memory.h"

#include <inttypes.h>

#include "runtime/interface/kind.h"
#include "runtime/observe/pages.h"
#include "runtime/observe/run_page.h"
#include "runtime/observe/run_summary.h"
#include "runtime/resources/threads.h"

enum { MIB = 1 << 20 };

/*  Of the statistics pages of a host; those of actors elsewhere are never touched. */
static uint64_t pages_bytes(const tnd_plan_t *plan, uint32_t host)
{
    tnd_pages_shape_t shape = tnd_run_record_shape(plan, host);
    return tnd_run_record_bytes(&shape) + shape.histories * sizeof(tnd_statistics_t);
}

/*  Its own pages, and a copy for inspectors; the leader's report copies those of all hosts, into the
 *  record and by actor. */
static uint64_t observers_bytes(const tnd_plan_t *plan, uint32_t host)
{
    uint64_t bytes = TND_OBSERVER_BYTES + 2 * pages_bytes(plan, host);
    for (uint32_t h = 0; host == 0 && h < plan->host_count; h++)
        bytes += 2 * pages_bytes(plan, h);
    if (host == 0)
        bytes += plan->chain_count * sizeof(tnd_run_summary_chain_t) +
                 (uint64_t)plan->instance_count * TND_OBSERVER_ACTOR_BYTES;
    return bytes;
}

bool tnd_process_memory_add(tnd_memory_estimate_t *estimate, const tnd_plan_t *plan, uint32_t host,
                            const char *who, uint32_t workers, tnd_stream_of_t stream_of,
                            const void *context)
{
    uint64_t threads = tnd_threads_count(plan, host), before = estimate->threads;
    bool known = true;
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        if (instance->host != host)
            continue;
        const tnd_stream_t *stream = stream_of(context, instance->chain);
        const tnd_kind_t *kind = tnd_kind_of(instance->kind);
        known = known && stream != NULL;
        estimate->asleep = instance->tuned && instance->number >= workers;
        if (stream != NULL && kind->estimate_memory != NULL)
            kind->estimate_memory(plan, i, stream, estimate);
    }
    threads += estimate->threads - before;
    tnd_memory_estimate_add(estimate, who, (16 + threads) * MIB,
                            "16 MiB, and 1 MiB for each of %" PRIu64 " threads", threads);
    tnd_memory_estimate_add(estimate, who, observers_bytes(plan, host),
                            "observers: statistics, log, metrics, report");
    return known;
}
