/*  actors/op/image/picture_steps.h - the steps of `then`: their options, and running them.
 *
 *  Threads: one at a time. */
#ifndef TND_ACTORS_OP_IMAGE_PICTURE_STEPS_H
#define TND_ACTORS_OP_IMAGE_PICTURE_STEPS_H

#include "actors/image/geometry.h"
#include "actors/image/resize.h"
#include "runtime/option/option.h"

enum { TND_PICTURE_STEPS_MAX = 16 };

/*  All zero but `resizer` is ready for use. */
typedef struct {
    tnd_picture_step_t steps[TND_PICTURE_STEPS_MAX];
    uint32_t count;
    tnd_resizer_t resizer;
    struct {
        void *data;
        size_t room;
    } scratch[3]; /* between two steps; before a picture is put on an empty one */
} tnd_picture_steps_t;

/*  The tables of the steps, for the option `then`, and whether a list of them can be used. */
const tnd_table_t *tnd_picture_step_table(size_t index);
bool tnd_picture_steps_check(const tnd_part_list_t *list, tnd_parts_fault_t *fault);

void tnd_picture_steps_init(tnd_picture_steps_t *self, const tnd_part_list_t *list);
void tnd_picture_steps_fini(tnd_picture_steps_t *self);

/*  The size of what comes out, if all pictures get one. */
bool tnd_picture_steps_shape(const tnd_picture_steps_t *self, uint32_t *height_p,
                             uint32_t *width_p);

/*  Runs steps [first, count) on a picture whose first step is planned already as `plan`; `in` is the
 *  part that it needs. `out` has the size that comes out. Errors: TND_FAILED. */
tnd_status_t tnd_picture_steps_run(tnd_picture_steps_t *self, uint32_t first,
                                   const tnd_geometry_t *plan, tnd_random_t *random,
                                   const tnd_pixels_t *in, const tnd_pixels_t *out,
                                   tnd_error_t *error) TND_CHECKED;

/*  Memory for `bytes` in one of the three places. */
void *tnd_picture_steps_scratch(tnd_picture_steps_t *self, uint32_t place, size_t bytes);

#endif
