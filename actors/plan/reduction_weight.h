/*  actors/plan/reduction_weight.h - the column that the means of a reducer are weighted by.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_PLAN_REDUCTION_WEIGHT_H
#define TND_ACTORS_PLAN_REDUCTION_WEIGHT_H

#include "runtime/data/schema.h"
#include "runtime/plan/placement.h"

/*  Sets *column_p to the index of the column in `fed`, or to -1 if rows are the weight.
 *
 *  Errors: TND_FAILED if the column does not exist or does not have one number per row. */
tnd_status_t tnd_reduction_weight_column(const tnd_instance_t *reducer, const tnd_schema_t *fed,
                                         int *column_p, tnd_error_t *error) TND_CHECKED;

#endif
