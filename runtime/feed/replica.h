/*  runtime/feed/replica.h - one logical replica inside a step: the state of the public functions.
 *
 *  Belongs to the device workers, which point it at the rows of a step before they call the user's
 *  code.  Afterwards they read what that code posted and reported.
 *
 *  Threads: the device thread of the replica; others read `posts` while that one waits for them. */
#ifndef TND_RUNTIME_FEED_REPLICA_H
#define TND_RUNTIME_FEED_REPLICA_H

#include <tundish/tundish.h>

#include "runtime/checkpoint/store.h"
#include "runtime/core/protocol/message_notes.h"
#include "runtime/data/schema.h"
#include "runtime/feed/slots/slot_pool.h"
#include "runtime/posts/gathers.h"
#include "runtime/posts/postings.h"
#include "runtime/posts/value_table.h"

/*  Whether a replica's model was saved after a step. */
typedef enum {
    TND_KEPT_NOT_ASKED,
    TND_KEPT,      /* `part` is on disk */
    TND_KEPT_NONE, /* the feeder has no model */
    TND_KEPT_NOT   /* not_kept_why is the reason */
} tnd_kept_t;

/*  What one replica reported in one step. */
typedef struct {
    uint32_t count;
    tnd_metric_t metrics[TND_METRICS_MAX];
    tnd_kept_t kept;
    tnd_saved_t part;
    char not_kept_why[256];
} tnd_report_t;

/*  What the step of a replica reads and pushes where others hold its state. */
typedef struct {
    const char *holder; /* the actor; NULL: the replica has its state itself */
    const float *values;
    size_t count;
    uint64_t version;
    float *gradient; /* for as many numbers */
    bool pushed;
    float
        *initial; /* first values that the model gave when it was opened, to be freed; NULL: none */
    size_t initial_count;
} tnd_replica_state_t;

/*  Parameters of an actor, at most: one message carries them. */
enum { TND_PARAMETERS_MOST = 66000000 };

struct tnd_replica {
    /* constant */
    uint32_t id, local;         /* of the run; of this host */
    uint32_t replicas;          /* of the run */
    const tnd_schema_t *schema; /* of what steps read */
    const tnd_schema_t *fed;    /* of the rows on the host */
    const char *const *reducers;
    uint32_t reducer_count;
    const int *weights; /* by reducer: the column that weights a mean; -1: rows.  NULL: rows */
    const tnd_gathers_t *gathers;
    tnd_value_table_t *values; /* of this host */
    tnd_device_t *device;      /* that its steps compute on */
    bool shares_model;         /* its model is that of other replicas, too */
    /* of a step; no rows while a model is opened */
    const tnd_slice_note_t *note;
    const void *const *columns;               /* where the rows of each column are; NULL: nowhere */
    const uint64_t *lengths[TND_COLUMNS_MAX]; /* of the rows of ragged columns; NULL: of others */
    const uint64_t *splits[TND_COLUMNS_MAX];  /* of ragged columns that are packed; or NULL */
    size_t strides[TND_COLUMNS_MAX];          /* bytes from row to row of ragged columns */
    const void *const *weighing;              /* where the host has the rows of each column */
    uint32_t rows, padded;
    bool began;       /* something of what it has posted was started */
    bool syncs;       /* it posts without rows, and counts as one */
    bool applies;     /* `apply` runs, not `step` or what posts without rows */
    bool under_way;   /* `apply` runs and has not awaited all of `posts` ... */
    uint32_t awaited; /* ... but so many */
    uint32_t reduced; /* postings of the round before */
    void *worker;     /* for await: the thread that it runs on */
    /*  Waits until the results of a posting of the round under way are there; TND_POSTINGS_MAX: ends that
     *  round.  false: the run has ended. */
    bool (*await)(tnd_replica_t *replica, uint32_t posting);
    /*  Starts what it has posted so far, while its step runs.  false: the run has ended. */
    bool (*start)(tnd_replica_t *replica);
    uint64_t bounded; /* columns that are padded to a bound: bits */
    tnd_report_t *report;
    tnd_slot_memory_t *memory; /* that its rows are in, or that holds them; NULL: it has none */
    tnd_postings_t posts;
    uint32_t
        followers; /* replicas after it that post, and report, the same: they share its model */
    tnd_replica_state_t state;
    char error[256];
};

#endif
