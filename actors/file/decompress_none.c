/*  actors/file/decompress_none.c - without libdeflate, content is decompressed in pieces. */
#include "actors/file/decompress.h"

bool tnd_decompress_whole(const uint8_t *data, size_t size, void *out, size_t bytes)
{
    (void)data, (void)size, (void)out, (void)bytes;
    return false;
}

const char *tnd_decompress_deflate_version(void)
{
    return NULL;
}
