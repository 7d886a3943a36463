/*  tests/support/cuda/kernels.h - modules, and the kernels in them, which run on the host by name.
 *
 *  Threads: the lock of calls.h is held. */
#ifndef TND_TESTS_SUPPORT_CUDA_KERNELS_H
#define TND_TESTS_SUPPORT_CUDA_KERNELS_H

#include "transport/cuda/cuda_driver.h"

/*  Frees what is left of a context; the number of modules that were not unloaded. */
unsigned hostile_modules_end(CUcontext context);

#endif
