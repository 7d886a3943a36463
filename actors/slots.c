/*  actors/slots.c - the rows of a feeder's steps, put where its devices read them. */
#include "actors/slots.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device.h"

/*  Bytes copied before they are hashed: they are still in the nearest cache then. */
enum { HOT_BYTES = 4096 };

/*  What has been gathered into a slot. */
typedef struct {
    uint64_t step;
    uint32_t generation;
    bool any;
    tnd_digest_t digest; /* of what was hashed here */
} filled_t;

struct tnd_slots {
    tnd_slots_config_t config;
    bool ragged;      /* columns, some */
    filled_t *filled; /* by slot */
};

tnd_slots_t *tnd_slots_new(const tnd_slots_config_t *config)
{
    tnd_slots_t *self = calloc(1, sizeof *self);
    if (self == NULL)
        abort();
    self->config = *config;
    self->ragged = tnd_schema_ragged(config->schema) > 0;
    self->filled = calloc(config->depth, sizeof *self->filled);
    if (self->filled == NULL)
        abort();
    return self;
}

void tnd_slots_destroy(tnd_slots_t **self_p)
{
    tnd_slots_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    free(self->filled);
    free(self);
}

/*  Copies some rows of a block to where they are wanted, and adds them to the digest; returns the
 *  bytes copied.
 */
static size_t gather(tnd_slots_t *self, const tnd_block_t *block, uint32_t first, uint32_t rows,
                     uint32_t slot, uint32_t local, uint64_t at, uint64_t rank,
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
            void *to = tnd_crew_row(self->config.crew, slot, local, c, at + done);
            size_t bytes = tnd_column_bytes(&schema->columns[c]);
            tnd_block_copy(block, c, first + done, some, to);
            stripes[c] = (tnd_digest_stripe_t){.data = to, .stride = bytes, .bytes = bytes};
        }
        if (self->config.digest)
            tnd_digest_rows(digest, rank + done, some, stripes, schema->count);
    }
    return rows * row_bytes;
}

/*  The same where columns are ragged: rows are hashed one by one, as they lie in the slot. */
static size_t gather_ragged(tnd_slots_t *self, const tnd_block_t *block, uint32_t first,
                            uint32_t rows, uint32_t slot, uint32_t local, uint64_t at,
                            uint64_t rank, tnd_digest_t *digest)
{
    const tnd_schema_t *schema = self->config.schema;
    tnd_digest_column_t columns[TND_COLUMNS_MAX];
    size_t copied = 0;
    for (uint32_t i = 0; i < rows; i++) {
        for (uint32_t c = 0; c < schema->count; c++) {
            const void *from = tnd_block_row(block, c, first + i);
            size_t bytes = tnd_block_row_bytes(block, c, first + i);
            bool ragged = schema->columns[c].ragged;
            void *to = tnd_crew_row(self->config.crew, slot, local, c, at + i);
            if (ragged)
                tnd_crew_put(self->config.crew, slot, local, c, at + i, from,
                             block->columns[c].lengths[first + i]);
            else
                memcpy(to, from, bytes);
            columns[c] = (tnd_digest_column_t){.data = to, .bytes = bytes, .ragged = ragged};
            copied += bytes;
        }
        if (self->config.digest)
            tnd_digest_row(digest, rank + i, columns, schema->count);
    }
    return copied;
}

/*  Whether a step can read these rows of a column where they lie: packed, on a cache line, in
 *  memory that no truncated file takes away.
 */
static bool lies_well(const tnd_block_t *block, uint32_t column, uint32_t first)
{
    const tnd_block_column_t *from = &block->columns[column];
    return from->index == NULL &&
           from->stride == tnd_column_bytes(&block->schema->columns[column]) &&
           from->buffer != NULL && tnd_buffer_kind(from->buffer) != TND_BUFFER_MAPPED &&
           (uintptr_t)tnd_block_row(block, column, first) % TND_STAGE_ALIGN == 0;
}

/*  Lends a replica all its rows of a step as they lie in their block, as far as they lie well, and
 *  copies the rest; returns the bytes copied.  The slice must stay until the step is done.
 */
static size_t lend(tnd_slots_t *self, const tnd_slice_t *slice, uint32_t slot, uint32_t local,
                   uint64_t rank, tnd_digest_t *digest)
{
    const tnd_schema_t *schema = self->config.schema;
    const tnd_block_t *block = slice->pieces[0].block;
    uint32_t first = slice->pieces[0].first, rows = slice->pieces[0].rows;
    tnd_digest_stripe_t stripes[TND_COLUMNS_MAX];
    size_t copied = 0;
    for (uint32_t c = 0; c < schema->count; c++) {
        size_t bytes = tnd_column_bytes(&schema->columns[c]);
        const void *at = tnd_block_row(block, c, first);
        if (!lies_well(block, c, first) || !tnd_crew_lend(self->config.crew, slot, local, c, at)) {
            void *to = tnd_crew_row(self->config.crew, slot, local, c, 0);
            copied += tnd_block_copy(block, c, first, rows, to);
            at = to;
        }
        stripes[c] = (tnd_digest_stripe_t){.data = at, .stride = bytes, .bytes = bytes};
    }
    if (self->config.digest && !tnd_crew_hash(self->config.crew, slot, local, rank))
        tnd_digest_rows(digest, rank, rows, stripes, schema->count);
    return copied;
}

/*  Whether a slice is all that its replica gets, in one piece, with the widest column lying well.
 */
static bool is_lendable(const tnd_slots_t *self, const tnd_slice_t *slice,
                        const tnd_slice_note_t *note)
{
    const tnd_schema_t *schema = self->config.schema;
    uint32_t widest = 0;
    if (slice->piece_count != 1 || note->rows != note->total || note->padded != 0 || self->ragged)
        return false;
    for (uint32_t c = 1; c < schema->count; c++)
        if (tnd_column_bytes(&schema->columns[c]) > tnd_column_bytes(&schema->columns[widest]))
            widest = c;
    return lies_well(slice->pieces[0].block, widest, slice->pieces[0].first);
}

static tnd_status_t check_slice(const tnd_slots_t *self, const tnd_slice_t *slice,
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
static tnd_status_t check_read(const tnd_slots_t *self, const tnd_slice_t *slice,
                               tnd_error_t *error)
{
    tnd_error_t lost;
    if (tnd_slice_intact(slice, &lost) == TND_OK)
        return TND_OK;
    return tnd_fail(error, "%s: %s", self->config.name, lost.text);
}

tnd_status_t tnd_slots_place(tnd_slots_t *self, const tnd_effect_t *place, tnd_error_t *error)
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
    if (!filled->any || filled->step != note->step || filled->generation != place->msg.generation)
        *filled = (filled_t){.step = note->step, .generation = place->msg.generation, .any = true};
    uint32_t local = note->replica - self->config.first, done = 0;
    size_t copied = 0;
    tnd_crew_share(self->config.crew, place->slot, local, note->total, note->padded);
    tnd_count(&self->config.statistics->rows_in, note->rows);
    tnd_count(&self->config.statistics->blocks_in, 1);
    tnd_count(&self->config.statistics->bytes_in, tnd_slice_bytes(slice));
    if (is_lendable(self, slice, note)) {
        copied = lend(self, slice, place->slot, local, note->rank, &filled->digest);
        status = check_read(self, slice, error);
        tnd_crew_keep(self->config.crew, place->slot, local, slice);
    } else {
        for (uint32_t p = 0; p < slice->piece_count; p++) {
            copied += (self->ragged ? gather_ragged : gather)(
                self, slice->pieces[p].block, slice->pieces[p].first, slice->pieces[p].rows,
                place->slot, local, note->offset + done, note->rank + done, &filled->digest);
            done += slice->pieces[p].rows;
        }
        status = check_read(self, slice, error);
        tnd_slice_drop(&slice);
    }
    tnd_count(&self->config.statistics->bytes_copied, copied);
    return status;
}

tnd_status_t tnd_slots_free(tnd_slots_t *self, uint32_t slot, tnd_error_t *error)
{
    self->filled[slot].any = false;
    return tnd_crew_let_go(self->config.crew, slot, error);
}

tnd_digest_t tnd_slots_digest(const tnd_slots_t *self, const tnd_done_t *done)
{
    const filled_t *filled = &self->filled[done->slot];
    tnd_digest_t digest = filled->digest;
    assert(filled->step == done->step);
    tnd_digest_add(&digest, &done->digest);
    return digest;
}
