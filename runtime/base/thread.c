/*  runtime/base/thread.c - starts threads, or says which limit does not allow it. */
#include "runtime/base/thread.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "runtime/base/allocation.h"
#include "runtime/base/limits.h"

/*  ": this user may have 6 processes and threads (ulimit -u)" */
static void describe_limits(char *text, size_t room)
{
    struct rlimit user, space;
    tnd_group_limits_t group;
    size_t used = 0;
    text[0] = '\0';
    tnd_group_limits_read("", &group);
    if (getrlimit(RLIMIT_NPROC, &user) == 0 && user.rlim_cur != RLIM_INFINITY)
        used = (size_t)snprintf(
            text, room, ": this user may have %" PRIu64 " processes and threads (ulimit -u)",
            (uint64_t)user.rlim_cur);
    if (group.tasks != UINT64_MAX)
        used += (size_t)snprintf(text + used, room - used,
                                 "%s the control group may have %" PRIu64 " (%.150s)",
                                 used > 0 ? "," : ":", group.tasks, group.tasks_by);
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
        snprintf(text + used, room - used,
                 "%s the address space, with the stack of each thread, %" PRIu64 " KiB (ulimit -v)",
                 used > 0 ? "," : ":", (uint64_t)space.rlim_cur / 1024);
}

static tnd_status_t fail(const char *what, int reason, tnd_error_t *error)
{
    char limits[448];
    describe_limits(limits, sizeof limits);
    return tnd_fail(error,
                    "cannot start a thread for %s (%s)%s; raise the limit or end other processes",
                    what, strerror(reason), limits);
}

tnd_status_t tnd_thread_create(pthread_t *thread, const char *what, void *(*run)(void *),
                               void *context, tnd_error_t *error)
{
    int reason = pthread_create(thread, NULL, run, context);
    return reason == 0 ? TND_OK : fail(what, reason, error);
}

tnd_status_t tnd_thread_create_without_signals(pthread_t *thread, const char *what,
                                               void *(*run)(void *), void *context,
                                               tnd_error_t *error)
{
    static const int faults[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    tnd_status_t status = tnd_thread_create(thread, what, run, context, error);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

void tnd_condition_init_monotonic(pthread_cond_t *condition)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static void *pass(void *gate)
{
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

tnd_status_t tnd_thread_try(uint32_t count, const char *what, tnd_error_t *error)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t *threads = tnd_allocate_zeroed(count, sizeof *threads);
    tnd_status_t status = TND_OK;
    uint32_t started = 0;
    pthread_mutex_lock(&gate);
    while (started < count && status == TND_OK) {
        status = tnd_thread_create(&threads[started], what, pass, &gate, error);
        started += status == TND_OK;
    }
    pthread_mutex_unlock(&gate);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    return status;
}
