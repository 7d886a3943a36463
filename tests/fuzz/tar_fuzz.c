/*  tests/fuzz/tar_fuzz.c - archives of the source `tar`, plain and compressed. */
#include "tests/fuzz/source_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    return fuzz_source_as("tar", "files", bytes, size);
}
