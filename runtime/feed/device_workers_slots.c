/*  runtime/feed/device_workers_slots.c - the feeder's side: fills slots, takes finished steps. */
#include "runtime/feed/device_workers_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/*  So many rows before a ragged one is copied, its first bytes are requested. */
enum { PREFETCH_ROWS = 4, PREFETCH_BYTES = 256, LINE_BYTES = 64 };

/*  Appends a job and returns the new number of jobs. */
static uint64_t add_job(tnd_device_workers_t *self, uint32_t slot, const tnd_slice_note_t *note,
                        const tnd_task_t *task, const tnd_task_t *keep)
{
    uint64_t seq = atomic_load_explicit(&self->ready, memory_order_relaxed);
    job_t *job = &self->jobs[seq % self->config.depth];
    assert(seq - self->account.consumed < self->config.depth);
    job->slot = slot;
    job->note = *note;
    job->note.payload = NULL;
    job->task = task;
    job->keep = keep;
    job->round = (tnd_collective_round_t){.step = note->step, .rows = job->rows};
    for (uint32_t i = 0; i < self->config.count; i++)
        job->reports[i].count = 0, job->reports[i].kept = TND_KEPT_NOT_ASKED;
    for (uint32_t i = 0; slot != NO_SLOT && i < self->config.count; i++)
        job->rows[i] = self->shares[(size_t)slot * self->config.count + i].rows;
    for (uint32_t w = 0; w < self->worker_count; w++)
        atomic_store_explicit(&job->met[w], 0, memory_order_relaxed);
    atomic_store_explicit(&job->left, self->worker_count, memory_order_relaxed);
    atomic_store_explicit(&self->ready, seq + 1, memory_order_release);
    tnd_device_workers_open_copies(self);
    return seq + 1;
}

void tnd_device_workers_publish(tnd_device_workers_t *self, uint64_t jobs)
{
    atomic_store_explicit(&self->published, jobs, memory_order_release);
    tnd_futex_open(&self->work);
}

bool tnd_device_workers_has_finished(const void *context)
{
    const awaited_t *awaited = context;
    return tnd_device_workers_dead(awaited->group) ||
           atomic_load_explicit(&awaited->group->finished, memory_order_acquire) >= awaited->number;
}

static bool has_completed(const void *context)
{
    const awaited_t *awaited = context;
    return tnd_device_workers_dead(awaited->group) ||
           atomic_load_explicit(&awaited->group->copies.completed, memory_order_acquire) >=
               awaited->number;
}

tnd_status_t tnd_device_workers_call(tnd_device_workers_t *self, const tnd_task_t *task,
                                     tnd_error_t *error)
{
    const tnd_slice_note_t nothing = {0};
    uint64_t jobs = add_job(self, NO_SLOT, &nothing, task, NULL);
    tnd_device_workers_publish(self, jobs);
    awaited_t awaited = {self, jobs};
    tnd_futex_wait(&self->program, tnd_device_workers_has_finished, &awaited, 0);
    if (self->copies.any) /* its place among the jobs is used again */
        tnd_futex_wait(&self->program, has_completed, &awaited, 0);
    if (tnd_device_workers_dead(self))
        return tnd_fail(error, "%s", self->failure.text);
    self->account.consumed = self->account.ran = self->pull.taken = self->pull.ran =
        self->account.flushed = jobs;
    atomic_store(&self->retired, jobs);
    return TND_OK;
}

void tnd_device_workers_run_all(tnd_device_workers_t *self, const tnd_task_t *task)
{
    self->task = task;
    atomic_store(&self->mode, MODE_TASK);
}

void *tnd_device_workers_row(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                             uint32_t column, uint64_t row)
{
    const tnd_slot_layout_t *layout = &self->layout;
    const tnd_column_t *of = &self->config.schema->columns[column];
    uint8_t *host = tnd_device_workers_stage(self, slot, local)->host;
    assert(row <= self->config.rows_max);
    if (!of->ragged)
        return host + layout->offsets[column] + row * tnd_column_bytes(of);
    const tnd_slot_column_t *placed =
        &tnd_device_workers_placed(self, slot, local)[layout->lists[column]];
    if (layout->config.form != TND_SLOT_PACKED)
        return host + placed->offset + row * placed->stride;
    const uint64_t *splits =
        tnd_slot_layout_splits(layout, tnd_device_workers_lists(self, slot, local), column);
    return host + placed->offset + splits[row] * layout->units[column];
}

/*  Where the rows of a ragged column of a replica are in its slot. */
typedef struct {
    tnd_slot_form_t form;
    uint8_t *base;
    size_t stride, unit;
    const uint64_t *splits; /* if PACKED */
    uint64_t *lengths;
    uint64_t pad;
    size_t pad_bytes;
} ragged_place_t;

static ragged_place_t place_of(const tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                               uint32_t column)
{
    const tnd_slot_layout_t *layout = &self->layout;
    uint64_t *lists = tnd_device_workers_lists(self, slot, local);
    const tnd_slot_column_t *placed =
        &tnd_device_workers_placed(self, slot, local)[layout->lists[column]];
    return (ragged_place_t){
        .form = self->config.form,
        .base = (uint8_t *)tnd_device_workers_stage(self, slot, local)->host + placed->offset,
        .stride = placed->stride,
        .unit = layout->units[column],
        .splits = tnd_slot_layout_splits(layout, lists, column),
        .lengths = tnd_slot_layout_lengths(layout, lists, column),
        .pad = self->config.pads != NULL ? self->config.pads[column] : 0,
        .pad_bytes = tnd_dtype_size(self->config.schema->columns[column].dtype)};
}

/*  Writes the padding of `bytes` bytes after a row. */
static void pad(const ragged_place_t *place, uint8_t *to, size_t bytes)
{
    if (place->pad == 0)
        memset(to, 0, bytes);
    else
        for (size_t at = 0; at < bytes; at += place->pad_bytes)
            memcpy(to + at, &place->pad, place->pad_bytes);
}

/*  Rows that are SPREAD are followed by zeros already, but for a longer row written before. */
static inline size_t padding_of(const ragged_place_t *place, uint64_t last, uint64_t length)
{
    if (place->form == TND_SLOT_PACKED)
        return 0;
    if (place->form == TND_SLOT_SPREAD && place->pad == 0)
        return last > length ? (last - length) * place->unit : 0;
    return place->stride - length * place->unit;
}

static inline void put_row(const ragged_place_t *place, uint64_t row, const uint8_t *data,
                           uint64_t length)
{
    const uint64_t last = place->lengths[row];
    uint8_t *to = place->form == TND_SLOT_PACKED ? place->base + place->splits[row] * place->unit
                                                 : place->base + row * place->stride;
    size_t bytes = length * place->unit;
    assert(place->form == TND_SLOT_SPREAD || last == length);
    if (length > 0)
        memcpy(to, data, bytes);
    size_t padding = padding_of(place, last, length);
    if (padding > 0)
        pad(place, to + bytes, padding);
    place->lengths[row] = length;
}

/*  Begins to load a row that may be anywhere in memory. */
static inline void prefetch(const uint8_t *row, size_t bytes)
{
    for (size_t i = 0; i < PREFETCH_BYTES && i < bytes; i += LINE_BYTES)
        __builtin_prefetch(row + i);
}

tnd_status_t tnd_device_workers_put(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                                    uint32_t column, uint64_t row, const tnd_block_column_t *from,
                                    uint32_t first, uint32_t rows, tnd_error_t *error)
{
    const ragged_place_t place = place_of(self, slot, local, column);
    const uint64_t longest = self->config.schema->columns[column].shape[0];
    const uint64_t *index = from->index, *lengths = from->lengths;
    const tnd_row_check_t *check = from->check;
    assert(row + rows <= self->config.rows_max);
    for (uint32_t i = first; i < first + rows; i++, row++) {
        const uint8_t *data = from->base + (index != NULL ? index[i] : i) * from->stride;
        if (index != NULL && i + PREFETCH_ROWS < first + rows)
            prefetch(from->base + index[i + PREFETCH_ROWS] * from->stride,
                     lengths[i + PREFETCH_ROWS] * place.unit);
        assert(lengths[i] <= longest);
        if (check != NULL)
            TND_TRY(check->row(check->context, data, lengths[i] * place.unit, error));
        put_row(&place, row, data, lengths[i]);
    }
    return TND_OK;
}

static void pad_rows(tnd_device_workers_t *self, uint32_t slot, uint32_t local, bool ragged)
{
    const share_t *share = &self->shares[(size_t)slot * self->config.count + local];
    const tnd_schema_t *schema = self->config.schema;
    for (uint32_t c = 0; c < schema->count && share->padded > 0; c++) {
        if (schema->columns[c].ragged && ragged) {
            const ragged_place_t place = place_of(self, slot, local, c);
            for (uint32_t r = 0; r < share->padded; r++)
                put_row(&place, share->rows + r, NULL, 0);
        } else if (!schema->columns[c].ragged) {
            memset(tnd_device_workers_row(self, slot, local, c, share->rows), 0,
                   share->padded * tnd_column_bytes(&schema->columns[c]));
        }
    }
}

void tnd_device_workers_share(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                              uint32_t rows, uint32_t padded)
{
    size_t at = (size_t)slot * self->config.count + local;
    assert((uint64_t)rows + padded <= self->config.rows_max);
    self->shares[at] = (share_t){.rows = rows, .padded = padded};
    tnd_slice_drop(&self->memories[slot]->slices[local]);
    for (uint32_t c = 0; c < self->config.schema->count; c++)
        self->columns[at * TND_COLUMNS_MAX + c] =
            (const uint8_t *)tnd_device_workers_stage(self, slot, local)->host +
            self->layout.offsets[c];
    pad_rows(self, slot, local, !tnd_device_workers_arranges(self));
}

bool tnd_device_workers_arranges(const tnd_device_workers_t *self)
{
    return self->layout.ragged > 0 && self->config.form != TND_SLOT_SPREAD;
}

uint64_t *tnd_device_workers_lengths(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                                     uint32_t column)
{
    return tnd_slot_layout_lengths(&self->layout, tnd_device_workers_lists(self, slot, local),
                                   column);
}

uint64_t tnd_device_workers_arrange(tnd_device_workers_t *self, uint32_t slot, uint32_t local)
{
    size_t at = (size_t)slot * self->config.count + local;
    const tnd_slot_layout_t *layout = &self->layout;
    const share_t *share = &self->shares[at];
    uint64_t *lists = tnd_device_workers_lists(self, slot, local);
    tnd_slot_column_t *placed = tnd_device_workers_placed(self, slot, local);
    assert(tnd_device_workers_arranges(self));
    for (uint32_t c = 0; c < self->config.schema->count; c++)
        if (self->config.schema->columns[c].ragged)
            memset(tnd_slot_layout_lengths(layout, lists, c) + share->rows, 0,
                   share->padded * sizeof *lists);
    uint64_t bytes = tnd_slot_layout_arrange(layout, lists, share->rows + share->padded, placed);
    if (bytes > layout->ragged_max)
        return bytes;
    for (uint32_t c = 0; c < self->config.schema->count; c++)
        if (self->config.schema->columns[c].ragged)
            self->columns[at * TND_COLUMNS_MAX + c] =
                (const uint8_t *)tnd_device_workers_stage(self, slot, local)->host +
                placed[layout->lists[c]].offset;
    pad_rows(self, slot, local, true);
    return bytes;
}

bool tnd_device_workers_borrow(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                               uint32_t column, const void *rows, bool pinned)
{
    size_t at = (size_t)slot * self->config.count + local;
    const tnd_stage_t *stage = tnd_device_workers_stage(self, slot, local);
    assert((uintptr_t)rows % TND_STAGE_ALIGN == 0);
    if (stage->host != stage->device && !pinned)
        return false;
    self->columns[at * TND_COLUMNS_MAX + column] = rows;
    return true;
}

void tnd_device_workers_keep(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                             tnd_slice_t *slice)
{
    assert(self->memories[slot]->slices[local] == NULL);
    self->memories[slot]->slices[local] = slice;
}

bool tnd_device_workers_hash(tnd_device_workers_t *self, uint32_t slot, uint32_t local,
                             uint64_t rank)
{
    size_t at = (size_t)slot * self->config.count + local;
    const tnd_stage_t *stage = tnd_device_workers_stage(self, slot, local);
    if (stage->host != stage->device)
        return false;
    self->shares[at].unhashed = true;
    self->shares[at].rank = rank;
    return true;
}

void tnd_device_workers_serve(tnd_device_workers_t *self, const tnd_replica_state_t *state)
{
    assert(self->config.count == 1);
    self->replicas->state = *state;
}

float *tnd_device_workers_initial(tnd_device_workers_t *self, size_t *count_p)
{
    tnd_replica_state_t *state = &self->replicas->state;
    float *values = state->initial;
    *count_p = state->initial_count;
    state->initial = NULL;
    return values;
}

bool tnd_device_workers_pushed(const tnd_device_workers_t *self)
{
    return self->replicas->state.pushed;
}

void tnd_device_workers_ready(tnd_device_workers_t *self, uint32_t slot,
                              const tnd_slice_note_t *note, const tnd_task_t *keep)
{
    (void)add_job(self, slot, note, self->task, keep);
}

void tnd_device_workers_flush(tnd_device_workers_t *self)
{
    uint64_t jobs = atomic_load_explicit(&self->ready, memory_order_relaxed);
    tnd_device_workers_publish_span(self);
    if (jobs == self->account.flushed)
        return;
    self->account.flushed = jobs;
    if (atomic_load_explicit(&self->pull.span_until, memory_order_relaxed) != 0)
        return;
    if (atomic_load_explicit(&self->mode, memory_order_relaxed) == MODE_TASK)
        tnd_device_workers_publish(self, jobs);
    else
        tnd_device_workers_tell_program(self);
}

/*  Gives the slot a spare memory, or a new one. */
static tnd_status_t replace_memory(tnd_device_workers_t *self, uint32_t slot, tnd_error_t *error)
{
    tnd_slot_memory_t *memory = self->memories[slot];
    TND_TRY(tnd_slot_pool_take(self->pool, &self->memories[slot], NULL, error));
    tnd_slot_memory_release(&memory);
    uint32_t all = tnd_slot_pool_counts(self->pool).all;
    uint32_t planned = self->config.depth + self->config.spare;
    if (all > planned && all - planned > self->account.further)
        self->account.further = all - planned;
    return TND_OK;
}

tnd_status_t tnd_device_workers_release(tnd_device_workers_t *self, uint32_t slot,
                                        tnd_error_t *error)
{
    tnd_slot_memory_t *memory = self->memories[slot];
    tnd_slot_pool_counts_t counts = {0};
    /* No reader is added to a step that is over. */
    bool held = tnd_slot_memory_shared(memory);
    if (held)
        counts = tnd_slot_pool_counts(self->pool);
    switch (tnd_device_slots_refill(held, counts.spares, counts.room)) {
    case TND_REFILL_SAME:
        for (uint32_t i = 0; i < self->config.count; i++)
            tnd_slice_drop(&memory->slices[i]);
        return TND_OK;
    case TND_REFILL_NEW:
    case TND_REFILL_SPARE:
        if (replace_memory(self, slot, error) == TND_OK)
            return TND_OK;
        break;
    case TND_REFILL_NONE:
        (void)tnd_fail(error, "`memory:` does not allow another one");
        break;
    }
    tnd_error_t why = *error;
    return tnd_fail(error,
                    "%s: a program holds the tensors of %" PRIu32 " batches (`spare:` is %" PRIu32
                    "), and the next batch has nowhere to go: %.300s; release some of them earlier",
                    self->config.name, counts.all - counts.spares - (self->config.depth - 1),
                    self->config.spare, why.text);
}

uint32_t tnd_device_workers_further(const tnd_device_workers_t *self)
{
    return self->account.further;
}

bool tnd_device_workers_discards(const tnd_device_workers_t *self)
{
    return atomic_load_explicit(&self->mode, memory_order_relaxed) == MODE_DISCARD;
}

/*  Those of a span are over when they have run, but for the last one: the program may save after it. */
static uint64_t over_in_span(const tnd_device_workers_t *self)
{
    uint64_t until = atomic_load_explicit(&self->pull.span_until, memory_order_acquire);
    uint64_t retired = atomic_load_explicit(&self->retired, memory_order_acquire);
    uint64_t finished = atomic_load_explicit(&self->finished, memory_order_acquire);
    if (until == 0)
        return retired;
    finished = finished < until ? finished : until - 1;
    return finished > retired ? finished : retired;
}

/*  The steps before this one need their threads, and the program, no more. */
static uint64_t over_below(const tnd_device_workers_t *self)
{
    switch ((start_mode_t)atomic_load_explicit(&self->mode, memory_order_acquire)) {
    case MODE_TASK:
        return atomic_load_explicit(&self->finished, memory_order_acquire);
    case MODE_PULL:
        return over_in_span(self);
    case MODE_DISCARD:
        return atomic_load_explicit(&self->ready, memory_order_relaxed);
    case MODE_KEEP:
        break;
    }
    return 0;
}

/*  Those of which nothing more is reduced: also one that ran before a round without rows. */
static uint64_t run_below(const tnd_device_workers_t *self)
{
    uint64_t over = over_below(self);
    uint64_t before = atomic_load_explicit(&self->sync.after, memory_order_acquire);
    return before > over ? before : over;
}

bool tnd_device_workers_ran(tnd_device_workers_t *self, tnd_ran_t *ran)
{
    if (self->account.ran >= run_below(self))
        return false;
    const job_t *job = &self->jobs[self->account.ran++ % self->config.depth];
    *ran = (tnd_ran_t){job->note.step, job->round.tensors, job->round.reductions};
    return true;
}

bool tnd_device_workers_done(tnd_device_workers_t *self, tnd_done_t *done)
{
    uint64_t limit = over_below(self);
    limit = limit < self->account.ran ? limit : self->account.ran;
    if (self->copies.any &&
        atomic_load_explicit(&self->copies.completed, memory_order_acquire) < limit)
        limit = atomic_load_explicit(&self->copies.completed, memory_order_acquire);
    if (self->account.consumed >= limit)
        return false;
    const job_t *job = &self->jobs[self->account.consumed++ % self->config.depth];
    *done = (tnd_done_t){
        .step = job->note.step,
        .slot = job->slot,
        .reports = job->reports,
    };
    for (uint32_t i = 0; i < self->config.count; i++) {
        size_t at = (size_t)job->slot * self->config.count + i;
        tnd_device_workers_hash_now(self, at); /* if no step has run */
        done->rows += self->shares[at].rows;
        tnd_digest_add(&done->digest, &self->shares[at].digest);
    }
    return true;
}

bool tnd_device_workers_idle(const tnd_device_workers_t *self)
{
    return self->account.ran == atomic_load_explicit(&self->ready, memory_order_relaxed);
}

bool tnd_device_workers_is_over(const tnd_device_workers_t *self)
{
    return atomic_load_explicit(&self->over, memory_order_acquire) != TND_OK;
}

void tnd_device_workers_over(tnd_device_workers_t *self, tnd_status_t how)
{
    atomic_fetch_add(&self->ends,
                     how != TND_OK); /* first: the program that sees the end has seen this one */
    atomic_store_explicit(&self->over, (int)how, memory_order_release);
    tnd_device_workers_tell_program(self);
}

/* --- what goes to reducers, and comes from them ----------------------------------------------- */

bool tnd_device_workers_outgoing(tnd_device_workers_t *self, tnd_outgoing_t *outgoing)
{
    bool any = tnd_device_workers_use_posts(self) &&
               self->exchange.collective->ops->outgoing(self->exchange.collective, outgoing);
    tnd_device_workers_end_use(self);
    return any;
}

tnd_status_t tnd_device_workers_incoming(tnd_device_workers_t *self, tnd_actor_id_t reducer,
                                         const tnd_post_note_t *result, tnd_error_t *error)
{
    tnd_status_t status = TND_OK;
    if (tnd_device_workers_use_posts(self)) {
        status = self->exchange.collective->ops->incoming(self->exchange.collective, reducer,
                                                          result, error);
    } else {
        tnd_buffer_t *buffer = result->payload;
        tnd_buffer_drop(&buffer);
    }
    tnd_device_workers_end_use(self);
    return status;
}

bool tnd_device_workers_used(tnd_device_workers_t *self, tnd_used_t *used)
{
    return self->exchange.collective->ops->used(self->exchange.collective, used);
}

void tnd_device_workers_closed(tnd_device_workers_t *self)
{
    self->exchange.collective->ops->closed(self->exchange.collective);
}

bool tnd_device_workers_awaits(const tnd_device_workers_t *self, uint64_t round,
                               uint32_t reducer_slot)
{
    return self->exchange.collective->ops->awaits(self->exchange.collective, round, reducer_slot);
}

bool tnd_device_workers_waits(const tnd_device_workers_t *self)
{
    return self->exchange.collective->ops->waits(self->exchange.collective);
}
