/*  runtime/feed/gatherers.c - threads that help the feeder's own to gather the rows of large
 *  batches. */
#include "runtime/feed/gatherers.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/base/limits.h"
#include "runtime/base/thread.h"
#include "runtime/feed/futex_wait.h"

enum { PARTS_MAX = 4096 };

/*  `gather: auto`: one thread per so many bytes of a batch, on at most half of the processors but
 *  on two where there are two, and no more than can share the memory's bandwidth. */
enum { AUTO_BYTES = 128 << 10, AUTO_MOST = 8 };

/*  How long threads poll for the next part before they sleep: the time of a few parts. */
static const uint64_t spin_ns = 20000;

typedef struct {
    tnd_gather_part_t part;
    _Atomic uint32_t *left;
} entry_t;

typedef struct {
    tnd_gatherers_t *pool;
    pthread_t thread;
    uint32_t number;
} gatherer_t;

/*  Parts are counted: those that were added, begun and gathered.  `collected` is the owner's. */
struct tnd_gatherers {
    const char *name;
    tnd_gather_fn *gather;
    void *context;
    tnd_futex_t work, idle;
    _Alignas(64) _Atomic uint64_t added;
    _Alignas(64) _Atomic uint64_t begun;
    _Alignas(64) _Atomic uint64_t gathered;
    atomic_bool stopped;
    uint64_t collected;
    uint32_t others;
    gatherer_t *gatherers;
    entry_t entries[PARTS_MAX]; /* by number % PARTS_MAX */
};

uint32_t tnd_gather_threads(uint64_t asked, uint64_t step_bytes)
{
    if (asked != TND_GATHER_AUTO)
        return (uint32_t)asked;
    uint64_t threads = step_bytes / AUTO_BYTES, processors = tnd_processors_allowed();
    uint64_t most = processors > 4 ? processors / 2 : processors > 2 ? 2 : processors;
    most = most < AUTO_MOST ? most : AUTO_MOST;
    threads = threads < most ? threads : most;
    return threads > 0 ? (uint32_t)threads : 1;
}

static bool has_work(const void *context)
{
    const tnd_gatherers_t *self = context;
    return atomic_load_explicit(&self->stopped, memory_order_acquire) ||
           atomic_load_explicit(&self->begun, memory_order_acquire) <
               atomic_load_explicit(&self->added, memory_order_acquire);
}

bool tnd_gatherers_help(tnd_gatherers_t *self)
{
    uint64_t next = atomic_load_explicit(&self->begun, memory_order_relaxed);
    do {
        if (next == atomic_load_explicit(&self->added, memory_order_acquire))
            return false;
    } while (!atomic_compare_exchange_weak(&self->begun, &next, next + 1));
    entry_t *entry = &self->entries[next % PARTS_MAX];
    self->gather(self->context, &entry->part);
    atomic_fetch_sub_explicit(entry->left, 1, memory_order_acq_rel);
    atomic_fetch_add_explicit(&self->gathered, 1, memory_order_acq_rel);
    return true;
}

static void *gatherer_main(void *context)
{
    gatherer_t *gatherer = context;
    tnd_gatherers_t *self = gatherer->pool;
    char name[16];
    snprintf(name, sizeof name, "%.8s +%u", self->name, gatherer->number);
    tnd_thread_name(name); /* with the scheduling of the owner, which started it */
    for (;;) {
        tnd_futex_wait(&self->work, has_work, self, spin_ns);
        if (atomic_load_explicit(&self->stopped, memory_order_acquire))
            return NULL;
        while (tnd_gatherers_help(self))
            tnd_futex_open(&self->idle);
    }
}

size_t tnd_gatherers_bytes(void)
{
    return sizeof(tnd_gatherers_t);
}

tnd_status_t tnd_gatherers_new(tnd_gatherers_t **self_p, const char *name, uint32_t others,
                               tnd_gather_fn *gather, void *context, tnd_error_t *error)
{
    tnd_status_t status = TND_OK;
    tnd_gatherers_t *self = tnd_allocate_aligned(64, sizeof *self);
    assert(others > 0);
    memset(self, 0, sizeof *self);
    self->name = name;
    self->gather = gather;
    self->context = context;
    self->gatherers = tnd_allocate_zeroed(others, sizeof *self->gatherers);
    for (uint32_t i = 0; i < others && status == TND_OK; i++) {
        gatherer_t *gatherer = &self->gatherers[i];
        *gatherer = (gatherer_t){.pool = self, .number = i + 1};
        status = tnd_thread_create(&gatherer->thread, "rows that are gathered (`gather:`)",
                                   gatherer_main, gatherer, error);
        self->others += status == TND_OK;
    }
    *self_p = self;
    if (status != TND_OK)
        tnd_gatherers_destroy(self_p);
    return status;
}

void tnd_gatherers_destroy(tnd_gatherers_t **self_p)
{
    tnd_gatherers_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    atomic_store(&self->stopped, true);
    tnd_futex_open(&self->work);
    for (uint32_t i = 0; i < self->others; i++)
        pthread_join(self->gatherers[i].thread, NULL);
    free(self->gatherers);
    free(self);
}

bool tnd_gatherers_have_room(const tnd_gatherers_t *self, uint64_t parts)
{
    uint64_t added = atomic_load_explicit(&self->added, memory_order_relaxed);
    return added - self->collected + parts <= PARTS_MAX;
}

void tnd_gatherers_add(tnd_gatherers_t *self, const tnd_gather_part_t *part, _Atomic uint32_t *left)
{
    uint64_t added = atomic_load_explicit(&self->added, memory_order_relaxed);
    assert(tnd_gatherers_have_room(self, 1));
    self->entries[added % PARTS_MAX] = (entry_t){*part, left};
    atomic_fetch_add_explicit(left, 1, memory_order_relaxed);
    atomic_store_explicit(&self->added, added + 1, memory_order_release);
}

void tnd_gatherers_wake(tnd_gatherers_t *self)
{
    tnd_futex_open(&self->work);
}

static bool is_idle(const void *context)
{
    const tnd_gatherers_t *self = context;
    return atomic_load_explicit(&self->gathered, memory_order_acquire) ==
           atomic_load_explicit(&self->begun, memory_order_acquire);
}

void tnd_gatherers_wait(tnd_gatherers_t *self)
{
    tnd_futex_wait(&self->idle, is_idle, self, spin_ns);
}

const tnd_gather_part_t *tnd_gatherers_collect(tnd_gatherers_t *self)
{
    uint64_t gathered = atomic_load_explicit(&self->gathered, memory_order_acquire);
    return self->collected < gathered ? &self->entries[self->collected++ % PARTS_MAX].part : NULL;
}

uint64_t tnd_gatherers_cpu_ns(const tnd_gatherers_t *self)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < self->others; i++) {
        clockid_t clock;
        if (pthread_getcpuclockid(self->gatherers[i].thread, &clock) == 0)
            sum += tnd_clock_read(clock);
    }
    return sum;
}
