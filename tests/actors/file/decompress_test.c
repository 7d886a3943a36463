/*  Covers actors/file/decompress.h: a whole gzip file at once. */
#include "actors/file/decompress.h"

#include <criterion/criterion.h>
#include <string.h>
#include <zlib.h>

enum { CONTENT = 100000, ROOM = 200000 };

static uint8_t content[CONTENT], packed[ROOM];

static size_t pack(size_t from, size_t to, size_t at)
{
    z_stream stream = {.next_in = content + from,
                       .avail_in = (uInt)(to - from),
                       .next_out = packed + at,
                       .avail_out = (uInt)(ROOM - at)};
    cr_assert_eq(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    cr_assert_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    deflateEnd(&stream);
    return ROOM - stream.avail_out;
}

/*  A build without libdeflate always returns false. */
static void check(size_t size, size_t bytes, bool fits)
{
    static uint8_t out[CONTENT + 1];
    memset(out, 0, sizeof out);
    bool whole = tnd_decompress_whole(packed, size, out, bytes);
    cr_assert_eq(whole, fits && tnd_decompress_deflate_version() != NULL);
    cr_assert(!whole || memcmp(out, content, bytes) == 0);
}

Test(decompress, a_whole_gzip_file_is_decompressed_only_if_it_is_sound)
{
    for (size_t i = 0; i < CONTENT; i++)
        content[i] = (uint8_t)(i * i >> 7);
    size_t size = pack(0, CONTENT, 0);
    check(size, CONTENT, true);
    check(size, CONTENT - 1, false);
    check(size, CONTENT + 1, false);
    check(size - 1, CONTENT, false);
    memset(packed + size, 0, 10);
    check(size + 10, CONTENT, true);
    packed[size + 9] = 7;
    check(size + 10, CONTENT, false);
    packed[size / 2] ^= 1;
    check(size, CONTENT, false);
    size = pack(5000, CONTENT, pack(0, 5000, 0));
    check(size, CONTENT, true);
    check(size, 5000, false);
}
