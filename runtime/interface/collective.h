/*  runtime/interface/collective.h - reductions over replicas: posts, and computing shares.
 *
 *  All replicas post values in the same order.  If one process has all replicas, each device thread
 *  reduces a share of the elements over all leaves in one pass along the fixed tree, and writes the
 *  result to the memory of every replica.  If it has some, they reduce the tree nodes that it has
 *  completely into tensors; these are sent to the reducer, which returns one tensor, the result.
 *  A tensor is a piece: one posting, a part of a large one, or a bucket, which is several small ones
 *  that follow one another.  The bits are the same.
 *
 *  Threads: any; several may compute different elements at the same time. */
#ifndef TND_RUNTIME_INTERFACE_COLLECTIVE_H
#define TND_RUNTIME_INTERFACE_COLLECTIVE_H

#include "runtime/core/numeric/reduction_tree.h"
#include "runtime/data/buffer.h"

enum {
    TND_POSTINGS_MAX = 4096,     /* reductions of one replica in one step */
    TND_TENSOR_BYTES = 32 << 20, /* of values in one tensor, at most */
    /*  Values travel in pieces: the bytes of one tensor, if it is not of a GATHER, and how many a
     *  feeder has sent that are not CLOSED.  What is under way does not grow with the values. */
    TND_PIECE_BYTES = 1 << 20,
    TND_PIECES_OPEN = 8
};

/*  One replica's value in one reduction; `reducer` indexes the reducers of the feeder. */
typedef struct {
    uint32_t reducer;
    tnd_reduce_t reduce;
    tnd_dtype_t dtype;
    size_t count;     /* of elements; for a GATHER the replica's own */
    const void *from; /* the replica's values */
    void *data;       /* where the result is written, which may be the same; not of a GATHER */
    uint64_t rows;    /* of the replica; 0: it takes no part */
    bool weighted;    /* a MEAN by weights */
    double weight;    /* finite; 0 if `rows` is */
    uint32_t root; /* of a broadcast, a SUM of one replica's bytes: 1 + that one.  0: it is none */
    const char *same; /* of a GATHER of hashes that must be equal: the name of the array; or NULL */
    uint64_t
        hash[2]; /* then this replica's, which `from` is set to when it does not move any more */
} tnd_posting_t;

/*  Whether two replicas post the same thing. */
bool tnd_posting_fits(const tnd_posting_t *self, const tnd_posting_t *other);
/*  Whether a posting may follow another one in the same tensor: a bucket of both is one reduction.
 *  It is so for all replicas or for none. */
bool tnd_posting_follows(const tnd_posting_t *self, const tnd_posting_t *before);

enum { TND_OPERATION_TEXT = 48 };

/*  The operation as users write it: "mean"; `root` is that of a posting.  Returns `text`. */
const char *tnd_operation_text(tnd_reduce_t reduce, uint32_t root, char text[TND_OPERATION_TEXT]);

/*  Part `part` of `parts` of `count` elements of `size` bytes: cut where cache lines meet if the
 *  data is aligned to them. */
void tnd_collective_share(size_t count, size_t size, uint32_t part, uint32_t parts, size_t *begin_p,
                          size_t *end_p);

/*  What is known of one reduction: the parts of the tree over all replicas, from left to right, and
 *  where results go, which may be the data of parts. */
typedef struct {
    uint32_t replicas, input_count, out_count;
    tnd_reduction_tree_input_t *inputs;
    void **outs;
} tnd_collective_parts_t;

/*  Reduces elements [begin, end) over parts that cover the whole tree, and writes them to all of
 *  `outs`. */
void tnd_collective_reduce(const tnd_posting_t *posting, const tnd_collective_parts_t *parts,
                           size_t begin, size_t end);

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
    uint32_t more[4];
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
