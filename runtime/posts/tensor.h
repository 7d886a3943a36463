/*  runtime/posts/tensor.h - values of reductions as they travel between processes.
 *
 *  A process whose replicas are some of the run's reduces the tree nodes that it has completely into
 *  tensors; these are sent to the reducer, which returns one tensor, the result.  A tensor is a
 *  piece: one posting, a part of a large one, or a bucket, which is several small ones that follow
 *  one another.  The bits are the same.
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_POSTS_TENSOR_H
#define TND_RUNTIME_POSTS_TENSOR_H

#include "runtime/data/buffer.h"
#include "runtime/posts/posting.h"

enum {
    TND_TENSOR_BYTES = 32 << 20, /* of values in one tensor, at most */
    /*  Values travel in pieces: the bytes of one tensor, if it is not of a GATHER, and how many a
     *  feeder has sent that are not CLOSED.  What is under way does not grow with the values. */
    TND_PIECE_BYTES = 1 << 20,
    TND_PIECES_OPEN = 8
};

/*  The header of a tensor.  In one of a node, segments follow, then its values; in a result, values.
 *  `weighted`: it is of a MEAN by weights. */
typedef struct {
    uint32_t magic;
    uint8_t reduce, dtype, partial, weighted;
    uint64_t count;    /* of elements, also if the node has no rows and sends no values */
    uint64_t leaves;   /* of a GATHER: that many counts, of 64 bits, come first; else 0 */
    uint32_t segments; /* of a node: at least 1 */
    uint32_t first;    /* of a node: the number of its first posting in the step ... */
    uint32_t postings; /* ... and how many the replica has made in it so far */
    uint32_t root;     /* likewise, as of its postings */
    uint64_t whole;    /* of a part of one posting: the elements of that; else 0 */
    uint32_t sharing;  /* likewise */
    uint32_t started;  /* of a node: 1 if steps ran when it was posted */
    uint32_t more[2];
} tnd_tensor_head_t;

/*  What a node's tensor contains of one posting. */
typedef struct {
    uint64_t count; /* of elements */
    double weight;  /* of a MEAN by weights; 0: none of its replicas takes part, the values are 0 */
} tnd_segment_t;

/*  The bytes of a tensor of `count` elements; `partial`: of a node, else of a result, which has no
 *  segments. */
size_t tnd_tensor_bytes(tnd_dtype_t dtype, bool partial, uint32_t segments, size_t count);
/*  Writes the header into a buffer and returns where the values go.  `head` has all but the magic
 *  number; *segments_p is where the segments go. */
void *tnd_tensor_begin(tnd_buffer_t *tensor, const tnd_tensor_head_t *head,
                       tnd_segment_t **segments_p);
/*  Reads a header that may come from another process; `empty`: no values follow it.  Errors:
 *  TND_FAILED if it is not a header, does not fit its buffer, or its segments do not add up. */
tnd_status_t tnd_tensor_read(tnd_buffer_t *tensor, bool empty, tnd_tensor_head_t *head,
                             const void **values_p, tnd_error_t *error) TND_CHECKED;
/*  Segment `number` of a tensor that was read. */
tnd_segment_t tnd_tensor_segment(tnd_buffer_t *tensor, uint32_t number);

/*  A GATHER concatenates the elements of all replicas.  Its tensors, of nodes and of the result
 *  alike, contain the count of each replica. */
size_t tnd_gather_bytes(tnd_dtype_t dtype, uint32_t leaves, size_t count);
/*  Writes the header; `counts` gets where the counts go, by leaf; returns where the values go. */
void *tnd_gather_begin(tnd_buffer_t *tensor, tnd_dtype_t dtype, bool partial, uint32_t leaves,
                       size_t count, uint64_t **counts);
/*  Whether a tensor belongs to a GATHER. */
bool tnd_gather_is(tnd_buffer_t *tensor);
/*  Reads one that may come from another process; counts may be unaligned: use memcpy.  Errors:
 *  TND_FAILED if it does not have `leaves` leaves, or its counts do not add up. */
tnd_status_t tnd_gather_read(tnd_buffer_t *tensor, uint32_t leaves, tnd_tensor_head_t *head,
                             const void **counts_p, const void **values_p,
                             tnd_error_t *error) TND_CHECKED;

#endif
