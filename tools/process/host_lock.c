/*  tools/process/host_lock.c - one process per host. */
#include "tools/process/host_lock.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "runtime/observe/inspection.h"

/*  A process that was killed may take a moment to end, and with it its lock. */
enum { TRIES = 200, PAUSE_NS = 10000000 };

/*  The process that listens at an address; 0: unknown. */
static pid_t holder_of(const struct sockaddr_un *address, socklen_t size)
{
    struct ucred other = {0};
    socklen_t room = sizeof other;
    int asking = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (asking < 0)
        return 0;
    if (connect(asking, (const struct sockaddr *)address, size) != 0 ||
        getsockopt(asking, SOL_SOCKET, SO_PEERCRED, &other, &room) != 0)
        other.pid = 0;
    close(asking);
    return other.pid;
}

/*  Whether a host can be locked.  A run whose leader has no fixed port has no identity. */
static bool is_claimed(const tnd_plan_t *plan)
{
    return plan->host_count > 1 && plan->hosts[0].port != 0;
}

/*  The name of the lock; a name that starts with NUL is not a file. */
static socklen_t address_of(const tnd_plan_t *plan, uint32_t host, struct sockaddr_un *address)
{
    const tnd_plan_host_t *leader = &plan->hosts[0];
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length =
        snprintf(address->sun_path + 1, sizeof address->sun_path - 1,
                 "tundish.%u.%016" PRIx64 ".%" PRIu32 ".%s.%s", (unsigned)getuid(),
                 plan->fingerprint[0], leader->port, plan->hosts[host].name, leader->address);
    size_t most = sizeof address->sun_path - 2;
    size_t used = (size_t)length < most ? (size_t)length : most;
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + used);
}

/*  The name of the run of a process; "": not known. */
static void find_run(pid_t process, char run[64])
{
    tnd_inspection_t *look = tnd_inspection_new(TND_LOOK_NOW);
    run[0] = '\0';
    for (uint32_t p = 0; p < look->count; p++)
        if (look->processes[p].process == (int)process && !look->processes[p].killed)
            memcpy(run, look->processes[p].run, sizeof look->processes[p].run);
    tnd_inspection_destroy(&look);
}

static tnd_status_t fail_taken(const tnd_plan_t *plan, uint32_t host, pid_t holder,
                               tnd_error_t *error)
{
    char who[48] = "another process", run[64];
    if (holder > 0)
        snprintf(who, sizeof who, "process %d", (int)holder);
    find_run(holder, run);
    if (run[0] != '\0' && strcmp(run, plan->name) != 0)
        return tnd_fail(error,
                        "port %" PRIu32 " is that of run %s, whose host %s is running here, as %s: "
                        "give this run another port, or end that one first",
                        plan->hosts[0].port, run, plan->hosts[host].name, who);
    return tnd_fail(error,
                    "host %s of this run is already running here, as %s: each host is one process; "
                    "end that one first, or give this run another port",
                    plan->hosts[host].name, who);
}

/*  The lock of a host, as a socket.  Returns -1 on failure, with the reason in errno. */
static int take(const struct sockaddr_un *address, socklen_t size)
{
    int lock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    for (int tries = lock >= 0 ? TRIES : -1; tries >= 0; tries--) {
        if (bind(lock, (const struct sockaddr *)address, size) == 0 && listen(lock, SOMAXCONN) == 0)
            return lock;
        if (errno != EADDRINUSE || tries == 0)
            break;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    int reason = errno;
    if (lock >= 0)
        close(lock);
    errno = reason;
    return -1;
}

/*  Where the system has no such locks there are none: *lock_p is then -1. */
static tnd_status_t lock_host(const tnd_plan_t *plan, uint32_t host, int *lock_p,
                              tnd_error_t *error)
{
    struct sockaddr_un address;
    *lock_p = -1;
    if (!is_claimed(plan))
        return TND_OK;
    socklen_t size = address_of(plan, host, &address);
    *lock_p = take(&address, size);
    if (*lock_p >= 0 || errno != EADDRINUSE)
        return TND_OK;
    return fail_taken(plan, host, holder_of(&address, size), error);
}

tnd_status_t tnd_host_lock_look(const tnd_plan_t *plan, uint32_t host, tnd_error_t *error)
{
    int lock;
    tnd_status_t status = lock_host(plan, host, &lock, error);
    if (lock >= 0)
        close(lock);
    return status;
}

tnd_status_t tnd_host_lock(const tnd_plan_t *plan, uint32_t host, tnd_error_t *error)
{
    int lock; /* stays open until the process ends */
    return lock_host(plan, host, &lock, error);
}
