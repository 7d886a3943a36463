/*  tests/support/nccl/calls.h - what every call of the NCCL of the tests begins and ends with.
 *
 *  The lock of the driver is held during a call.  A call that is chosen to fail does nothing but that.
 *
 *  The names and types are those of transport/nccl/nccl_calls.def. */
#ifndef TND_TESTS_SUPPORT_NCCL_CALLS_H
#define TND_TESTS_SUPPORT_NCCL_CALLS_H

#include "tests/support/cuda/guest.h"
#include "transport/nccl/nccl_library.h"

#define TYPE(name, type)
#define CONSTANT(name, value)
#define CALL(result, name, parameters)                                                             \
    result name parameters __attribute__((visibility("default")));
#include "transport/nccl/nccl_calls.def"
#undef CALL

/*  Their numbers: CALL_ncclGetVersion and so on. */
typedef enum {
#define CALL(result, name, parameters) CALL_##name,
#include "transport/nccl/nccl_calls.def"
#undef CALL
    CALLS,
} nccl_call_t;
#undef CONSTANT
#undef TYPE

/*  The driver that is loaded, or NULL. */
const hostile_guest_t *nccl_driver(void);

/*  Locks, and counts the call.  Errors: that which the call shall fail with. */
ncclResult_t nccl_begin(nccl_call_t call);
/*  Unlocks; returns `result`. */
ncclResult_t nccl_end(ncclResult_t result);

/*  What ncclGetLastError returns from now on.  Returns `result`. */
ncclResult_t nccl_say(ncclResult_t result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*  Writes a line to stderr and to the report.  Then the process aborts: no result of it counts. */
_Noreturn void nccl_violation(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*  The body of the call `name`: `work` is evaluated unless the call fails. */
#define NCCL_CALL(name, work)                                                                      \
    ncclResult_t result_ = nccl_begin(CALL_##name);                                                \
    return nccl_end(result_ == ncclSuccess ? (work) : result_)

#endif
