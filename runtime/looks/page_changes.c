/*  runtime/looks/page_changes.c - what changed in a statistics file since an earlier look. */
#include "runtime/looks/page_changes.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

static const uint64_t compare_every_ns = 100000000;

enum { READ_BLOCKS = 256 };

struct tnd_page_changes {
    const tnd_pages_t *pages;
    uint64_t life, hosts;
    uint64_t blocks, number, due_ns;
    uint8_t *copy;
    uint64_t *changed; /* by block: the comparison that found it changed; 0: none, it is zero */
};

tnd_page_changes_t *tnd_page_changes_new(const tnd_pages_t *pages, uint32_t hosts, uint64_t life)
{
    tnd_page_changes_t *self = tnd_allocate_zeroed(1, sizeof *self);
    self->pages = pages;
    self->life = life;
    self->hosts = hosts;
    self->blocks = tnd_pages_looked_at(pages) / TND_LOOK_BLOCK_BYTES;
    self->copy = tnd_allocate_zeroed(self->blocks + 1, TND_LOOK_BLOCK_BYTES);
    self->changed = tnd_allocate_zeroed(self->blocks + 1, sizeof *self->changed);
    return self;
}

void tnd_page_changes_free(tnd_page_changes_t *self)
{
    if (self == NULL)
        return;
    free(self->copy);
    free(self->changed);
    free(self);
}

/*  Reads the file as other processes do: actors write its words meanwhile. */
static void compare(tnd_page_changes_t *self, uint64_t now)
{
    uint8_t read[READ_BLOCKS][TND_LOOK_BLOCK_BYTES];
    if (now < self->due_ns)
        return;
    self->due_ns = now + compare_every_ns;
    self->number++;
    for (uint64_t first = 0; first < self->blocks; first += READ_BLOCKS) {
        uint64_t left = self->blocks - first, count = left < READ_BLOCKS ? left : READ_BLOCKS;
        if (!tnd_pages_read(self->pages, read, count * TND_LOOK_BLOCK_BYTES,
                            first * TND_LOOK_BLOCK_BYTES))
            return;
        for (uint64_t b = 0; b < count; b++) {
            uint8_t *known = &self->copy[(first + b) * TND_LOOK_BLOCK_BYTES];
            if (memcmp(known, read[b], TND_LOOK_BLOCK_BYTES) == 0)
                continue;
            memcpy(known, read[b], TND_LOOK_BLOCK_BYTES);
            self->changed[first + b] = self->number;
        }
    }
}

/*  Returns the number of words written, at most TND_LOOK_BLOCK_WORDS + 1. */
static size_t write_block(const tnd_page_changes_t *self, uint64_t block, uint64_t *to)
{
    uint64_t words[TND_LOOK_BLOCK_WORDS];
    size_t used = 1;
    memcpy(words, &self->copy[block * TND_LOOK_BLOCK_BYTES], sizeof words);
    to[0] = block << 8;
    for (unsigned w = 0; w < TND_LOOK_BLOCK_WORDS; w++)
        if (words[w] != 0) {
            to[0] |= 1u << w;
            to[used++] = words[w];
        }
    return used;
}

size_t tnd_page_changes_answer(tnd_page_changes_t *self, const tnd_look_question_t *question,
                               uint64_t now, uint8_t *bytes)
{
    enum { ROOM = TND_LOOK_BYTES / sizeof(uint64_t), LARGEST = TND_LOOK_BLOCK_WORDS + 1 };
    compare(self, now);
    bool known = question->life == self->life && question->from <= self->blocks;
    uint64_t since = known ? question->since : 0, at = known ? question->from : 0;
    tnd_look_answer_t answer = {.version = TND_PAGES_VERSION,
                                .life = self->life,
                                .since = since,
                                .from = at,
                                .number = self->number,
                                .blocks = self->blocks,
                                .hosts = self->hosts,
                                .now_ns = now};
    uint64_t *words = (uint64_t *)(void *)bytes;
    size_t used = sizeof answer / sizeof *words;
    for (; at < self->blocks && used + LARGEST <= ROOM; at++)
        if (self->changed[at] > since)
            used += write_block(self, at, &words[used]);
    answer.to = at;
    memcpy(bytes, &answer, sizeof answer);
    return used * sizeof *words;
}
