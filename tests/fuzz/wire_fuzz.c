/*  tests/fuzz/wire_fuzz.c - headers of messages. */
#include "tests/fuzz/fuzz.h"
#include "transport/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    return tnd_wire_fuzz(bytes, size);
}
