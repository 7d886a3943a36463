/*  actors/source/combine/mix.c - rows of several sources by weights, as TensorFlow's
 *  sample_from_datasets.
 *
 *  Each row is of a source that is drawn.  A source that has no more rows is drawn again, or ends
 *  the mix.  The draws are the same in each epoch. */
#include <math.h>
#include <string.h>

#include "actors/source/combine/combination.h"
#include "actors/source/sources.h"
#include "runtime/core/numeric/weighted_choice.h"
#include "runtime/core/places.h"
#include "runtime/option/registry.h"

_Static_assert((int)TND_WEIGHTED_MAX >= (int)TND_CHOICES_SOURCES_MAX, "every source can be drawn");

typedef struct {
    tnd_part_list_t sources;
    tnd_numbers_t weights;
    int64_t seed;
    bool stop_on_empty;
} mix_options_t;

typedef struct {
    tnd_combination_t combination; /* first */
    const mix_options_t *chosen;
    uint32_t seeds[2];
    /*  While rows are chosen. */
    tnd_weighted_choice_t draws;
    uint32_t left; /* sources that are not empty */
    bool empty[TND_CHOICES_SOURCES_MAX];
} mix_t;

/*  A seed that was not given: TensorFlow takes none so low. */
static const int64_t seed_unset = INT64_MIN;

static const tnd_option_t options[] = {
    {TND_OPTION(mix_options_t, sources, PARTS, GRAPH), .parts = tnd_registry_source_table,
     .check = tnd_combination_check, .help = "the sources: `[{npy: {...}}, {npy: {...}}]`"},
    {TND_OPTION(mix_options_t, weights, F64S, GRAPH), .fallback = "", .range = "0..",
     .help = "how likely a row of each source is, relative to the others; by default all alike"},
    {TND_OPTION(mix_options_t, seed, I64, GRAPH), .fallback = "run",
     .choices = "run=-9223372036854775808",
     .help = "the seed of the draws; by default that of the topology"},
    {TND_OPTION(mix_options_t, stop_on_empty, BOOL, GRAPH), .fallback = "false",
     .help = "whether the first source without more rows ends the mix; otherwise the others "
             "continue"},
};

const tnd_source_spec_t tnd_source_mix_spec = {
    .table = {.name = "mix",
              .help = "Draws the source of each row by weights, as TensorFlow's "
                      "`sample_from_datasets`.",
              TND_OPTIONS(options, mix_options_t),
              .scalar = "sources"},
    .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS | TND_SOURCE_FILES,
};

static void mix_rewind(tnd_combination_t *combination)
{
    mix_t *self = (mix_t *)(void *)combination;
    const tnd_numbers_t *weights = &self->chosen->weights;
    tnd_weighted_choice_init(&self->draws, weights->count > 0 ? weights->items : NULL,
                             combination->count, self->seeds);
    self->left = 0;
    for (uint32_t s = 0; s < combination->count; s++) {
        self->empty[s] = weights->count > 0 && !(weights->items[s] > 0);
        self->left += !self->empty[s];
    }
}

/*  The source of the next row, if it has one; false: there is none left. */
static bool draw(mix_t *self, uint32_t *source_p)
{
    if (self->left == 0)
        return false;
    *source_p = 0;
    while (self->left == 1 && self->empty[*source_p])
        ++*source_p;
    while (self->left > 1 && self->empty[ *source_p = tnd_weighted_choice_next(&self->draws)])
        ;
    return true;
}

/*  A drawn source has no row. */
static void note_empty(mix_t *self, uint32_t source)
{
    self->empty[source] = true;
    self->left = self->chosen->stop_on_empty ? 0 : self->left - 1;
}

static tnd_status_t mix_next(tnd_combination_t *combination, const tnd_block_t **block_p,
                             uint32_t *row_p, tnd_error_t *error)
{
    mix_t *self = (mix_t *)(void *)combination;
    uint32_t source;
    while (draw(self, &source)) {
        tnd_status_t status =
            tnd_subsource_next(&combination->sources[source], block_p, row_p, error);
        if (status != TND_END)
            return status;
        note_empty(self, source);
    }
    return TND_END;
}

static void choose_all(mix_t *self)
{
    tnd_combination_t *all = &self->combination;
    uint32_t source;
    tnd_choices_init(&all->choices, all->count);
    mix_rewind(all);
    while (draw(self, &source))
        if (all->choices.rows[source] < all->sources[source].facts.count)
            tnd_choices_add(&all->choices, source);
        else
            note_empty(self, source);
    all->rows = all->choices.count;
}

/*  A source that is left with a tiny weight would be drawn after millions of others. */
static tnd_status_t check_weights(const mix_options_t *chosen, tnd_error_t *error)
{
    static const double least = 1e-6;
    const tnd_numbers_t *weights = &chosen->weights;
    double sum = 0;
    if (weights->count == 0)
        return TND_OK;
    if (weights->count != chosen->sources.count)
        return tnd_fail(error, "`weights` has %zu numbers for %zu sources: give each source one",
                        weights->count, chosen->sources.count);
    for (size_t i = 0; i < weights->count; i++)
        sum += weights->items[i];
    if (!(sum > 0) || !isfinite(sum))
        return tnd_fail(error, "`weights`: at least one must be above 0, and all must be finite");
    for (size_t i = 0; i < weights->count; i++)
        if (weights->items[i] > 0 && weights->items[i] < least * sum)
            return tnd_fail(error,
                            "`weights`: %g is less than a millionth of their sum: use 0 or more",
                            weights->items[i]);
    return TND_OK;
}

static tnd_status_t mix_open(void *state, const void *given, const tnd_source_scope_t *scope,
                             tnd_source_facts_t *facts, tnd_error_t *error)
{
    mix_t *self = state;
    tnd_combination_t *all = &self->combination;
    self->chosen = given;
    int64_t seed =
        self->chosen->seed != seed_unset ? self->chosen->seed : (int64_t)(scope->seed % INT32_MAX);
    tnd_places_seeds(TND_PLACES_NO_GLOBAL_SEED, tnd_places_seed(seed), self->seeds);
    TND_TRY(check_weights(self->chosen, error));
    TND_TRY(tnd_combination_open(all, &self->chosen->sources, NULL, scope, error));
    all->find = tnd_combination_find_choice;
    all->rewind = mix_rewind;
    all->next = mix_next;
    tnd_status_t status = tnd_combination_same_schema(all, error);
    all->rows = TND_UNKNOWN;
    if (status == TND_OK && all->random)
        choose_all(self);
    if (status != TND_OK) {
        tnd_combination_close(all);
        return status;
    }
    tnd_combination_facts(all, scope, facts);
    return TND_OK;
}

const tnd_source_t tnd_source_mix = {
    .spec = &tnd_source_mix_spec,
    .state_bytes = sizeof(mix_t),
    .open = mix_open,
    TND_COMBINATION_HOOKS,
    .close = tnd_combination_source_close,
};
