/*  tools/rows/capture.h - copies the rows of one step out of a feed.
 *
 *  Threads: take on the devices' threads, one replica at a time each; the rest on the main one. */
#ifndef TND_TOOLS_ROWS_CAPTURE_H
#define TND_TOOLS_ROWS_CAPTURE_H

#include <tundish/tundish.h>

#include "runtime/data/schema.h"

typedef struct {
    uint64_t step, epoch, rows, padded;
    bool last;
    uint8_t *columns[TND_COLUMNS_MAX]; /* `rows` rows, packed */
    /*  For a ragged column, whose rows are concatenated: row r has the entries of the first axis
     *  from splits[r] to before splits[r + 1].  NULL: the column is not ragged. */
    uint64_t *splits[TND_COLUMNS_MAX];
    uint64_t padded_to[TND_COLUMNS_MAX]; /* its longest length; TND_UNKNOWN: rows are packed */
} tnd_capture_replica_t;

typedef struct {
    tnd_schema_t schema;
    uint32_t replica_count;
    tnd_capture_replica_t *replicas;
} tnd_capture_t;

void tnd_capture_init(tnd_capture_t *self, const tnd_schema_t *schema, uint32_t replicas);
void tnd_capture_fini(tnd_capture_t *self);
/*  A step function: `user` is the capture. */
tnd_status_t tnd_capture_take(tnd_replica_t *replica, void *user);

/*  Row `row` of a column of a replica, with its number of elements. */
const uint8_t *tnd_capture_row(const tnd_capture_t *self, uint32_t replica, uint32_t column,
                               uint64_t row, uint64_t *elements_p);
/*  The number of elements of all rows of a column of a replica. */
uint64_t tnd_capture_elements(const tnd_capture_t *self, uint32_t replica, uint32_t column);

/*  Element `index` of an array, as a double. */
double tnd_capture_number(tnd_dtype_t dtype, const void *data, uint64_t index);

#endif
