/*  actors/stored/splits.h - the start and end of each row of a ragged column.
 *
 *  A file has n + 1 integers for n rows, as row_splits of a RaggedTensor in TensorFlow: row i is
 *  values splits[i] to splits[i + 1] - 1.  The first integer is 0, the last is the number of
 *  values, and they ascend.
 *
 *  All are checked once, and each again when it is used, because files can change.
 *
 *  Threads: check on one; rows on any number at once. */
#ifndef TND_ACTORS_STORED_SPLITS_H
#define TND_ACTORS_STORED_SPLITS_H

#include "actors/stored/stored.h"

/*  Checks that an open file has the splits of an open file of values; *longest_p: its longest
 *  row. */
tnd_status_t tnd_splits_check(tnd_stored_t *splits, const tnd_stored_t *values, uint64_t *longest_p,
                              tnd_error_t *error) TND_CHECKED;

/*  Whether an open file is an index of records (record_index.h) of a file of `size` bytes, of which
 *  at most `beyond` follow the last record.  `skips_head`: others may come before the first. */
tnd_status_t tnd_splits_check_index(tnd_stored_t *splits, uint64_t size, uint64_t beyond,
                                    bool skips_head, uint64_t *longest_p,
                                    tnd_error_t *error) TND_CHECKED;

/*  Rows [row, row + count) of checked splits: the i-th of them is values [bounds[i], bounds[i + 1]),
 *  so there are count + 1 bounds. */
tnd_status_t tnd_splits_rows(const tnd_stored_t *splits, const tnd_stored_t *values, uint64_t row,
                             uint32_t count, uint64_t *bounds, tnd_error_t *error) TND_CHECKED;
/*  At most TND_SPLITS_AT_ONCE of any rows, each of its own files. */
enum { TND_SPLITS_AT_ONCE = 128 };
typedef struct {
    const tnd_stored_t *splits, *values;
    bool there; /* the splits need not be brought in */
    uint64_t row;
    uint64_t begin, end; /* its values, once it is found */
} tnd_splits_place_t;
tnd_status_t tnd_splits_each(tnd_splits_place_t *places, uint32_t count,
                             tnd_error_t *error) TND_CHECKED;
/*  Begins to load what tells where row `row` is, if it is mapped. */
void tnd_splits_prefetch(const tnd_stored_t *splits, uint64_t row);
/*  Row `row` of checked splits: values [*begin_p, *end_p). */
tnd_status_t tnd_splits_row(const tnd_stored_t *splits, const tnd_stored_t *values, uint64_t row,
                            uint64_t *begin_p, uint64_t *end_p, tnd_error_t *error) TND_CHECKED;

#endif
