/*  runtime/data/mapped.c - which addresses are mapped files, and which of their pages are lost. */
#include "runtime/data/mapped.h"

#include <assert.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/allocation.h"

/*  An entry is never freed, only used again, so that a signal handler can walk the list at any
 *  moment.  `start` is 0 while nothing is mapped here, and is written last. */
struct tnd_mapped {
    tnd_mapped_t *next;
    atomic_bool taken;
    atomic_uintptr_t start, end;
    atomic_uintptr_t lost; /* the first address that is lost; `end` or above: none is */
    char path[TND_MAPPING_PATH_MAX];
};

static _Atomic(tnd_mapped_t *) mappings;
static atomic_size_t vacant;     /* entries that are not taken, at least: spares a walk in vain */
static atomic_size_t lost_count; /* mappings with lost pages */

static struct sigaction before; /* what handled SIGBUS before the guard */
static pthread_once_t guarded = PTHREAD_ONCE_INIT;
static size_t page_bytes;

/* --- the list --------------------------------------------------------------------------------- */

static tnd_mapped_t *take(void)
{
    tnd_mapped_t *entry = NULL;
    if (atomic_load_explicit(&vacant, memory_order_relaxed) > 0)
        entry = atomic_load_explicit(&mappings, memory_order_acquire);
    for (; entry != NULL; entry = entry->next)
        if (!atomic_exchange_explicit(&entry->taken, true, memory_order_acquire)) {
            atomic_fetch_sub_explicit(&vacant, 1, memory_order_relaxed);
            return entry;
        }
    entry = tnd_allocate_zeroed(1, sizeof *entry);
    atomic_init(&entry->taken, true);
    entry->next = atomic_load_explicit(&mappings, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&mappings, &entry->next, entry,
                                                  memory_order_release, memory_order_relaxed))
        ;
    return entry;
}

tnd_mapped_t *tnd_mapped_add(const void *data, size_t size, const char *path)
{
    tnd_mapped_guard();
    tnd_mapped_t *self = take();
    snprintf(self->path, sizeof self->path, "%s", path);
    atomic_store_explicit(&self->lost, UINTPTR_MAX, memory_order_relaxed);
    atomic_store_explicit(&self->end, (uintptr_t)data + size, memory_order_relaxed);
    atomic_store_explicit(&self->start, (uintptr_t)data, memory_order_release);
    return self;
}

void tnd_mapped_remove(tnd_mapped_t *self)
{
    if (atomic_load_explicit(&self->lost, memory_order_relaxed) != UINTPTR_MAX)
        atomic_fetch_sub_explicit(&lost_count, 1, memory_order_relaxed);
    atomic_store_explicit(&self->start, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&vacant, 1, memory_order_relaxed);
    atomic_store_explicit(&self->taken, false, memory_order_release);
}

static tnd_mapped_t *find(uintptr_t address)
{
    tnd_mapped_t *entry = atomic_load_explicit(&mappings, memory_order_acquire);
    for (; entry != NULL; entry = entry->next) {
        uintptr_t start = atomic_load_explicit(&entry->start, memory_order_acquire);
        if (start != 0 && address >= start &&
            address < atomic_load_explicit(&entry->end, memory_order_relaxed))
            break;
    }
    return entry;
}

/* --- the handler ------------------------------------------------------------------------------ */

/*  Before the pages are replaced: a thread that reads zeros finds them marked, though it does no
 *  more than load the mark after it.  Every processor passes a barrier between the two. */
static void mark(tnd_mapped_t *entry, uintptr_t from)
{
    uintptr_t lost = atomic_load(&entry->lost);
    while (from < lost && !atomic_compare_exchange_weak(&entry->lost, &lost, from))
        ;
    if (lost == UINTPTR_MAX)
        atomic_fetch_add(&lost_count, 1);
    (void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

/*  Maps all of the rest at once, so that the number of mappings stays the same. */
bool tnd_mapped_rescue(const siginfo_t *info)
{
    /* A signal that a process sent has no address. */
    tnd_mapped_t *entry = info->si_code > 0 ? find((uintptr_t)info->si_addr) : NULL;
    if (entry == NULL)
        return false;
    uintptr_t from = (uintptr_t)info->si_addr / page_bytes * page_bytes;
    int code = errno;
    mark(entry, from);
    void *zeros = mmap((void *)from, atomic_load(&entry->end) - from, PROT_READ,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    errno = code;
    return zeros != MAP_FAILED;
}

static void pass_on(int number, siginfo_t *info, void *context)
{
    if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != NULL) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    } else if (before.sa_handler == SIG_DFL || info->si_code > 0) {
        /* The access is repeated, or the signal sent again, and ends the process. */
        signal(number, SIG_DFL);
        if (info->si_code <= 0)
            raise(number);
    }
}

static void handle(int number, siginfo_t *info, void *context)
{
    if (!tnd_mapped_rescue(info))
        pass_on(number, info, context);
}

static void install(void)
{
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    int failed = sigaction(SIGBUS, &action, &before);
    assert(failed == 0);
}

void tnd_mapped_guard(void)
{
    pthread_once(&guarded, install);
}

/* --- what is lost ----------------------------------------------------------------------------- */

bool tnd_mapped_any_lost(void)
{
    /* What was read before this call is read before this load; the handler does the rest. */
    atomic_signal_fence(memory_order_seq_cst);
    return atomic_load_explicit(&lost_count, memory_order_acquire) > 0;
}

static tnd_status_t fail_lost(const tnd_mapped_t *entry, uintptr_t start, tnd_error_t *error)
{
    struct stat status;
    size_t size = atomic_load(&entry->end) - start, at = atomic_load(&entry->lost) - start;
    if (stat(entry->path, &status) == 0 && (size_t)status.st_size < size)
        return tnd_fail(error,
                        "%s: shrank while it was mapped: it had %zu bytes and now ends at byte "
                        "%zu; put it back and do not write to data during a run",
                        entry->path, size, (size_t)status.st_size);
    return tnd_fail(error,
                    "%s: bytes from %zu on were lost while it was mapped: it shrank for a while, "
                    "or its disk or server failed; do not write to data during a run",
                    entry->path, at);
}

tnd_status_t tnd_mapped_check(const void *data, size_t size, tnd_error_t *error)
{
    uintptr_t from = (uintptr_t)data, to = from + size;
    if (!tnd_mapped_any_lost())
        return TND_OK;
    const tnd_mapped_t *entry = atomic_load_explicit(&mappings, memory_order_acquire);
    for (; entry != NULL; entry = entry->next) {
        uintptr_t start = atomic_load_explicit(&entry->start, memory_order_acquire);
        if (start != 0 && to > atomic_load(&entry->lost) && from < atomic_load(&entry->end))
            return fail_lost(entry, start, error);
    }
    return TND_OK;
}
