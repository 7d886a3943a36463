/*  runtime/observe/tap.c - rows that pass an actor, copied for an inspector. */
#include "runtime/observe/tap.h"

#include <string.h>

#include "runtime/core/protocol/message.h"
#include "runtime/data/block.h"

_Static_assert(sizeof(tnd_tap_t) <= TND_TAP_BYTES, "a tap has its size in the file");

/*  Whether a request of an inspector is for this actor and still valid. */
static bool is_wanted(const tnd_tap_source_t *self, uint64_t now)
{
    const tnd_tap_t *tap = self->tap;
    uint64_t until = atomic_load_explicit(&tap->until_ns, memory_order_acquire);
    if (until <= now || until - now > TND_TAP_LEASE_NS)
        return false;
    return strncmp(tap->name, self->instance, sizeof tap->name) == 0 ||
           strncmp(tap->name, self->actor, sizeof tap->name) == 0;
}

static bool add_bytes(tnd_tap_t *tap, const void *bytes, size_t size)
{
    if (size > sizeof tap->rows - tap->note.bytes)
        return false;
    if (size > 0)
        memcpy(tap->rows + tap->note.bytes, bytes, size);
    tap->note.bytes += (uint32_t)size;
    return true;
}

static bool add_row(tnd_tap_t *tap, const tnd_block_t *block, uint32_t row)
{
    for (uint32_t c = 0; c < block->column_count; c++) {
        const tnd_block_column_t *column = &block->columns[c];
        uint64_t length = column->lengths != NULL ? column->lengths[row] : 0;
        if (column->lengths != NULL && !add_bytes(tap, &length, sizeof length))
            return false;
        if (!add_bytes(tap, tnd_block_row(block, c, row), tnd_block_row_bytes(block, c, row)))
            return false;
    }
    return true;
}

/*  Adds whole rows while there is room; false: there is none left. */
static bool add_rows(tnd_tap_t *tap, const tnd_block_t *block, uint32_t first, uint32_t rows)
{
    for (uint32_t r = 0; r < rows; r++) {
        uint32_t before = tap->note.bytes;
        if (tap->note.rows == TND_TAP_ROWS)
            return false;
        if (!add_row(tap, block, first + r)) {
            tap->note.bytes = before;
            return false;
        }
        tap->note.rows++;
    }
    return true;
}

static void copy_schema(tnd_tap_t *tap, const tnd_schema_t *schema)
{
    memcpy(&tap->schema, schema,
           offsetof(tnd_schema_t, columns) + schema->count * sizeof *schema->columns);
}

static void copy_block(tnd_tap_t *tap, const tnd_block_note_t *note)
{
    const tnd_block_t *block = note->payload;
    tap->note.first = note->first;
    tap->note.count = note->count;
    tap->note.lane = note->lane;
    tap->note.epoch = note->epoch;
    tap->note.attempt = note->attempt;
    tap->note.of_rows = note->rows;
    copy_schema(tap, block->schema);
    (void)add_rows(tap, block, 0, note->rows);
}

static void copy_slice(tnd_tap_t *tap, const tnd_slice_note_t *note)
{
    const tnd_slice_t *slice = note->payload;
    tap->note.slice = true;
    tap->note.first = note->step;
    tap->note.count = tap->note.of_rows = note->rows;
    tap->note.lane = note->lane;
    tap->note.epoch = note->epoch;
    copy_schema(tap, slice->schema);
    for (uint32_t p = 0; p < slice->piece_count; p++)
        if (!add_rows(tap, slice->pieces[p].block, slice->pieces[p].first, slice->pieces[p].rows))
            break;
}

void tnd_tap_copy(tnd_tap_source_t *self, const tnd_msg_t *msg, tnd_carry_t carry, uint64_t now)
{
    tnd_tap_t *tap = self->tap;
    bool block = carry == TND_CARRY_BLOCK && msg->block.payload != NULL;
    bool slice = carry == TND_CARRY_SLICE && msg->slice.payload != NULL;
    if ((!block && !slice) || !is_wanted(self, now))
        return;
    uint64_t every = atomic_load_explicit(&tap->every, memory_order_relaxed);
    uint64_t made = atomic_load_explicit(&tap->made, memory_order_relaxed), idle = 0;
    if (self->passed++ % (every > 0 ? every : 1) != 0 ||
        made != atomic_load_explicit(&tap->taken, memory_order_acquire) ||
        !atomic_compare_exchange_strong(&tap->busy, &idle, 1))
        return;
    /* Another actor may have made a copy since. */
    if (made == atomic_load_explicit(&tap->made, memory_order_relaxed)) {
        tap->note = (tnd_tap_note_t){.at_ns = now, .from = self->id, .to = msg->to};
        if (block)
            copy_block(tap, &msg->block);
        else
            copy_slice(tap, &msg->slice);
        atomic_store_explicit(&tap->made, made + 1, memory_order_release);
    }
    atomic_store_explicit(&tap->busy, 0, memory_order_release);
}
