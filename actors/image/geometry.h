/*  actors/image/geometry.h - what becomes of the rectangle of a picture, one step after the other.
 *
 *  The arithmetic is that of tf.image, in f32 where TensorFlow computes in f32.
 *
 *  Threads: any. */
#ifndef TND_ACTORS_IMAGE_GEOMETRY_H
#define TND_ACTORS_IMAGE_GEOMETRY_H

#include "actors/image/picture_format.h"
#include "actors/image/resize_axis.h"
#include "runtime/core/numeric/random.h"

typedef enum {
    TND_STEP_RESIZE,
    TND_STEP_RANDOM_RESIZED_CROP,
    TND_STEP_CENTRAL_CROP,
    TND_STEP_CROP_TO,
    TND_STEP_PAD_TO,
    TND_STEP_RESIZE_WITH_PAD,
    TND_STEP_RESIZE_WITH_CROP_OR_PAD
} tnd_step_kind_t;

typedef struct {
    tnd_step_kind_t kind;
    uint32_t height, width; /* of what comes out */
    uint32_t top, left;     /* of CROP_TO and PAD_TO */
    tnd_resize_method_t method;
    bool antialias, keep_aspect;
    double fraction;           /* of CENTRAL_CROP */
    double area[2], aspect[2]; /* of RANDOM_RESIZED_CROP: least and greatest */
} tnd_picture_step_t;

/*  A part of the picture, the size that it gets, and where it is put in what comes out. */
typedef struct {
    tnd_window_t part;
    uint32_t height, width;
    uint32_t top, left, out_height, out_width;
} tnd_geometry_t;

/*  Whether all pictures that come out have one size, which is then stored. */
bool tnd_picture_step_shape(const tnd_picture_step_t *self, uint32_t *height_p, uint32_t *width_p);

/*  What becomes of a picture of this size. Errors: TND_FAILED if the step cannot be applied to it. */
tnd_status_t tnd_picture_step_plan(const tnd_picture_step_t *self, uint32_t height, uint32_t width,
                                   tnd_random_t *random, tnd_geometry_t *out,
                                   tnd_error_t *error) TND_CHECKED;

#endif
