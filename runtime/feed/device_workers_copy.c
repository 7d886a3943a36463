/*  runtime/feed/device_workers_copy.c - brings the rows of steps to where a device reads them.
 *
 *  A device with memory of its own, or whose rows are cast on the host, has a copier: a thread that
 *  starts the copy of each step as soon as the step is ready, and asks for copies and for the work of
 *  steps until they are complete.  core/device/device_slots.h decides what may start and be committed. */
#include "runtime/feed/device_workers_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/thread.h"

/*  What is under way is asked for again after this part of the time since it began, within these
 *  bounds, so that asking delays it by little and costs little. */
enum { ASK_PART = 64 };
static const uint64_t ask_least_ns = 10000, ask_most_ns = 500000;

/* --- where rows are --------------------------------------------------------------------------- */

/*  Rows of a column, padding included, as one piece: where the host has them, and their size. */
static tnd_stage_piece_t host_piece(const tnd_device_workers_t *group, uint32_t slot,
                                    uint32_t local, uint32_t column)
{
    const tnd_slot_layout_t *layout = &group->layout;
    const tnd_column_t *of = &group->config.schema->columns[column];
    size_t at = (size_t)slot * group->config.count + local;
    tnd_stage_piece_t piece = {.from = group->columns[at * TND_COLUMNS_MAX + column],
                               .rows = group->shares[at].rows + group->shares[at].padded,
                               .row_bytes = tnd_column_bytes(of)};
    if (!of->ragged)
        return piece;
    piece.row_bytes = tnd_device_workers_placed(group, slot, local)[layout->lists[column]].stride;
    if (layout->config.form == TND_SLOT_PACKED) {
        const uint64_t *splits =
            tnd_slot_layout_splits(layout, tnd_device_workers_lists(group, slot, local), column);
        piece.row_bytes = splits[piece.rows] * layout->units[column];
        piece.rows = 1;
    }
    return piece;
}

/*  Where a column begins among those that steps read.  Ragged ones that are arranged follow the
 *  fixed ones, as on the host's side. */
static size_t shown_at(const tnd_device_workers_t *group, uint32_t slot, uint32_t local,
                       uint32_t column)
{
    const tnd_slot_layout_t *layout = &group->layout;
    if (!group->config.schema->columns[column].ragged || layout->config.form == TND_SLOT_SPREAD)
        return group->shown_layout.offsets[column];
    size_t offset = tnd_device_workers_placed(group, slot, local)[layout->lists[column]].offset;
    return offset - layout->warm + group->shown_layout.warm;
}

static const tnd_row_cast_t *cast_of(const tnd_device_workers_t *group, uint32_t column)
{
    return group->config.casts != NULL ? group->config.casts[column] : NULL;
}

static bool has(const copier_t *self, uint32_t what)
{
    return (self->worker->device->ops->can & what) != 0;
}

/*  Where the host casts the rows of a column to: after those that it gathered. */
static void *cast_room(const tnd_device_workers_t *group, const tnd_stage_t *stage, uint32_t column)
{
    return (uint8_t *)stage->host + group->casts_at + group->shown_layout.offsets[column];
}

void tnd_device_workers_show_rows(const worker_t *worker, uint32_t slot, uint32_t local)
{
    const tnd_device_workers_t *group = worker->group;
    const tnd_device_ops_t *ops = worker->device->ops;
    const tnd_stage_t *stage = tnd_device_workers_stage(group, slot, local);
    const void **shown = &group->shown[(size_t)local * TND_COLUMNS_MAX];
    for (uint32_t c = 0; c < group->config.schema->count; c++) {
        size_t at = shown_at(group, slot, local, c);
        if (!has(worker->copier, TND_DEVICE_OWN_MEMORY))
            shown[c] = cast_of(group, c) != NULL ? cast_room(group, stage, c)
                                                 : host_piece(group, slot, local, c).from;
        else
            shown[c] = ops->address != NULL ? ops->address(worker->device, stage, at)
                                            : (const uint8_t *)stage->device + at;
    }
}

/* --- copies ----------------------------------------------------------------------------------- */

/*  Starts to bring the rows of a replica; casts them here if its device does not. */
static tnd_status_t copy_rows(const copier_t *self, uint32_t slot, uint32_t local,
                              tnd_error_t *error)
{
    const tnd_device_workers_t *group = self->worker->group;
    tnd_device_t *device = self->worker->device;
    tnd_stage_t *stage = tnd_device_workers_stage(group, slot, local);
    tnd_stage_piece_t pieces[TND_STAGE_PIECES];
    for (uint32_t c = 0; c < group->config.schema->count; c++) {
        const tnd_row_cast_t *cast = cast_of(group, c);
        pieces[c] = host_piece(group, slot, local, c);
        pieces[c].to = shown_at(group, slot, local, c);
        if (cast == NULL)
            continue;
        if (has(self, TND_DEVICE_CASTS)) {
            pieces[c].cast = cast;
            continue;
        }
        void *made = cast_room(group, stage, c);
        tnd_row_cast(cast, pieces[c].rows, made, pieces[c].from);
        pieces[c].from = made;
        pieces[c].row_bytes = cast->elements * tnd_dtype_size(cast->to);
    }
    if (!has(self, TND_DEVICE_OWN_MEMORY))
        return TND_OK;
    return device->ops->upload(device, stage, pieces, group->config.schema->count, error);
}

/*  What all replicas of the device say of a step: an error, or TND_AGAIN if one does. */
static tnd_status_t ask(const copier_t *self, const job_t *job,
                        tnd_status_t (*call)(tnd_device_t *, tnd_stage_t *, tnd_error_t *),
                        tnd_error_t *error)
{
    const worker_t *worker = self->worker;
    tnd_status_t status = TND_OK;
    for (uint32_t i = worker->first;
         i < worker->first + worker->count && job->slot != NO_SLOT && status == TND_OK; i++)
        status = call(worker->device, tnd_device_workers_stage(worker->group, job->slot, i), error);
    return status;
}

/*  The counts of any device.  Without a copier, rows are where steps read them, and a step is over
 *  when the thread of the device has run it. */
static tnd_device_slots_t counts_of(const tnd_device_workers_t *group, uint32_t device)
{
    if (group->workers[device].copier != NULL)
        return tnd_copier_counts(group->workers[device].copier);
    uint64_t ready = atomic_load(&group->ready);
    uint64_t ran = atomic_load(&group->workers[device].word) >> MEETING_BITS;
    return (tnd_device_slots_t){
        .ready = ready, .copying = ready, .copied = ready, .put = ran, .finished = ran};
}

/*  Raises a count that several threads raise. */
static void raise_to(_Atomic uint64_t *count, uint64_t to)
{
    uint64_t before = atomic_load(count);
    while (before < to && !atomic_compare_exchange_weak(count, &before, to))
        ;
}

void tnd_device_workers_complete(tnd_device_workers_t *group)
{
    bool discarded = tnd_device_workers_discards(group);
    uint64_t start = UINT64_MAX, commit = UINT64_MAX;
    for (uint32_t w = 0; w < group->worker_count; w++) {
        tnd_device_slots_t counts = counts_of(group, w);
        uint64_t may_start = tnd_device_slots_to_start(&counts);
        uint64_t may_commit = tnd_device_slots_to_commit(&counts, discarded);
        start = may_start < start ? may_start : start;
        commit = may_commit < commit ? may_commit : commit;
    }
    raise_to(&group->copies.copied, start);
    raise_to(&group->copies.completed, commit);
    tnd_futex_open(&group->work);
    tnd_device_workers_tell_program(group);
    tnd_device_workers_wake(group);
}

/*  Starts the copies of steps that are ready.  false: the device has failed. */
static bool start_copies(copier_t *self, bool *any_p)
{
    tnd_error_t error;
    const worker_t *worker = self->worker;
    tnd_device_slots_t counts = tnd_copier_counts(self);
    for (; counts.copying < tnd_device_slots_to_copy(&counts); counts.copying++) {
        const job_t *job = tnd_copier_job(self, counts.copying);
        for (uint32_t i = worker->first; i < worker->first + worker->count && job->slot != NO_SLOT;
             i++)
            if (copy_rows(self, job->slot, i, &error) != TND_OK)
                return tnd_device_workers_fail(worker->group, "%s", error.text);
        atomic_store_explicit(&self->copying, counts.copying + 1, memory_order_relaxed);
        *any_p = true;
    }
    return true;
}

/*  Moves a count on as far as the device says that steps are done. */
static bool advance(copier_t *self, _Atomic uint64_t *count, uint64_t most,
                    tnd_status_t (*call)(tnd_device_t *, tnd_stage_t *, tnd_error_t *), bool *any_p)
{
    tnd_error_t error;
    uint64_t before = atomic_load_explicit(count, memory_order_relaxed), now = before;
    tnd_status_t status = TND_OK;
    while (now < most && (status = ask(self, tnd_copier_job(self, now), call, &error)) == TND_OK)
        now++;
    if (now > before) {
        atomic_store_explicit(count, now, memory_order_release);
        tnd_device_workers_complete(self->worker->group);
        *any_p = true;
    }
    return status != TND_FAILED || tnd_device_workers_fail(self->worker->group, "%s", error.text);
}

static bool has_work(const void *context)
{
    const copier_t *self = context;
    tnd_device_slots_t counts = tnd_copier_counts(self);
    return tnd_device_workers_dead(self->worker->group) ||
           counts.copying < tnd_device_slots_to_copy(&counts) || counts.copied < counts.copying ||
           counts.finished < counts.put;
}

/*  Until it asks again for what has been under way for `for_ns`. */
static void rest(uint64_t for_ns)
{
    uint64_t ns = for_ns / ASK_PART;
    ns = ns < ask_least_ns ? ask_least_ns : ns > ask_most_ns ? ask_most_ns : ns;
    (void)nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

static void *copier_main(void *context)
{
    copier_t *self = context;
    tnd_device_workers_t *group = self->worker->group;
    const tnd_device_ops_t *ops = self->worker->device->ops;
    char name[16];
    snprintf(name, sizeof name, "%.7s>%s", group->config.name, self->worker->name);
    tnd_thread_begin_computing(name);
    (void)tnd_float_mode_set(TND_FLOAT_STRICT); /* it may cast */
    (void)prctl(PR_SET_TIMERSLACK, 1000);       /* short sleeps end in time; nanoseconds */
    atomic_store_explicit(&self->worker->page->copier, (uint64_t)gettid(), memory_order_relaxed);
    uint64_t since_ns = tnd_copier_show(self, false), looked_ns;
    for (;;) {
        bool any = false;
        if (!has_work(self))
            tnd_futex_wait(&self->gate, has_work, self, 0);
        if (tnd_device_workers_dead(group) || !start_copies(self, &any) ||
            !advance(self, &self->copied, tnd_copier_counts(self).copying, ops->uploaded, &any) ||
            !advance(self, &self->finished, tnd_copier_counts(self).put, ops->finished, &any))
            return NULL;
        looked_ns = tnd_copier_show(self, any);
        if (any)
            since_ns = looked_ns;
        else
            rest(looked_ns - since_ns);
    }
}

/* --- for the other files ---------------------------------------------------------------------- */

void tnd_device_workers_put_work(const worker_t *worker, const job_t *job)
{
    copier_t *copier = worker->copier;
    tnd_device_t *device = worker->device;
    tnd_stream_handle_t stream = device->ops->stream(device);
    tnd_error_t error;
    for (uint32_t i = worker->first; i < worker->first + worker->count && job->task != NULL &&
                                     job->slot != NO_SLOT && has(copier, TND_DEVICE_STREAMS);
         i++)
        if (device->ops->mark(device, tnd_device_workers_stage(worker->group, job->slot, i), stream,
                              &error) != TND_OK) {
            (void)tnd_device_workers_fail(worker->group, "%s", error.text);
            return;
        }
    atomic_fetch_add_explicit(&copier->put, 1, memory_order_acq_rel);
    tnd_futex_open(&copier->gate);
}

bool tnd_device_workers_may_start(const worker_t *worker, uint64_t seq)
{
    tnd_device_slots_t counts = tnd_copier_counts(worker->copier);
    return seq < tnd_device_slots_to_start(&counts);
}

tnd_status_t tnd_device_workers_prepare_copies(tnd_device_workers_t *self, uint32_t *failed_p,
                                               tnd_error_t *error)
{
    const tnd_device_workers_config_t *config = &self->config;
    for (uint32_t w = 0; w < self->worker_count; w++) {
        worker_t *worker = &self->workers[w];
        const tnd_device_ops_t *ops = worker->device->ops;
        if (failed_p != NULL)
            *failed_p = worker->first;
        for (uint32_t c = 0; (ops->can & TND_DEVICE_CASTS) != 0 && c < config->schema->count; c++)
            if (cast_of(self, c) != NULL)
                TND_TRY(ops->prepare(worker->device, cast_of(self, c), error));
        if ((ops->can & TND_DEVICE_OWN_MEMORY) == 0 && config->casts == NULL)
            continue;
        worker->copier = &self->copies.of[w];
        worker->copier->worker = worker;
        self->copies.any = true;
    }
    if (self->copies.any)
        self->startable = &self->copies.copied;
    return TND_OK;
}

tnd_status_t tnd_device_workers_start_copies(tnd_device_workers_t *self, tnd_error_t *error)
{
    for (uint32_t w = 0; w < self->worker_count; w++)
        if (self->workers[w].copier != NULL) {
            TND_TRY(tnd_thread_create(&self->copies.of[w].thread, "the copies of a device",
                                      copier_main, &self->copies.of[w], error));
            self->copies.of[w].started = true;
        }
    return TND_OK;
}

void tnd_device_workers_open_copies(tnd_device_workers_t *self)
{
    for (uint32_t w = 0; self->copies.any && w < self->worker_count; w++)
        tnd_futex_open(&self->copies.of[w].gate);
}

void tnd_device_workers_stop_copies(tnd_device_workers_t *self)
{
    for (uint32_t w = 0; w < self->worker_count; w++)
        if (self->copies.of[w].started) {
            pthread_join(self->copies.of[w].thread, NULL);
            self->copies.of[w].started = false;
            tnd_copier_show_facts(&self->copies.of[w]);
        }
}

/* --- the end ---------------------------------------------------------------------------------- */

/*  Whether no device reads or writes the memory of slots any more. */
static bool is_settled(const tnd_device_workers_t *self)
{
    for (uint32_t s = 0; s < self->config.depth; s++)
        if (self->memories[s] != NULL && !tnd_slot_memory_settled(self->memories[s]))
            return false;
    return tnd_slot_pool_settled(self->pool);
}

/*  Names what was not done, as far as it is a copy or the work of a step. */
static void describe_unsettled(tnd_device_workers_t *self)
{
    char what[80] = "";
    for (uint32_t w = 0; w < self->worker_count; w++) {
        const worker_t *worker = &self->workers[w];
        if (worker->copier == NULL)
            continue;
        tnd_copier_show_pending(worker->copier, tnd_clock_now());
        if (tnd_device_pending_text(worker->page, what, sizeof what)[0] != '\0')
            break;
    }
    snprintf(self->failure.unsettled, sizeof self->failure.unsettled,
             "%s: %s is not done %" PRIu64 " ms after the stop: the device hangs, and memory that "
             "it may still access is leaked",
             self->config.name, what[0] != '\0' ? what : "what a program reads of its rows",
             self->config.stop_ns / 1000000);
}

void tnd_device_workers_settle(tnd_device_workers_t *self)
{
    uint64_t since_ns = tnd_clock_now();
    while (self->copies.any && !is_settled(self)) {
        if (tnd_clock_now() - since_ns >= self->config.stop_ns) {
            describe_unsettled(self);
            return;
        }
        rest(since_ns);
    }
}
