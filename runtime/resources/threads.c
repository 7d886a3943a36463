/*  runtime/resources/threads.c - whether the threads of a host can be started. */
#include "runtime/resources/threads.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "runtime/base/allocation.h"
#include "runtime/base/limits.h"

enum {
    HOST = 3,     /* that of the host, one that opens data, and one that delivers the log */
    TRANSPORT = 3 /* of libzmq, once a connection leaves the process */
};

uint32_t tnd_threads_count(const tnd_plan_t *plan, uint32_t host)
{
    uint32_t count = HOST + (plan->checkpoint != NULL);
    bool leaves = plan->host_count > 1;
    for (uint32_t i = 0; i < plan->instance_count; i++) {
        const tnd_instance_t *instance = &plan->instances[i];
        if (instance->host != host)
            continue;
        count++;
        if (instance->kind->role == TND_ROLE_FEEDER)
            count += (uint32_t)plan->hosts[host].device_count;
    }
    bool supervises = false;
    for (uint32_t h = 0; h < plan->host_count; h++)
        supervises = supervises || (plan->hosts[h].isolated && plan->hosts[h].parent == host);
    return count + supervises + (leaves ? TRANSPORT : 0);
}

static void *pass(void *gate)
{
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/*  Starts threads that live at the same time.  Returns how many could be started. */
static uint32_t try_threads(uint32_t count, int *reason_p)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t *threads = tnd_allocate_zeroed(count + 1, sizeof *threads);
    uint32_t started = 0;
    pthread_mutex_lock(&gate);
    while (started < count &&
           (*reason_p = pthread_create(&threads[started], NULL, pass, &gate)) == 0)
        started++;
    pthread_mutex_unlock(&gate);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    return started;
}

/*  ": this user may have 6 processes and threads (ulimit -u)" */
static void describe_limits(char *text, size_t room)
{
    struct rlimit user;
    tnd_group_limits_t group;
    size_t used = 0;
    text[0] = '\0';
    tnd_group_limits_read("", &group);
    if (getrlimit(RLIMIT_NPROC, &user) == 0 && user.rlim_cur != RLIM_INFINITY)
        used = (size_t)snprintf(
            text, room, ": this user may have %" PRIu64 " processes and threads (ulimit -u)",
            (uint64_t)user.rlim_cur);
    if (group.tasks != UINT64_MAX)
        snprintf(text + used, room - used, "%s the control group may have %" PRIu64 " (%.150s)",
                 used > 0 ? "," : ":", group.tasks, group.tasks_by);
}

tnd_status_t tnd_threads_check(const tnd_plan_t *plan, uint32_t host, uint32_t more,
                               tnd_error_t *error)
{
    char limits[320];
    int reason = 0;
    uint32_t count = tnd_threads_count(plan, host) + more;
    uint32_t started = try_threads(count, &reason);
    if (started == count)
        return TND_OK;
    describe_limits(limits, sizeof limits);
    return tnd_fail(error,
                    "host %.63s cannot start: it needs %" PRIu32 " threads, and only %" PRIu32
                    " can be started (%s)%s; raise the limit or end other processes",
                    plan->hosts[host].name, count, started, strerror(reason), limits);
}
