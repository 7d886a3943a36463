/*  runtime/interface/optimizer.h - the interface of an optimizer: how a gradient changes parameters.
 *
 *  One file in actors/optimizer/ and one line in optimizers.def make an optimizer.  It is a function of
 *  its options, the number of the update, the parameters, their gradient and what it keeps of earlier
 *  gradients: arrays with one f32 for each parameter.  Parameter i depends on gradient i alone, so
 *  parameters can be divided by ranges, over threads and over actors.
 *
 *  Floating point: f32, in the order that the optimizer documents, each operation rounded once; no
 *  contraction, no libm beyond sqrt, denormals kept; the same bits on every machine.
 *
 *  Threads: any, one at a time; apply of ranges that do not overlap on several at once. */
#ifndef TND_RUNTIME_INTERFACE_OPTIMIZER_H
#define TND_RUNTIME_INTERFACE_OPTIMIZER_H

#include "runtime/base/status.h"
#include "runtime/option/option.h"

/*  One update of the parameters [first, first + count). */
typedef struct {
    uint64_t number; /* of updates so far, this one included: from 1 */
    size_t first, count;
    /*  By parameter, from the first of the range on.  `after` is written; it is `before`, or does not
     *  overlap it. */
    const float *gradient, *before;
    float *after;
} tnd_update_t;

typedef struct {
    tnd_table_t table;  /* name, options, help */
    size_t state_bytes; /* the caller allocates and zeroes this much */

    /*  How many arrays are kept with these options, at most TND_OPTIMIZER_ARRAYS_MAX. */
    size_t (*arrays)(const void *options);
    /*  For `count` parameters that have not been updated: the arrays are zeros.  `options` is the struct
     *  that `table` describes, valid until close.  On failure nothing has to be closed.  Errors:
     *  TND_FAILED for options that contradict each other, and without memory; the text names both. */
    tnd_status_t (*open)(void *state, const void *options, size_t count, tnd_error_t *error);
    void (*apply)(void *state, const tnd_update_t *update);
    /*  Writes `versions` of the parameters and the arrays to a file or reads them back; there is one of
     *  either at least.  The file is a .npy array of f32, a row for each.  Errors: TND_FAILED, with the
     *  file and the reason; after `load` both may have changed. */
    tnd_status_t (*save)(const void *state, const float *const *versions, size_t version_count,
                         const char *file, tnd_error_t *error);
    tnd_status_t (*load)(void *state, float *const *versions, size_t version_count,
                         const char *file, tnd_error_t *error);
    void (*close)(void *state);
} tnd_optimizer_ops_t;

enum { TND_OPTIMIZER_ARRAYS_MAX = 2 };

/*  A table is the first member of its optimizer. */
static inline const tnd_optimizer_ops_t *tnd_optimizer_of(const tnd_table_t *table)
{
    return (const tnd_optimizer_ops_t *)(const void *)table;
}

#endif
