/*  Covers actors/file/inflate.h: a gzip file gives the same bytes whole and in pieces. */
#include "actors/file/inflate.h"

#include <criterion/criterion.h>
#include <string.h>

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

static void check(size_t size, size_t bytes, bool fits)
{
    static uint8_t out[CONTENT + 1];
    tnd_inflate_t inflate;
    tnd_error_t error;
    tnd_inflate_init(&inflate, "file", packed, size);
    bool in_pieces = tnd_inflate_read(&inflate, out, bytes, &error) == TND_OK &&
                     tnd_inflate_finish(&inflate, &error) == TND_OK;
    tnd_inflate_fini(&inflate);
    cr_assert_eq(in_pieces, fits);
    memset(out, 0, sizeof out);
    /* A build without libdeflate returns false. */
    if (tnd_inflate_whole(packed, size, out, bytes))
        cr_assert(fits && memcmp(out, content, bytes) == 0);
}

Test(inflate, the_whole_equals_the_pieces)
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
