/*  actors/adapt/column_values.h - which rows of a column have the same value.
 *
 *  Values are texts or integers, numbered as they first occur.  Those whose hash of 64 bits is the same are
 *  taken for one value, unless they have names.
 *
 *  Threads: one at a time. */
#ifndef TND_ACTORS_ADAPT_COLUMN_VALUES_H
#define TND_ACTORS_ADAPT_COLUMN_VALUES_H

#include "runtime/core/places/division.h"
#include "runtime/data/block.h"

typedef struct {
    uint32_t *of_row; /* the value of each row; TND_DIVISION_NO_VALUE */
    uint64_t row_count;
    tnd_division_value_t *values;
    char **names; /* of values, for people; NULL: they are not kept */
    size_t *name_sizes;
    uint32_t count;
    /*  Private. */
    size_t room;
    uint32_t *slots; /* the value there, plus 1; 0: none */
    uint64_t slot_count;
} tnd_column_values_t;

/*  `named`: at most TND_PART_CLASSES_MAX values. */
void tnd_column_values_init(tnd_column_values_t *self, uint64_t rows, bool named);
void tnd_column_values_free(tnd_column_values_t *self);

/*  Whether values of this column can be told apart. */
bool tnd_column_values_fits(const tnd_column_t *column);
/*  Adds the value of row `row` of a block as that of `position`.  Errors: TND_FAILED if there are too many values,
 *  or it is too long for a name. */
tnd_status_t tnd_column_values_add(tnd_column_values_t *self, uint64_t position,
                                   const tnd_block_t *block, uint32_t column, uint32_t row,
                                   tnd_error_t *error) TND_CHECKED;

#endif
