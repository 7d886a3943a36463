/*  actors/op/python/python_makes.c - the columns that a function makes: "f32[8]", "u8[<=100]", or a map. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "actors/op/python/python_makes.h"
#include "actors/op/text/bytes_column.h"
#include "actors/op/text/column_text.h"

typedef struct {
    int dtype;
    tnd_numbers_t shape;
    bool ragged;
    uint64_t max;
} column_options_t;

static const tnd_option_t column_options[] = {
    {TND_OPTION(column_options_t, dtype, ENUM, GRAPH),
     .choices = "u8|i8|u16|i16|u32|i32|u64|i64|f16|f32|f64|bool", .help = "its type"},
    {TND_OPTION(column_options_t, shape, F64S, GRAPH), .range = "1..", .fallback = "",
     .help = "the shape of a row; of a ragged one, without its first axis"},
    {TND_OPTION(column_options_t, ragged, BOOL, GRAPH), .fallback = "false",
     .help = "whether the length differs from row to row; texts are ragged u8"},
    {TND_OPTION(column_options_t, max, U64, GRAPH), .fallback = "none", .choices = "none=0",
     .range = "1..1099511627776",
     .help = "the maximum length of a ragged row; longer rows are bad"},
};

static const tnd_table_t column_table = {.name = "python_column",
                                         .help = "a column that a function makes",
                                         TND_OPTIONS(column_options, column_options_t)};

static const tnd_option_t makes_options[] = {
    {TND_OPTION_NAMED("*", tnd_python_makes_t, columns, STRING, GRAPH), .unit = "type",
     .example = "f32[8]", .fallback = "", .table = &column_table,
     .help =
         "a column and its type: i64, f32[8], u8[<=100] for texts of at most 100 bytes; or a map "
         "of options"},
};

const tnd_table_t tnd_python_makes_table = {.name = "python_makes",
                                            .help = "the columns that a function makes",
                                            TND_OPTIONS(makes_options, tnd_python_makes_t)};

static const char wanted[] = "is not a type and a shape, such as i64, f32[8] or i32[<=2048]";

static tnd_status_t read_map(const char *name, const column_options_t *options,
                             tnd_column_t *column, tnd_error_t *error)
{
    const char *choices = column_options[0].choices, *word;
    tnd_column_t inner = {.rank = 0};
    char type[8] = "";
    size_t size = tnd_option_choice(&choices, &word);
    for (int i = 0; i < options->dtype; i++)
        size = tnd_option_choice(&choices, &word);
    memcpy(type, word, size);
    (void)tnd_dtype_parse(type, &column->dtype);
    column->ragged = options->ragged;
    if (options->ragged != (options->max != 0))
        return tnd_fail(error, "column `%s`: `ragged: true` and `max` go together", name);
    TND_TRY(tnd_bytes_shape(&options->shape, &inner, error));
    column->shape[0] = options->max;
    column->rank = inner.rank + (options->ragged ? 1 : 0);
    if (column->rank > TND_RANK_MAX)
        return tnd_fail(error, "column `%s` has more than %d axes", name, TND_RANK_MAX);
    memcpy(column->shape + (options->ragged ? 1 : 0), inner.shape,
           inner.rank * sizeof inner.shape[0]);
    return TND_OK;
}

tnd_status_t tnd_python_makes(const tnd_python_makes_t *options, tnd_schema_t *made,
                              tnd_error_t *error)
{
    for (size_t i = 0; i < options->columns.count; i++) {
        const tnd_pair_t *pair = &options->columns.items[i];
        tnd_column_t column = {.rank = 0};
        if (pair->options != NULL)
            TND_TRY(read_map(pair->name, pair->options, &column, error));
        else if (!tnd_column_text(pair->text, &column))
            return tnd_fail(error, "column `%s`: `%s` %s", pair->name, pair->text, wanted);
        if (column.dtype == TND_BF16)
            return tnd_fail(error,
                            "column `%s`: NumPy has no bf16; make f32, and `cast` after this",
                            pair->name);
        TND_TRY(tnd_schema_add_like(made, pair->name, &column, error));
    }
    return made->count > 0 ? TND_OK : tnd_fail(error, "`makes` names no column");
}
