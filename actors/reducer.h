/*  actors/reducer.h - what a topology can say about a reducer. */
#ifndef TND_ACTORS_REDUCER_H
#define TND_ACTORS_REDUCER_H

#include "runtime/data/schema.h"

typedef struct {
    const char *weight; /* NULL: means weigh by rows */
} tnd_reducer_options_t;

/*  The column of the rows that are fed by which a reducer's means weigh, or -1.  TND_FAILED: there
 * is no such column, or it has not one number a row.
 */
tnd_status_t tnd_reducer_weight(const tnd_reducer_options_t *options, const tnd_schema_t *fed,
                                int *column_p, tnd_error_t *error) TND_CHECKED;

#endif
