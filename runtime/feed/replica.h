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

#include "runtime/interface/collective.h"
#include "runtime/core/protocol/message.h"
#include "runtime/data/schema.h"
#include "runtime/feed/slot_pool.h"
#include "runtime/observe/observer.h"
#include "runtime/checkpoint/store.h"

/*  Whether a replica's model was kept behind a step. */
typedef enum {
    TND_KEPT_NOT_ASKED,
    TND_KEPT,      /* `part` lies on disk */
    TND_KEPT_NONE, /* there is no model */
    TND_KEPT_NOT   /* see why */
} tnd_kept_t;

/*  What one replica reported in one step. */
typedef struct {
    uint32_t count;
    tnd_metric_t metrics[TND_METRICS_MAX];
    tnd_kept_t kept;
    tnd_saved_t part;
    char not_kept_why[256];
} tnd_report_t;

/*  What a reduction gathered: the elements of replica r of the run begin at first[r]. */
typedef struct {
    tnd_dtype_t dtype;
    uint8_t *data;
    size_t room;   /* bytes */
    size_t *first; /* by replica, and where the last one ends */
} tnd_gathered_t;

typedef struct {
    uint32_t replicas;
    uint32_t count;
    tnd_gathered_t items[TND_POSTINGS_MAX];
} tnd_gathers_t;

struct tnd_replica {
    /* for good */
    uint32_t id;
    const tnd_schema_t *schema;
    const char *const *reducers;
    uint32_t reducer_count;
    const int *weights; /* by reducer: the column that a mean weighs by; -1: rows.  NULL: rows */
    const tnd_gathers_t *gathers;
    /* of a step; without rows while a model is opened */
    const tnd_slice_note_t *note;
    const void *const *columns;               /* where the rows of each column are; NULL: nowhere */
    const uint64_t *lengths[TND_COLUMNS_MAX]; /* of the rows of ragged columns; NULL: of others */
    const void *weighing[TND_COLUMNS_MAX];    /* where the host reads columns that weigh */
    uint32_t rows, padded;
    tnd_report_t *report;
    tnd_slot_memory_t *memory; /* that its rows are in, or that holds them; NULL: it has none */
    tnd_posting_t posts[TND_POSTINGS_MAX];
    uint32_t post_count;
    char error[256];
};

#endif
