/*  runtime/posts/posting.h - what one replica posts to be reduced over all replicas.
 *
 *  All replicas post values in the same order.
 *
 *  Ownership: the memory of values and results is the user's.
 *  Threads: any. */
#ifndef TND_RUNTIME_POSTS_POSTING_H
#define TND_RUNTIME_POSTS_POSTING_H

#include "runtime/core/numeric/reduction_tree.h"

enum { TND_POSTINGS_MAX = 4096 }; /* reductions of one replica in one step */

/*  Whether the elements of an array are divided among the replicas of the run: replica r of R has elements
 *  r n / R to before (r + 1) n / R. */
typedef enum {
    TND_SHARE_NONE,
    TND_SHARE_OUT, /* each replica gets its share of the result; the rest of its array stays */
    TND_SHARE_IN   /* each replica gives its share of an array of bytes to all; nothing is added */
} tnd_sharing_t;

/*  One replica's value in one reduction; `reducer` indexes the reducers of the feeder.  What every reduction
 *  reads comes first: other threads read it, too. */
typedef struct {
    const void *from; /* the replica's values */
    void *data;       /* where the result is written, which may be the same; not of a GATHER */
    size_t count;     /* of elements; for a GATHER the replica's own */
    uint64_t rows;    /* of the replica; 0: it takes no part */
    double weight;    /* finite; 0 if `rows` is */
    /*  NULL, or the values of `leaves` replicas from this one on, as so many nodes of the tree. */
    const tnd_reduction_tree_input_t *added;
    uint32_t reducer;
    tnd_reduce_t reduce;
    tnd_dtype_t dtype;
    tnd_sharing_t sharing;
    uint32_t root; /* of a broadcast, a SUM of one replica's bytes: 1 + that one.  0: it is none */
    uint32_t unit; /* with `sharing`: elements that are not divided, at least 1 */
    bool weighted; /* a MEAN by weights */
    /*  `from` and `data` are addresses of the replica's device, whose work in `stream`, if it `streams`, ends
     *  before they are read, and waits for the result. */
    bool on_device, streams;
    uint32_t added_count, leaves;
    size_t whole; /* a part of an array: the elements of all of it; else 0 */
    uintptr_t stream;
    const char *same; /* of a GATHER of hashes that must be equal: the name of the array; or NULL */
    uint64_t
        hash[2]; /* then this replica's, which `from` is set to when it does not move any more */
} tnd_posting_t;

/*  The elements of replica `replica` of `replicas` in a posting with `sharing`. */
void tnd_posting_share(const tnd_posting_t *self, uint32_t replicas, uint32_t replica,
                       size_t *begin_p, size_t *end_p);
/*  Whether two replicas post the same thing. */
bool tnd_posting_fits(const tnd_posting_t *self, const tnd_posting_t *other);
/*  Whether a posting may follow another one in the same tensor: a bucket of both is one reduction.
 *  It is so for all replicas or for none. */
bool tnd_posting_follows(const tnd_posting_t *self, const tnd_posting_t *before);

enum { TND_OPERATION_TEXT = 48 };

/*  The operation as users write it: "mean"; `root` and `sharing` are those of a posting.  Returns
 *  `text`. */
const char *tnd_operation_text(tnd_reduce_t reduce, uint32_t root, tnd_sharing_t sharing,
                               char text[TND_OPERATION_TEXT]);

#endif
