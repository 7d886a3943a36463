/*  transport/cuda/cuda_image.h - the compiled kernels, which the build embeds.
 *
 *  A fatbin if nvcc compiled them, text of PTX if clang did, nothing if neither was found
 *  (cuda_kernels.cmake).
 *
 *  Threads: any. */
#ifndef TND_TRANSPORT_CUDA_CUDA_IMAGE_H
#define TND_TRANSPORT_CUDA_CUDA_IMAGE_H

#include <stddef.h>

#include "runtime/base/status.h"

/*  A byte of 0 follows. */
extern const unsigned char tnd_cuda_image[];
size_t tnd_cuda_image_bytes(void);

/*  A driver reads beyond an image that is cut off.  Errors: TND_FAILED if it is. */
tnd_status_t tnd_cuda_image_check(const unsigned char *image, size_t bytes,
                                  tnd_error_t *error) TND_CHECKED;

#endif
