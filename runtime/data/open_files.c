/*  runtime/data/open_files.c - the file descriptors that this process may have. */
#include "runtime/data/open_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/base/allocation.h"

enum {
    STANDARD = 3, /* streams, which every reservation counts in */
    SPARE = 64,   /* that kept files leave where a run may not have reserved its own yet */
    OPENING = 32  /* that they leave beside reservations, for files that are being opened */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t reserved, before; /* `before`: that were open at the first call */
static bool looked;

struct tnd_kept_file {
    tnd_kept_file_t *next, **link; /* of the list; what points to this one */
    atomic_int file;               /* -1: closed */
    atomic_uint users;
};

static tnd_kept_file_t *kept; /* those that are open */
static uint64_t kept_count;

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

/*  Raises the soft limit where it is lower than `needed`. */
static bool raise_soft(struct rlimit *limit, uint64_t needed)
{
    if (needed <= amount(limit->rlim_cur))
        return true;
    limit->rlim_cur = needed;
    return setrlimit(RLIMIT_NOFILE, limit) == 0;
}

static void unlink_kept(tnd_kept_file_t *file)
{
    *file->link = file->next;
    if (file->next != NULL)
        file->next->link = file->link;
    kept_count--;
}

/*  Closes files that are not in use until at most `most` are kept.  A thread that borrows one after the
 *  exchange finds it closed; one that did so before it is counted. */
static void close_kept(uint64_t most)
{
    for (tnd_kept_file_t *at = kept, *next; at != NULL && kept_count > most; at = next) {
        next = at->next;
        int file = atomic_exchange(&at->file, -1);
        if (atomic_load(&at->users) > 0) {
            atomic_store(&at->file, file);
            continue;
        }
        close(file);
        unlink_kept(at);
    }
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
    if (kept_count > allowed - needed)
        close_kept(allowed - needed);
    /* Kept files that are in use now may exceed the limit for a moment. */
    uint64_t all = kept_count < allowed - needed ? needed + kept_count : allowed;
    if (!raise_soft(&limit, all))
        return tnd_fail(error,
                        "%" PRIu64 " file descriptors are needed and the limit of open files "
                        "cannot be raised (errno %d): `ulimit -n %" PRIu64 "` before the start",
                        needed, errno, needed);
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

/* --- files that are kept open ----------------------------------------------------------------- */

/*  Whether one more can be kept. */
static bool has_room(void)
{
    struct rlimit limit;
    look_before();
    uint64_t others = reserved + OPENING > SPARE ? reserved + OPENING : SPARE;
    uint64_t allowed = most(&limit), taken = before + others + kept_count;
    return kept_count < TND_OPEN_FILES_KEPT && taken < allowed && raise_soft(&limit, taken + 1);
}

tnd_kept_file_t *tnd_kept_file_new(int file)
{
    tnd_kept_file_t *self = NULL;
    pthread_mutex_lock(&lock);
    if (has_room()) {
        self = tnd_allocate_zeroed(1, sizeof *self);
        atomic_init(&self->file, file);
        self->next = kept;
        self->link = &kept;
        if (kept != NULL)
            kept->link = &self->next;
        kept = self;
        kept_count++;
    }
    pthread_mutex_unlock(&lock);
    if (self == NULL)
        close(file);
    return self;
}

int tnd_kept_file_borrow(tnd_kept_file_t *self)
{
    atomic_fetch_add(&self->users, 1);
    int file = atomic_load(&self->file);
    if (file < 0)
        atomic_fetch_sub(&self->users, 1);
    return file;
}

void tnd_kept_file_return(tnd_kept_file_t *self)
{
    atomic_fetch_sub(&self->users, 1);
}

void tnd_kept_file_destroy(tnd_kept_file_t **self_p)
{
    tnd_kept_file_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    pthread_mutex_lock(&lock);
    int file = atomic_load(&self->file);
    if (file >= 0) {
        unlink_kept(self);
        close(file);
    }
    pthread_mutex_unlock(&lock);
    free(self);
}

/* --- what is left ----------------------------------------------------------------------------- */

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
