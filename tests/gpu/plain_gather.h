/*  tests/gpu/plain_gather.h - the bound of feeders that gather rows for a device: threads that do nothing
 *  else.
 *
 *  Threads: one calls it. */
#ifndef TND_TESTS_GPU_PLAIN_GATHER_H
#define TND_TESTS_GPU_PLAIN_GATHER_H

#include "tests/gpu/gpu.h"

typedef struct {
    const uint8_t *rows; /* of a mapped file */
    size_t count, row_bytes;
    size_t size; /* rows of a batch */
    unsigned depth, threads;
    bool shuffled;
} gpu_gather_t;

/*  GB/s of batches that threads copy into page-locked memory, while those before go to the device. */
double gpu_gather_rate(const gpu_t *self, const gpu_gather_t *chosen, size_t batches);

#endif
