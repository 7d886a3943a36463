/*  transport/device/pjrt_arrivals.c - when the copies of an upload are complete. */
#include "transport/device/pjrt_arrivals.h"

#include <string.h>
#include <time.h>

#include "runtime/base/clock.h"
#include "transport/device/pjrt_plugin.h"

void tnd_pjrt_arrivals_begin(tnd_pjrt_arrivals_t *self, uint64_t now)
{
    self->begun_ns = now;
    atomic_store_explicit(&self->ended_ns, 0, memory_order_relaxed);
}

void tnd_pjrt_arrivals_add(tnd_pjrt_arrivals_t *self)
{
    atomic_fetch_add_explicit(&self->awaited, 1, memory_order_relaxed);
}

void tnd_pjrt_arrivals_remove(tnd_pjrt_arrivals_t *self)
{
    atomic_fetch_sub_explicit(&self->awaited, 1, memory_order_release);
}

/*  The plugin may call back on several threads at once, and the last of them need not be the latest. */
static void note_end(tnd_pjrt_arrivals_t *self, uint64_t now)
{
    uint64_t before = atomic_load_explicit(&self->ended_ns, memory_order_relaxed);
    while (before < now &&
           !atomic_compare_exchange_weak_explicit(&self->ended_ns, &before, now,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

void tnd_pjrt_arrivals_take(void *error, void *context)
{
    tnd_pjrt_arrivals_t *self = context;
    char why[TND_PJRT_WHY];
    note_end(self, tnd_clock_now());
    if (!tnd_pjrt_succeeded(error, why, sizeof why) && !atomic_exchange(&self->failed, true))
        memcpy(self->why, why, sizeof why);
    tnd_pjrt_arrivals_remove(self);
}

bool tnd_pjrt_arrivals_complete(const tnd_pjrt_arrivals_t *self)
{
    return atomic_load_explicit(&self->awaited, memory_order_acquire) == 0;
}

void tnd_pjrt_arrivals_await(const tnd_pjrt_arrivals_t *self)
{
    while (!tnd_pjrt_arrivals_complete(self))
        (void)nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}
