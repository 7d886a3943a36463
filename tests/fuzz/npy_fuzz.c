/*  tests/fuzz/npy_fuzz.c - files of the source `npy`, and the bytes of a file as the operation
 *  `decode_npy` sees them. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "actors/stored/npy_file.h"
#include "tests/fuzz/source_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    tnd_npy_array_t array;
    tnd_error_t error;
    /* Exactly `size` bytes, so that the sanitizer notices one that is read beyond. */
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL)
        abort();
    if (size > 0)
        memcpy(copy, bytes, size);
    if (tnd_npy_find(&array, "x", copy, size, &error) == TND_OK)
        assert(array.data >= copy && array.data + array.bytes == copy + size &&
               array.bytes % tnd_dtype_size(array.dtype) == 0);
    free(copy);
    return fuzz_source("npy", bytes, size);
}
