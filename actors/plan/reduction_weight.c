/*  actors/plan/reduction_weight.c - the column that the means of a reducer are weighted by. */
#include "actors/plan/reduction_weight.h"

#include <inttypes.h>

#include "actors/plan/kind_options.h"

tnd_status_t tnd_reduction_weight_column(const tnd_instance_t *reducer, const tnd_schema_t *fed,
                                         int *column_p, tnd_error_t *error)
{
    const tnd_reducer_options_t *options = reducer->options;
    char text[256];
    *column_p = -1;
    if (options->weight == NULL)
        return TND_OK;
    *column_p = tnd_schema_find(fed, options->weight);
    if (*column_p < 0)
        return tnd_fail(
            error,
            "column `%s`, which is to weight means, does not exist; the rows that are fed have: %s",
            options->weight, tnd_schema_text(fed, text, sizeof text));
    uint64_t elements = tnd_column_elements(&fed->columns[*column_p]);
    if (fed->columns[*column_p].ragged)
        return tnd_fail(error, "column `%s` is ragged; a weight is one number a row",
                        options->weight);
    if (elements != 1)
        return tnd_fail(error, "column `%s` has %" PRIu64 " numbers a row; a weight is one",
                        options->weight, elements);
    return TND_OK;
}
