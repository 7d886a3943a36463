/*  runtime/core/places/division.h - divides rows into parts by the value that each has in a column.
 *
 *  Pure functions of the values, the shares and the seed.  A row without a value is of part 0.
 *
 *  Ownership: all memory is the caller's. */
#ifndef TND_RUNTIME_CORE_PLACES_DIVISION_H
#define TND_RUNTIME_CORE_PLACES_DIVISION_H

#include "runtime/core/places/place_map.h"

#define TND_DIVISION_NO_VALUE UINT32_MAX

/*  A value, and the rows that have it. */
typedef struct {
    uint64_t hash;
    uint64_t rows;
} tnd_division_value_t;

/*  Divides the rows of each value by themselves.
 *
 *  Each part gets what its share of them is, rounded down or up; of two parts, each also gets its share of
 *  all rows, to within one.  Which rows those are is drawn.
 *
 *  values[v]: by number, of which there are `count`.  rows[i]: the number of the value of row i; becomes
 *  its part.  `made`, of `count` times the parts: the rows of each value in each part. */
void tnd_division_each(const tnd_place_map_t *part, const tnd_division_value_t *values,
                       uint32_t count, uint32_t *rows, uint64_t row_count, uint64_t *made);

/*  Divides the values, so that all rows of one are of the same part.
 *
 *  In the order of hashes of the seed and the value, each goes to the part that lacks most rows of its
 *  share then.  So of P parts, none has more than (P - 1) / P of the rows of the most frequent value above
 *  its share; of two, none less than that either.
 *
 *  As above; `drawn`, of `count`: is used.  made[v]: the part of each value. */
void tnd_division_whole(const tnd_place_map_t *part, const tnd_division_value_t *values,
                        uint32_t count, uint32_t *rows, uint64_t row_count,
                        tnd_division_value_t *drawn, uint32_t *made);

#endif
