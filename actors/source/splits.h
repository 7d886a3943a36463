/*  actors/source/splits.h - where the rows of a ragged column begin and end among its values.
 *
 *  A file of n + 1 integers for n rows, as row_splits of a RaggedTensor in TensorFlow: row i is the
 *  values from number splits[i] on, up to splits[i + 1].  The first is 0, the last the number of
 *  values, none is less than the one before.
 *
 *  All of it is checked once; and each number again when it is used, for files can change.
 *
 *  Threads: check on one; rows on any number at once. */
#ifndef TND_ACTORS_SOURCE_SPLITS_H
#define TND_ACTORS_SOURCE_SPLITS_H

#include "actors/source/stored.h"

/*  Whether an open file holds the splits of an open file of values; *longest_p: of its rows. */
tnd_status_t tnd_splits_check(tnd_stored_t *splits, const tnd_stored_t *values, uint64_t *longest_p,
                              tnd_error_t *error) TND_CHECKED;

/*  Row `row` of checked splits: values [*begin_p, *end_p). */
tnd_status_t tnd_splits_row(const tnd_stored_t *splits, const tnd_stored_t *values, uint64_t row,
                            uint64_t *begin_p, uint64_t *end_p, tnd_error_t *error) TND_CHECKED;

#endif
