/*  tests/support/cuda/loaded_calls.h - the calls of the driver of CUDA that this process finds.
 *
 *  For tests that do what a framework does.  A real driver has the same calls.
 *
 *  Threads: any. */
#ifndef TND_TESTS_SUPPORT_CUDA_LOADED_CALLS_H
#define TND_TESTS_SUPPORT_CUDA_LOADED_CALLS_H

#include "transport/cuda/cuda_driver.h"

typedef struct {
#define TYPE(name, type)
#define CONSTANT(name, value)
#define CALL(kind, name, parameters) CUresult(*name) parameters;
#include "tests/support/cuda/all_calls.def"
#undef CALL
#undef CONSTANT
#undef TYPE
} loaded_calls_t;

/*  Loads libcuda.so.1 and initializes it.  The process ends if that fails. */
const loaded_calls_t *test_cuda_calls(void);

/*  Ends the process if a call failed. */
void test_cuda_succeed(CUresult result, const char *call);

/*  Makes a call, which must succeed, with the arguments after its name. */
#define TEST_CUDA(name, ...) test_cuda_succeed(test_cuda_calls()->name(__VA_ARGS__), #name)

#endif
