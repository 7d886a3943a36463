/*  runtime/data/open_files.c - the file descriptors that this process may have. */
#include "runtime/data/open_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

enum { STANDARD = 3 /* streams, which every reservation counts in */ };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t reserved, before; /* `before`: that were open at the first call */
static bool looked;

/*  How many are open, without the one that this takes; 0: not known. */
static uint64_t count_open(void)
{
    uint64_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        return 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count - 1;
}

static uint64_t amount(rlim_t limit)
{
    return limit == RLIM_INFINITY ? UINT64_MAX : limit;
}

/*  The hard limit; UINT64_MAX: none. */
static uint64_t most(struct rlimit *limit)
{
    if (getrlimit(RLIMIT_NOFILE, limit) != 0)
        *limit = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    return amount(limit->rlim_max);
}

/*  What the program opens later is what it reserves. */
static void look_before(void)
{
    if (looked)
        return;
    looked = true;
    before = count_open();
    before -= before < STANDARD ? before : STANDARD;
}

static tnd_status_t reserve(uint64_t count, tnd_error_t *error)
{
    struct rlimit limit;
    look_before();
    uint64_t allowed = most(&limit), needed = before + reserved + count;
    if (needed > allowed)
        return tnd_fail(error,
                        "%" PRIu64 " file descriptors are needed and this process may have %" PRIu64
                        ": raise the limit of open files (`ulimit -n %" PRIu64
                        "`; as root, LimitNOFILE= of a systemd unit or --ulimit nofile= of a "
                        "container)",
                        needed, allowed, needed);
    if (needed > amount(limit.rlim_cur)) {
        limit.rlim_cur = needed;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
            return tnd_fail(error,
                            "%" PRIu64 " file descriptors are needed and the limit of open files "
                            "cannot be raised (errno %d): `ulimit -n %" PRIu64 "` before the start",
                            needed, errno, needed);
    }
    reserved += count;
    return TND_OK;
}

tnd_status_t tnd_open_files_reserve(uint64_t count, tnd_error_t *error)
{
    pthread_mutex_lock(&lock);
    tnd_status_t status = reserve(count, error);
    pthread_mutex_unlock(&lock);
    return status;
}

void tnd_open_files_release(uint64_t count)
{
    pthread_mutex_lock(&lock);
    reserved -= count < reserved ? count : reserved;
    pthread_mutex_unlock(&lock);
}

uint64_t tnd_open_files_unreserved(void)
{
    struct rlimit limit;
    pthread_mutex_lock(&lock);
    look_before();
    uint64_t allowed = most(&limit), taken = before + reserved;
    pthread_mutex_unlock(&lock);
    return allowed == UINT64_MAX ? allowed : allowed - (taken < allowed ? taken : allowed);
}

tnd_status_t tnd_open_files_left(tnd_error_t *error)
{
    struct rlimit limit;
    int copy = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    if (copy < 0 && errno == EBADF) /* stderr is closed */
        copy = open("/", O_PATH | O_CLOEXEC);
    if (copy >= 0) {
        close(copy);
        return TND_OK;
    }
    if (errno == ENFILE)
        return tnd_fail(error, "no file can be opened: the whole system has reached its limit of "
                               "open files; end other programs, or raise fs.file-max");
    if (errno != EMFILE)
        return TND_OK;
    (void)most(&limit);
    return tnd_fail(error,
                    "no file can be opened: all %" PRIu64
                    " file descriptors of this process are in use; raise the limit (`ulimit -n`), "
                    "or close files that a plugin keeps open",
                    amount(limit.rlim_cur));
}
