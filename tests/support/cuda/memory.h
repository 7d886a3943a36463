/*  tests/support/cuda/memory.h - memory of devices, and page-locked memory of the host.
 *
 *  A device's memory has two addresses.  The program gets one that it may not read or write; the
 *  driver works at the other.  Allocations end at a page that may not be accessed.
 *
 *  Threads: the lock of calls.h is held. */
#ifndef TND_TESTS_SUPPORT_CUDA_MEMORY_H
#define TND_TESTS_SUPPORT_CUDA_MEMORY_H

#include "transport/cuda/cuda_driver.h"

/*  What memory has before it was written, and while it is written. */
enum { POISON = 0xdb };

/*  Where the driver works on memory of the device of `context`; a violation if not all of it is
 *  allocated there.  `what` names the access. */
void *hostile_memory_at(const struct CUctx_st *context, CUdeviceptr at, size_t bytes,
                        const char *what);

/*  Whether all of it is page-locked memory that `context` may copy from and to. */
bool hostile_memory_is_pinned(const struct CUctx_st *context, const void *at, size_t bytes);

/*  Bytes that are allocated on the device of `context`. */
uint64_t hostile_memory_used(const struct CUctx_st *context);

/*  Frees what is left of a context; the number of allocations. */
unsigned hostile_memory_end(const struct CUctx_st *context);

#endif
