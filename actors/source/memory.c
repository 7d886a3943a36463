/*  actors/source/memory.c - a source of arrays of the program, or of numbers of the topology file. */
#include <string.h>

#include "actors/source/columns.h"
#include "actors/source/sources.h"
#include "runtime/core/numeric/numeric.h"
#include "runtime/text/quantity.h"

typedef struct {
    tnd_pairs_t written; /* columns of the topology file */
} memory_options_t;

static const tnd_option_t options[] = {
    {TND_OPTION_NAMED("*", memory_options_t, written, VALUE, GRAPH), .fallback = "",
     .help =
         "a column: {dtype: u8, shape: [2, 2], data: [1, 2, 3, 4]}, all rows in one list; without "
         "`data` an array of the program, which is checked against dtype and shape"},
};

const tnd_source_spec_t tnd_source_memory_spec = {
    .table =
        {.name = "memory",
         .help =
             "Reads arrays of the calling program (tnd_graph_array; `arrays` of tundish.feed), or "
             "numbers written in the file.",
         TND_OPTIONS(options, memory_options_t)},
    .caps = TND_SOURCE_RANDOM | TND_SOURCE_REWINDS | TND_SOURCE_ARRAYS | TND_SOURCE_TENSORS,
};

static void nothing(void *owner)
{
    (void)owner;
}

static tnd_status_t add_column(tnd_columns_t *self, const char *name, tnd_stored_t *stored,
                               tnd_error_t *error)
{
    if (self->strand_count == TND_COLUMNS_MAX) {
        tnd_buffer_drop(&stored->buffer);
        return tnd_fail(error, "a source has at most %d columns", TND_COLUMNS_MAX);
    }
    stored->content.file = -1;
    tnd_columns_array(self, name, stored);
    return tnd_columns_add(self, name, stored->dtype, stored->rank, stored->shape, 0, error);
}

static tnd_status_t add_array(tnd_columns_t *self, const tnd_program_array_t *array,
                              tnd_error_t *error)
{
    uint64_t bytes = tnd_dtype_size(array->dtype) * array->rows;
    tnd_stored_t stored = {
        .path = array->column, .dtype = array->dtype, .rank = array->rank, .rows = array->rows};
    for (uint32_t i = 0; i < array->rank; i++) {
        stored.shape[i] = array->shape[i];
        bytes *= array->shape[i];
    }
    stored.identity = tnd_content_hash(array->data, bytes);
    stored.buffer =
        tnd_buffer_wrap(TND_BUFFER_HEAP, (void *)(uintptr_t)array->data, bytes, nothing, NULL);
    return add_column(self, array->column, &stored, error);
}

/*  Stores one number of the topology file; false if it does not fit the type. */
static bool write_number(const char *text, tnd_dtype_t dtype, void *out)
{
    double number;
    int64_t low;
    uint64_t high;
    if (tnd_dtype_is_float(dtype)) {
        if (tnd_quantity_f64(text, &number) != TND_QUANTITY_OK)
            return false;
        tnd_cast(dtype, TND_F64, 1, out, &number);
        return true;
    }
    uint64_t back_high = 0;
    int64_t back_low = 0;
    if (tnd_quantity_u64(text, &high) == TND_QUANTITY_OK) {
        tnd_cast(dtype, TND_U64, 1, out, &high);
        tnd_cast(TND_U64, dtype, 1, &back_high, out);
        return back_high == high && (!tnd_dtype_is_signed(dtype) || high <= INT64_MAX);
    }
    if (tnd_quantity_i64(text, &low) != TND_QUANTITY_OK || !tnd_dtype_is_signed(dtype))
        return false;
    tnd_cast(dtype, TND_I64, 1, out, &low);
    tnd_cast(TND_I64, dtype, 1, &back_low, out);
    return back_low == low;
}

static tnd_status_t read_shape(const tnd_pair_t *pair, tnd_stored_t *stored, uint64_t *elements_p,
                               tnd_error_t *error)
{
    const tnd_value_t *shape = tnd_value_get(pair->value, "shape");
    *elements_p = 1;
    if (shape == NULL)
        return TND_OK;
    if (shape->type != TND_VALUE_LIST || shape->count > TND_RANK_MAX)
        return tnd_fail(error, "column `%s`: `shape` is a list of at most %d numbers", pair->name,
                        TND_RANK_MAX);
    stored->rank = (uint32_t)shape->count;
    for (uint32_t i = 0; i < stored->rank; i++) {
        const tnd_value_t *item = shape->items[i];
        if (item->type != TND_VALUE_SCALAR || item->quoted ||
            tnd_quantity_u64(item->text, &stored->shape[i]) != TND_QUANTITY_OK ||
            stored->shape[i] == 0 || stored->shape[i] > UINT32_MAX / *elements_p)
            return tnd_fail(error, "column `%s`: `shape` must be a list of small positive numbers",
                            pair->name);
        *elements_p *= stored->shape[i];
    }
    return TND_OK;
}

/*  Reads the list of a column; `elements` numbers make a row. */
static tnd_status_t read_data(const tnd_pair_t *pair, tnd_stored_t *stored, uint64_t elements,
                              tnd_error_t *error)
{
    const tnd_value_t *data = tnd_value_get(pair->value, "data");
    if (data == NULL || data->type != TND_VALUE_LIST)
        return tnd_fail(error,
                        "column `%s` needs `data`, a list of numbers, or an array of the program",
                        pair->name);
    if (data->count % elements != 0)
        return tnd_fail(error, "column `%s` has %zu numbers, not a multiple of the %llu of a row",
                        pair->name, data->count, (unsigned long long)elements);
    size_t size = tnd_dtype_size(stored->dtype);
    stored->rows = data->count / elements;
    stored->buffer = tnd_buffer_new(data->count * size + 1);
    uint8_t *out = tnd_buffer_data(stored->buffer);
    for (size_t i = 0; i < data->count; i++) {
        const tnd_value_t *item = data->items[i];
        if (item->type == TND_VALUE_SCALAR && !item->quoted &&
            write_number(item->text, stored->dtype, out + i * size))
            continue;
        tnd_buffer_drop(&stored->buffer);
        return tnd_fail(error, "column `%s`: number %zu of `data` is no %s%s%s", pair->name, i,
                        tnd_dtype_name(stored->dtype), item->type == TND_VALUE_SCALAR ? ": " : "",
                        item->type == TND_VALUE_SCALAR ? item->text : "");
    }
    stored->identity = tnd_content_hash(out, data->count * size);
    tnd_buffer_seal(stored->buffer);
    return TND_OK;
}

static tnd_status_t read_dtype(const tnd_pair_t *pair, tnd_stored_t *stored, tnd_error_t *error)
{
    const tnd_value_t *dtype = tnd_value_get(pair->value, "dtype");
    if (dtype == NULL || dtype->type != TND_VALUE_SCALAR ||
        !tnd_dtype_parse(dtype->text, &stored->dtype))
        return tnd_fail(error, "column `%s` needs `dtype`: u8, i8, u16 ... f32, f64 or bool",
                        pair->name);
    return TND_OK;
}

/*  Adds an array for a column that the topology file declares. */
static tnd_status_t add_declared(tnd_columns_t *self, const tnd_pair_t *pair,
                                 const tnd_program_array_t *array, tnd_error_t *error)
{
    tnd_stored_t stored = {.path = pair->name};
    uint64_t elements;
    TND_TRY(read_dtype(pair, &stored, error));
    TND_TRY(read_shape(pair, &stored, &elements, error));
    if (tnd_value_get(pair->value, "data") != NULL)
        return tnd_fail(error, "column `%s` has its `data` in the file: it takes no array",
                        pair->name);
    tnd_schema_t declared = {0}, given = {0};
    char declared_text[160], given_text[160];
    TND_TRY(tnd_schema_add(&declared, pair->name, stored.dtype, stored.rank, stored.shape, error));
    TND_TRY(tnd_schema_add(&given, pair->name, array->dtype, array->rank, array->shape, error));
    if (tnd_schema_hash(&declared) != tnd_schema_hash(&given))
        return tnd_fail(error, "the graph declares `%s`, and the array of the program has `%s`",
                        tnd_schema_text(&declared, declared_text, sizeof declared_text),
                        tnd_schema_text(&given, given_text, sizeof given_text));
    return add_array(self, array, error);
}

/*  Adds a column whose numbers are in the topology file. */
static tnd_status_t add_written(tnd_columns_t *self, const tnd_pair_t *pair, tnd_error_t *error)
{
    tnd_stored_t stored = {.path = pair->name};
    uint64_t elements;
    TND_TRY(read_dtype(pair, &stored, error));
    TND_TRY(read_shape(pair, &stored, &elements, error));
    TND_TRY(read_data(pair, &stored, elements, error));
    return add_column(self, pair->name, &stored, error);
}

static bool is_declared(const tnd_pairs_t *written, const char *column)
{
    for (size_t i = 0; i < written->count; i++)
        if (strcmp(written->items[i].name, column) == 0)
            return true;
    return written->count == 0;
}

static tnd_status_t add_all(tnd_columns_t *self, const tnd_pairs_t *written,
                            const tnd_source_scope_t *scope, tnd_error_t *error)
{
    for (size_t i = 0; i < written->count; i++) {
        const tnd_pair_t *pair = &written->items[i];
        const tnd_program_array_t *array =
            tnd_program_array_find(scope->arrays, scope->actor, pair->name);
        TND_TRY(array != NULL ? add_declared(self, pair, array, error)
                              : add_written(self, pair, error));
    }
    for (const tnd_program_array_t *array = scope->arrays; array != NULL; array = array->next) {
        if (strcmp(array->actor, scope->actor) != 0)
            continue;
        if (!is_declared(written, array->column))
            return tnd_fail(error,
                            "there is an array for column `%s`, which `memory` does not declare",
                            array->column);
        if (written->count == 0)
            TND_TRY(add_array(self, array, error));
    }
    if (self->schema.count == 0)
        return tnd_fail(error,
                        "the source has no column: pass arrays by tnd_graph_array, or "
                        "`arrays` of tundish.feed, or write `COLUMN: {dtype: u8, data: [...]}`");
    return TND_OK;
}

static tnd_status_t memory_open(void *state, const void *given, const tnd_source_scope_t *scope,
                                tnd_source_facts_t *facts, tnd_error_t *error)
{
    const memory_options_t *chosen = given;
    tnd_status_t status = add_all(state, &chosen->written, scope, error);
    if (status == TND_OK)
        status = tnd_columns_seal(state, scope, facts, error);
    if (status != TND_OK)
        tnd_columns_close(state);
    return status;
}

const tnd_source_t tnd_source_memory = {
    .spec = &tnd_source_memory_spec,
    .state_bytes = sizeof(tnd_columns_t),
    .open = memory_open,
    .read = tnd_columns_read,
    .sizes = tnd_columns_sizes,
    .close = tnd_columns_close,
};
