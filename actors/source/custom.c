/*  actors/source/custom.c - adapts a source of a program or a plugin. */
#include "actors/source/custom.h"

#include <stdlib.h>

#include "runtime/base/allocation.h"
#include "runtime/data/room.h"
#include "runtime/option/custom.h"
#include "runtime/option/option_print.h"

typedef struct {
    const tnd_source_ops_t *ops;
    void *state;
    tnd_schema_t schema;
    uint32_t caps;
} given_t;

static tnd_status_t check_data(const tnd_source_ops_t *ops, const tnd_source_data_t *data,
                               tnd_error_t *error)
{
    if (data->schema.count == 0)
        return tnd_fail(error, "declares no column");
    if ((data->caps & ~ops->caps) != 0)
        return tnd_fail(error, "says that it can do more than its table declares");
    if (data->count == TND_UNKNOWN && (data->caps & TND_SOURCE_RANDOM) != 0)
        return tnd_fail(error, "can read any row, but does not report how many there are");
    return TND_OK;
}

static tnd_status_t given_open(void *state, const void *options, const tnd_source_scope_t *scope,
                               tnd_source_facts_t *facts, tnd_error_t *error)
{
    given_t *self = state;
    const tnd_custom_options_t *chosen = options;
    const tnd_source_spec_t *spec = tnd_source_spec_of(chosen->table);
    tnd_error_t why = {.text = "no reason was given"};
    self->ops = spec->custom;
    self->state = tnd_allocate_zeroed(1, self->ops->state_bytes + 1);
    char *text = tnd_pairs_text(&chosen->options);
    if (chosen->options.count > 0)
        tnd_source_doing(scope, NULL, text);
    tnd_source_data_t data = {.count = TND_UNKNOWN, .caps = self->ops->caps};
    tnd_status_t status =
        self->ops->open(self->state, spec->shared, text, &scope->context, &data, &why);
    free(text);
    bool open = status == TND_OK;
    if (open)
        status = check_data(self->ops, &data, &why);
    if (status == TND_OK) {
        self->schema = data.schema;
        self->caps = data.caps;
        *facts = (tnd_source_facts_t){.schema = data.schema,
                                      .caps = data.caps,
                                      .count = data.count,
                                      .identity = data.identity};
        return TND_OK;
    }
    if (open && self->ops->close != NULL)
        self->ops->close(self->state);
    free(self->state);
    return tnd_fail(error, "source `%s`: %s", spec->table.name, why.text);
}

/*  Whether the first `count` rows have all their ragged columns. */
static tnd_status_t check_ragged(const given_t *self, const uint64_t *index, const tnd_rows_t *rows,
                                 size_t count, tnd_error_t *error)
{
    const char *text = rows->room->error.text;
    for (uint32_t i = 0; i < self->schema.count; i++)
        for (size_t row = 0; self->schema.columns[i].ragged && row < count; row++)
            if (rows->columns[i].ragged[row].data == NULL && *text != '\0')
                return tnd_fail(error, "source `%s`, row %llu: %s", self->ops->name,
                                (unsigned long long)index[row], text);
            else if (rows->columns[i].ragged[row].data == NULL)
                return tnd_fail(error,
                                "source `%s`, row %llu: the length of column `%s` is not set: "
                                "call tnd_rows_room",
                                self->ops->name, (unsigned long long)index[row],
                                self->schema.columns[i].name);
    return *text == '\0' ? TND_OK : tnd_fail(error, "source `%s`: %s", self->ops->name, text);
}

static tnd_status_t given_fill(void *state, const uint64_t *index, tnd_rows_t *rows,
                               tnd_error_t *error)
{
    given_t *self = state;
    size_t count = rows->count;
    tnd_error_t why = {.text = "no reason was given"};
    tnd_status_t status = self->ops->read(self->state, index, count, rows, &why);
    if (status == TND_OK)
        return check_ragged(self, index, rows, count, error);
    bool in_order = (self->caps & TND_SOURCE_RANDOM) == 0;
    bool refuses = status == TND_REFUSED && (!in_order || rows->count < count);
    if ((status == TND_END && rows->count <= count) || (refuses && in_order))
        TND_TRY(check_ragged(self, index, rows, rows->count, error));
    if (status == TND_END && rows->count <= count)
        return TND_END;
    (void)tnd_fail(error, "source `%s`, row %llu: %s", self->ops->name,
                   (unsigned long long)index[refuses && in_order ? rows->count : 0],
                   status == TND_END ? "more rows than there is room for" : why.text);
    return refuses ? TND_REFUSED : TND_FAILED;
}

static tnd_status_t given_sizes(const void *state, const uint64_t *index, uint32_t count,
                                uint64_t *bytes, tnd_error_t *error)
{
    const given_t *self = state;
    tnd_error_t why = {.text = "no reason was given"};
    if (self->ops->sizes == NULL)
        return TND_AGAIN;
    if (self->ops->sizes(self->state, index, count, bytes, &why) == TND_OK)
        return TND_OK;
    return tnd_fail(error, "source `%s`, row %llu: %s", self->ops->name,
                    (unsigned long long)index[0], why.text);
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
    .sizes = given_sizes,
    .close = given_close,
};
