/*  runtime/feed/device_workers_span.c - several steps of a program's own loop at a time.
 *
 *  The program says how many steps may run, and sleeps.  The actor publishes them as they become ready,
 *  as if they ran by themselves, up to the end of the epoch.  The device that finishes the last one
 *  wakes the program.  Steps that run on the program's thread need no one to wake it. */
#include "runtime/feed/device_workers_internal.h"

#include "runtime/base/clock.h"

void tnd_device_workers_publish_span(tnd_device_workers_t *self)
{
    uint64_t until = atomic_load_explicit(&self->pull.span_until, memory_order_acquire);
    if (until == 0)
        return;
    uint64_t ready = atomic_load_explicit(&self->ready, memory_order_relaxed);
    uint64_t first = atomic_load_explicit(&self->published, memory_order_relaxed), jobs = first;
    for (; jobs < until && jobs < ready; jobs++) {
        job_t *job = &self->jobs[jobs % self->config.depth];
        job->task = self->pull.span_task;
        if (!job->note.last_of_epoch)
            continue;
        until = jobs + 1;
        atomic_store_explicit(&self->pull.span_until, until, memory_order_relaxed);
    }
    if (jobs > first)
        tnd_device_workers_publish(self, jobs);
}

/*  Whether the span has run, or as much of it as there is. */
static bool is_through(const void *context)
{
    const tnd_device_workers_t *self = context;
    uint64_t finished = atomic_load_explicit(&self->finished, memory_order_acquire);
    return tnd_device_workers_dead(self) ||
           finished >= atomic_load_explicit(&self->pull.span_until, memory_order_relaxed) ||
           tnd_device_workers_is_over(self) || tnd_device_workers_is_interrupted(self);
}

static tnd_status_t run_here(tnd_device_workers_t *self, uint64_t count, const tnd_task_t *task,
                             uint64_t *ran_p)
{
    do {
        tnd_status_t status = tnd_device_workers_next(self);
        if (status != TND_OK)
            return *ran_p > 0 && status != TND_FAILED ? TND_OK : status;
        TND_TRY(tnd_device_workers_run(self, task));
    } while (++*ran_p < count && !self->pull.last);
    return TND_OK;
}

/*  The program has the steps before `finished`, the last one of which it may still save. */
static void take_span(tnd_device_workers_t *self, uint64_t finished)
{
    const job_t *job = &self->jobs[(finished - 1) % self->config.depth];
    bool whole = finished == atomic_load_explicit(&self->pull.span_until, memory_order_relaxed);
    self->pull.taken = self->pull.ran = finished;
    self->pull.steps = job->note.step + 1;
    self->pull.last = job->note.last_of_epoch;
    self->pull.inside_epoch = !self->pull.last;
    atomic_store_explicit(&self->retired, whole ? finished - 1 : finished, memory_order_release);
}

tnd_status_t tnd_device_workers_run_steps(tnd_device_workers_t *self, uint64_t count,
                                          const tnd_task_t *task, uint64_t *ran_p)
{
    *ran_p = 0;
    if (tnd_device_workers_runs_here(self))
        return run_here(self, count, task, ran_p);
    if (!tnd_device_workers_pulls(self))
        return TND_FAILED;
    (void)tnd_device_workers_enter(self);
    TND_TRY(tnd_device_workers_retire(self));
    uint64_t first = self->pull.taken;
    self->pull.span_task = task;
    atomic_store_explicit(&self->pull.span_until,
                          count < UINT64_MAX - first ? first + count : UINT64_MAX,
                          memory_order_release);
    tnd_device_workers_wake(self);
    tnd_futex_wait(&self->program, is_through, self, 0);
    if (tnd_device_workers_dead(self))
        tnd_device_workers_leave_posts(self);
    uint64_t finished = atomic_load_explicit(&self->finished, memory_order_acquire);
    if (finished > first)
        take_span(self, finished);
    *ran_p = finished - first;
    atomic_store_explicit(&self->pull.span_until, 0, memory_order_release);
    tnd_device_workers_leave(self, tnd_clock_now());
    if (tnd_device_workers_dead(self))
        return tnd_device_workers_ended(self);
    return *ran_p > 0 ? TND_OK : tnd_device_workers_no_step(self);
}
