/*  tests/support/cuda/guest.h - what another library of the tests uses of this driver: the libnccl.so.2 of
 *  tests/support/nccl, whose work is in its streams.
 *
 *  It finds `hostile_guest` by dlsym, in the libcuda.so.1 that is loaded.
 *
 *  Threads: any; the functions after `excuse` with the lock held. */
#ifndef TND_TESTS_SUPPORT_CUDA_GUEST_H
#define TND_TESTS_SUPPORT_CUDA_GUEST_H

#include "tests/support/cuda/contexts.h"
#include "tests/support/cuda/streams.h"

typedef struct {
    void (*lock)(void);
    void (*unlock)(void);
    /*  The program is right to leave what it has: a call does not return. */
    void (*excuse)(void);
    CUresult (*current)(CUcontext *context_p);
    CUresult (*stream)(CUcontext context, CUstream handle, CUstream *stream_p);
    void (*put)(CUstream stream, work_t *work);
    void *(*memory_at)(const struct CUctx_st *context, CUdeviceptr at, size_t bytes,
                       const char *what);
} hostile_guest_t;

/*  The functions of this driver. */
const hostile_guest_t *hostile_guest(void);
/*  Whether `excuse` was called. */
bool hostile_is_excused(void);

#endif
