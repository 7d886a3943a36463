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
    tnd_schema_t in, out;
    int from[TND_COLUMNS_MAX];         /* by column that comes out: the same one of `in`, or -1 */
    size_t out_bytes[TND_COLUMNS_MAX]; /* of a row, unless ragged */
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
        self->from[i] = tnd_schema_find(in, column->name);
        if (self->from[i] >= 0 && !same(&in->columns[self->from[i]], column))
            self->from[i] = -1;
    }
    self->in = *in;
    self->out = facts->schema;
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
    facts->content = spec->build;
    facts->reads = UINT64_MAX;
    facts->growth_max = 0;
    return TND_OK;
}

/*  Points `rows` at where the rows after `made` are made of a row.  What stays as it is is there
 *  already. */
static void offer_rows(const given_t *self, const tnd_tile_t *in, uint32_t row,
                       const tnd_tile_t *out, uint32_t made, tnd_rows_t *rows)
{
    rows->count = 1;
    for (uint32_t c = 0; c < self->out.count; c++) {
        int from = self->from[c];
        if (self->out.columns[c].ragged) {
            rows->columns[c].ragged = &out->columns[c].ragged[made];
            for (uint32_t i = 0; i < self->most; i++)
                rows->columns[c].ragged[i] =
                    from >= 0 ? in->columns[from].ragged[row] : (tnd_ragged_t){0};
            continue;
        }
        rows->columns[c].data = out->columns[c].base + made * self->out_bytes[c];
        rows->columns[c].stride = self->out_bytes[c];
        for (uint32_t i = 0; from >= 0 && i < self->most; i++)
            memcpy(tnd_rows_at(rows, c, i), tnd_tile_row(in, (uint32_t)from, row),
                   self->out_bytes[c]);
    }
}

/*  Whether a row was made as declared. */
static tnd_status_t check_rows(const given_t *self, const tnd_rows_t *rows, tnd_error_t *error)
{
    uint32_t least = (self->ops->caps & TND_OP_DROPS) != 0 ? 0 : 1;
    if (rows->count > self->most || rows->count < least)
        return tnd_fail(error, "made %zu rows of one, where its table and `open` allow %u to %u",
                        rows->count, least, self->most);
    if (rows->room->error.text[0] != '\0')
        return tnd_fail(error, "%s", rows->room->error.text);
    for (uint32_t c = 0; c < self->out.count; c++)
        for (size_t i = 0; self->out.columns[c].ragged && i < rows->count; i++)
            if (rows->columns[c].ragged[i].data == NULL)
                return tnd_fail(error,
                                "did not make column `%s`, which is ragged: call tnd_rows_room or "
                                "tnd_rows_keep for each row",
                                self->out.columns[c].name);
    return TND_OK;
}

static tnd_status_t given_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                tnd_tile_t *out, tnd_error_t *error)
{
    given_t *self = state;
    uint32_t made = 0;
    tnd_rows_t shown = {.count = in->rows}, rows = {.room = out->room};
    for (uint32_t i = 0; i < self->in.count; i++) {
        shown.columns[i].data = in->columns[i].base;
        shown.columns[i].stride = in->columns[i].stride;
        shown.columns[i].ragged = in->columns[i].ragged;
    }
    tnd_room_serve(out->room, &self->out, &self->in, &shown);
    for (uint32_t row = 0; row < in->rows; row++) {
        tnd_random_t random;
        tnd_error_t why = {.text = "no reason was given"};
        bool draws = (self->ops->caps & TND_OP_RANDOM) != 0;
        if (draws)
            tnd_random_init(&random, key->seed, key->epoch, in->sample[row], key->operation);
        offer_rows(self, in, row, out, made, &rows);
        out->room->in_row = row;
        if (self->ops->apply(self->state, &shown, row, draws ? &random : NULL, &rows, &why) !=
            TND_OK)
            return tnd_fail(error, "%s", why.text);
        TND_TRY(check_rows(self, &rows, error));
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
}

const tnd_op_t tnd_op_custom = {
    .state_bytes = sizeof(given_t),
    .open = given_open,
    .apply = given_apply,
    .close = given_close,
};
