/*  runtime/feed/device_workers_cut.c - a program that ends an epoch early.
 *
 *  The program says so and ends its last step.  The steps that are ready, and those that become so before
 *  the actor hears of it, go through the devices without a task, so that their slots are free as those of
 *  all other steps are. */
#include "runtime/feed/device_workers_internal.h"

#include "runtime/base/clock.h"

/*  The actor has taken all back, or there is another step to go through. */
static bool has_more(const void *context)
{
    const tnd_device_workers_t *self = context;
    return tnd_device_workers_dead(self) || tnd_device_workers_is_over(self) ||
           atomic_load_explicit(&self->pull.cut, memory_order_acquire) == 0 ||
           atomic_load_explicit(self->startable, memory_order_acquire) > self->pull.taken;
}

/*  Lets all steps that are ready go through. */
static void pass(tnd_device_workers_t *self)
{
    uint64_t steps = self->pull.steps;
    while (atomic_load_explicit(self->startable, memory_order_acquire) > self->pull.taken &&
           !tnd_device_workers_dead(self)) {
        self->pull.taken++;
        (void)tnd_device_workers_run(self, NULL);
    }
    self->pull.steps = steps;
    atomic_store_explicit(&self->retired, self->pull.taken, memory_order_release);
    tnd_device_workers_wake(self);
}

tnd_status_t tnd_device_workers_cut(tnd_device_workers_t *self)
{
    if (!tnd_device_workers_pulls(self))
        return TND_FAILED;
    if (!self->pull.inside_epoch)
        return TND_OK;
    (void)tnd_device_workers_enter(self);
    if (self->pull.taken > self->pull.ran && tnd_device_workers_run(self, NULL) != TND_OK) {
        self->pull.ran = self->pull.taken;
        return tnd_device_workers_ended(self);
    }
    atomic_store_explicit(&self->pull.cut, self->pull.steps, memory_order_release);
    self->pull.inside_epoch = false;
    self->pull.last = true;
    while (atomic_load_explicit(&self->pull.cut, memory_order_acquire) != 0 &&
           !tnd_device_workers_dead(self) && !tnd_device_workers_is_over(self)) {
        pass(self);
        tnd_futex_wait(&self->program, has_more, self, 0);
    }
    tnd_device_workers_leave(self, tnd_clock_now());
    /* The run may have ended since all came back. */
    bool whole = atomic_load_explicit(&self->pull.cut, memory_order_acquire) == 0;
    return !whole && tnd_device_workers_dead(self) ? tnd_device_workers_ended(self) : TND_OK;
}

bool tnd_device_workers_is_cut(const tnd_device_workers_t *self, uint64_t *step_p)
{
    *step_p = atomic_load_explicit(&self->pull.cut, memory_order_acquire);
    return *step_p != 0;
}

void tnd_device_workers_end_cut(tnd_device_workers_t *self)
{
    atomic_store_explicit(&self->pull.cut, 0, memory_order_release);
    tnd_futex_open(&self->program);
}
