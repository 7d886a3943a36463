/*  actors/source/combine/choose.c - rows of several sources as a source of integers says, as
 *  TensorFlow's choose_from_datasets. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "actors/source/combine/combination.h"
#include "actors/source/sources.h"
#include "runtime/base/allocation.h"
#include "runtime/core/numeric/numeric.h"
#include "runtime/option/registry.h"

enum { CHOICES_AT_ONCE = 1024 };

typedef struct {
    tnd_part_list_t sources;
    tnd_part_t by;
    bool stop_on_empty;
} choose_options_t;

typedef struct {
    tnd_combination_t combination; /* first; its selector has the choices */
    bool stop_on_empty;
    uint64_t read; /* choices */
} choose_t;

static const tnd_option_t options[] = {
    {TND_OPTION(choose_options_t, sources, PARTS, GRAPH), .parts = tnd_registry_source_table,
     .check = tnd_combination_check, .help = "the sources: `[{npy: {...}}, {npy: {...}}]`"},
    {TND_OPTION(choose_options_t, by, PART, GRAPH), .parts = tnd_registry_source_table,
     .help = "a source of one column of integers: for each row which source it is of, from 0"},
    {TND_OPTION(choose_options_t, stop_on_empty, BOOL, GRAPH), .fallback = "true",
     .help = "whether the choice of a source without more rows is the end; otherwise such choices "
             "are left out"},
};

const tnd_source_spec_t tnd_source_choose_spec = {
    .table = {.name = "choose",
              .help = "Takes each row from the source that another source names, as TensorFlow's "
                      "`choose_from_datasets`.",
              TND_OPTIONS(options, choose_options_t)},
    .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS,
};

static const tnd_subsource_t *selector_of(const tnd_combination_t *self)
{
    return &self->sources[self->count];
}

/*  The choice in a row of the selector. */
static tnd_status_t read_choice(const tnd_combination_t *self, const tnd_block_t *block,
                                uint32_t row, uint64_t index, uint32_t *source_p,
                                tnd_error_t *error)
{
    const tnd_column_t *column = &selector_of(self)->facts.schema.columns[0];
    uint64_t number; /* aligned, as the row need not be */
    int64_t choice;
    memcpy(&number, tnd_block_row(block, 0, row), tnd_dtype_size(column->dtype));
    tnd_cast(TND_I64, column->dtype, 1, &choice, &number);
    *source_p = (uint32_t)choice;
    if (choice >= 0 && choice < self->count)
        return TND_OK;
    return tnd_fail_about(error, selector_of(self)->part->value,
                          "row %" PRIu64 " of `by` is %" PRId64
                          ", but there are %u sources, numbered from 0",
                          index, choice, self->count);
}

static void choose_rewind(tnd_combination_t *combination)
{
    ((choose_t *)(void *)combination)->read = 0;
}

static tnd_status_t choose_next(tnd_combination_t *combination, const tnd_block_t **block_p,
                                uint32_t *row_p, tnd_error_t *error)
{
    choose_t *self = (choose_t *)(void *)combination;
    for (;;) {
        const tnd_block_t *block;
        uint32_t row, source;
        TND_TRY(tnd_subsource_next(&combination->sources[combination->count], &block, &row, error));
        TND_TRY(read_choice(combination, block, row, self->read++, &source, error));
        tnd_status_t status =
            tnd_subsource_next(&combination->sources[source], block_p, row_p, error);
        if (status != TND_END || self->stop_on_empty)
            return status;
    }
}

/*  Adds the choices of `count` rows of the selector; *end_p: the last row was found. */
static tnd_status_t add_choices(choose_t *self, const tnd_block_t *block, uint64_t first,
                                uint32_t count, bool *end_p, tnd_error_t *error)
{
    tnd_combination_t *all = &self->combination;
    for (uint32_t i = 0; i < count && !*end_p; i++) {
        uint32_t source;
        TND_TRY(read_choice(all, block, i, first + i, &source, error));
        if (all->choices.rows[source] < all->sources[source].facts.count)
            tnd_choices_add(&all->choices, source);
        else
            *end_p = self->stop_on_empty;
    }
    return TND_OK;
}

static tnd_status_t choose_all(choose_t *self, tnd_error_t *error)
{
    tnd_combination_t *all = &self->combination;
    const tnd_subsource_t *selector = selector_of(all);
    tnd_block_t *block = tnd_allocate(1, sizeof *block);
    uint64_t index[CHOICES_AT_ONCE];
    tnd_status_t status = TND_OK;
    bool end = false;
    tnd_choices_init(&all->choices, all->count);
    for (uint64_t at = 0; at < selector->facts.count && status == TND_OK && !end;) {
        uint64_t left = selector->facts.count - at;
        uint32_t count = left < CHOICES_AT_ONCE ? (uint32_t)left : CHOICES_AT_ONCE;
        for (uint32_t i = 0; i < count; i++)
            index[i] = at + i;
        *block = (tnd_block_t){0};
        status = tnd_subsource_read(selector, index, count, block, error);
        if (status == TND_OK)
            status = add_choices(self, block, at, count, &end, error);
        tnd_subsource_release(block);
        at += count;
    }
    free(block);
    all->rows = all->choices.count;
    return status;
}

static tnd_status_t check_selector(const tnd_combination_t *self, tnd_error_t *error)
{
    const tnd_subsource_t *selector = selector_of(self);
    const tnd_schema_t *schema = &selector->facts.schema;
    const tnd_column_t *column = &schema->columns[0];
    char text[256];
    if (schema->count == 1 && column->rank == 0 && !column->ragged &&
        !tnd_dtype_is_float(column->dtype) && column->dtype != TND_BOOL)
        return TND_OK;
    return tnd_fail_about(error, selector->part->value,
                          "`by` has %s: it needs one column of integers, one in each row",
                          tnd_schema_text(schema, text, sizeof text));
}

static tnd_status_t choose_open(void *state, const void *given, const tnd_source_scope_t *scope,
                                tnd_source_facts_t *facts, tnd_error_t *error)
{
    choose_t *self = state;
    tnd_combination_t *all = &self->combination;
    const choose_options_t *chosen = given;
    tnd_source_scope_t whole = *scope;
    whole.lane = 0;
    whole.lanes = 1;
    self->stop_on_empty = chosen->stop_on_empty;
    TND_TRY(tnd_combination_open(all, &chosen->sources, &chosen->by, &whole, error));
    all->find = tnd_combination_find_choice;
    all->rewind = choose_rewind;
    all->next = choose_next;
    all->rows = TND_UNKNOWN;
    tnd_status_t status = tnd_combination_same_schema(all, error);
    if (status == TND_OK)
        status = check_selector(all, error);
    if (status == TND_OK && all->random)
        status = choose_all(self, error);
    if (status != TND_OK) {
        tnd_combination_close(all);
        return status;
    }
    tnd_combination_facts(all, scope, facts);
    facts->caps &= ~(uint32_t)TND_SOURCE_FILES;
    return TND_OK;
}

const tnd_source_t tnd_source_choose = {
    .spec = &tnd_source_choose_spec,
    .state_bytes = sizeof(choose_t),
    .open = choose_open,
    TND_COMBINATION_HOOKS,
    .close = tnd_combination_source_close,
};
