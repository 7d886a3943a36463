/*  actors/feeder/batch_slots.c - the rows of a feeder's steps, put where its devices read them. */
#include "actors/feeder/batch_slots.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/interface/device.h"
#include "runtime/text/quantity.h"

/*  Bytes copied before they are hashed: few enough to be in a near cache still, and so many that
 *  the memory stays busy with the rows that come next (a row at a time takes a quarter longer). */
enum { HOT_BYTES = 64 << 10 };

/*  Where several threads gather, a slice of at least two parts of the least size is divided into
 *  PARTS_A_THREAD for each thread, so that they end at about the same time.  A part begins with
 *  rows that are in no cache, so larger ones take less time per row; beyond PART_MOST nothing is
 *  gained any more.  A slice has at most PARTS_A_SLICE parts, and one more for each of its pieces. */
enum { PARTS_A_THREAD = 2, PART_LEAST = 64 << 10, PART_MOST = 192 << 10, PARTS_A_SLICE = 64 };

/*  Steps that are ready are begun once so many bytes of them were gathered, or nothing else has
 *  arrived: a thread is woken for several steps at a time, which takes a fraction of their time. */
enum { FLUSH_BYTES = 1 << 20 };

/*  What has been gathered into a slot. */
typedef struct {
    uint64_t step;
    uint32_t generation;
    bool any;
    tnd_digest_t digest; /* of what was hashed here */
} filled_t;

/*  The slices of a replica whose rows have not all come. */
typedef struct {
    tnd_slice_t **slices;
    uint32_t count;
    size_t room;
    uint64_t rows;
} waiting_t;

/*  A step whose rows may still be on their way to its slot. */
typedef struct {
    uint32_t slot;
    tnd_slice_note_t note;
    const tnd_task_t *keep;
} ready_t;

struct tnd_batch_slots {
    tnd_batch_slots_config_t config;
    bool ragged;        /* columns, some */
    filled_t *filled;   /* by slot */
    waiting_t *waiting; /* by slot x local replica; NULL: ragged rows are not arranged */
    uint64_t gathered;  /* bytes of steps that are ready and may not be begun yet */

    tnd_gatherers_t *gatherers; /* NULL: the actor alone gathers, at once */
    _Atomic uint32_t *left;     /* by slot: parts that are not gathered */
    ready_t *ready;             /* a ring of `depth`, in step order */
    uint32_t ready_first, ready_count;
    tnd_slice_t **slices; /* of parts that were not collected */
    uint32_t slice_count;
    size_t slice_room;
    atomic_bool any_lost; /* rows of a part */
    atomic_bool any_bad;  /* rows that were checked here */
};

static void gather_part(void *context, tnd_gather_part_t *part);

static void make_slots(tnd_batch_slots_t *self)
{
    const tnd_batch_slots_config_t *config = &self->config;
    self->filled = tnd_allocate_zeroed(config->depth, sizeof *self->filled);
    if (tnd_device_workers_arranges(config->workers))
        self->waiting =
            tnd_allocate_zeroed((size_t)config->depth * config->count, sizeof *self->waiting);
    self->left = tnd_allocate_zeroed(config->depth, sizeof *self->left);
    self->ready = tnd_allocate_zeroed(config->depth, sizeof *self->ready);
}

tnd_status_t tnd_batch_slots_new(tnd_batch_slots_t **self_p, const tnd_batch_slots_config_t *config,
                                 tnd_error_t *error)
{
    tnd_status_t status = TND_OK;
    tnd_batch_slots_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->config = *config;
    self->ragged = tnd_schema_ragged(config->schema) > 0;
    make_slots(self);
    if (config->threads > 1)
        status = tnd_gatherers_new(&self->gatherers, config->name, config->threads - 1, gather_part,
                                   self, error);
    *self_p = self;
    if (status != TND_OK)
        tnd_batch_slots_destroy(self_p);
    return status;
}

/*  Drops the slices that wait for others of the step in a slot. */
static void drop_waiting(tnd_batch_slots_t *self, uint32_t slot)
{
    for (uint32_t local = 0; self->waiting != NULL && local < self->config.count; local++) {
        waiting_t *waiting = &self->waiting[(size_t)slot * self->config.count + local];
        while (waiting->count > 0)
            tnd_slice_drop(&waiting->slices[--waiting->count]);
        waiting->rows = 0;
    }
}

static void free_slots(tnd_batch_slots_t *self)
{
    for (uint32_t slot = 0; slot < self->config.depth; slot++)
        drop_waiting(self, slot);
    for (size_t i = 0; self->waiting != NULL && i < (size_t)self->config.depth * self->config.count;
         i++)
        free(self->waiting[i].slices);
    free(self->waiting);
    free(self->ready);
    free((void *)self->left);
    free(self->filled);
}

void tnd_batch_slots_resize(tnd_batch_slots_t *self, uint32_t depth)
{
    assert(self->ready_count == 0 && self->slice_count == 0);
    free_slots(self);
    self->config.depth = depth;
    self->ready_first = 0;
    make_slots(self);
}

void tnd_batch_slots_destroy(tnd_batch_slots_t **self_p)
{
    tnd_batch_slots_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    tnd_gatherers_destroy(&self->gatherers);
    for (uint32_t i = 0; i < self->slice_count; i++)
        tnd_slice_drop(&self->slices[i]);
    free_slots(self);
    free(self->slices);
    free(self);
}

/*  Copies rows of a block to their places and adds them to the digest; returns the bytes copied. */
static size_t gather(tnd_batch_slots_t *self, const tnd_block_t *block, uint32_t first,
                     uint32_t rows, uint32_t slot, uint32_t local, uint64_t at, uint64_t rank,
                     tnd_digest_t *digest)
{
    const tnd_schema_t *schema = self->config.schema;
    size_t row_bytes = tnd_schema_row_bytes(schema);
    uint32_t hot = row_bytes < HOT_BYTES ? (uint32_t)(HOT_BYTES / row_bytes) : 1;
    if (!self->config.digest)
        hot = rows;
    tnd_digest_stripe_t stripes[TND_COLUMNS_MAX];
    for (uint32_t done = 0, some; done < rows; done += some) {
        some = rows - done < hot ? rows - done : hot;
        for (uint32_t c = 0; c < schema->count; c++) {
            void *to = tnd_device_workers_row(self->config.workers, slot, local, c, at + done);
            size_t bytes = tnd_column_bytes(&schema->columns[c]);
            tnd_block_copy(block, c, first + done, some, to);
            stripes[c] = (tnd_digest_stripe_t){.data = to, .stride = bytes, .bytes = bytes};
        }
        if (self->config.digest)
            tnd_digest_rows(digest, rank + done, some, stripes, schema->count);
    }
    return rows * row_bytes;
}

/*  Copies rows of a block to their places, column by column; rows that have a check are checked. */
static void copy_columns(tnd_batch_slots_t *self, const tnd_block_t *block, uint32_t first,
                         uint32_t rows, uint32_t slot, uint32_t local, uint64_t at)
{
    tnd_device_workers_t *workers = self->config.workers;
    tnd_error_t why;
    for (uint32_t c = 0; c < self->config.schema->count; c++)
        if (!self->config.schema->columns[c].ragged)
            (void)tnd_block_copy(block, c, first, rows,
                                 tnd_device_workers_row(workers, slot, local, c, at));
        else if (tnd_device_workers_put(workers, slot, local, c, at, &block->columns[c], first,
                                        rows, &why) != TND_OK)
            atomic_store(&self->any_bad, true);
}

/*  Adds a row of the slot, which was copied there from `row` of a block, to the digest. */
static void hash_row(const tnd_batch_slots_t *self, const tnd_block_t *block, uint32_t row,
                     uint32_t slot, uint32_t local, uint64_t at, uint64_t rank,
                     tnd_digest_t *digest)
{
    const tnd_schema_t *schema = self->config.schema;
    tnd_digest_column_t columns[TND_COLUMNS_MAX];
    for (uint32_t c = 0; c < schema->count; c++)
        columns[c] = (tnd_digest_column_t){
            .data = tnd_device_workers_row(self->config.workers, slot, local, c, at),
            .bytes = tnd_block_row_bytes(block, c, row),
            .ragged = schema->columns[c].ragged};
    tnd_digest_row(digest, rank, columns, schema->count);
}

/*  As gather, where columns are ragged. */
static size_t gather_ragged(tnd_batch_slots_t *self, const tnd_block_t *block, uint32_t first,
                            uint32_t rows, uint32_t slot, uint32_t local, uint64_t at,
                            uint64_t rank, tnd_digest_t *digest)
{
    size_t bytes = 0;
    for (uint32_t c = 0; c < self->config.schema->count; c++)
        bytes += tnd_block_rows_bytes(block, c, first, rows);
    uint64_t hot = rows;
    if (self->config.digest && bytes > HOT_BYTES)
        hot = (uint64_t)HOT_BYTES * rows / bytes;
    for (uint32_t done = 0, some; done < rows; done += some) {
        some = hot < rows - done ? (uint32_t)hot + (hot == 0) : rows - done;
        copy_columns(self, block, first + done, some, slot, local, at + done);
        for (uint32_t i = done; self->config.digest && i < done + some; i++)
            hash_row(self, block, first + i, slot, local, at + i, rank + i, digest);
    }
    return bytes;
}

/*  On any of the threads. */
static void gather_part(void *context, tnd_gather_part_t *part)
{
    tnd_batch_slots_t *self = context;
    tnd_error_t lost;
    part->copied = (self->ragged ? gather_ragged : gather)(self, part->block, part->first,
                                                           part->rows, part->slot, part->local,
                                                           part->at, part->rank, &part->digest);
    if (tnd_block_intact(part->block, part->first, part->rows, &lost) != TND_OK)
        atomic_store(&self->any_lost, true);
}

/*  The rows of a part of a slice of so many bytes. */
static uint32_t rows_of_part(const tnd_batch_slots_t *self, uint32_t rows, size_t bytes)
{
    size_t part = bytes / ((size_t)PARTS_A_THREAD * self->config.threads);
    part = part < PART_LEAST ? PART_LEAST : part > PART_MOST ? PART_MOST : part;
    size_t parts = bytes / part < PARTS_A_SLICE ? bytes / part : PARTS_A_SLICE;
    return (uint32_t)((rows + parts - 1) / parts);
}

/*  Whether several threads are to gather the rows of a slice of so many bytes; 0: there is one. */
static bool is_large(const tnd_batch_slots_t *self, const tnd_slice_t *slice, size_t bytes)
{
    return bytes >= 2 * (size_t)PART_LEAST &&
           tnd_gatherers_have_room(self->gatherers, slice->piece_count + PARTS_A_SLICE);
}

static void hold_slice(tnd_batch_slots_t *self, tnd_slice_t *slice)
{
    self->slices =
        tnd_grow(self->slices, self->slice_count, &self->slice_room, sizeof(tnd_slice_t *));
    self->slices[self->slice_count++] = slice;
}

/*  Lets all threads gather the rows of a slice; it stays until they have. */
static void share_out(tnd_batch_slots_t *self, tnd_slice_t *slice, size_t bytes, uint32_t slot,
                      uint32_t local)
{
    uint32_t most = rows_of_part(self, slice->note.rows, bytes);
    uint64_t at = slice->note.offset, rank = slice->note.rank;
    for (uint32_t p = 0; p < slice->piece_count; p++) {
        uint32_t first = slice->pieces[p].first, left = slice->pieces[p].rows;
        for (uint32_t some; left > 0; left -= some) {
            some = left < most ? left : most;
            tnd_gather_part_t part = {.block = slice->pieces[p].block,
                                      .first = first,
                                      .rows = some,
                                      .slot = slot,
                                      .local = local,
                                      .at = at,
                                      .rank = rank};
            tnd_gatherers_add(self->gatherers, &part, &self->left[slot]);
            first += some;
            at += some;
            rank += some;
        }
    }
    hold_slice(self, slice);
    tnd_gatherers_wake(self->gatherers);
}

/*  Whether a step can read these rows of a column where they lie: packed, on a cache line, in
 *  memory that no truncated file takes away. */
static bool is_borrowable(const tnd_block_t *block, uint32_t column, uint32_t first)
{
    const tnd_block_column_t *from = &block->columns[column];
    return from->index == NULL &&
           from->stride == tnd_column_bytes(&block->schema->columns[column]) &&
           from->buffer != NULL && tnd_buffer_kind(from->buffer) != TND_BUFFER_MAPPED &&
           (uintptr_t)tnd_block_row(block, column, first) % TND_STAGE_ALIGN == 0;
}

static bool is_pinned(const tnd_block_t *block, uint32_t column)
{
    return tnd_buffer_kind(block->columns[column].buffer) == TND_BUFFER_PINNED;
}

/*  Lets a replica borrow its rows of a step from their block where they are borrowable, and copies
 *  the rest; returns the bytes copied.  The slice must stay until the step is done. */
static size_t borrow_rows(tnd_batch_slots_t *self, const tnd_slice_t *slice, uint32_t slot,
                          uint32_t local, uint64_t rank, tnd_digest_t *digest)
{
    const tnd_schema_t *schema = self->config.schema;
    const tnd_block_t *block = slice->pieces[0].block;
    uint32_t first = slice->pieces[0].first, rows = slice->pieces[0].rows;
    tnd_digest_stripe_t stripes[TND_COLUMNS_MAX];
    size_t copied = 0;
    for (uint32_t c = 0; c < schema->count; c++) {
        size_t bytes = tnd_column_bytes(&schema->columns[c]);
        const void *at = tnd_block_row(block, c, first);
        if (!is_borrowable(block, c, first) ||
            !tnd_device_workers_borrow(self->config.workers, slot, local, c, at,
                                       is_pinned(block, c))) {
            void *to = tnd_device_workers_row(self->config.workers, slot, local, c, 0);
            copied += tnd_block_copy(block, c, first, rows, to);
            at = to;
        }
        stripes[c] = (tnd_digest_stripe_t){.data = at, .stride = bytes, .bytes = bytes};
    }
    if (self->config.digest && !tnd_device_workers_hash(self->config.workers, slot, local, rank))
        tnd_digest_rows(digest, rank, rows, stripes, schema->count);
    return copied;
}

/*  Whether a slice is all that its replica gets, in one piece, its widest column lying well. */
static bool is_lendable(const tnd_batch_slots_t *self, const tnd_slice_t *slice,
                        const tnd_slice_note_t *note)
{
    const tnd_schema_t *schema = self->config.schema;
    uint32_t widest = 0;
    if (slice->piece_count != 1 || note->rows != note->total || note->padded != 0 || self->ragged)
        return false;
    for (uint32_t c = 1; c < schema->count; c++)
        if (tnd_column_bytes(&schema->columns[c]) > tnd_column_bytes(&schema->columns[widest]))
            widest = c;
    return is_borrowable(slice->pieces[0].block, widest, slice->pieces[0].first);
}

static tnd_status_t check_slice(const tnd_batch_slots_t *self, const tnd_slice_t *slice,
                                const tnd_slice_note_t *note, tnd_error_t *error)
{
    uint64_t rows = 0;
    for (uint32_t p = 0; p < slice->piece_count; p++)
        rows += slice->pieces[p].rows;
    if (rows != note->rows)
        return tnd_fail(error,
                        "%s: a slice of step %" PRIu64 " for replica %" PRIu32 " has %" PRIu64
                        " rows where its note says %" PRIu32,
                        self->config.name, note->step, note->replica, rows, note->rows);
    if ((uint64_t)note->total + note->padded > self->config.rows_max)
        return tnd_fail(error,
                        "%s: replica %" PRIu32 " gets %" PRIu32 " rows and %" PRIu32
                        " padded ones in step %" PRIu64 "; it has room for %" PRIu64,
                        self->config.name, note->replica, note->total, note->padded, note->step,
                        self->config.rows_max);
    return TND_OK;
}

/*  After the rows of a slice were read. */
static tnd_status_t check_read(const tnd_batch_slots_t *self, const tnd_slice_t *slice,
                               tnd_error_t *error)
{
    tnd_error_t why;
    tnd_status_t status = tnd_slice_intact(slice, &why);
    if (status == TND_OK && atomic_load(&self->any_bad))
        status = tnd_slice_check_rows(slice, &why);
    return status == TND_OK ? TND_OK : tnd_fail(error, "%s: %s", self->config.name, why.text);
}

/*  Copies the rows of a slice to their places, or begins to; takes the slice. */
static tnd_status_t gather_slice(tnd_batch_slots_t *self, tnd_slice_t *slice, uint32_t slot,
                                 uint32_t local, tnd_error_t *error)
{
    const tnd_slice_note_t *note = &slice->note;
    tnd_digest_t *digest = &self->filled[slot].digest;
    size_t bytes = self->gatherers != NULL ? tnd_slice_bytes(slice) : 0, copied = 0;
    if (is_large(self, slice, bytes)) {
        share_out(self, slice, bytes, slot, local);
        return TND_OK;
    }
    for (uint32_t p = 0, done = 0; p < slice->piece_count; done += slice->pieces[p++].rows)
        copied += (self->ragged ? gather_ragged : gather)(
            self, slice->pieces[p].block, slice->pieces[p].first, slice->pieces[p].rows, slot,
            local, note->offset + done, note->rank + done, digest);
    tnd_status_t status = check_read(self, slice, error);
    tnd_slice_drop(&slice);
    tnd_count(&self->config.statistics->bytes_copied, copied);
    return status;
}

/*  Notes the lengths of the ragged rows of a slice. */
static void note_lengths(tnd_batch_slots_t *self, const tnd_slice_t *slice, uint32_t slot,
                         uint32_t local)
{
    const tnd_schema_t *schema = self->config.schema;
    for (uint32_t c = 0; c < schema->count; c++) {
        if (!schema->columns[c].ragged)
            continue;
        uint64_t *lengths =
            tnd_device_workers_lengths(self->config.workers, slot, local, c) + slice->note.offset;
        for (uint32_t p = 0; p < slice->piece_count; lengths += slice->pieces[p++].rows)
            memcpy(lengths, slice->pieces[p].block->columns[c].lengths + slice->pieces[p].first,
                   slice->pieces[p].rows * sizeof *lengths);
    }
}

static tnd_status_t too_large(const tnd_batch_slots_t *self, const tnd_slice_note_t *note,
                              uint64_t bytes, tnd_error_t *error)
{
    char takes[TND_QUANTITY_SIZE], most[TND_QUANTITY_SIZE];
    return tnd_fail(
        error,
        "%s: the batch of step %" PRIu64 " takes %s of ragged rows for replica %" PRIu32
        ", but `bytes` of batcher `%s` allows %s: raise it, use smaller batches, or cut "
        "long rows (pad_ragged)",
        self->config.name, note->step, tnd_quantity_size(bytes, takes), note->replica,
        self->config.batcher, tnd_quantity_size(self->config.ragged_max, most));
}

/*  Once all slices of a replica have come, its rows are arranged and gathered. */
static tnd_status_t arrange(tnd_batch_slots_t *self, tnd_slice_t *slice, uint32_t slot,
                            uint32_t local, tnd_error_t *error)
{
    const tnd_slice_note_t *note = &slice->note;
    waiting_t *waiting = &self->waiting[(size_t)slot * self->config.count + local];
    waiting->slices =
        tnd_grow(waiting->slices, waiting->count, &waiting->room, sizeof(tnd_slice_t *));
    waiting->slices[waiting->count++] = slice;
    waiting->rows += note->rows;
    if (waiting->rows < note->total)
        return TND_OK;
    for (uint32_t i = 0; i < waiting->count; i++)
        note_lengths(self, waiting->slices[i], slot, local);
    uint64_t bytes = tnd_device_workers_arrange(self->config.workers, slot, local);
    if (self->config.ragged_max > 0 && bytes > self->config.ragged_max)
        return too_large(self, note, bytes, error);
    tnd_status_t status = TND_OK;
    uint32_t count = waiting->count, done = 0;
    waiting->count = 0;
    waiting->rows = 0;
    while (done < count && status == TND_OK)
        status = gather_slice(self, waiting->slices[done++], slot, local, error);
    while (done < count)
        tnd_slice_drop(&waiting->slices[done++]);
    return status;
}

tnd_status_t tnd_batch_slots_place(tnd_batch_slots_t *self, const tnd_effect_t *place,
                                   tnd_error_t *error)
{
    const tnd_slice_note_t *note = &place->msg.slice;
    tnd_slice_t *slice = place->payload;
    tnd_status_t status = check_slice(self, slice, note, error);
    if (status != TND_OK) {
        tnd_slice_drop(&slice);
        return status;
    }
    filled_t *filled = &self->filled[place->slot];
    /* A step that comes again in another generation was dropped half-way. */
    if (!filled->any || filled->step != note->step || filled->generation != place->msg.generation) {
        *filled = (filled_t){.step = note->step, .generation = place->msg.generation, .any = true};
        drop_waiting(self, place->slot);
    }
    uint32_t local = note->replica - self->config.first;
    tnd_device_workers_share(self->config.workers, place->slot, local, note->total, note->padded);
    tnd_count(&self->config.statistics->rows_in, note->rows);
    tnd_count(&self->config.statistics->blocks_in, 1);
    tnd_count(&self->config.statistics->bytes_in, tnd_slice_bytes(slice));
    if (self->waiting != NULL)
        return arrange(self, slice, place->slot, local, error);
    if (!is_lendable(self, slice, note))
        return gather_slice(self, slice, place->slot, local, error);
    size_t copied = borrow_rows(self, slice, place->slot, local, note->rank, &filled->digest);
    status = check_read(self, slice, error);
    tnd_device_workers_keep(self->config.workers, place->slot, local, slice);
    tnd_count(&self->config.statistics->bytes_copied, copied);
    return status;
}

/*  Whether rows were lost or are bad, which ends the run. */
static bool is_broken(const tnd_batch_slots_t *self)
{
    return atomic_load(&self->any_lost) || atomic_load(&self->any_bad);
}

/*  Hands over the steps that are whole, in order. */
static void hand_over(tnd_batch_slots_t *self)
{
    while (self->ready_count > 0 && !is_broken(self)) {
        ready_t *first = &self->ready[self->ready_first];
        if (atomic_load_explicit(&self->left[first->slot], memory_order_acquire) > 0)
            return;
        /* A part that is broken said so before it was counted as gathered. */
        if (is_broken(self))
            return;
        tnd_device_workers_ready(self->config.workers, first->slot, &first->note, first->keep);
        self->ready_first = (self->ready_first + 1) % self->config.depth;
        self->ready_count--;
        self->gathered += first->note.step_rows * tnd_schema_row_bytes(self->config.schema);
        if (self->gathered >= FLUSH_BYTES)
            tnd_batch_slots_flush(self);
    }
}

void tnd_batch_slots_ready(tnd_batch_slots_t *self, uint32_t slot, const tnd_slice_note_t *note,
                           const tnd_task_t *keep)
{
    assert(self->ready_count < self->config.depth);
    self->ready[(self->ready_first + self->ready_count++) % self->config.depth] =
        (ready_t){slot, *note, keep};
    hand_over(self);
}

void tnd_batch_slots_flush(tnd_batch_slots_t *self)
{
    self->gathered = 0;
    tnd_device_workers_flush(self->config.workers);
}

tnd_status_t tnd_batch_slots_settle(tnd_batch_slots_t *self, tnd_error_t *error)
{
    if (self->slice_count == 0)
        return TND_OK;
    while (tnd_gatherers_help(self->gatherers))
        hand_over(self);
    tnd_gatherers_wait(self->gatherers);
    hand_over(self);
    const tnd_gather_part_t *part;
    size_t copied = 0;
    while ((part = tnd_gatherers_collect(self->gatherers)) != NULL) {
        tnd_digest_add(&self->filled[part->slot].digest, &part->digest);
        copied += part->copied;
    }
    tnd_count(&self->config.statistics->bytes_copied, copied);
    tnd_status_t status = TND_OK;
    while (self->slice_count > 0) {
        tnd_slice_t *slice = self->slices[--self->slice_count];
        if (status == TND_OK && is_broken(self))
            status = check_read(self, slice, error);
        tnd_slice_drop(&slice);
    }
    return status;
}

uint64_t tnd_batch_slots_cpu_ns(const tnd_batch_slots_t *self)
{
    return self->gatherers != NULL ? tnd_gatherers_cpu_ns(self->gatherers) : 0;
}

tnd_status_t tnd_batch_slots_free(tnd_batch_slots_t *self, uint32_t slot, tnd_error_t *error)
{
    self->filled[slot].any = false;
    drop_waiting(self, slot);
    return tnd_device_workers_release(self->config.workers, slot, error);
}

tnd_digest_t tnd_batch_slots_digest(const tnd_batch_slots_t *self, const tnd_done_t *done)
{
    const filled_t *filled = &self->filled[done->slot];
    tnd_digest_t digest = filled->digest;
    assert(filled->step == done->step);
    tnd_digest_add(&digest, &done->digest);
    return digest;
}
