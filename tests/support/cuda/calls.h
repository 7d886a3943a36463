/*  tests/support/cuda/calls.h - what every call of the driver begins and ends with.
 *
 *  One lock is held during a call: it guards all that the driver has.  A call that is chosen to fail
 *  does nothing but that.
 *
 *  The names and types are those of transport/cuda/cuda_calls.def and more_calls.def. */
#ifndef TND_TESTS_SUPPORT_CUDA_CALLS_H
#define TND_TESTS_SUPPORT_CUDA_CALLS_H

#include "transport/cuda/cuda_driver.h"

#define TYPE(name, type)
#define CONSTANT(name, value)
#define CALL(kind, name, parameters)                                                               \
    CUresult name parameters __attribute__((visibility("default")));
#include "tests/support/cuda/all_calls.def"
#undef CALL
#undef CONSTANT
#undef TYPE

/*  Calls in addition to those of tnd_cuda_call_t. */
enum {
    BEFORE_MORE_CALLS = TND_CUDA_CALLS - 1,
#define CALL(kind, name, parameters) TND_CUDA_##name,
#include "tests/support/cuda/more_calls.def"
#undef CALL
    ALL_CALLS,
};

/*  Locks, and counts the call.  Errors: that which the call shall fail with. */
CUresult hostile_begin(unsigned call);
/*  Unlocks; returns `result`. */
CUresult hostile_end(CUresult result);

/*  For what is not a call. */
void hostile_lock(void);
void hostile_unlock(void);

/*  Waits with the lock released until another thread calls `hostile_progress`. */
void hostile_wait(void);
void hostile_progress(void);

/*  Whether a call failed on purpose that should have released something. */
bool hostile_releases_failed(void);

/*  Records that this thread waits for the device, or allocates or frees. */
void hostile_unsteady(const char *what);

/*  Returns an error of `call`. */
#define HOSTILE_TRY(call)                                                                          \
    do {                                                                                           \
        CUresult result_ = (call);                                                                 \
        if (result_ != CUDA_SUCCESS)                                                               \
            return result_;                                                                        \
    } while (0)

/*  The body of the call `name`: `work` is evaluated unless the call fails. */
#define HOSTILE_CALL(name, work)                                                                   \
    CUresult result_ = hostile_begin(TND_CUDA_##name);                                             \
    return hostile_end(result_ == CUDA_SUCCESS ? (work) : result_)

#endif
