/*  actors/cache/mixed_block.c - a block of rows that are stored and of rows that were made anew. */
#include "actors/cache/mixed_block.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/core/lane/mixed_rows.h"

/*  The rows of a mixed block, in order. */
typedef struct {
    const tnd_block_t **of; /* the block that a row is in, */
    uint32_t *at;           /* and which row of it */
    uint32_t *origin;
    uint32_t rows, stored, positions;
    uint64_t ragged;
    bool marked; /* some position has not one row */
} rows_t;

typedef struct {
    tnd_block_t *blocks[2];
} holder_t;

static void let_go(void *owner)
{
    holder_t *holder = owner;
    tnd_block_drop(&holder->blocks[0]);
    tnd_block_drop(&holder->blocks[1]);
    free(holder);
}

static tnd_buffer_t *hold_both(const tnd_mixed_parts_t *parts)
{
    holder_t *holder = tnd_allocate(1, sizeof *holder);
    *holder = (holder_t){{tnd_block_hold(parts->stored), tnd_block_hold(parts->made)}};
    /* Rows may be in mapped files. */
    return tnd_buffer_wrap(TND_BUFFER_MAPPED, NULL, 0, let_go, holder);
}

/*  The rows of `block` from `first` on that enter; returns the bytes of their ragged columns. */
static uint64_t add_rows(rows_t *rows, const tnd_block_t *block, uint32_t first, uint32_t count)
{
    uint64_t ragged = 0;
    for (uint32_t i = 0; i < count; i++, rows->rows++) {
        rows->of[rows->rows] = block;
        rows->at[rows->rows] = first + i;
        rows->origin[rows->rows] = rows->positions;
        ragged += tnd_block_row_ragged(block, first + i);
    }
    return ragged;
}

/*  The rows of position number `held` among the stored ones, from *row on: how many. */
static uint32_t stored_rows(const tnd_block_note_t *stored, uint32_t held, uint32_t *row)
{
    uint32_t first = *row;
    if (stored->origin == NULL)
        ++*row;
    while (stored->origin != NULL && *row < stored->rows && stored->origin[*row] == held)
        ++*row;
    return *row - first;
}

static void order_rows(rows_t *rows, const tnd_mixed_parts_t *parts)
{
    tnd_mixed_rows_t made = {.made = &parts->made->note};
    uint32_t row = 0, held = 0;
    while (rows->positions < parts->made->note.count) {
        bool is_held = held < parts->held_count && parts->held[held] == rows->positions;
        uint32_t before = rows->rows, first, some = tnd_mixed_rows_next(&made, is_held, &first);
        uint64_t ragged = add_rows(rows, parts->made, first, some);
        if (is_held) {
            first = row;
            some = stored_rows(&parts->stored->note, held++, &row);
            ragged += add_rows(rows, parts->stored, first, some);
        }
        if (parts->budget > 0 && rows->ragged + ragged > parts->budget) {
            rows->rows = before;
            rows->ragged = rows->positions == 0 ? ragged : rows->ragged;
            return;
        }
        rows->stored += is_held ? some : 0;
        rows->marked = rows->marked || rows->rows != before + 1;
        rows->ragged += ragged;
        rows->positions++;
    }
}

/*  Fills the list of a column, and returns what follows it. */
static uint64_t *fill_column(const rows_t *rows, uint32_t c, uint64_t *list, tnd_buffer_t *holder,
                             tnd_block_t *block)
{
    bool ragged = block->schema->columns[c].ragged;
    uint64_t base = UINT64_MAX, *lengths = list + rows->rows;
    for (uint32_t i = 0; i < rows->rows; i++) {
        list[i] = (uintptr_t)tnd_block_row(rows->of[i], c, rows->at[i]);
        base = list[i] < base ? list[i] : base;
        if (ragged)
            lengths[i] = rows->of[i]->columns[c].lengths[rows->at[i]];
    }
    for (uint32_t i = 0; i < rows->rows; i++)
        list[i] -= base;
    block->columns[c] = (tnd_block_column_t){.base = (const uint8_t *)(uintptr_t)base,
                                             .stride = 1,
                                             .index = list,
                                             .buffer = tnd_buffer_hold(holder),
                                             .lengths = ragged ? lengths : NULL};
    return ragged ? lengths + rows->rows : lengths;
}

size_t tnd_mixed_block_lists(const tnd_schema_t *schema, uint64_t rows)
{
    return rows *
           ((schema->count + tnd_schema_ragged(schema)) * sizeof(uint64_t) + sizeof(uint32_t));
}

/*  The bad positions, and the texts about them, which the note has in other memory so far. */
static void copy_marks(tnd_block_note_t *note, uint32_t *at)
{
    if (note->bad_count == 0)
        return;
    memcpy(at, note->bad, note->bad_count * sizeof *at);
    if (note->why != NULL)
        memcpy(at + note->bad_count, note->why, note->why_bytes);
    note->bad = at;
    note->why = note->why != NULL ? (const char *)(at + note->bad_count) : NULL;
}

static void fill(tnd_block_t *block, const rows_t *rows, const tnd_mixed_parts_t *parts,
                 tnd_pool_t **lists)
{
    tnd_buffer_t *holder = hold_both(parts);
    tnd_block_note_t *note = &block->note;
    block->index =
        tnd_pool_take_of(lists, tnd_mixed_block_lists(block->schema, rows->rows) +
                                    note->bad_count * sizeof(uint32_t) + note->why_bytes);
    uint64_t *list = tnd_buffer_data(block->index);
    for (uint32_t c = 0; c < block->schema->count && rows->rows > 0; c++)
        list = fill_column(rows, c, list, holder, block);
    uint32_t *origin = (uint32_t *)(void *)list;
    memcpy(origin, rows->origin, rows->rows * sizeof *origin);
    note->origin = rows->marked ? origin : NULL;
    copy_marks(note, origin + rows->rows);
    tnd_buffer_seal(block->index);
    block->marks = tnd_buffer_hold(block->index);
    tnd_buffer_drop(&holder);
}

/*  The note of the first positions of `made`. */
static tnd_block_note_t note_of(tnd_block_pool_t *blocks, const tnd_block_t *made,
                                const rows_t *rows)
{
    tnd_block_t *prefix = tnd_block_pool_prefix(blocks, made, rows->positions);
    tnd_block_note_t note = prefix->note;
    tnd_block_drop(&prefix);
    note.rows = rows->rows;
    /* What fewer positions took in earlier stages is not known; a block without any states what its
     * first one takes. */
    if (rows->positions < made->note.count || note.ragged < rows->ragged)
        note.ragged = rows->ragged;
    return note;
}

tnd_block_t *tnd_mixed_block(tnd_block_pool_t *blocks, tnd_pool_t **lists,
                             const tnd_mixed_parts_t *parts, uint64_t *stored_p)
{
    size_t most = (size_t)parts->stored->note.rows + parts->made->note.rows + 1;
    rows_t rows = {.of = tnd_allocate(most, sizeof(const tnd_block_t *)),
                   .at = tnd_allocate(most, sizeof *rows.at),
                   .origin = tnd_allocate(most, sizeof *rows.origin)};
    order_rows(&rows, parts);
    tnd_block_t *block = tnd_block_pool_take(blocks, parts->stored->schema);
    block->note = note_of(blocks, parts->made, &rows);
    fill(block, &rows, parts, lists);
    block->note.bytes = tnd_block_bytes(block);
    *stored_p = rows.stored;
    free(rows.of);
    free(rows.at);
    free(rows.origin);
    return block;
}
