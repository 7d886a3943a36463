/*  tests/fuzz/page_mirror_fuzz.c - what a leader sends to an inspector.
 *
 *  The bytes are an answer as it arrives.  They are also spread over a whole file of statistics, in
 *  valid answers, so that the code after the protocol is reached too. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/allocation.h"
#include "tests/fuzz/fuzz.h"
#include "tools/remote/page_mirror.h"
#include "tools/report/run_json.h"

enum { NOW = 1000000000 };

/*  Uses what was read as `tundish ps` does. */
static void show(const tnd_page_mirror_t *mirror)
{
    tnd_inspected_t process;
    tnd_error_t error;
    char unread[] = "", *text = NULL;
    size_t size = 0;
    if (tnd_page_mirror_swept(mirror) == 0 ||
        tnd_page_mirror_process(mirror, TND_LOOK_DETAILS, &process, &error) != TND_OK)
        return;
    tnd_inspection_t look = {.now_ns = NOW, .count = 1, .processes = &process, .unread = unread};
    FILE *out = tnd_memory_stream(&text, &size);
    assert(process.record.page->started_ns <= NOW);
    tnd_run_json_run(out, &look, &process);
    for (uint32_t a = 0; a < process.count; a++)
        tnd_run_json_actor(out, &process, &process.actors[a], look.now_ns, 0);
    fclose(out);
    assert(memchr(text, '\n', size) == NULL);
    free(text);
    free(process.actors);
    free(process.record_memory);
}

static void apply(tnd_page_mirror_t *mirror, const void *bytes, size_t size)
{
    tnd_error_t error = {.text = ""};
    tnd_status_t status = tnd_page_mirror_apply(mirror, bytes, size, NOW, &error);
    assert((status == TND_OK) == (error.text[0] == '\0'));
    assert(status == TND_OK || tnd_page_mirror_swept(mirror) == 0);
    show(mirror);
}

/*  A block of the file: its header is valid but for what the bytes change, and the rest repeats them. */
static void fill_block(uint64_t block, const tnd_pages_header_t *header, const uint8_t *bytes,
                       size_t size, uint8_t to[TND_LOOK_BLOCK_BYTES])
{
    for (size_t i = 0; i < TND_LOOK_BLOCK_BYTES; i++) {
        size_t at = block * TND_LOOK_BLOCK_BYTES + i;
        to[i] = at < sizeof *header   ? ((const uint8_t *)header)[at]
                : at < TND_PAGE_BYTES ? 0
                : size > 0            ? bytes[at % size]
                                      : 0;
    }
}

static void read_pages(const uint8_t *bytes, size_t size)
{
    enum { WORDS = TND_LOOK_BYTES / sizeof(uint64_t) };
    uint64_t answer_words[WORDS];
    tnd_pages_shape_t shape = {.actors = 1, .hosts = 2, .edges = 1, .histories = 1, .details = 1};
    tnd_pages_header_t header = {.version = TND_PAGES_VERSION,
                                 .actor_bytes = sizeof(tnd_statistics_t),
                                 .record_bytes = (uint32_t)tnd_run_record_bytes(&shape),
                                 .shape = shape};
    memcpy(header.magic, "TNDPAGES", sizeof header.magic);
    for (size_t i = 0; i < 2 && size > 1; i++)
        ((uint8_t *)&header)[bytes[i] % sizeof header] ^= (uint8_t)(bytes[0] & 7);
    tnd_page_mirror_t *mirror = tnd_page_mirror_new();
    tnd_look_answer_t answer = {.version = TND_PAGES_VERSION, .life = 1, .number = 1, .hosts = 2};
    answer.blocks = (2 * TND_PAGE_BYTES + tnd_run_record_bytes(&shape)) / TND_LOOK_BLOCK_BYTES;
    while (answer.to < answer.blocks) {
        size_t used = sizeof answer / sizeof *answer_words;
        answer.from = answer.to;
        for (; answer.to < answer.blocks && used + 9 <= WORDS; answer.to++) {
            answer_words[used++] = answer.to << 8 | 0xff;
            fill_block(answer.to, &header, bytes, size, (uint8_t *)&answer_words[used]);
            used += TND_LOOK_BLOCK_WORDS;
        }
        memcpy(answer_words, &answer, sizeof answer);
        apply(mirror, answer_words, used * sizeof *answer_words);
    }
    tnd_page_mirror_free(mirror);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    /* Exactly `size` bytes, so that the sanitizer notices one that is read beyond. */
    char *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL)
        abort();
    memcpy(copy, bytes, size);
    tnd_page_mirror_t *mirror = tnd_page_mirror_new();
    apply(mirror, copy, size);
    apply(mirror, copy, size);
    tnd_page_mirror_free(mirror);
    read_pages(bytes, size);
    free(copy);
    return 0;
}
