/*  tests/fuzz/reply_fuzz.c - what an interpreter of Python answers: words of a message, and shared memory. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "actors/python/reply.h"
#include "tests/fuzz/fuzz.h"

enum { ROWS_MAX = 256, WORDS = TND_REPLY_HEAD_WORDS + 2 * TND_REPLY_COLUMN_WORDS };

static void make_schema(tnd_schema_t *schema, uint8_t kinds)
{
    const uint64_t shape[] = {(uint64_t)1 + kinds % 8, 3};
    tnd_error_t error;
    tnd_status_t status = tnd_schema_add(schema, "fixed", TND_F32, kinds & 1, shape, &error);
    assert(status == TND_OK);
    status = tnd_schema_add_ragged(schema, "ragged", TND_I16, 1 + (kinds >> 1 & 1), shape, &error);
    assert(status == TND_OK);
}

/*  Every byte that a column claims to have can be read. */
static unsigned add(const uint8_t *data, size_t bytes)
{
    unsigned sum = 0;
    for (size_t i = 0; data != NULL && i < bytes; i++)
        sum += data[i];
    return sum;
}

static void read_reply(const tnd_reply_t *reply, const tnd_schema_t *schema)
{
    uint64_t lengths[ROWS_MAX], sum = 0;
    size_t bytes = 0;
    (void)add(tnd_reply_at(reply, reply->more, 8), 8);
    if (reply->rows > ROWS_MAX) {
        (void)tnd_reply_fixed(reply, 0);
        return;
    }
    (void)add(tnd_reply_fixed(reply, 0), reply->rows * tnd_column_bytes(&schema->columns[0]));
    const uint8_t *ragged = tnd_reply_ragged(reply, 1, lengths, &bytes);
    for (uint64_t row = 0; ragged != NULL && row < reply->rows; row++) {
        assert(lengths[row] <= schema->columns[1].shape[0]);
        sum += lengths[row] * tnd_column_unit(&schema->columns[1]);
    }
    assert(ragged == NULL || sum == bytes);
    (void)add(ragged, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    uint64_t words[WORDS];
    tnd_schema_t schema = {0};
    tnd_reply_t reply;
    if (size < 1 + sizeof words)
        return 0;
    make_schema(&schema, bytes[0]);
    memcpy(words, bytes + 1, sizeof words);
    size -= 1 + sizeof words;
    /* Exactly as many bytes, so that the sanitizer notices one that is read beyond. */
    uint8_t *memory = malloc(size > 0 ? size : 1);
    if (memory == NULL)
        abort();
    memcpy(memory, bytes + 1 + sizeof words, size);
    assert(!tnd_reply_init(&reply, memory, size, words, WORDS - 1, &schema));
    if (tnd_reply_init(&reply, memory, size, words, WORDS, &schema))
        read_reply(&reply, &schema);
    free(memory);
    return 0;
}
