/*  actors/op/custom.c - an operation that a program or a plugin gave, as one of ours. */
#include "actors/op/custom.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/option/custom.h"
#include "runtime/option/option_print.h"

typedef struct {
    const tnd_op_ops_t *ops;
    void *state;
    uint32_t most;
    uint32_t in_columns, out_columns;
    int from[TND_COLUMNS_MAX]; /* by column that comes out: the same one of `in`, or -1 */
    size_t out_bytes[TND_COLUMNS_MAX];
    bool out_ragged[TND_COLUMNS_MAX];
    uint64_t *lengths; /* of the rows of a tile, of each ragged column */
    size_t lengths_room;
} given_t;

static bool same(const tnd_column_t *a, const tnd_column_t *b)
{
    return a->dtype == b->dtype && a->rank == b->rank && a->ragged == b->ragged &&
           memcmp(a->shape, b->shape, a->rank * sizeof a->shape[0]) == 0;
}

/*  What it made of the schema, taken apart and put together again so that it is checked. */
static tnd_status_t take_schema(given_t *self, const tnd_schema_t *in, const tnd_schema_t *made,
                                tnd_op_facts_t *facts, tnd_error_t *error)
{
    facts->schema = (tnd_schema_t){0};
    if (made->count == 0 || made->count > TND_COLUMNS_MAX)
        return tnd_fail(error, "makes rows of %u columns", made->count);
    for (uint32_t i = 0; i < made->count; i++) {
        const tnd_column_t *column = &made->columns[i];
        TND_TRY(tnd_schema_add_like(&facts->schema, column->name, column, error));
        self->out_bytes[i] = tnd_column_bytes(column);
        self->out_ragged[i] = column->ragged;
        self->from[i] = tnd_schema_find(in, column->name);
        if (self->from[i] >= 0 && !same(&in->columns[self->from[i]], column))
            self->from[i] = -1;
        if (column->ragged)
            facts->passes[i] = (int8_t)self->from[i];
    }
    self->in_columns = in->count;
    self->out_columns = made->count;
    return TND_OK;
}

static tnd_status_t open_all(given_t *self, const tnd_op_spec_t *spec, const char *options,
                             const tnd_schema_t *in, tnd_op_facts_t *facts, tnd_error_t *error)
{
    tnd_schema_t made = *in;
    self->most = 1;
    TND_TRY(self->ops->open(self->state, spec->shared, options, in, &made, &self->most, error));
    tnd_status_t status = take_schema(self, in, &made, facts, error);
    if (status == TND_OK &&
        (self->most == 0 || (self->most > 1 && (spec->caps & TND_OP_EXPANDS) == 0)))
        status = tnd_fail(error, "makes up to %u rows of one, which its table does not declare",
                          self->most);
    if (status != TND_OK && self->ops->close != NULL)
        self->ops->close(self->state);
    return status;
}

static tnd_status_t given_open(void *state, const void *options, const tnd_schema_t *in,
                               tnd_op_facts_t *facts, tnd_error_t *error)
{
    given_t *self = state;
    const tnd_custom_options_t *chosen = options;
    const tnd_op_spec_t *spec = tnd_op_spec_of(chosen->table);
    tnd_error_t why = {.text = "no reason was given"};
    self->ops = spec->custom;
    self->state = tnd_allocate_zeroed(1, self->ops->state_bytes + 1);
    char *text = tnd_pairs_text(&chosen->options);
    tnd_status_t status = open_all(self, spec, text, in, facts, &why);
    free(text);
    if (status != TND_OK) {
        free(self->state);
        return tnd_fail(error, "%s", why.text);
    }
    facts->rows_max = self->most;
    facts->reads = UINT32_MAX;
    return TND_OK;
}

/*  Copies what stays as it is into the rows that may be made of one. */
static void prepare_rows(const given_t *self, const tnd_tile_t *in, uint32_t row,
                         const tnd_rows_t *out)
{
    for (uint32_t c = 0; c < self->out_columns; c++) {
        if (self->from[c] < 0 || self->out_ragged[c])
            continue;
        const uint8_t *from =
            in->columns[self->from[c]].base + row * in->columns[self->from[c]].stride;
        for (uint32_t i = 0; i < self->most; i++)
            memcpy(tnd_rows_at(out, c, i), from, self->out_bytes[c]);
    }
}

/*  Says how long the rows of the ragged columns are. */
static void show_lengths(given_t *self, const tnd_tile_t *in, tnd_rows_t *shown)
{
    size_t need = 0;
    for (uint32_t i = 0; i < self->in_columns; i++)
        need += in->columns[i].ragged != NULL ? in->rows : 0;
    if (need > self->lengths_room) {
        free(self->lengths);
        self->lengths = tnd_allocate(need, sizeof *self->lengths);
        self->lengths_room = need;
    }
    uint64_t *at = self->lengths;
    for (uint32_t i = 0; i < self->in_columns; i++) {
        if (in->columns[i].ragged == NULL)
            continue;
        shown->columns[i].stride = 0;
        shown->columns[i].lengths = at;
        for (uint32_t row = 0; row < in->rows; row++)
            *at++ = in->columns[i].ragged->lengths[in->origin[row]];
    }
}

/*  Points the ragged columns at a row: they are not contiguous. */
static void show_ragged(const given_t *self, const tnd_tile_t *in, uint32_t row, tnd_rows_t *shown)
{
    for (uint32_t i = 0; i < self->in_columns; i++) {
        const tnd_block_column_t *from = in->columns[i].ragged;
        if (from == NULL)
            continue;
        uint64_t at = from->index == NULL ? in->origin[row] : from->index[in->origin[row]];
        shown->columns[i].data = (void *)(uintptr_t)(from->base + at * from->stride);
    }
}

static tnd_status_t given_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                tnd_tile_t *out, tnd_error_t *error)
{
    given_t *self = state;
    uint32_t caps = self->ops->caps, made = 0;
    bool least = (caps & TND_OP_DROPS) == 0;
    tnd_rows_t shown = {.count = in->rows}, rows = {.count = 1};
    for (uint32_t i = 0; i < self->in_columns; i++) {
        shown.columns[i].data = in->columns[i].base;
        shown.columns[i].stride = in->columns[i].stride;
    }
    show_lengths(self, in, &shown);
    for (uint32_t i = 0; i < self->out_columns; i++)
        if (self->out_ragged[i])
            out->columns[i] = in->columns[self->from[i]];
    for (uint32_t row = 0; row < in->rows; row++) {
        tnd_random_t random;
        tnd_error_t why = {.text = "no reason was given"};
        if ((caps & TND_OP_RANDOM) != 0)
            tnd_random_init(&random, key->seed, key->epoch, in->sample[row], key->operation);
        for (uint32_t i = 0; i < self->out_columns; i++) {
            if (self->out_ragged[i])
                continue;
            rows.columns[i].data = out->columns[i].base + made * self->out_bytes[i];
            rows.columns[i].stride = self->out_bytes[i];
        }
        show_ragged(self, in, row, &shown);
        prepare_rows(self, in, row, &rows);
        rows.count = 1;
        if (self->ops->apply(self->state, &shown, row, (caps & TND_OP_RANDOM) != 0 ? &random : NULL,
                             &rows, &why) != TND_OK)
            return tnd_fail(error, "%s", why.text);
        if (rows.count > self->most || rows.count < (least ? 1u : 0u))
            return tnd_fail(error,
                            "made %zu rows of one, where its table and `open` allow %u to %u",
                            rows.count, least ? 1u : 0u, self->most);
        for (size_t i = 0; i < rows.count; i++) {
            out->sample[made] = in->sample[row];
            out->origin[made++] = in->origin[row];
        }
    }
    out->rows = made;
    return TND_OK;
}

static void given_close(void *state)
{
    given_t *self = state;
    if (self->ops->close != NULL)
        self->ops->close(self->state);
    free(self->state);
    free(self->lengths);
}

const tnd_op_t tnd_op_custom = {
    .state_bytes = sizeof(given_t),
    .open = given_open,
    .apply = given_apply,
    .close = given_close,
};
