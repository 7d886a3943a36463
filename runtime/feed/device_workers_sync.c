/*  runtime/feed/device_workers_sync.c - rounds of reductions without rows, between two steps.
 *
 *  The program asks for one while no job runs, or a task has one before its first step.  To reducers it is
 *  a part of the step that runs next, whose slots follow those of the round. */
#include <stdlib.h>

#include "runtime/base/allocation.h"
#include "runtime/base/clock.h"
#include "runtime/feed/device_workers_internal.h"

void tnd_device_workers_make_sync(tnd_device_workers_t *self)
{
    job_t *sync = &self->sync.job;
    sync->slot = NO_SLOT;
    sync->rows = tnd_allocate_zeroed(self->config.count, sizeof *sync->rows);
    for (uint32_t i = 0; i < self->config.count; i++)
        sync->rows[i] = 1;
    sync->met = tnd_allocate_zeroed(self->worker_count, sizeof *sync->met);
    sync->round.rows = sync->rows;
    self->sync.first_step = TND_UNKNOWN;
}

void tnd_device_workers_free_sync(tnd_device_workers_t *self)
{
    free(self->sync.job.rows);
    free(self->sync.job.met);
}

void tnd_device_workers_begin_at(tnd_device_workers_t *self, uint64_t step)
{
    atomic_store_explicit(&self->sync.first_step, step, memory_order_release);
    tnd_device_workers_tell_program(self);
}

/*  The round begins, or continues, what is reduced in that step. */
static void enter_step(tnd_collective_round_t *round, uint64_t step)
{
    if (round->step != step)
        round->tensors = round->reductions = 0;
    round->step = step;
}

/*  Lets each model post, and reduces that in the round of `sync`, as part of `job`. */
static bool post(worker_t *worker, const job_t *job, const part_t *part, const tnd_task_t *apply)
{
    tnd_device_workers_t *group = worker->group;
    tnd_device_workers_clear_posts(worker);
    tnd_device_workers_lead_models(worker);
    for (uint32_t i = worker->first; i < worker->first + worker->count; i++)
        group->replicas[i].syncs = true;
    return tnd_device_workers_each_model(worker, job, part) &&
           tnd_device_workers_apply_all(worker, job, &group->sync.job.round, apply);
}

bool tnd_device_workers_run_sync(worker_t *worker, job_t *job)
{
    const part_t part = {job->task->context, job->task->start, "the round without rows",
                         TND_DEVICE_APPLY};
    tnd_device_workers_begin(worker, job);
    return post(worker, job, &part, job->task);
}

bool tnd_device_workers_start_task(worker_t *worker, const job_t *job)
{
    const tnd_task_t nothing = {.step = NULL};
    const part_t part = {job->task->context, job->task->start, "the start", TND_DEVICE_APPLY};
    if (worker->begun || part.call == NULL)
        return true;
    worker->begun = true;
    if (worker->number == 0)
        enter_step(&worker->group->sync.job.round, job->note.step);
    const job_t before = {.slot = NO_SLOT, .note = job->note, .task = job->task};
    tnd_device_workers_begin(worker, &before);
    return post(worker, job, &part, &nothing);
}

void tnd_device_workers_continue_sync(worker_t *worker, job_t *job)
{
    const tnd_collective_round_t *round = &worker->group->sync.job.round;
    if (worker->number > 0 || round->step != job->note.step)
        return;
    job->round.tensors = round->tensors;
    job->round.reductions = round->reductions;
}

/* --- the program ------------------------------------------------------------------------------ */

static bool knows_first(const void *context)
{
    const tnd_device_workers_t *self = context;
    return tnd_device_workers_dead(self) || tnd_device_workers_is_over(self) ||
           atomic_load_explicit(&self->sync.first_step, memory_order_acquire) != TND_UNKNOWN;
}

static bool has_ended(const void *context)
{
    const tnd_device_workers_t *self = context;
    return tnd_device_workers_dead(self) ||
           atomic_load_explicit(&self->sync.job.left, memory_order_acquire) == 0;
}

/*  What the threads find once they are told of it. */
static void prepare(tnd_device_workers_t *self, const tnd_task_t *task)
{
    job_t *sync = &self->sync.job;
    uint64_t step = self->pull.steps > 0 ? self->pull.steps : atomic_load(&self->sync.first_step);
    sync->task = task;
    sync->note = (tnd_slice_note_t){.step = step};
    enter_step(&sync->round, step);
    for (uint32_t w = 0; w < self->worker_count; w++)
        atomic_store_explicit(&sync->met[w], 0, memory_order_relaxed);
    atomic_store_explicit(&sync->left, self->worker_count, memory_order_relaxed);
    atomic_store_explicit(&self->sync.after, self->pull.ran, memory_order_release);
}

static void run_there(tnd_device_workers_t *self)
{
    atomic_fetch_add_explicit(&self->sync.asked, 1, memory_order_release);
    tnd_futex_open(&self->work);
    tnd_futex_wait(&self->program, has_ended, self, 0);
    if (tnd_device_workers_dead(self))
        tnd_device_workers_leave_posts(self);
}

tnd_status_t tnd_device_workers_sync(tnd_device_workers_t *self, const tnd_task_t *task)
{
    if (!tnd_device_workers_pulls(self))
        return TND_FAILED;
    (void)tnd_device_workers_enter(self);
    tnd_futex_wait(&self->program, knows_first, self, 0);
    if (tnd_device_workers_dead(self))
        return tnd_device_workers_ended(self);
    if (tnd_device_workers_is_over(self))
        return tnd_device_workers_no_step(self);
    prepare(self, task);
    if (tnd_device_workers_runs_here(self))
        tnd_device_workers_run_here(self, &self->sync.job);
    else
        run_there(self);
    tnd_device_workers_leave(self, tnd_clock_now());
    return tnd_device_workers_dead(self) ? tnd_device_workers_ended(self) : TND_OK;
}
