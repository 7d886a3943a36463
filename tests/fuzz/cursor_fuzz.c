/*  tests/fuzz/cursor_fuzz.c - cursors: valid ones are read back unchanged, others are refused.
 *
 *  A cursor is closed by a hash that no mutation finds; so the bytes are also tried as the content
 *  of one, with a correct hash. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/core/stream/cursor.h"
#include "tests/fuzz/fuzz.h"

static void try_bytes(const uint8_t *bytes, size_t size)
{
    enum { ROOM = TND_CURSOR_FIXED_BYTES + 24 * TND_LANES_MAX };
    static uint8_t again[ROOM], once_more[ROOM];
    static tnd_cursor_t cursor, copy;
    if (tnd_cursor_decode(&cursor, bytes, size, NULL) != TND_OK)
        return;
    size_t length = tnd_cursor_encode(&cursor, again, sizeof again);
    assert(length <= sizeof again);
    tnd_status_t status = tnd_cursor_decode(&copy, again, length, NULL);
    assert(status == TND_OK);
    assert(tnd_cursor_encode(&copy, once_more, sizeof once_more) == length);
    assert(memcmp(again, once_more, length) == 0);
}

/*  A cursor whose fields are the bytes: encoded, it must be read as it is or be refused. */
static void try_fields(const uint8_t *bytes, size_t size)
{
    static uint8_t encoded[TND_CURSOR_FIXED_BYTES + 24 * TND_LANES_MAX];
    static tnd_cursor_t cursor;
    memset(&cursor, 0, sizeof cursor);
    memcpy(&cursor, bytes, size < sizeof cursor ? size : sizeof cursor);
    cursor.lanes = 1 + cursor.lanes % TND_LANES_MAX;
    size_t length = tnd_cursor_encode(&cursor, encoded, sizeof encoded);
    if (length <= sizeof encoded)
        try_bytes(encoded, length);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    /* A copy of the very size: what is read past its end is seen. */
    uint8_t *exact = tnd_allocate(1, size + (size == 0));
    memcpy(exact, bytes, size);
    try_bytes(exact, size);
    try_fields(exact, size);
    free(exact);
    return 0;
}
