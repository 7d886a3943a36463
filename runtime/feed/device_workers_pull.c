/*  runtime/feed/device_workers_pull.c - a program's own loop over the steps of a group.
 *
 *  If the group has one device whose steps may run on any thread, they run on the program's, so
 *  that no other thread has to be woken.  They use a worker of their own, so that nothing is shared
 *  with the device's thread, which sleeps. */
#include "runtime/feed/device_workers_internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"

/*  The processor time of a step is read if the previous step took this long.  Shorter steps hardly
 *  wait; their wall time is counted. */
static const uint64_t worth_reading_ns = 50000;

/*  How long a program polls for its next step before it sleeps.  After longer waits only one wait
 *  in 2, 4 ... 2^MISSES_MOST polls. */
static const uint64_t next_spin_ns = 50000;
enum { MISSES_MOST = 6 };

/*  The program's thread as one that runs steps; its own but for the atomic ones. */
struct caller {
    worker_t worker;
    pthread_t thread;
    tnd_float_mode_t mode; /* as the last step left it */
    bool known;            /* `thread` is */
    bool was_long;         /* the last step was */
    uint32_t misses;       /* waits that were longer than it looked, since one was not */
    uint32_t skips;        /* waits in which it does not look */
    uint64_t ended_ns;     /* when the last step did */
    _Atomic bool inside;   /* the program runs a step */
    _Atomic uint64_t cpu_ns;
};

/* --- steps on the program's thread ------------------------------------------------------------ */

void tnd_device_workers_make_caller(tnd_device_workers_t *self)
{
    const worker_t *first = &self->workers[0];
    self->caller = memset(tnd_allocate_aligned(64, sizeof *self->caller), 0, sizeof *self->caller);
    self->caller->worker = (worker_t){
        .group = self,
        .count = first->count,
        .name = first->name,
        .page = first->page,
        .events = first->events,
        .timing = first->timing,
        .copier = first->copier,
    };
    tnd_float_mode_t before = tnd_float_mode_set(TND_FLOAT_STRICT);
    self->caller->mode = tnd_float_mode_set(TND_FLOAT_STRICT);
    tnd_float_mode_restore(before);
}

static bool is_outside(const void *context)
{
    return !atomic_load(&((const tnd_device_workers_t *)context)->caller->inside);
}

void tnd_device_workers_await_caller(tnd_device_workers_t *self)
{
    if (self->caller != NULL)
        tnd_futex_wait(&self->left, is_outside, self, 0);
}

uint64_t tnd_device_workers_caller_ns(const tnd_device_workers_t *self)
{
    return atomic_load_explicit(&self->caller->cpu_ns, memory_order_relaxed);
}

bool tnd_device_workers_runs_here(tnd_device_workers_t *self)
{
    self->caller->worker.device = self->workers[0].device;
    return self->worker_count == 1 &&
           (self->caller->worker.device->ops->can & TND_DEVICE_ANY_THREAD) != 0;
}

/*  A float mode that a step sets persists, as on a device thread; the program keeps its own. */
static void run_in_mode(tnd_device_workers_t *self, job_t *job)
{
    tnd_float_mode_t before = tnd_float_mode_set(TND_FLOAT_STRICT);
    tnd_float_mode_restore(self->caller->mode);
    (void)tnd_device_workers_run_job(&self->caller->worker,
                                     job); /* if it fails, the group has stopped */
    self->caller->mode = tnd_float_mode_set(TND_FLOAT_STRICT);
    tnd_float_mode_restore(before);
}

static void count_time(tnd_device_workers_t *self, uint64_t began_ns, uint64_t cpu_ns)
{
    uint64_t took_ns = self->caller->ended_ns - began_ns;
    uint64_t used_ns = self->caller->was_long ? tnd_clock_thread() - cpu_ns : took_ns;
    self->caller->was_long = took_ns >= worth_reading_ns;
    atomic_store_explicit(&self->caller->cpu_ns,
                          atomic_load_explicit(&self->caller->cpu_ns, memory_order_relaxed) +
                              used_ns,
                          memory_order_relaxed);
}

/*  tnd_device_workers_stop waits until `inside` is false, so it is set before the check that the
 *  group has not stopped. */
void tnd_device_workers_run_here(tnd_device_workers_t *self, job_t *job)
{
    atomic_store(&self->caller->inside, true);
    if (!atomic_load(&self->stopped) && !tnd_device_workers_dead(self) && job->task != NULL) {
        uint64_t began_ns = tnd_clock_now();
        uint64_t cpu_ns = self->caller->was_long ? tnd_clock_thread() : 0;
        tnd_device_page_t *page = self->caller->worker.page;
        if (!self->caller->known || !pthread_equal(self->caller->thread, pthread_self())) {
            self->caller->known = true;
            self->caller->thread = pthread_self();
            atomic_store_explicit(&page->thread, (uint64_t)gettid(), memory_order_relaxed);
        }
        run_in_mode(self, job);
        self->caller->ended_ns = tnd_clock_now();
        tnd_device_workers_show(&self->caller->worker, TND_DEVICE_IDLE, self->config.first,
                                job->note.step, self->caller->ended_ns);
        count_time(self, began_ns, cpu_ns);
    } else {
        self->caller->ended_ns = tnd_clock_now();
    }
    if (self->caller->worker.copier != NULL && job != &self->sync.job)
        tnd_device_workers_put_work(&self->caller->worker, job);
    atomic_store(&self->caller->inside, false);
    tnd_futex_open(&self->left);
}

uint64_t tnd_device_workers_enter(tnd_device_workers_t *self)
{
    uint64_t now = tnd_clock_now();
    if (self->config.program_ns == NULL)
        return now;
    uint64_t since = atomic_load_explicit(self->config.program_since_ns, memory_order_relaxed);
    atomic_store_explicit(self->config.program_since_ns, 0, memory_order_relaxed);
    if (since != 0 && now > since)
        tnd_count(self->config.program_ns, now - since);
    return now;
}

void tnd_device_workers_leave(tnd_device_workers_t *self, uint64_t now)
{
    if (self->config.program_ns != NULL)
        atomic_store_explicit(self->config.program_since_ns, now, memory_order_relaxed);
}

/* --- the loop --------------------------------------------------------------------------------- */

void tnd_device_workers_may_look(tnd_device_workers_t *self, bool may)
{
    atomic_store_explicit(&self->may_look, may, memory_order_relaxed);
}

void tnd_device_workers_discard(tnd_device_workers_t *self)
{
    int keep = MODE_KEEP;
    if (!atomic_compare_exchange_strong(&self->mode, &keep, MODE_DISCARD))
        return;
    if (self->copies.any)
        tnd_device_workers_complete(self);
    tnd_device_workers_wake(self);
}

tnd_status_t tnd_device_workers_ended(const tnd_device_workers_t *self)
{
    int over = atomic_load_explicit(&self->over, memory_order_acquire);
    return over != TND_OK && tnd_device_workers_error(self) == NULL ? (tnd_status_t)over
                                                                    : TND_FAILED;
}

bool tnd_device_workers_failed(const tnd_device_workers_t *self)
{
    return tnd_device_workers_dead(self) && tnd_device_workers_ended(self) == TND_FAILED;
}

static bool has_step(const void *context)
{
    const awaited_t *awaited = context;
    const tnd_device_workers_t *group = awaited->group;
    return tnd_device_workers_dead(group) ||
           atomic_load_explicit(group->startable, memory_order_acquire) > awaited->number ||
           atomic_load_explicit(&group->over, memory_order_acquire) != TND_OK ||
           tnd_device_workers_is_interrupted(group);
}

/*  Polling pays if the step is being gathered on another processor.  If it does not arrive in time,
 *  or other threads need this processor, the next waits do not poll.  Returns whether it waited. */
static bool await_step(tnd_device_workers_t *self)
{
    awaited_t awaited = {self, self->pull.taken};
    if (has_step(&awaited))
        return false;
    if (!atomic_load_explicit(&self->may_look, memory_order_relaxed)) {
        /* It would take this processor from the threads that make the step. */
    } else if (self->caller->skips > 0) {
        self->caller->skips--;
    } else if (tnd_futex_spin(has_step, &awaited, next_spin_ns)) {
        self->caller->misses = 0;
        return true;
    } else {
        self->caller->misses += self->caller->misses < MISSES_MOST;
        self->caller->skips = (UINT32_C(1) << self->caller->misses) - 1;
    }
    tnd_futex_wait(&self->program, has_step, &awaited, 0);
    return true;
}

tnd_status_t tnd_device_workers_retire(tnd_device_workers_t *self)
{
    if (tnd_device_workers_dead(self) ||
        (self->pull.taken > self->pull.ran && tnd_device_workers_run(self, NULL) != TND_OK)) {
        self->pull.ran =
            self->pull.taken; /* it is not committed, and no task can run on it any more */
        return tnd_device_workers_ended(self);
    }
    if (atomic_load_explicit(&self->retired, memory_order_relaxed) == self->pull.taken)
        return TND_OK;
    atomic_store_explicit(&self->retired, self->pull.taken, memory_order_release);
    if (self->copies.any ||
        tnd_device_workers_worth_telling(
            self, self->pull.taken, atomic_load_explicit(&self->ready, memory_order_relaxed),
            tnd_device_workers_runs_here(self) ? self->caller->ended_ns : tnd_clock_now()))
        tnd_device_workers_wake(self);
    return TND_OK;
}

bool tnd_device_workers_pulls(tnd_device_workers_t *self)
{
    int mode = MODE_KEEP;
    return atomic_compare_exchange_strong(&self->mode, &mode, MODE_PULL) || mode == MODE_PULL;
}

tnd_status_t tnd_device_workers_next(tnd_device_workers_t *self)
{
    if (!tnd_device_workers_pulls(self))
        return TND_FAILED;
    uint64_t now = tnd_device_workers_enter(self);
    TND_TRY(tnd_device_workers_retire(self));
    if (await_step(self))
        now = tnd_clock_now();
    if (tnd_device_workers_dead(self))
        return tnd_device_workers_ended(self);
    if (atomic_load_explicit(self->startable, memory_order_acquire) > self->pull.taken) {
        self->pull.last = self->jobs[self->pull.taken % self->config.depth].note.last_of_epoch;
        self->pull.inside_epoch = !self->pull.last;
        self->pull.taken++;
        tnd_device_workers_leave(self, now);
        return TND_OK;
    }
    return tnd_device_workers_no_step(self);
}

tnd_status_t tnd_device_workers_run(tnd_device_workers_t *self, const tnd_task_t *task)
{
    if (self->pull.taken == self->pull.ran)
        return TND_FAILED;
    if (tnd_device_workers_dead(self))
        return tnd_device_workers_ended(self);
    job_t *job = &self->jobs[(self->pull.taken - 1) % self->config.depth];
    (void)tnd_device_workers_enter(self);
    job->task = task;
    self->pull.ran = self->pull.taken;
    self->pull.steps = job->note.step + 1;
    if (tnd_device_workers_runs_here(self)) {
        tnd_device_workers_run_here(self, job);
        if (tnd_device_workers_dead(self))
            tnd_device_workers_leave_posts(self);
        tnd_device_workers_leave(self, self->caller->ended_ns);
    } else {
        awaited_t awaited = {self, self->pull.taken};
        tnd_device_workers_publish(self, self->pull.taken);
        tnd_futex_wait(&self->program, tnd_device_workers_has_finished, &awaited, 0);
        if (tnd_device_workers_dead(self))
            tnd_device_workers_leave_posts(self);
        tnd_device_workers_leave(self, tnd_clock_now());
    }
    return tnd_device_workers_dead(self) ? tnd_device_workers_ended(self) : TND_OK;
}

bool tnd_device_workers_last(const tnd_device_workers_t *self)
{
    return self->pull.last;
}

bool tnd_device_workers_is_unused(const tnd_device_workers_t *self)
{
    return self->pull.taken > self->pull.ran;
}

void tnd_device_workers_commit(tnd_device_workers_t *self)
{
    if (tnd_device_workers_dead(self))
        return;
    atomic_store_explicit(&self->retired, self->pull.ran, memory_order_release);
    tnd_device_workers_wake(self);
}

bool tnd_device_workers_steps(const tnd_device_workers_t *self, uint64_t *steps_p)
{
    int mode = atomic_load(&self->mode);
    *steps_p = self->pull.steps;
    return mode == MODE_PULL || mode == MODE_KEEP;
}

tnd_report_t *tnd_device_workers_reports(tnd_device_workers_t *self, uint64_t *step_p)
{
    uint64_t retired = atomic_load_explicit(&self->retired, memory_order_relaxed);
    if (self->pull.ran == 0 || self->pull.ran != self->pull.taken || retired >= self->pull.ran ||
        tnd_device_workers_dead(self))
        return NULL;
    const job_t *job = &self->jobs[(self->pull.ran - 1) % self->config.depth];
    *step_p = job->note.step;
    return job->reports;
}

/* --- two groups whose steps a program pulls in turn --------------------------------------------- */

/*  The stream of one rests while that of the other is fed, which may begin again.  A program waits for the
 *  first of several things that happen to either. */
void tnd_device_workers_tell_program(tnd_device_workers_t *self)
{
    tnd_futex_open(&self->program);
    tnd_futex_t *also = atomic_load(&self->pull.also);
    if (also != NULL)
        tnd_futex_open(also);
}

void tnd_device_workers_wake_too(tnd_device_workers_t *self, tnd_device_workers_t *lead)
{
    atomic_store(&self->pull.also, &lead->program);
}

void tnd_device_workers_watch(tnd_device_workers_t *self, bool (*is)(const void *),
                              const void *context)
{
    self->pull.watched = context;
    self->pull.watch = is;
}

bool tnd_device_workers_is_interrupted(const tnd_device_workers_t *self)
{
    return self->pull.watch != NULL && self->pull.watch(self->pull.watched);
}

void tnd_device_workers_await(tnd_device_workers_t *self, bool (*is)(const void *),
                              const void *context)
{
    (void)tnd_device_workers_enter(self);
    tnd_futex_wait(&self->program, is, context, 0);
    tnd_device_workers_leave(self, tnd_clock_now());
}

tnd_status_t tnd_device_workers_no_step(const tnd_device_workers_t *self)
{
    int over = atomic_load_explicit(&self->over, memory_order_acquire);
    return over != TND_OK ? (tnd_status_t)over : TND_AGAIN;
}

uint64_t tnd_device_workers_taken(const tnd_device_workers_t *self)
{
    return self->pull.taken;
}

bool tnd_device_workers_has_step(const tnd_device_workers_t *self)
{
    return atomic_load_explicit(self->startable, memory_order_acquire) > self->pull.taken;
}

bool tnd_device_workers_has_turn(const tnd_device_workers_t *self)
{
    return !tnd_device_workers_dead(self) &&
           (tnd_device_workers_has_step(self) || atomic_load(&self->ends) != self->pull.ends_seen);
}

void tnd_device_workers_see_end(tnd_device_workers_t *self)
{
    self->pull.ends_seen = atomic_load(&self->ends);
}

uint64_t tnd_device_workers_ends_seen(const tnd_device_workers_t *self)
{
    return self->pull.ends_seen;
}

void tnd_device_workers_end_step(tnd_device_workers_t *self)
{
    if (tnd_device_workers_retire(self) == TND_OK)
        tnd_device_workers_wake(self);
}

bool tnd_device_workers_is_ended(const tnd_device_workers_t *self)
{
    return atomic_load_explicit(&self->retired, memory_order_relaxed) == self->pull.taken;
}

bool tnd_device_workers_is_between(const tnd_device_workers_t *self)
{
    return self->pull.inside_epoch && tnd_device_workers_is_ended(self);
}

void tnd_device_workers_discard_rest(tnd_device_workers_t *self)
{
    int pull = MODE_PULL;
    tnd_device_workers_discard(self);
    if (atomic_load(&self->mode) != MODE_PULL || tnd_device_workers_retire(self) != TND_OK ||
        !atomic_compare_exchange_strong(&self->mode, &pull, MODE_DISCARD))
        return;
    if (self->copies.any)
        tnd_device_workers_complete(self);
    tnd_device_workers_wake(self);
}
