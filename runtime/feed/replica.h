/*  runtime/feed/replica.h - one logical replica inside a step: what the public functions look at.
 *
 *  Belongs to a crew (crew.h), which points it at the rows of a step before it calls the user's
 *  code and reads afterwards what that posted, reported and said.
 *
 *  Threads: the device thread that carries the replica; others read `posts` while that one waits
 *  for them.
 */
#ifndef TND_RUNTIME_FEED_REPLICA_H
#define TND_RUNTIME_FEED_REPLICA_H

#include <tundish/tundish.h>

#include "runtime/collective.h"
#include "runtime/core/message.h"
#include "runtime/data/schema.h"
#include "runtime/life/observer.h"

/*  What one replica reported in one step. */
typedef struct {
    uint32_t count;
    tnd_metric_t metrics[TND_METRICS_MAX];
} tnd_report_t;

struct tnd_replica {
    /* for good */
    uint32_t id;
    const tnd_schema_t *schema;
    const char *const *reducers;
    uint32_t reducer_count;
    /* of a step; without rows while a model is opened */
    const tnd_slice_note_t *note;
    const void *const *columns; /* where the rows of each column are; NULL: nowhere */
    uint32_t rows, padded;
    tnd_report_t *report;
    tnd_posting_t posts[TND_POSTINGS_MAX];
    uint32_t post_count;
    char error[256];
};

#endif
