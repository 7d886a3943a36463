/*  tests/fuzz/sent_run_fuzz.c - a run that `tundish up --on` sends to another machine. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tools/launch/sent_run.h"

static void check_head(const uint8_t *bytes, size_t size)
{
    char line[TND_SENT_HEAD];
    uint32_t rank;
    size_t length;
    uint64_t hash;
    size = size < sizeof line ? size : sizeof line - 1;
    memcpy(line, size > 0 ? bytes : (const uint8_t *)"", size);
    line[size] = '\0';
    if (tnd_sent_run_parse_head(line, &rank, &length, &hash))
        assert(rank <= 65535 && length <= TND_SENT_BYTES_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    tnd_sent_run_t sent, again;
    size_t length;
    check_head(bytes, size);
    if (!tnd_sent_run_parse(&sent, size > 0 ? (const char *)bytes : "", size)) {
        assert(sent.words == NULL && sent.names == NULL && sent.file_count == 0);
        return 0;
    }
    for (size_t i = 0; sent.variables[i] != NULL; i++)
        assert(strncmp(sent.variables[i], "TUNDISH_", 8) == 0);
    char *text = tnd_sent_run_write(&sent, &length);
    bool good = tnd_sent_run_parse(&again, text, length);
    assert(good && again.file_count == sent.file_count);
    for (size_t i = 0; i < sent.file_count; i++)
        assert(again.sizes[i] == sent.sizes[i] &&
               memcmp(again.texts[i], sent.texts[i], sent.sizes[i]) == 0);
    free(text);
    tnd_sent_run_free(&again);
    tnd_sent_run_free(&sent);
    return 0;
}
