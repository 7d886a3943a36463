/*  tests/support/cuda/loaded_calls.c - finds the calls once. */
#include "tests/support/cuda/loaded_calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static loaded_calls_t calls;

void test_cuda_succeed(CUresult result, const char *call)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "%s failed: %d\n", call, result);
    exit(1);
}

static void load(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
#define TYPE(name, type)
#define CONSTANT(name, value)
#define CALL(kind, name, parameters) *(void **)&calls.name = dlsym(library, #name);
#include "tests/support/cuda/all_calls.def"
#undef CALL
#undef CONSTANT
#undef TYPE
    test_cuda_succeed(calls.cuInit(0), "cuInit");
}

const loaded_calls_t *test_cuda_calls(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return &calls;
}
