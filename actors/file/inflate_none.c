/*  actors/file/inflate_none.c - without libdeflate, content is decompressed in pieces. */
#include "actors/file/inflate.h"

bool tnd_inflate_whole(const uint8_t *data, size_t size, void *out, size_t bytes)
{
    (void)data, (void)size, (void)out, (void)bytes;
    return false;
}

const char *tnd_inflate_library(void)
{
    return NULL;
}
