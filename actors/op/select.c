/*  actors/op/select.c - other columns, or the same by other names: select, rename. */
#include <string.h>

#include "actors/op/ops.h"

typedef struct {
    tnd_strings_t columns;
} select_options_t;

/*  Both only choose the place and name of columns. */
typedef struct {
    uint32_t count;
    uint32_t from[TND_COLUMNS_MAX];
} places_t;

static const tnd_option_t select_options[] = {
    {TND_OPTION(select_options_t, columns, COLUMNS, GRAPH),
     .help = "the columns that stay, in this order"},
};

const tnd_op_spec_t tnd_op_select_spec = {
    .table = {.name = "select",
              .help = "Keeps some columns and leaves the others out, as Dataset.map.",
              TND_OPTIONS(select_options, select_options_t)},
};

/*  Appends column `from` of `in` under a name. */
static tnd_status_t place(places_t *self, const tnd_schema_t *in, uint32_t from, const char *name,
                          tnd_op_facts_t *facts, tnd_error_t *error)
{
    const tnd_column_t *column = &in->columns[from];
    TND_TRY(tnd_schema_add_like(&facts->schema, name, column, error));
    facts->passes[self->count] = (int8_t)from;
    self->from[self->count++] = from;
    return TND_OK;
}

static tnd_status_t select_open(void *state, const void *given, const tnd_schema_t *in,
                                tnd_op_facts_t *facts, tnd_error_t *error)
{
    const select_options_t *chosen = given;
    if (chosen->columns.count == 0)
        return tnd_fail(error, "`columns` names none; at least one has to stay");
    for (size_t i = 0; i < chosen->columns.count; i++) {
        uint32_t index;
        TND_TRY(tnd_op_find_any(in, chosen->columns.items[i], &index, error));
        TND_TRY(place(state, in, index, in->columns[index].name, facts, error));
    }
    return TND_OK;
}

typedef struct {
    tnd_pairs_t names;
} rename_options_t;

static const tnd_option_t rename_options[] = {
    {TND_OPTION_NAMED("*", rename_options_t, names, COLUMN, GRAPH), .fallback = "",
     .help = "a column, and its new name"},
};

const tnd_op_spec_t tnd_op_rename_spec = {
    .table = {.name = "rename",
              .help = "Gives columns other names, `{OLD: NEW, ...}`, as Dataset.map.",
              TND_OPTIONS(rename_options, rename_options_t)},
};

static tnd_status_t rename_open(void *state, const void *given, const tnd_schema_t *in,
                                tnd_op_facts_t *facts, tnd_error_t *error)
{
    const rename_options_t *chosen = given;
    const char *names[TND_COLUMNS_MAX];
    if (chosen->names.count == 0)
        return tnd_fail(error, "no column is named; say `{OLD: NEW}`");
    for (uint32_t i = 0; i < in->count; i++)
        names[i] = in->columns[i].name;
    for (size_t i = 0; i < chosen->names.count; i++) {
        uint32_t index;
        TND_TRY(tnd_op_find_any(in, chosen->names.items[i].name, &index, error));
        names[index] = chosen->names.items[i].text;
    }
    for (uint32_t i = 0; i < in->count; i++)
        TND_TRY(place(state, in, i, names[i], facts, error));
    return TND_OK;
}

static tnd_status_t places_apply(void *state, const tnd_op_key_t *key, const tnd_tile_t *in,
                                 tnd_tile_t *out, tnd_error_t *error)
{
    (void)key, (void)error;
    const places_t *self = state;
    out->rows = in->rows;
    for (uint32_t i = 0; i < self->count; i++)
        out->columns[i] = in->columns[self->from[i]];
    return TND_OK;
}

const tnd_op_t tnd_op_select = {
    .spec = &tnd_op_select_spec,
    .state_bytes = sizeof(places_t),
    .open = select_open,
    .apply = places_apply,
};

const tnd_op_t tnd_op_rename = {
    .spec = &tnd_op_rename_spec,
    .state_bytes = sizeof(places_t),
    .open = rename_open,
    .apply = places_apply,
};
