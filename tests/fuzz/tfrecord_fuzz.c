/*  tests/fuzz/tfrecord_fuzz.c - files of the source `tfrecord`, and the indexes that it makes. */
#include "tests/fuzz/records_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    return fuzz_records("tfrecord", bytes, size);
}
