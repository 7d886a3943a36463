/*  transport/device/cuda_image.h - the compiled kernels, which the build embeds.
 *
 *  A fatbin if nvcc compiled them, text of PTX if clang did, nothing if neither was found. */
#ifndef TND_TRANSPORT_DEVICE_CUDA_IMAGE_H
#define TND_TRANSPORT_DEVICE_CUDA_IMAGE_H

/*  Bytes up to `tnd_cuda_image_end`, where a byte of 0 follows. */
extern const unsigned char tnd_cuda_image[], tnd_cuda_image_end[];

#endif
