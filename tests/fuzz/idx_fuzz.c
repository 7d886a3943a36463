/*  tests/fuzz/idx_fuzz.c - files of the source `idx`, also compressed ones. */
#include "tests/fuzz/source_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    return fuzz_source("idx", bytes, size);
}
