/*  runtime/posts/roots.h - computes roots of the tree from nodes of several processes.
 *
 *  The nodes of a round cover all replicas.  Their tensors come from outside, perhaps from memory that a
 *  peer can still write to, so what they say is checked.
 *
 *  Ownership: the name and the names are borrowed; the memory of results is kept for later ones.
 *  Threads: one at a time. */
#ifndef TND_RUNTIME_POSTS_ROOTS_H
#define TND_RUNTIME_POSTS_ROOTS_H

#include "runtime/core/numeric/reduction_tree.h"
#include "runtime/core/protocol/message_notes.h"
#include "runtime/core/protocol/role.h"
#include "runtime/data/buffer.h"

typedef struct {
    const char *name; /* of the reducer, for errors */
    uint32_t replicas;
    const char *const *names;           /* by replica: of the feeder that carries it */
    const tnd_post_note_t *nodes;       /* of the root that is computed ... */
    tnd_reduction_tree_input_t *inputs; /* ... and as inputs of the tree */
    void **aligned;                     /* by node: copies of values that lay askew */
    size_t *aligned_room;
    tnd_pool_t *pool; /* of results */
} tnd_roots_t;

void tnd_roots_init(tnd_roots_t *self, const char *name, uint32_t replicas,
                    const char *const *names);
/*  Sets *root_p to a new buffer with the root of `count` nodes, from left to right.  Errors: TND_FAILED
 *  if the nodes are not of the same postings: names the first that differs, and its replicas. */
tnd_status_t tnd_roots_compute(tnd_roots_t *self, const tnd_post_note_t *nodes, uint32_t count,
                               tnd_buffer_t **root_p, tnd_error_t *error) TND_CHECKED;
/*  What of a root the feeder `to` needs: a reference to the root; or, of an array that is divided among the
 *  replicas, a result without values if it lacks nothing: the share of another feeder's replica in a
 *  scatter, its own in a gather.  `carriers`: by replica. */
tnd_buffer_t *tnd_roots_for(tnd_roots_t *self, tnd_buffer_t *root, const tnd_actor_id_t *carriers,
                            tnd_actor_id_t to);
/*  Of one that was not initialized, all zeros, too. */
void tnd_roots_free(tnd_roots_t *self);

#endif
