/*  runtime/resources/threads.c - whether a host of a plan may start the threads that it needs. */
#include "runtime/resources/threads.h"

#include <inttypes.h>

#include "runtime/base/thread.h"

/*  Of the process: main, control, signals, messages.  The first and the last run before the others.
 *  Of its connections to other processes: one that carries, one that closes. */
enum { PROCESS = 4, RUNNING = 2, CONNECTIONS = 2 };

uint64_t tnd_threads_count(const tnd_plan_t *plan, uint32_t host)
{
    uint64_t threads = PROCESS;
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        if (plan->instances[i].host != host)
            continue;
        threads++;
        if (plan->instances[i].kind->role == TND_ROLE_FEEDER)
            threads += plan->hosts[host].device_count > 0 ? plan->hosts[host].device_count : 1;
    }
    for (uint32_t h = 0; h < plan->host_count; h++)
        if (plan->hosts[h].isolated && plan->hosts[h].parent == host)
            return threads + 1; /* keeps their processes */
    return threads;
}

tnd_status_t tnd_threads_check(const tnd_plan_t *plan, uint32_t host, tnd_error_t *error)
{
    tnd_error_t why;
    uint64_t connections = plan->host_count > 1 ? CONNECTIONS : 0;
    uint64_t needed = tnd_threads_count(plan, host) + connections;
    for (uint32_t h = 0; h < plan->host_count; h++)
        if (plan->hosts[h].isolated && plan->hosts[h].parent == host)
            needed += tnd_threads_count(plan, h) + connections;
    if (tnd_thread_try((uint32_t)needed - RUNNING, "one of them", &why) == TND_OK)
        return TND_OK;
    return tnd_fail(error, "host %s cannot start: %" PRIu64 " threads are needed: %s",
                    plan->hosts[host].name, needed, why.text);
}
