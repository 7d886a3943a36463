/*  actors/source/combine/concatenate.c - all rows of one source, then all of the next. */
#include <stdlib.h>

#include "actors/source/combine/combination.h"
#include "actors/source/sources.h"
#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"
#include "runtime/option/registry.h"

typedef struct {
    tnd_part_list_t sources;
} concatenate_options_t;

typedef struct {
    tnd_combination_t combination; /* first */
    uint64_t *first;               /* row of each source, and one past the last; if RANDOM */
    uint32_t current;              /* the source that is read, if not */
} concatenate_t;

static const tnd_option_t options[] = {
    {TND_OPTION(concatenate_options_t, sources, PARTS, GRAPH), .parts = tnd_registry_source_table,
     .check = tnd_combination_check,
     .help = "the sources, in this order: `[{npy: {...}}, {npy: {...}}]`"},
};

const tnd_source_spec_t tnd_source_concatenate_spec = {
    .table = {.name = "concatenate",
              .help =
                  "Reads all rows of a source, then all of the next, as `concatenate` of tf.data; "
                  "`concatenate: [SOURCE, SOURCE]`.",
              TND_OPTIONS(options, concatenate_options_t),
              .scalar = "sources"},
    .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS | TND_SOURCE_FILES,
};

static void concatenate_find(const tnd_combination_t *combination, uint64_t index,
                             uint32_t *source_p, uint64_t *row_p)
{
    const concatenate_t *self = (const concatenate_t *)(const void *)combination;
    uint32_t after;
    TND_LOWER_BOUND(after, 1, combination->count, self->first[after] <= index);
    *source_p = after - 1;
    *row_p = index - self->first[after - 1];
}

static uint64_t concatenate_reverse(const tnd_combination_t *combination, uint32_t source,
                                    uint64_t row)
{
    return ((const concatenate_t *)(const void *)combination)->first[source] + row;
}

static void concatenate_rewind(tnd_combination_t *combination)
{
    ((concatenate_t *)(void *)combination)->current = 0;
}

static tnd_status_t concatenate_next(tnd_combination_t *combination, const tnd_block_t **block_p,
                                     uint32_t *row_p, tnd_error_t *error)
{
    concatenate_t *self = (concatenate_t *)(void *)combination;
    tnd_status_t status = TND_END;
    while (self->current < combination->count) {
        status = tnd_subsource_next(&combination->sources[self->current], block_p, row_p, error);
        if (status != TND_END)
            break;
        self->current++;
    }
    return status;
}

/*  The files of all sources are those of the combination, for `interleave`. */
static void list_rows(tnd_combination_t *self, tnd_source_facts_t *facts)
{
    for (uint32_t s = 0; s < self->count; s++) {
        uint32_t files = self->sources[s].facts.file_rows_count;
        facts->file_rows_count += files > 0 ? files : 1;
    }
    self->file_rows = tnd_allocate(facts->file_rows_count, sizeof *self->file_rows);
    uint64_t *at = self->file_rows;
    for (uint32_t s = 0; s < self->count; s++) {
        const tnd_source_facts_t *of = &self->sources[s].facts;
        for (uint32_t f = 0; f < of->file_rows_count; f++)
            *at++ = of->file_rows[f];
        if (of->file_rows_count == 0)
            *at++ = of->count;
    }
    facts->file_rows = self->file_rows;
}

static void concatenate_close(void *state)
{
    free(((concatenate_t *)state)->first);
    tnd_combination_source_close(state);
}

static tnd_status_t concatenate_open(void *state, const void *given,
                                     const tnd_source_scope_t *scope, tnd_source_facts_t *facts,
                                     tnd_error_t *error)
{
    concatenate_t *self = state;
    tnd_combination_t *all = &self->combination;
    const concatenate_options_t *chosen = given;
    TND_TRY(tnd_combination_open(all, &chosen->sources, NULL, scope, error));
    all->find = concatenate_find;
    all->reverse = concatenate_reverse;
    all->rewind = concatenate_rewind;
    all->next = concatenate_next;
    if (tnd_combination_same_schema(all, error) != TND_OK) {
        tnd_combination_close(all);
        return TND_FAILED;
    }
    self->first = tnd_allocate(all->count, sizeof *self->first);
    for (uint32_t s = 0; s < all->count; s++) {
        uint64_t rows = all->sources[s].facts.count;
        self->first[s] = all->rows;
        all->rows =
            rows == TND_UNKNOWN || all->rows == TND_UNKNOWN ? TND_UNKNOWN : all->rows + rows;
    }
    tnd_combination_facts(all, scope, facts);
    if (all->random)
        list_rows(all, facts);
    return TND_OK;
}

const tnd_source_t tnd_source_concatenate = {
    .spec = &tnd_source_concatenate_spec,
    .state_bytes = sizeof(concatenate_t),
    .open = concatenate_open,
    TND_COMBINATION_HOOKS,
    .close = concatenate_close,
};
