/*  tests/fuzz/text_fuzz.c - files of the source `text`, and the indexes that it makes. */
#include "tests/fuzz/records_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    return fuzz_records("text", bytes, size);
}
