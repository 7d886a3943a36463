/*  tools/capture.h - the rows of one step, copied out of a feed to be shown.
 *
 *  Threads: take on the threads of the devices, one replica at a time each; the rest on the main
 *  one.
 */
#ifndef TUNDISH_TOOLS_CAPTURE_H
#define TUNDISH_TOOLS_CAPTURE_H

#include <tundish/tundish.h>

#include "runtime/data/schema.h"

typedef struct {
    uint64_t step, epoch, rows, padded;
    bool last;
    uint8_t *columns[TND_COLUMNS_MAX]; /* `rows` rows, packed */
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

/*  Element `index` of an array as a double. */
double tnd_capture_number(tnd_dtype_t dtype, const void *data, uint64_t index);

#endif
