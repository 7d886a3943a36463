/*  actors/optimizer/arrays.h - what an optimizer keeps: arrays with one f32 for each parameter.
 *
 *  Threads: one at a time; the numbers of different parameters on several at once. */
#ifndef TND_ACTORS_OPTIMIZER_ARRAYS_H
#define TND_ACTORS_OPTIMIZER_ARRAYS_H

#include "runtime/interface/optimizer.h"

typedef struct {
    float *values[TND_OPTIMIZER_ARRAYS_MAX]; /* of `count` numbers */
    size_t arrays, count;
} tnd_optimizer_arrays_t;

/*  All numbers are 0.  Errors: TND_FAILED without memory; there is nothing to close then. */
tnd_status_t tnd_optimizer_arrays_open(tnd_optimizer_arrays_t *self, size_t arrays, size_t count,
                                       tnd_error_t *error) TND_CHECKED;
void tnd_optimizer_arrays_close(tnd_optimizer_arrays_t *self);

/*  As `save` and `load` of an optimizer (runtime/interface/optimizer.h).  The file is written in place, so
 *  name one that replaces the last only when it is complete. */
tnd_status_t tnd_optimizer_arrays_save(const tnd_optimizer_arrays_t *self,
                                       const float *const *versions, size_t version_count,
                                       const char *file, tnd_error_t *error) TND_CHECKED;
tnd_status_t tnd_optimizer_arrays_load(tnd_optimizer_arrays_t *self, float *const *versions,
                                       size_t version_count, const char *file,
                                       tnd_error_t *error) TND_CHECKED;

#endif
