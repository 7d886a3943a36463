/*  runtime/core/stream/buckets.h - batches of rows of about one length.
 *
 *  The rows of a stream arrive with their lengths.  Each waits in the bucket of its length; a bucket
 *  that is full becomes a batch.  The rules are those of bucket_by_sequence_length in TensorFlow:
 *  bucket i has rows of a length in [bounds[i - 1], bounds[i]), the last one those from the last bound
 *  on, and at the end of a window the rows that are left become batches by the number of their bucket,
 *  or are dropped.
 *
 *  Rows of one batch are stored together, in a place that the caller provides: a number below
 *  tnd_buckets_places.  A batch keeps its place until the last of its rows is taken.  Batches come out
 *  in the order in which they were completed, and their rows in that of arrival.
 *
 *  Ownership: the caller provides the memory and keeps the lists of the rule alive.
 *  Threads: one. */
#ifndef TND_RUNTIME_CORE_STREAM_BUCKETS_H
#define TND_RUNTIME_CORE_STREAM_BUCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TND_BUCKETS_MAX = 256 };

typedef struct {
    const uint64_t *bounds; /* ascending, one fewer than buckets */
    const uint64_t *sizes;  /* rows of a batch, by bucket */
    uint32_t count;         /* buckets; 0: rows are not bucketed */
    bool drop_remainder;
    bool bounded;    /* a row of the last bucket is bad */
    uint64_t window; /* rows after which all buckets are emptied; 0: at the end of an epoch */
} tnd_bucket_rule_t;

typedef struct tnd_buckets tnd_buckets_t;

/*  The bucket of a length. */
uint32_t tnd_bucket_of(const tnd_bucket_rule_t *rule, uint64_t length);
/*  Places of batches at the same time, at most. */
uint32_t tnd_buckets_places(const tnd_bucket_rule_t *rule);

/*  Some rows of a batch. */
typedef struct {
    uint32_t place, bucket;
    uint32_t first, rows; /* of the batch */
} tnd_bucket_rows_t;

size_t tnd_buckets_bytes(const tnd_bucket_rule_t *rule);
tnd_buckets_t *tnd_buckets_init(void *memory, const tnd_bucket_rule_t *rule);
void tnd_buckets_clear(tnd_buckets_t *self);

/*  Adds a row and returns where it is stored; row 0 of a batch begins it.  `added`: it is counted by
 *  tnd_buckets_batch and tnd_buckets_drop.  Not while there are as many batches as
 *  tnd_buckets_ahead. */
tnd_bucket_rows_t tnd_buckets_put(tnd_buckets_t *self, uint64_t length, bool added);
/*  How many complete batches show whether the first of them is the last: 2 if rows that are left are
 *  dropped, else 1. */
uint32_t tnd_buckets_ahead(const tnd_buckets_t *self);
/*  Makes batches of all rows that wait in buckets, in the order of buckets. */
void tnd_buckets_flush(tnd_buckets_t *self);
/*  Removes all rows that wait in buckets; returns their number, and how many were added. */
uint64_t tnd_buckets_drop(tnd_buckets_t *self, uint64_t *added_p);

/*  Complete batches; rows that wait in buckets. */
uint32_t tnd_buckets_batches(const tnd_buckets_t *self);
uint64_t tnd_buckets_waiting(const tnd_buckets_t *self);

/*  A complete batch, counted from the first. */
typedef struct {
    uint32_t bucket;
    uint64_t rows, added;
} tnd_bucket_batch_t;

tnd_bucket_batch_t tnd_buckets_batch(const tnd_buckets_t *self, uint32_t which);
/*  Takes the next `rows` rows of the first batch, and with its last row the batch. */
tnd_bucket_rows_t tnd_buckets_take(tnd_buckets_t *self, uint32_t rows);

#endif
