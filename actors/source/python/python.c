/*  actors/source/python/python.c - rows of a data set in Python: a sequence, or what can be iterated.
 *
 *  An interpreter calls it as an operation is called, with the indices of the rows as a column. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <xxhash.h>

#include "actors/op/python/python_makes.h"
#include "actors/python/interpreter_pool.h"
#include "actors/python/interpreter_server.h"
#include "actors/python/reply.h"
#include "actors/python/setup.h"
#include "actors/source/sources.h"
#include "runtime/host/own_work.h"
#include "runtime/option/python_module.h"

/*  Rows of a call; of one that ends its interpreter so often, the row is bad. */
enum { CALL_ROWS = 256, DEATHS_MAX = 3 };

/*  Of a call, if the run does not say when work counts as hung. */
static const uint64_t LIMIT_NS = UINT64_C(60000000000);

/*  A call has five words, and three of the column of indices, which are at this offset. */
enum { CALL_WORDS = 8, INDICES_AT = 64, SHARED_BYTES = 4 << 20 };

/*  What the third word of a reply has: of the first call, and of one that reads in order. */
enum { IS_ANY_ROW = 1, IS_REWINDS = 2, IS_ENDED = 1 };

typedef struct {
    const char *call;
    const tnd_python_makes_t *makes;
    const tnd_value_t *options;
    int random;
    bool allow_nan;
    uint64_t memory;
} python_options_t;

typedef struct {
    const char *call;
    tnd_schema_t schema;
    bool random;
    char *setup, *program;
    tnd_interpreter_terms_t terms;
    tnd_interpreter_server_t *server;
    tnd_interpreter_pool_t *pool;
    char path[4096]; /* of the module; "": it is not known */
    tnd_source_file_t file;
} python_source_t;

static const tnd_option_t options[] = {
    {TND_OPTION(python_options_t, call, STRING, GRAPH), .unit = "data set",
     .example = "my_data:rows",
     .help =
         "MODULE:NAME of an object with `__len__` and `__getitem__`, of a class or a function that "
         "makes one, or of a function that yields rows; a row is a dict, a tuple or one value"},
    {TND_OPTION(python_options_t, makes, TABLE, GRAPH), .table = &tnd_python_makes_table,
     .help =
         "the columns of its rows, `{x: f32[8], y: i64}`; other entries of a dict are left out"},
    {TND_OPTION(python_options_t, options, MAP, GRAPH), .fallback = "",
     .help = "arguments by name of the class or function"},
    {TND_OPTION(python_options_t, random, ENUM, GRAPH), .fallback = "auto",
     .choices = "auto|true|false",
     .help = "whether any row can be read, as shuffles and lanes need; false: it is iterated from "
             "its start; auto: any row, if it has `__len__` and `__getitem__`"},
    {TND_OPTION(python_options_t, allow_nan, BOOL, GRAPH), .fallback = "false",
     .help = "whether floats may be NaN; otherwise such a row is bad"},
    TND_PYTHON_MEMORY_OPTION(python_options_t),
};

const tnd_source_spec_t tnd_source_python_spec = {
    .table = {.name = "python",
              .help = "Reads a data set in Python, such as one of torch or of Hugging Face, in "
                      "interpreters of its own.  `tundish help python_ops` explains it.",
              TND_OPTIONS(options, python_options_t)},
    .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS | TND_SOURCE_TENSORS,
};

static void renew(void *context)
{
    (void)context;
    tnd_own_work_renew();
}

/* --- calls ------------------------------------------------------------------------------------ */

static tnd_status_t broken(const python_source_t *self, tnd_error_t *error)
{
    return tnd_fail(error, "%s: its interpreter gave a reply that makes no sense", self->call);
}

static tnd_status_t copy_ragged(const python_source_t *self, const tnd_reply_t *reply,
                                uint32_t column, tnd_rows_t *rows, size_t first, tnd_error_t *error)
{
    uint64_t lengths[CALL_ROWS];
    size_t unit = tnd_column_unit(&self->schema.columns[column]), bytes;
    const uint8_t *data = tnd_reply_ragged(reply, column, lengths, &bytes);
    if (data == NULL)
        return broken(self, error);
    for (uint64_t row = 0; row < reply->rows; row++) {
        void *to = tnd_rows_room(rows, column, first + row, lengths[row]);
        if (to == NULL)
            return broken(self, error);
        if (lengths[row] > 0)
            memcpy(to, data, lengths[row] * unit);
        data += lengths[row] * unit;
    }
    return TND_OK;
}

static tnd_status_t copy_fixed(const python_source_t *self, const tnd_reply_t *reply,
                               uint32_t column, tnd_rows_t *rows, size_t first, tnd_error_t *error)
{
    size_t bytes = tnd_column_bytes(&self->schema.columns[column]);
    const uint8_t *data = tnd_reply_fixed(reply, column);
    if (data == NULL)
        return broken(self, error);
    for (uint64_t row = 0; row < reply->rows; row++)
        memcpy(tnd_rows_at(rows, column, first + row), data + row * bytes, bytes);
    return TND_OK;
}

static tnd_status_t copy_rows(const python_source_t *self, const tnd_reply_t *reply,
                              tnd_rows_t *rows, size_t first, tnd_error_t *error)
{
    for (uint32_t c = 0; c < self->schema.count; c++)
        TND_TRY(self->schema.columns[c].ragged ? copy_ragged(self, reply, c, rows, first, error)
                                               : copy_fixed(self, reply, c, rows, first, error));
    return TND_OK;
}

/*  Asks for rows; none: how many there are.  *end_p: how the call ended. */
static tnd_status_t ask(const python_source_t *self, tnd_interpreter_t *interpreter,
                        const uint64_t *index, uint32_t count, uint64_t *words, tnd_reply_t *reply,
                        tnd_call_end_t *end_p, tnd_error_t *error)
{
    uint64_t request[CALL_WORDS] = {0, count,      0, INDICES_AT + count * sizeof *index,
                                    0, INDICES_AT, 0, count * sizeof *index};
    size_t size, words_count;
    uint8_t *memory = tnd_interpreter_memory(interpreter, request[3], error);
    *end_p = TND_CALL_REFUSED;
    if (memory == NULL)
        return TND_FAILED;
    if (count > 0)
        memcpy(memory + INDICES_AT, index, count * sizeof *index);
    *end_p = tnd_interpreter_call(interpreter, request, CALL_WORDS, words, &words_count, error);
    if (*end_p != TND_CALL_DONE)
        return TND_FAILED;
    const uint8_t *base = tnd_interpreter_reply(interpreter, &size);
    return tnd_reply_init(reply, base, size, words, words_count, &self->schema)
               ? TND_OK
               : broken(self, error);
}

/*  One call; the interpreter runs afterwards, whatever it did.  TND_FAILED: rows are refused, and *died_p
 *  says whether the process ended. */
static tnd_status_t call(const python_source_t *self, tnd_interpreter_t *interpreter,
                         const uint64_t *index, uint32_t count, tnd_rows_t *rows, size_t first,
                         tnd_reply_t *reply, bool *died_p, tnd_error_t *error)
{
    uint64_t words[TND_INTERPRETER_WORDS];
    tnd_call_end_t end;
    tnd_error_t failed;
    tnd_status_t status = ask(self, interpreter, index, count, words, reply, &end, error);
    *died_p = end == TND_CALL_DIED;
    if (status == TND_OK)
        status = reply->rows == count || (!self->random && reply->rows < count)
                     ? copy_rows(self, reply, rows, first, error)
                     : broken(self, error);
    bool lost =
        end == TND_CALL_DIED || end == TND_CALL_HUNG || (end == TND_CALL_DONE && status != TND_OK);
    if (lost && tnd_interpreter_pool_restart(self->pool, interpreter, &failed) != TND_OK)
        return tnd_fail(error, "%s", failed.text);
    if (lost)
        tnd_own_work_renew();
    return status;
}

/*  A call for one row, which may end the interpreter because another process did it. */
static tnd_status_t call_again(const python_source_t *self, tnd_interpreter_t *interpreter,
                               const uint64_t *index, tnd_rows_t *rows, size_t first,
                               tnd_reply_t *reply, bool *died_p, tnd_error_t *error)
{
    tnd_status_t status = TND_FAILED;
    *died_p = true;
    for (uint32_t deaths = 0; status != TND_OK && *died_p && deaths < DEATHS_MAX; deaths++)
        status = call(self, interpreter, index, 1, rows, first, reply, died_p, error);
    return status;
}

/*  Any rows: if one of a call is refused, the reader asks for each by itself. */
static tnd_status_t fill_any(const python_source_t *self, tnd_interpreter_t *interpreter,
                             const uint64_t *index, tnd_rows_t *rows, tnd_error_t *error)
{
    tnd_reply_t reply;
    bool died;
    for (size_t first = 0; first < rows->count;) {
        size_t left = rows->count - first;
        uint32_t count = left < CALL_ROWS ? (uint32_t)left : CALL_ROWS;
        tnd_status_t status =
            rows->count == 1
                ? call_again(self, interpreter, index, rows, first, &reply, &died, error)
                : call(self, interpreter, index + first, count, rows, first, &reply, &died, error);
        if (status != TND_OK)
            return TND_REFUSED;
        first += count;
    }
    return TND_OK;
}

/*  Rows in order.  A call that is refused is made again for each row, which finds the one. */
static tnd_status_t fill_next(const python_source_t *self, tnd_interpreter_t *interpreter,
                              const uint64_t *index, tnd_rows_t *rows, tnd_error_t *error)
{
    tnd_reply_t reply;
    bool died = false, alone = false;
    for (size_t first = 0; first < rows->count;) {
        size_t left = rows->count - first;
        uint32_t count = alone ? 1 : left < CALL_ROWS ? (uint32_t)left : CALL_ROWS;
        tnd_status_t status =
            count == 1
                ? call_again(self, interpreter, index + first, rows, first, &reply, &died, error)
                : call(self, interpreter, index + first, count, rows, first, &reply, &died, error);
        if (status != TND_OK && count > 1) {
            alone = true;
            continue;
        }
        if (status == TND_OK)
            first += reply.rows;
        if (status == TND_OK && (reply.rows == count || reply.more != IS_ENDED)) {
            alone = alone || reply.rows < count;
            continue;
        }
        rows->count = first;
        /* Those after a row that ends each interpreter cannot be reached. */
        return status == TND_OK ? TND_END : died ? TND_FAILED : TND_REFUSED;
    }
    return TND_OK;
}

static tnd_status_t python_fill(void *state, const uint64_t *index, tnd_rows_t *rows,
                                tnd_error_t *error)
{
    const python_source_t *self = state;
    tnd_interpreter_t *interpreter;
    TND_TRY(tnd_interpreter_pool_take(self->pool, &interpreter, error));
    tnd_status_t status = self->random ? fill_any(self, interpreter, index, rows, error)
                                       : fill_next(self, interpreter, index, rows, error);
    tnd_interpreter_pool_give(self->pool, interpreter);
    return status;
}

/* --- open and close --------------------------------------------------------------------------- */

static void python_close(void *state)
{
    python_source_t *self = state;
    tnd_interpreter_pool_close(&self->pool);
    tnd_interpreter_server_leave(&self->server);
    free(self->setup);
    free(self->program);
}

/*  A checkpoint lists the module as the file with the data. */
static void list_module(python_source_t *self, uint64_t hash, tnd_source_facts_t *facts)
{
    struct stat is;
    if (hash == 0 || stat(self->path, &is) != 0)
        return;
    self->file = (tnd_source_file_t){.kind = TND_DATA_FILE,
                                     .program = true,
                                     .path = self->path,
                                     .size = (uint64_t)is.st_size,
                                     .modified_ns = is.st_mtim.tv_sec * INT64_C(1000000000) +
                                                    is.st_mtim.tv_nsec,
                                     .ends = hash};
    facts->files = &self->file;
    facts->file_count = 1;
}

/*  Asks how many rows there are, and how they can be read. */
static tnd_status_t measure(python_source_t *self, uint64_t hash, size_t loaded,
                            tnd_source_facts_t *facts, tnd_error_t *error)
{
    uint64_t words[TND_INTERPRETER_WORDS];
    tnd_interpreter_t *interpreter;
    tnd_reply_t reply;
    tnd_call_end_t end;
    TND_TRY(tnd_interpreter_pool_take(self->pool, &interpreter, error));
    tnd_status_t status = ask(self, interpreter, NULL, 0, words, &reply, &end, error);
    tnd_interpreter_pool_give(self->pool, interpreter);
    TND_TRY(status);
    self->random = (reply.more & IS_ANY_ROW) != 0;
    bool rewinds = self->random || (reply.more & IS_REWINDS) != 0;
    *facts = (tnd_source_facts_t){
        .schema = self->schema,
        .caps = (self->random ? TND_SOURCE_RANDOM : 0) | (rewinds ? TND_SOURCE_REWINDS : 0),
        .count = self->random ? reply.rows : TND_UNKNOWN,
        .identity = XXH3_64bits_withSeed(&hash, sizeof hash, self->random ? reply.rows : 0),
        .loaded = loaded};
    list_module(self, hash, facts);
    return TND_OK;
}

static tnd_status_t start(python_source_t *self, const python_options_t *chosen,
                          const tnd_source_scope_t *scope, tnd_source_facts_t *facts,
                          tnd_error_t *error)
{
    static const char *const items[] = {"auto", "true", "false"};
    static const uint32_t column = 0;
    tnd_schema_t indices = {0};
    uint64_t hash =
        tnd_python_module_hash(scope->directory, self->call, self->path, sizeof self->path);
    TND_TRY(tnd_schema_add(&indices, "index", TND_U64, 0, NULL, error));
    const tnd_python_setup_t setup = {.call = self->call,
                                      .directory = scope->directory,
                                      .source = hash != 0 ? self->path : "",
                                      .in = &indices,
                                      .columns = &column,
                                      .column_count = 1,
                                      .makes = &self->schema,
                                      .options = chosen->options,
                                      .rows = "one",
                                      .max = 1,
                                      .allow_nan = chosen->allow_nan,
                                      .items = items[chosen->random]};
    uint64_t limit_ns = scope->hung_after_ns > 0 ? scope->hung_after_ns / 4 * 3 : LIMIT_NS;
    self->setup = tnd_python_setup_text(&setup);
    self->program = tnd_python_program(scope->python, scope->directory);
    self->terms =
        (tnd_interpreter_terms_t){.program = self->program,
                                  .directory = scope->directory != NULL ? scope->directory : ".",
                                  .name = self->call,
                                  .setup = self->setup,
                                  .limit_ns = limit_ns,
                                  .start_ns = limit_ns,
                                  .renew = renew};
    tnd_source_doing(scope, "starting", self->call);
    self->server = tnd_interpreter_server_use(&self->terms);
    TND_TRY(tnd_interpreter_pool_open(&self->pool, &self->terms, error));
    size_t most = scope->readers < TND_INTERPRETERS_MAX ? scope->readers : TND_INTERPRETERS_MAX;
    return measure(self, hash, (most > 0 ? most : 1) * (SHARED_BYTES + chosen->memory), facts,
                   error);
}

static tnd_status_t python_open(void *state, const void *given, const tnd_source_scope_t *scope,
                                tnd_source_facts_t *facts, tnd_error_t *error)
{
    python_source_t *self = state;
    const python_options_t *chosen = given;
    if (!tnd_python_call_is_valid(chosen->call))
        return tnd_fail(error, "`call: %s` is not MODULE:NAME, such as my_data:rows", chosen->call);
    self->call = chosen->call;
    TND_TRY(tnd_python_makes(chosen->makes, &self->schema, error));
    tnd_status_t status = start(self, chosen, scope, facts, error);
    if (status != TND_OK)
        python_close(self);
    return status;
}

const tnd_source_t tnd_source_python = {
    .spec = &tnd_source_python_spec,
    .state_bytes = sizeof(python_source_t),
    .open = python_open,
    .fill = python_fill,
    .close = python_close,
};
