/*  runtime/posts/gathers.h - what the reductions of a step gathered, in order of replicas.
 *
 *  Threads: written while no step reads; then any. */
#ifndef TND_RUNTIME_POSTS_GATHERS_H
#define TND_RUNTIME_POSTS_GATHERS_H

#include "runtime/base/dtype.h"

/*  The elements of replica r of the run begin at first[r]. */
typedef struct {
    tnd_dtype_t dtype;
    uint8_t *data;
    size_t room;   /* bytes */
    size_t *first; /* by replica, and where the last one ends */
} tnd_gathered_t;

typedef struct {
    uint32_t replicas;
    uint32_t count; /* of the step ... */
    uint32_t made;  /* ... and of those that have memory */
    size_t room;
    tnd_gathered_t *items;
} tnd_gathers_t;

#endif
