/*  actors/plan/packing.c - the option `pack` of a batcher. */
#include "actors/plan/packing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/bounds.h"

/*  Values of a batch: their number in it is an i32. */
enum { VALUES_MAX = INT32_MAX };

/*  Where each column of a batch begins. */
enum { COLUMN_ALIGN = 64 };

static const tnd_option_t pack_options[] = {
    {TND_OPTION(tnd_pack_options_t, column, COLUMN, GRAPH),
     .help = "the ragged column whose rows are laid one after another; each other column is laid "
             "beside it, so it must be ragged too and have as many values in each row"},
    {TND_OPTION(tnd_pack_options_t, length, U64, GRAPH), .unit = "values", .range = "1..2147483647",
     .help = "how many values a packed row has"},
    {TND_OPTION(tnd_pack_options_t, segments, BOOL, GRAPH), .fallback = "false",
     .help = "whether packed rows have two more columns of i32, COLUMN_segment_ids and "
             "COLUMN_positions: for each value the number of its document in the row, from 1 (0: "
             "padding), and its place in the document, from 0"},
    {TND_OPTION(tnd_pack_options_t, drop_remainder, BOOL, GRAPH), .fallback = "false",
     .help =
         "whether the last packed row of an epoch is dropped if it is not full; otherwise it is "
         "padded with 0"},
};

const tnd_table_t tnd_pack_table = {
    .name = "pack",
    .help = "documents one after another in rows of one length; a document may continue in the "
            "next row",
    TND_OPTIONS(pack_options, tnd_pack_options_t),
};

tnd_pack_rule_t tnd_plan_pack_rule(const tnd_batcher_options_t *options)
{
    const tnd_pack_options_t *pack = options->pack;
    return pack == NULL ? (tnd_pack_rule_t){0}
                        : (tnd_pack_rule_t){pack->length, pack->drop_remainder};
}

tnd_status_t tnd_plan_pack_check(const tnd_batcher_options_t *options, uint32_t lanes,
                                 tnd_error_t *error)
{
    if (options->pack == NULL)
        return TND_OK;
    if (options->bucket != NULL)
        return tnd_fail(error, "`bucket` is not possible beside `pack`, whose rows all have one "
                               "length: leave one out");
    const char *beside = options->ragged == TND_RAGGED_PACK     ? "ragged: pack"
                         : strcmp(options->pad_value, "0") != 0 ? "pad_value"
                         : options->bytes > 0                   ? "bytes"
                                                                : NULL;
    if (beside != NULL)
        return tnd_fail(error,
                        "`%s` is for ragged rows, but `pack` makes rows of one length of them: "
                        "leave it out",
                        beside);
    if (lanes > 1)
        return tnd_fail(error,
                        "`pack` lays all documents in one order, but the graph has %" PRIu32
                        " lanes: each knows its own documents only; use `lanes: 1`",
                        lanes);
    uint64_t length = options->pack->length;
    if (options->size > VALUES_MAX / length)
        return tnd_fail(error,
                        "a batch of %" PRIu64 " rows of %" PRIu64 " values has more than %d: use a "
                        "smaller `size` or `length`",
                        options->size, length, (int)VALUES_MAX);
    return TND_OK;
}

static tnd_status_t add_i32(tnd_schema_t *schema, const char *column, const char *ending,
                            uint64_t length, tnd_error_t *error)
{
    char name[TND_COLUMN_NAME_MAX + 32];
    snprintf(name, sizeof name, "%s_%s", column, ending);
    return tnd_schema_add(schema, name, TND_I32, 1, &length, error);
}

static tnd_status_t add_values(tnd_schema_t *schema, const tnd_pack_options_t *pack,
                               tnd_column_t column, tnd_error_t *error)
{
    if (!column.ragged)
        return tnd_fail(error,
                        "`pack` lays the values of documents one after another, but column `%s` "
                        "has one entry per document, and a packed row has parts of several: remove "
                        "it (`select`)",
                        column.name);
    column.shape[0] = pack->length;
    return tnd_schema_add(schema, column.name, column.dtype, column.rank, column.shape, error);
}

tnd_status_t tnd_plan_pack_schema(const tnd_pack_options_t *pack, const tnd_schema_t *joined,
                                  tnd_schema_t *packed, tnd_error_t *error)
{
    int found = tnd_schema_find(joined, pack->column);
    if (found < 0)
        return tnd_fail(error,
                        "`pack` names column `%s`, which does not exist: name a ragged column",
                        pack->column);
    tnd_column_t column = joined->columns[found];
    if (!column.ragged)
        return tnd_fail(error,
                        "`pack` names column `%s`, whose rows all have one length: name a ragged "
                        "column",
                        pack->column);
    if (column.shape[0] > VALUES_MAX)
        return tnd_fail(error,
                        "`pack` numbers values by i32, but a row of `%s` may have %" PRIu64 ": cut "
                        "it (`slice`)",
                        pack->column, column.shape[0]);
    tnd_schema_t made = {0};
    for (uint32_t c = 0; c < joined->count; c++)
        TND_TRY(add_values(&made, pack, joined->columns[c], error));
    if (pack->segments) {
        TND_TRY(add_i32(&made, column.name, "segment_ids", pack->length, error));
        TND_TRY(add_i32(&made, column.name, "positions", pack->length, error));
    }
    *packed = made;
    return TND_OK;
}

tnd_pack_batch_layout_t tnd_plan_pack_layout(const tnd_batcher_options_t *options,
                                             const tnd_schema_t *packed)
{
    tnd_pack_batch_layout_t layout = {0};
    for (uint32_t c = 0; c < packed->count; c++) {
        layout.data[c] = tnd_round_up(layout.bytes, COLUMN_ALIGN);
        layout.bytes = layout.data[c] + options->size * tnd_column_bytes(&packed->columns[c]);
    }
    return layout;
}
