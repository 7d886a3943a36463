/*  actors/chain/chain.c - runs the operations of a preprocessor on rows in the cache. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/chain/chain_internal.h"
#include "runtime/base/clock.h"

/*  Where all rows of a ragged column are: the number of a column that came in, or one of these. */
enum { NOWHERE = -1, IN_ROOM = TND_COLUMNS_MAX, IN_SEVERAL };

/*  A block while it is made. */
typedef struct {
    tnd_block_t *in;
    const tnd_chain_key_t *key;
    uint8_t *columns[TND_COLUMNS_MAX]; /* NULL: passed on */
    /*  Of ragged columns that are not passed on: the address and the length of each row. */
    uint64_t *index[TND_COLUMNS_MAX], *lengths[TND_COLUMNS_MAX];
    int from[TND_COLUMNS_MAX];
    uint32_t *origin; /* NULL: row i is made from row i */
    uint32_t rows;
} made_t;

/*  Of so many rows that come out, or of lists of where ragged ones are; then their origins. */
static size_t bytes_of(const tnd_chain_t *self, size_t rows)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < tnd_chain_schema(self)->count; i++)
        if (self->passed[i] < 0)
            bytes += tnd_chain_schema(self)->columns[i].ragged
                         ? 2 * tnd_round_up(rows * sizeof(uint64_t), TND_BUFFER_ALIGN)
                         : tnd_round_up(rows * self->out_bytes[i], TND_BUFFER_ALIGN);
    return bytes + tnd_round_up(rows * sizeof(uint32_t), TND_BUFFER_ALIGN);
}

size_t tnd_chain_bytes(const tnd_chain_t *self, uint32_t rows)
{
    return bytes_of(self, (size_t)rows * tnd_chain_rows_max(self));
}

static uint32_t offset_of(const tnd_block_note_t *note, uint32_t row)
{
    return note->origin != NULL ? note->origin[row] : row;
}

static uint64_t sample_of(const tnd_chain_key_t *key, const tnd_block_note_t *note, uint32_t row)
{
    if (key->samples != NULL)
        return key->samples[offset_of(note, row)];
    return (note->first + offset_of(note, row)) * key->lanes + note->lane;
}

/*  Lists rows of a ragged column; those that are not aligned are copied. */
static tnd_ragged_t *list_rows(tnd_chain_t *self, const tnd_block_t *in, uint32_t column,
                               uint32_t first, uint32_t rows)
{
    tnd_ragged_t *list = (tnd_ragged_t *)(void *)self->gathered[column];
    size_t size = tnd_dtype_size(self->in.columns[column].dtype);
    for (uint32_t i = 0; i < rows; i++) {
        const void *at = tnd_block_row(in, column, first + i);
        list[i] = (tnd_ragged_t){(void *)(uintptr_t)at, in->columns[column].lengths[first + i]};
        if ((uintptr_t)at % size == 0)
            continue;
        size_t bytes = tnd_block_row_bytes(in, column, first + i);
        list[i].data = memcpy(tnd_room_take(&self->room, bytes, size), at, bytes);
        self->facts.copied += bytes;
    }
    return list;
}

/*  Shows rows [first, first + rows) of the block as a tile: where they are stored, if they follow
 *  one another and are aligned, else gathered. */
static void fill_tile(tnd_chain_t *self, const made_t *made, uint32_t first, uint32_t rows,
                      tnd_tile_t *tile)
{
    const tnd_block_t *in = made->in;
    tile->rows = rows;
    tile->sample = self->sample;
    tile->origin = self->origin;
    for (uint32_t i = 0; i < rows; i++) {
        self->sample[i] = sample_of(made->key, &in->note, first + i);
        self->origin[i] = first + i;
    }
    for (uint32_t i = 0; i < self->in.count; i++) {
        const tnd_block_column_t *from = &in->columns[i];
        tile->columns[i].base = NULL;
        tile->columns[i].ragged = NULL;
        if (!self->needed[i])
            continue;
        if (self->in.columns[i].ragged) {
            tile->columns[i].ragged = list_rows(self, in, i, first, rows);
            continue;
        }
        size_t size = tnd_dtype_size(self->in.columns[i].dtype);
        const uint8_t *base = from->base + first * from->stride;
        tile->columns[i].stride = from->stride;
        tile->columns[i].base = (uint8_t *)(uintptr_t)base;
        if (from->index == NULL && (uintptr_t)base % size == 0 && from->stride % size == 0)
            continue;
        tile->columns[i].base = self->gathered[i];
        tile->columns[i].stride = self->in_bytes[i];
        self->facts.copied += tnd_block_copy(in, i, first, rows, self->gathered[i]);
    }
}

/*  Points the columns of a stage's output at where it may write. */
static void offer(tnd_chain_t *self, const made_t *made, size_t s, tnd_tile_t *out)
{
    const stage_t *stage = &self->stages[s];
    out->sample = stage->sample;
    out->origin = stage->origin;
    out->room = &self->room;
    for (uint32_t i = 0; i < stage->schema.count; i++) {
        const tnd_column_t *column = &stage->schema.columns[i];
        size_t bytes = tnd_chain_cell_bytes(column);
        out->columns[i].stride = bytes;
        out->columns[i].base = stage->columns[i];
        out->columns[i].ragged = column->ragged ? (tnd_ragged_t *)(void *)stage->columns[i] : NULL;
        if (stage->passes[i] < 0 && stage->leaves[i] >= 0)
            out->columns[i].base = made->columns[stage->leaves[i]] + made->rows * bytes;
    }
}

void tnd_chain_time(tnd_chain_t *self, tnd_actor_detail_t *detail)
{
    size_t count = self->count < TND_DETAIL_OPERATIONS ? self->count : TND_DETAIL_OPERATIONS;
    self->detail = detail;
    for (size_t s = 0; s < count; s++)
        snprintf(detail->operations[s].name, sizeof detail->operations[s].name, "%s",
                 self->stages[s].name);
    atomic_store_explicit(&detail->operation_count, count, memory_order_release);
}

/*  Whether this run is timed. */
static void begin_timing(tnd_chain_t *self)
{
    bool timed = self->detail != NULL && self->runs++ % TND_DETAIL_SAMPLE == 0;
    self->timed_count = timed ? self->detail->operation_count : 0;
    for (size_t s = 0; s < self->timed_count; s++)
        tnd_count(&self->detail->operations[s].blocks, 1);
}

/*  Counts the time of an operation that began at `began_ns`; returns the time now. */
static uint64_t time_stage(const tnd_chain_t *self, size_t s, uint64_t began_ns)
{
    uint64_t now = tnd_clock_now();
    tnd_count(&self->detail->operations[s].ns, now - began_ns);
    return now;
}

/*  Puts the first tile through all operations; *tile_p becomes what comes out of the last. */
static tnd_status_t apply_all(tnd_chain_t *self, const made_t *made, const tnd_tile_t **tile_p,
                              size_t *failed_p, tnd_error_t *error)
{
    tnd_tile_t *in = &self->tiles[0], *out = &self->tiles[1];
    uint64_t began = self->timed_count > 0 ? tnd_clock_now() : 0;
    for (size_t s = 0; s < self->count; s++) {
        const stage_t *stage = &self->stages[s];
        const tnd_op_key_t key = {made->key->seed,
                                  made->key->samples != NULL ? 0 : made->in->note.epoch,
                                  made->key->operation + (uint32_t)s};
        *failed_p = s;
        offer(self, made, s, out);
        tnd_chain_tell(self, s);
        TND_TRY(stage->op->apply(stage->state, &key, in, out, error));
        if (s < self->timed_count)
            began = time_stage(self, s, began);
        if ((stage->caps & (TND_OP_DROPS | TND_OP_EXPANDS)) == 0) {
            assert(out->rows == in->rows);
            out->sample = in->sample;
            out->origin = in->origin;
        }
        tnd_tile_t *free_tile = in;
        in = out;
        out = free_tile;
    }
    *tile_p = in;
    return TND_OK;
}

static bool is_of_column(const tnd_block_t *in, int column, uint32_t row, const void *at)
{
    uintptr_t first = (uintptr_t)tnd_block_row(in, (uint32_t)column, row);
    return (uintptr_t)at - first < tnd_block_row_bytes(in, (uint32_t)column, row);
}

/*  Where bytes that were made of input row `row` are; `guess` is where those before them are. */
static int place_of(const tnd_chain_t *self, const tnd_block_t *in, uint32_t row, const void *at,
                    int guess)
{
    if (guess >= 0 && guess < IN_ROOM && is_of_column(in, guess, row, at))
        return guess;
    if (tnd_room_owns(&self->room, at))
        return IN_ROOM;
    for (int i = 0; i < (int)self->in.count; i++)
        if (self->in.columns[i].ragged && is_of_column(in, i, row, at))
            return i;
    abort(); /* an operation named bytes that are not of its input */
}

/*  Notes where the rows of the ragged columns are. */
static void list_ragged(const tnd_chain_t *self, made_t *made, const tnd_tile_t *tile)
{
    for (uint32_t i = 0; i < tnd_chain_schema(self)->count; i++) {
        if (made->index[i] == NULL)
            continue;
        const tnd_ragged_t *from = tile->columns[i].ragged;
        for (uint32_t row = 0; row < tile->rows; row++) {
            made->index[i][made->rows + row] = (uintptr_t)from[row].data;
            made->lengths[i][made->rows + row] = from[row].length;
            if (from[row].length == 0 || made->from[i] == IN_SEVERAL)
                continue;
            int place = place_of(self, made->in, tile->origin[row], from[row].data, made->from[i]);
            bool same = made->from[i] == NOWHERE || made->from[i] == place;
            made->from[i] = same ? place : IN_SEVERAL;
        }
    }
}

/*  Moves what the last operation only passed on, and books the origins. */
static void finish_tile(tnd_chain_t *self, made_t *made, const tnd_tile_t *tile)
{
    for (uint32_t i = 0; i < tnd_chain_schema(self)->count; i++) {
        size_t bytes = self->out_bytes[i];
        uint8_t *to = made->columns[i] != NULL ? made->columns[i] + made->rows * bytes : NULL;
        if (to == NULL || tile->columns[i].base == to)
            continue;
        for (uint32_t row = 0; row < tile->rows; row++)
            memcpy(to + row * bytes, tnd_tile_row(tile, i, row), bytes);
        self->facts.copied += tile->rows * bytes;
    }
    list_ragged(self, made, tile);
    if (made->origin != NULL)
        for (uint32_t row = 0; row < tile->rows; row++)
            made->origin[made->rows + row] = offset_of(&made->in->note, tile->origin[row]);
    made->rows += tile->rows;
}

static tnd_status_t run_tile(tnd_chain_t *self, made_t *made, uint32_t first, uint32_t rows,
                             size_t *failed_p, tnd_error_t *error)
{
    const tnd_tile_t *tile;
    fill_tile(self, made, first, rows, &self->tiles[0]);
    TND_TRY(apply_all(self, made, &tile, failed_p, error));
    finish_tile(self, made, tile);
    return TND_OK;
}

static void note_bad(tnd_chain_t *self, const tnd_chain_key_t *key, uint32_t offset, size_t failed,
                     const char *what)
{
    char where[160];
    snprintf(where, sizeof where, "%d%.63s, operation %zu, `%.63s`", (int)key->way,
             key->who != NULL ? key->who : "operations", failed + 1,
             self->stages[failed].spec->table.name);
    tnd_bad_rows_add(&self->bad, offset, where, what);
}

/*  A tile that failed is run again row by row, to know which row it was. */
static tnd_status_t run_rows(tnd_chain_t *self, made_t *made, uint32_t first, uint32_t rows,
                             tnd_error_t *error)
{
    for (uint32_t row = first; row < first + rows; row++) {
        size_t failed = 0;
        tnd_error_t why;
        if (run_tile(self, made, row, 1, &failed, &why) == TND_OK)
            continue;
        note_bad(self, made->key, offset_of(&made->in->note, row), failed, why.text);
        if (!self->skip_bad)
            return tnd_fail(error, "operation %zu, `%s`, position %llu of the stream: %s",
                            failed + 1, self->stages[failed].spec->table.name,
                            (unsigned long long)sample_of(made->key, &made->in->note, row),
                            why.text);
    }
    return TND_OK;
}

static tnd_status_t run_all(tnd_chain_t *self, made_t *made, tnd_error_t *error)
{
    uint32_t total = made->in->note.rows;
    for (uint32_t first = 0; first < total; first += self->tile_rows) {
        uint32_t rows = total - first < self->tile_rows ? total - first : self->tile_rows;
        size_t failed = 0;
        tnd_error_t why;
        if (run_tile(self, made, first, rows, &failed, &why) != TND_OK)
            TND_TRY(run_rows(self, made, first, rows, error));
    }
    return TND_OK;
}

/*  Where the block's columns and marks are in its buffer, which has room for `most` rows. */
static void place(const tnd_chain_t *self, made_t *made, uint8_t *base, size_t most, bool marked)
{
    size_t used = 0;
    for (uint32_t i = 0; i < tnd_chain_schema(self)->count; i++) {
        if (self->passed[i] >= 0)
            continue;
        if (!tnd_chain_schema(self)->columns[i].ragged) {
            made->columns[i] = tnd_chain_carve(base, &used, most * self->out_bytes[i]);
            continue;
        }
        made->index[i] = (uint64_t *)(void *)tnd_chain_carve(base, &used, most * sizeof(uint64_t));
        made->lengths[i] =
            (uint64_t *)(void *)tnd_chain_carve(base, &used, most * sizeof(uint64_t));
    }
    uint8_t *origin = tnd_chain_carve(base, &used, most * sizeof(uint32_t));
    made->origin = marked ? (uint32_t *)(void *)origin : NULL;
}

/*  Rows that take less than half of the buffer move to one of their own: until there are enough for
 *  a batch any number of such blocks may wait, and each would keep a whole buffer from the pool.
 *  Takes the buffer. */
static tnd_buffer_t *shrink(tnd_chain_t *self, made_t *made, tnd_buffer_t *buffer, bool marked)
{
    const made_t before = *made;
    size_t bytes = bytes_of(self, made->rows);
    if (!marked || 2 * bytes > tnd_buffer_size(buffer))
        return buffer;
    tnd_buffer_t *small = tnd_buffer_new(bytes);
    place(self, made, tnd_buffer_data(small), made->rows, marked);
    for (uint32_t i = 0; i < tnd_chain_schema(self)->count; i++) {
        if (made->columns[i] != NULL)
            memcpy(made->columns[i], before.columns[i], made->rows * self->out_bytes[i]);
        if (made->index[i] != NULL) {
            memcpy(made->index[i], before.index[i], made->rows * sizeof *made->index[i]);
            memcpy(made->lengths[i], before.lengths[i], made->rows * sizeof *made->lengths[i]);
        }
    }
    memcpy(made->origin, before.origin, made->rows * sizeof *made->origin);
    self->facts.copied += bytes;
    tnd_buffer_drop(&buffer);
    return small;
}

/*  The buffer that has all rows of a ragged column; NULL: they are to be moved to one, because they
 *  are in several, or are less than half of what would be held with them. */
static tnd_buffer_t *buffer_of(const made_t *made, uint32_t column, size_t bytes,
                               tnd_buffer_t *room)
{
    int from = made->from[column];
    if (from == NOWHERE || from == IN_SEVERAL)
        return NULL;
    if (from == IN_ROOM)
        return room;
    tnd_buffer_t *buffer = made->in->columns[from].buffer;
    size_t held = tnd_block_rows_bytes(made->in, (uint32_t)from, 0, made->in->note.rows);
    return tnd_buffer_kind(buffer) == TND_BUFFER_MAPPED || 2 * bytes >= held ? buffer : NULL;
}

/*  The buffer of the room; NULL: rows are to be moved, because those that leave the chain are less
 *  than half of what the room has, with the rows between operations. */
static tnd_buffer_t *find_room(tnd_chain_t *self, const made_t *made)
{
    const tnd_schema_t *schema = tnd_chain_schema(self);
    tnd_buffer_t *room = tnd_room_buffer(&self->room);
    size_t bytes = 0;
    for (uint32_t i = 0; i < schema->count && room != NULL; i++)
        for (uint32_t row = 0; made->from[i] == IN_ROOM && row < made->rows; row++)
            bytes += made->lengths[i][row] * tnd_column_unit(&schema->columns[i]);
    return room != NULL && 2 * bytes >= tnd_buffer_size(room) ? room : NULL;
}

/*  The ragged columns that were not passed on. */
static void fill_ragged(tnd_chain_t *self, const made_t *made, tnd_block_t *out)
{
    tnd_buffer_t *room = find_room(self, made);
    for (uint32_t i = 0; i < out->schema->count; i++) {
        if (made->index[i] == NULL)
            continue;
        out->columns[i] =
            (tnd_block_column_t){.stride = 1, .index = made->index[i], .lengths = made->lengths[i]};
        if (made->rows == 0)
            continue;
        size_t bytes = tnd_block_rows_bytes(out, i, 0, made->rows);
        self->facts.copied += tnd_room_column(made->index[i], made->lengths[i], made->rows,
                                              tnd_column_unit(&out->schema->columns[i]),
                                              buffer_of(made, i, bytes, room), &out->columns[i]);
    }
    tnd_room_clear(&self->room);
}

static void fill_block(const tnd_chain_t *self, const made_t *made, tnd_buffer_t *buffer,
                       tnd_block_t *out)
{
    for (uint32_t i = 0; i < tnd_chain_schema(self)->count; i++) {
        if (self->passed[i] >= 0) {
            out->columns[i] = made->in->columns[self->passed[i]];
            if (out->columns[i].buffer != NULL)
                tnd_buffer_hold(out->columns[i].buffer);
            bool listed = out->columns[i].index != NULL || out->columns[i].lengths != NULL;
            if (listed && out->index == NULL)
                out->index = tnd_buffer_hold(made->in->index);
        } else if (made->index[i] == NULL) {
            out->columns[i] = (tnd_block_column_t){.base = made->columns[i],
                                                   .stride = self->out_bytes[i],
                                                   .buffer = tnd_buffer_hold(buffer)};
        } else if (out->lists == NULL) {
            out->lists = tnd_buffer_hold(buffer);
        }
    }
    if (self->bad.count + made->in->note.bad_count > 0)
        out->marks = tnd_bad_rows_merge(&self->bad, &out->note);
    else if (made->origin != NULL)
        out->marks = tnd_buffer_hold(buffer);
    out->note.bytes = tnd_block_bytes(out);
}

tnd_status_t tnd_chain_run(tnd_chain_t *self, const tnd_chain_key_t *key, tnd_block_t *in,
                           tnd_block_pool_t *block_pool, tnd_pool_t *pool, tnd_block_t **out_p,
                           tnd_error_t *error)
{
    self->facts.copied = 0;
    tnd_bad_rows_clear(&self->bad);
    if (self->count == 0) {
        *out_p = tnd_block_hold(in);
        return TND_OK;
    }
    begin_timing(self);
    made_t made = {.in = in, .key = key};
    memset(made.from, NOWHERE, sizeof made.from);
    bool marked =
        (self->facts.caps & (TND_OP_DROPS | TND_OP_EXPANDS)) != 0 || in->note.origin != NULL;
    size_t bytes = tnd_chain_bytes(self, in->note.rows);
    tnd_buffer_t *buffer = tnd_pool_take(pool);
    if (tnd_buffer_size(buffer) < bytes) {
        tnd_buffer_drop(&buffer);
        buffer = tnd_buffer_new(bytes);
    }
    place(self, &made, tnd_buffer_data(buffer), (size_t)in->note.rows * tnd_chain_rows_max(self),
          marked);
    tnd_status_t status = run_all(self, &made, error);
    tnd_running_part_set(NULL, 0);
    if (status != TND_OK) {
        tnd_room_clear(&self->room);
        tnd_buffer_drop(&buffer);
        return status;
    }
    buffer = shrink(self, &made, buffer, marked);
    tnd_block_t *out = tnd_block_pool_take(block_pool, tnd_buffer_data(self->out));
    out->about = tnd_buffer_hold(self->out);
    out->note = in->note;
    out->note.payload = NULL;
    out->note.rows = made.rows;
    out->note.origin = made.origin;
    fill_ragged(self, &made, out);
    tnd_buffer_seal(buffer);
    fill_block(self, &made, buffer, out);
    tnd_buffer_drop(&buffer);
    tnd_block_seal(out);
    *out_p = out;
    return TND_OK;
}
