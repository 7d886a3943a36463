/*  tests/fuzz/npy_fuzz.c - files of the source `npy`. */
#include "tests/fuzz/source_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    return fuzz_source("npy", bytes, size);
}
