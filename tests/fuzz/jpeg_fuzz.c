/*  tests/fuzz/jpeg_fuzz.c - rows of bytes as JPEG files, as `decode_image` sees them. */
#include "tests/fuzz/picture_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_picture(bytes, size);
    return 0;
}
