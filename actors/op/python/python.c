/*  actors/op/python/python.c - a function of the user, in Python: options, and the schema they make. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/op/python/python_internal.h"
#include "actors/python/setup.h"
#include "runtime/option/python_module.h"

/*  Tiles for a vectorised function, of which each costs the way to another process and back.  A slow one
 *  has time for so many rows before it counts as hung. */
enum { TILE_BYTES = 256 * 1024, TILE_ROWS = 256 };

/*  The shared memory of an interpreter, unless rows are large. */
enum { SHARED_BYTES = 4 << 20 };

static const tnd_option_t options[] = {
    {TND_OPTION(tnd_python_options_t, call, STRING, GRAPH), .unit = "function",
     .example = "my_transforms:tokenize",
     .help = "MODULE:NAME of a function, or of a class whose objects are called; the module is in "
             "the folder of the topology, beside a program in Python, in PYTHONPATH or installed"},
    {TND_OPTION(tnd_python_options_t, columns, COLUMNS, GRAPH),
     .help = "the columns that it gets, in this order; they are left out of what follows, but for "
             "those that it makes or that `keep` names"},
    {TND_OPTION(tnd_python_options_t, makes, TABLE, GRAPH), .table = &tnd_python_makes_table,
     .help = "the columns that it makes, `{ids: {dtype: i32, ragged: true, max: 2048}, y: i64}`"},
    {TND_OPTION(tnd_python_options_t, keep, COLUMNS, GRAPH), .fallback = "",
     .help = "those of `columns` that are passed on, too"},
    {TND_OPTION(tnd_python_options_t, options, MAP, GRAPH), .fallback = "",
     .help = "arguments by name: of the function, or of the class when an object is made"},
    {TND_OPTION(tnd_python_options_t, each, BOOL, GRAPH), .fallback = "false",
     .help = "whether it is called for one row; otherwise for a tile of rows, as arrays and lists"},
    {TND_OPTION(tnd_python_options_t, rows, ENUM, GRAPH), .fallback = "one",
     .choices = "one|filter|many",
     .help = "what a row becomes: one row; with `filter` none if it is None; with `many` up to "
             "`max` rows"},
    {TND_OPTION(tnd_python_options_t, max, U64, GRAPH), .unit = "rows", .fallback = "1",
     .range = "1..65536", .help = "with `rows: many`, the most rows that one row may become"},
    {TND_OPTION(tnd_python_options_t, random, BOOL, GRAPH), .fallback = "false",
     .help = "whether it has an argument `key`: 64 random bits per row, of seed, epoch, sample and "
             "operation"},
    {TND_OPTION(tnd_python_options_t, pure, BOOL, GRAPH), .fallback = "true",
     .help = "whether it gives the same for the same row and key each time; if not, the digest "
             "differs from run to run, and a cache needs `freeze`"},
    {TND_OPTION(tnd_python_options_t, allow_nan, BOOL, GRAPH), .fallback = "false",
     .help = "whether the floats that it makes may be NaN; otherwise such a row is bad"},
    TND_PYTHON_MEMORY_OPTION(tnd_python_options_t),
};

const tnd_op_spec_t tnd_op_python_spec = {
    .table = {.name = "python",
              .help =
                  "Calls a function of Python with NumPy arrays, in an interpreter of its own for "
                  "each worker. `tundish help python_ops` explains it.",
              TND_OPTIONS(options, tnd_python_options_t)},
    .caps = TND_OP_DROPS | TND_OP_EXPANDS | TND_OP_RANDOM | TND_OP_FAILS | TND_OP_APART,
};

static bool names(const tnd_strings_t *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], name) == 0)
            return true;
    return false;
}

static tnd_status_t find_columns(tnd_python_t *self, const tnd_python_options_t *chosen,
                                 const tnd_schema_t *in, tnd_error_t *error)
{
    for (size_t i = 0; i < chosen->columns.count; i++) {
        uint32_t *column = &self->read[self->read_count];
        if (self->read_count == TND_COLUMNS_MAX)
            return tnd_fail(error, "more than %d columns", TND_COLUMNS_MAX);
        TND_TRY(tnd_op_find_any(in, chosen->columns.items[i], column, error));
        if (in->columns[*column].dtype == TND_BF16)
            return tnd_fail(error,
                            "column `%s` is of bf16, which NumPy does not have; before this, "
                            "`cast: {column: %s, to: f32}` makes numbers of it",
                            in->columns[*column].name, in->columns[*column].name);
        self->read_count++;
    }
    for (size_t i = 0; i < chosen->keep.count; i++)
        if (!names(&chosen->columns, chosen->keep.items[i]))
            return tnd_fail(error,
                            "`keep` names `%s`, which is not in `columns`; columns that the "
                            "function does not get are passed on",
                            chosen->keep.items[i]);
    return TND_OK;
}

/*  A column that is passed on, or made in place of one that comes in. */
static tnd_status_t add(tnd_python_t *self, const tnd_column_t *column, int from,
                        tnd_error_t *error)
{
    self->from[self->out.count] = (int8_t)from;
    return tnd_schema_add_like(&self->out, column->name, column, error);
}

/*  What comes out: made columns are in the places of columns with their names, or at the end. */
static tnd_status_t make_schema(tnd_python_t *self, const tnd_python_options_t *chosen,
                                tnd_error_t *error)
{
    const tnd_schema_t *in = &self->in;
    for (uint32_t i = 0; i < in->count; i++) {
        const char *name = in->columns[i].name;
        bool given = names(&chosen->columns, name);
        int made = tnd_schema_find(&self->made, name);
        if (made >= 0 && (!given || names(&chosen->keep, name)))
            return tnd_fail(error, "makes column `%s`, but one of this name is passed on", name);
        if (made >= 0) {
            self->place[made] = self->out.count;
            TND_TRY(add(self, &self->made.columns[made], -1, error));
        } else if (!given || names(&chosen->keep, name)) {
            TND_TRY(add(self, &in->columns[i], (int)i, error));
        }
    }
    for (uint32_t m = 0; m < self->made.count; m++) {
        if (tnd_schema_find(in, self->made.columns[m].name) >= 0)
            continue;
        self->place[m] = self->out.count;
        TND_TRY(add(self, &self->made.columns[m], -1, error));
    }
    return TND_OK;
}

static void fill_facts(tnd_python_t *self, const tnd_python_options_t *chosen,
                       tnd_op_facts_t *facts)
{
    facts->schema = self->out;
    facts->rows_max = self->most;
    facts->caps = TND_OP_FAILS | TND_OP_APART | (chosen->random ? TND_OP_RANDOM : 0) |
                  (self->rows != TND_PYTHON_ONE ? TND_OP_DROPS : 0) |
                  (self->rows == TND_PYTHON_MANY ? TND_OP_EXPANDS : 0);
    facts->numbered = !chosen->pure;
    snprintf(self->shown, sizeof self->shown, "%.60s, python", self->call);
    facts->name = self->shown;
    facts->tile_bytes = TILE_BYTES;
    facts->tile_rows = TILE_ROWS;
    facts->loaded = SHARED_BYTES + chosen->memory;
    for (uint32_t i = 0; i < self->read_count; i++)
        facts->reads |= UINT64_C(1) << self->read[i];
    if (self->rows != TND_PYTHON_ONE)
        facts->reads = UINT64_MAX;
    else
        memcpy(facts->passes, self->from, self->out.count);
    if (tnd_schema_ragged(&self->made) > 0 || self->rows == TND_PYTHON_MANY)
        facts->growth_max = 0;
}

static const char *const row_words[] = {"one", "filter", "many"};

static void release(tnd_python_t *self)
{
    tnd_interpreter_close(&self->interpreter);
    tnd_interpreter_server_leave(&self->server);
    free(self->setup);
    free(self->program);
}

static tnd_status_t start(tnd_python_t *self, const tnd_python_options_t *chosen,
                          const char *source, tnd_error_t *error)
{
    tnd_error_t why;
    const tnd_python_setup_t setup = {.call = chosen->call,
                                      .directory = self->scope->directory,
                                      .source = source,
                                      .in = &self->in,
                                      .columns = self->read,
                                      .column_count = self->read_count,
                                      .makes = &self->made,
                                      .options = chosen->options,
                                      .rows = row_words[chosen->rows],
                                      .max = chosen->max,
                                      .each = chosen->each,
                                      .random = chosen->random,
                                      .allow_nan = chosen->allow_nan};
    self->setup = tnd_python_setup_text(&setup);
    self->program = tnd_python_program(self->scope->python, self->scope->directory);
    /* It is killed before the actor counts as hung (hang_watch.h). */
    uint64_t limit_ns = self->scope->hung_after_ns / 4 * 3;
    self->terms = (tnd_interpreter_terms_t){
        .program = self->program,
        .directory = self->scope->directory != NULL ? self->scope->directory : ".",
        .name = self->call,
        .setup = self->setup,
        .limit_ns = limit_ns,
        .start_ns = limit_ns,
        .renew = self->scope->renew,
        .context = self->scope->context};
    self->server = tnd_interpreter_server_use(&self->terms);
    if (tnd_interpreter_open(&self->interpreter, &self->terms, &why) == TND_OK) {
        (void)tnd_fail(&why, "runs %s in %s", self->call,
                       tnd_interpreter_versions(self->interpreter));
        self->scope->log(self->scope->context, TND_LOG_INFO, why.text);
        return TND_OK;
    }
    release(self);
    return tnd_fail(error, "%s", why.text);
}

static tnd_status_t python_open(void *state, const void *given, const tnd_schema_t *in,
                                tnd_op_facts_t *facts, tnd_error_t *error)
{
    tnd_python_t *self = state;
    const tnd_python_options_t *chosen = given;
    char source[4096] = "";
    if (!tnd_python_call_is_valid(chosen->call))
        return tnd_fail(error, "`call: %s` is not MODULE:NAME, such as my_transforms:tokenize",
                        chosen->call);
    self->call = chosen->call;
    self->in = *in;
    self->scope = facts->scope;
    self->rows = (tnd_python_rows_t)chosen->rows;
    self->most = self->rows == TND_PYTHON_MANY ? (uint32_t)chosen->max : 1;
    self->random = chosen->random;
    if (self->rows != TND_PYTHON_MANY && chosen->max != 1)
        return tnd_fail(error, "`max` is for `rows: many`");
    TND_TRY(find_columns(self, chosen, in, error));
    TND_TRY(tnd_python_makes(chosen->makes, &self->made, error));
    TND_TRY(make_schema(self, chosen, error));
    fill_facts(self, chosen, facts);
    if (self->scope == NULL)
        return TND_OK;
    facts->content =
        tnd_python_module_hash(self->scope->directory, self->call, source, sizeof source);
    return self->scope->runs ? start(self, chosen, facts->content != 0 ? source : "", error)
                             : TND_OK;
}

static void python_close(void *state)
{
    tnd_python_t *self = state;
    release(self);
    free(self->counts);
    free(self->lengths);
}

const tnd_op_t tnd_op_python = {
    .spec = &tnd_op_python_spec,
    .state_bytes = sizeof(tnd_python_t),
    .open = python_open,
    .apply = tnd_python_apply,
    .close = python_close,
};
