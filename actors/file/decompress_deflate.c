/*  actors/file/decompress_deflate.c - decompresses a whole gzip file at once by libdeflate, more
 *  than twice as fast as zlib, which is used for pieces. */
#include <libdeflate.h>

#include "actors/file/decompress.h"

bool tnd_decompress_whole(const uint8_t *data, size_t size, void *out, size_t bytes)
{
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    size_t at = 0, produced = 0;
    bool good = decompressor != NULL;
    while (good && tnd_compression_of(data + at, size - at) == TND_COMPRESSION_GZIP) {
        size_t used = 0, got = 0;
        good = libdeflate_gzip_decompress_ex(decompressor, data + at, size - at,
                                             (uint8_t *)out + produced, bytes - produced, &used,
                                             &got) == LIBDEFLATE_SUCCESS;
        at += used;
        produced += got;
    }
    for (; good && at < size; at++)
        good = data[at] == 0;
    libdeflate_free_decompressor(decompressor);
    return good && produced == bytes;
}

const char *tnd_decompress_deflate_version(void)
{
    return LIBDEFLATE_VERSION_STRING;
}
