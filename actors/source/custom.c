/*  actors/source/custom.c - adapts a source of a program or a plugin. */
#include "actors/source/custom.h"

#include <stdlib.h>

#include "runtime/base/allocation.h"
#include "runtime/core/stream/position.h"
#include "runtime/option/custom.h"
#include "runtime/option/option_print.h"

typedef struct {
    const tnd_source_ops_t *ops;
    void *state;
    tnd_schema_t schema;
} given_t;

static tnd_status_t check_data(const tnd_source_ops_t *ops, const tnd_source_data_t *data,
                               tnd_error_t *error)
{
    if (data->schema.count == 0)
        return tnd_fail(error, "declares no column");
    if (data->count == 0)
        return tnd_fail(error, "has no rows");
    if (data->count == TND_UNKNOWN && (ops->caps & TND_SOURCE_RANDOM) != 0)
        return tnd_fail(error, "can read any row, but does not report how many there are");
    return TND_OK;
}

static tnd_status_t given_open(void *state, const void *options, const tnd_source_scope_t *scope,
                               tnd_source_facts_t *facts, tnd_error_t *error)
{
    (void)scope;
    given_t *self = state;
    const tnd_custom_options_t *chosen = options;
    const tnd_source_spec_t *spec = tnd_source_spec_of(chosen->table);
    tnd_error_t why = {.text = "no reason was given"};
    self->ops = spec->custom;
    self->state = tnd_allocate_zeroed(1, self->ops->state_bytes + 1);
    char *text = tnd_pairs_text(&chosen->options);
    tnd_source_data_t data = {.count = TND_UNKNOWN};
    tnd_status_t status = self->ops->open(self->state, spec->shared, text, &data, &why);
    free(text);
    bool open = status == TND_OK;
    if (open)
        status = check_data(self->ops, &data, &why);
    if (status == TND_OK) {
        self->schema = data.schema;
        *facts = (tnd_source_facts_t){
            .schema = data.schema, .count = data.count, .identity = data.identity};
        return TND_OK;
    }
    if (open && self->ops->close != NULL)
        self->ops->close(self->state);
    free(self->state);
    return tnd_fail(error, "source `%s`: %s", spec->table.name, why.text);
}

/*  The source must set the length of each ragged row; it is unset before the call. */
static void forget_lengths(const given_t *self, const tnd_rows_t *shown)
{
    for (uint32_t i = 0; i < self->schema.count; i++)
        for (size_t row = 0; self->schema.columns[i].ragged && row < shown->count; row++)
            shown->columns[i].lengths[row] = UINT64_MAX;
}

static tnd_status_t check_lengths(const given_t *self, const uint64_t *index,
                                  const tnd_rows_t *shown, size_t count, tnd_error_t *error)
{
    for (uint32_t i = 0; i < self->schema.count; i++) {
        const tnd_column_t *column = &self->schema.columns[i];
        for (size_t row = 0; column->ragged && row < count; row++) {
            uint64_t length = shown->columns[i].lengths[row];
            if (length == UINT64_MAX)
                return tnd_fail(error,
                                "source `%s`, row %llu: the length of column `%s` is not set: "
                                "write rows->columns[%u].lengths",
                                self->ops->name, (unsigned long long)index[row], column->name, i);
            if (length > column->shape[0])
                return tnd_fail(error,
                                "source `%s`, row %llu: column `%s` has length %llu, above the "
                                "%llu that its `open` declared",
                                self->ops->name, (unsigned long long)index[row], column->name,
                                (unsigned long long)length, (unsigned long long)column->shape[0]);
        }
    }
    return TND_OK;
}

static tnd_status_t given_fill(void *state, const uint64_t *index, tnd_source_rows_t *rows,
                               tnd_error_t *error)
{
    given_t *self = state;
    tnd_error_t why = {.text = "no reason was given"};
    tnd_rows_t shown = {.count = rows->count};
    for (uint32_t i = 0; i < self->schema.count; i++) {
        shown.columns[i].data = rows->columns[i].base;
        shown.columns[i].stride = rows->columns[i].stride;
        shown.columns[i].lengths = rows->columns[i].lengths;
    }
    forget_lengths(self, &shown);
    tnd_status_t status = self->ops->read(self->state, index, rows->count, &shown, &why);
    if (status == TND_OK)
        return check_lengths(self, index, &shown, rows->count, error);
    if (status == TND_END && shown.count <= rows->count) {
        rows->count = (uint32_t)shown.count;
        tnd_status_t fits = check_lengths(self, index, &shown, rows->count, error);
        return fits == TND_OK ? TND_END : fits;
    }
    (void)tnd_fail(error, "source `%s`, row %llu: %s", self->ops->name,
                   (unsigned long long)index[0],
                   status == TND_END ? "more rows than there is room for" : why.text);
    return status == TND_REFUSED && (self->ops->caps & TND_SOURCE_RANDOM) != 0 ? TND_REFUSED
                                                                               : TND_FAILED;
}

static void given_close(void *state)
{
    given_t *self = state;
    if (self->ops->close != NULL)
        self->ops->close(self->state);
    free(self->state);
}

const tnd_source_t tnd_source_custom = {
    .state_bytes = sizeof(given_t),
    .open = given_open,
    .fill = given_fill,
    .close = given_close,
};
