/*  actors/chain/chain_adapt.c - lets operations with `auto` options learn from rows. */
#include "actors/chain/chain_adapt.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "actors/chain/chain_internal.h"
#include "runtime/base/allocation.h"
#include "runtime/option/option_print.h"

uint64_t tnd_chain_key_of(const tnd_part_t *part)
{
    char *text;
    size_t size;
    FILE *out = tnd_memory_stream(&text, &size);
    fprintf(out, "%s ", part->table->name);
    tnd_options_print(part->table, part->options, TND_ROLE_GRAPH, out);
    fclose(out);
    uint64_t key = XXH3_64bits(text, size);
    free(text);
    return key;
}

size_t tnd_chain_unknown(const tnd_chain_t *self)
{
    size_t s = 0;
    while (s < self->count && (!self->stages[s].adapts || self->stages[s].known))
        s++;
    return s;
}

size_t tnd_chain_makes(const tnd_chain_t *self, const char *column)
{
    size_t made = 0;
    const tnd_schema_t *schema = &self->in;
    while (tnd_schema_find(schema, column) < 0 && made++ < self->count)
        schema = &self->stages[made - 1].schema;
    return made;
}

/*  Where the columns that operation `index` gets are in the rows before operation `first`; -1: they
 *  are made between.  Returns false if it gets other rows. */
static bool trace(const tnd_chain_t *self, size_t first, size_t index, int from[TND_COLUMNS_MAX])
{
    for (int i = 0; i < TND_COLUMNS_MAX; i++)
        from[i] = i;
    for (size_t s = first; s < index; s++) {
        const stage_t *stage = &self->stages[s];
        int before[TND_COLUMNS_MAX];
        bool drops = (stage->caps & (TND_OP_DROPS | TND_OP_EXPANDS)) != 0;
        if (drops || (self->skip_bad && (stage->caps & TND_OP_FAILS) != 0) ||
            stage->spec->custom != NULL)
            return false;
        memcpy(before, from, sizeof before);
        for (uint32_t i = 0; i < TND_COLUMNS_MAX; i++)
            from[i] = stage->passes[i] >= 0 ? before[stage->passes[i]] : -1;
    }
    return true;
}

/*  A bit for each column of operation `index` that may change once all from `first` on are known; all
 *  if rows may be others then. */
static uint64_t find_unknown(const tnd_chain_t *self, size_t first, size_t index)
{
    uint64_t unknown = 0;
    for (size_t s = first; s < index; s++) {
        const stage_t *stage = &self->stages[s];
        uint64_t made = stage->unknown;
        bool reads = (stage->reads & unknown) != 0;
        if (reads && ((stage->caps & (TND_OP_DROPS | TND_OP_EXPANDS | TND_OP_FAILS)) != 0 ||
                      stage->spec->custom != NULL))
            return UINT64_MAX;
        for (uint32_t i = 0; i < stage->schema.count; i++)
            if (stage->passes[i] >= 0 ? (unknown >> stage->passes[i] & 1) != 0 : reads)
                made |= UINT64_C(1) << i;
        unknown = made;
    }
    return unknown;
}

/*  Whether an operation can learn at `stop` of a pass that begins at `first`; *from: where its columns
 *  are there. */
static bool learns(const tnd_chain_t *self, size_t first, size_t stop, size_t index,
                   int from[TND_COLUMNS_MAX])
{
    const stage_t *stage = &self->stages[index];
    if (!stage->adapts || stage->known || stop > index || !trace(self, stop, index, from) ||
        (stage->reads & find_unknown(self, first, index)) != 0)
        return false;
    for (uint32_t i = 0; i < TND_COLUMNS_MAX; i++)
        if ((stage->reads >> i & 1) != 0 && from[i] < 0)
            return false;
    return true;
}

/*  The first stop where an operation can learn; the count of stops: none. */
static size_t stop_of(const tnd_chain_t *self, const tnd_chain_stops_t *stops, size_t index,
                      int from[TND_COLUMNS_MAX])
{
    size_t i = 0;
    while (i < stops->count && !learns(self, stops->at[0], stops->at[i], index, from))
        i++;
    return i;
}

void tnd_chain_find_stops(const tnd_chain_t *self, size_t first, tnd_chain_stops_t *stops)
{
    int from[TND_COLUMNS_MAX];
    *stops = (tnd_chain_stops_t){.count = 1, .at = {first}};
    for (size_t s = first; s < self->count && stops->count < TND_CHAIN_STOPS_MAX; s++)
        if (stop_of(self, stops, s, from) == stops->count && learns(self, first, s, s, from))
            stops->at[stops->count++] = s;
}

bool tnd_chain_learns(const tnd_chain_t *self, const tnd_chain_stops_t *stops, size_t index)
{
    int from[TND_COLUMNS_MAX];
    return stop_of(self, stops, index, from) < stops->count;
}

/*  Shows one row of a block as column `to` of a tile; one that is not aligned is copied. */
static void show_column(tnd_chain_t *self, const tnd_block_t *rows, uint32_t row, uint32_t column,
                        tnd_ragged_t *ragged, tnd_tile_t *tile, uint32_t to)
{
    const tnd_column_t *of = &rows->schema->columns[column];
    size_t size = tnd_dtype_size(of->dtype), bytes = tnd_block_row_bytes(rows, column, row);
    void *at = (void *)(uintptr_t)tnd_block_row(rows, column, row);
    if ((uintptr_t)at % size != 0)
        at = memcpy(tnd_room_take(&self->room, bytes, size), at, bytes);
    tile->columns[to].base = at;
    tile->columns[to].stride = bytes;
    if (!of->ragged)
        return;
    *ragged = (tnd_ragged_t){at, rows->columns[column].lengths[row]};
    tile->columns[to].ragged = ragged;
}

/*  Gives the rows of a block to an operation whose columns are at `from`. */
static tnd_status_t learn_rows(tnd_chain_t *self, const stage_t *stage,
                               const int from[TND_COLUMNS_MAX], const tnd_block_t *rows,
                               uint32_t *row_p, tnd_error_t *error)
{
    tnd_ragged_t ragged[TND_COLUMNS_MAX];
    for (uint32_t row = 0; row < rows->note.rows; row++) {
        tnd_tile_t tile = {.rows = 1};
        for (uint32_t i = 0; stage->reads >> i != 0; i++)
            if ((stage->reads >> i & 1) != 0)
                show_column(self, rows, row, (uint32_t)from[i], &ragged[i], &tile, i);
        tnd_status_t status = stage->op->learn(stage->state, &tile, error);
        tnd_room_clear(&self->room);
        *row_p = row;
        if (status != TND_OK && !(status == TND_REFUSED && self->skip_bad))
            return status;
    }
    return TND_OK;
}

tnd_status_t tnd_chain_learn(tnd_chain_t *self, const tnd_chain_stops_t *stops, size_t stop,
                             const tnd_block_t *rows, uint32_t *row_p, size_t *failed_p,
                             tnd_error_t *error)
{
    for (size_t s = stops->at[stop]; s < self->count; s++) {
        const stage_t *stage = &self->stages[s];
        int from[TND_COLUMNS_MAX];
        tnd_error_t why;
        *failed_p = s;
        if (stop_of(self, stops, s, from) != stop)
            continue;
        tnd_status_t status = learn_rows(self, stage, from, rows, row_p, &why);
        if (status != TND_OK) {
            (void)tnd_fail(error, "%s", why.text);
            return status;
        }
    }
    return TND_OK;
}

tnd_status_t tnd_chain_tell_learned(const tnd_chain_t *self, size_t index, FILE *out,
                                    tnd_error_t *error)
{
    const stage_t *stage = &self->stages[index];
    tnd_error_t why;
    if (stage->op->tell(stage->state, out, &why) == TND_OK)
        return TND_OK;
    return tnd_fail_about(error, stage->part->value, "operation %zu, `%s`: %s", index + 1,
                          stage->part->table->name, why.text);
}

void tnd_chain_show_adapted(const tnd_chain_t *self, const char *indent, FILE *out)
{
    enum { SHOWN = 400 };
    for (size_t s = 0; s < self->count; s++) {
        const stage_t *stage = &self->stages[s];
        tnd_error_t error;
        char *text;
        size_t size;
        if (!stage->adapts)
            continue;
        fprintf(out, "%soperation %zu, `%s`: ", indent, s + 1, stage->part->table->name);
        if (!stage->known) {
            fputs("`auto` is computed when a run starts\n", out);
            continue;
        }
        FILE *words = tnd_memory_stream(&text, &size);
        (void)stage->op->tell(stage->state, words, &error);
        fclose(words);
        fprintf(out, "%.*s%s\n", SHOWN, text, size > SHOWN ? " ..." : "");
        free(text);
    }
}
