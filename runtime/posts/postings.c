/*  runtime/posts/postings.c - a list of what one replica posted, which keeps its memory. */
#include "runtime/posts/postings.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

tnd_posting_t *tnd_postings_add(tnd_postings_t *self, const tnd_posting_t *posting)
{
    assert(self->count < TND_POSTINGS_MAX);
    self->items = tnd_grow(self->items, self->count, &self->room, sizeof *self->items);
    tnd_posting_t *added = &self->items[self->count++];
    *added = *posting;
    return added;
}

void tnd_postings_settle(tnd_postings_t *self)
{
    for (uint32_t p = 0; p < self->count; p++)
        if (self->items[p].same != NULL)
            self->items[p].from = self->items[p].hash;
}

void tnd_postings_copy(tnd_postings_t *self, const tnd_postings_t *from)
{
    if (self->room < from->count) {
        self->items = tnd_resize(self->items, from->room, sizeof *self->items);
        self->room = from->room;
    }
    if (from->count > 0)
        memcpy(self->items, from->items, from->count * sizeof *self->items);
    self->count = from->count;
}

void tnd_postings_free(tnd_postings_t *self)
{
    free(self->items);
    *self = (tnd_postings_t){0};
}

bool tnd_postings_fit(const tnd_postings_t *self, const tnd_postings_t *other, uint32_t *first_p)
{
    uint32_t common = self->count < other->count ? self->count : other->count, p = 0;
    while (p < common && tnd_posting_fits(&self->items[p], &other->items[p]))
        p++;
    *first_p = p;
    return p == self->count && p == other->count;
}

/*  What is equal in postings that fit (tnd_posting_fits), in few words. */
enum { SHAPE_WORDS = 4 };

static void write_shape(const tnd_posting_t *post, uint64_t words[SHAPE_WORDS])
{
    uint64_t flags = (post->weighted ? 1 : 0) | (post->on_device ? 2 : 0) | (post->same ? 4 : 0);
    words[0] = post->reducer | (uint64_t)post->root << 32;
    words[1] = post->unit | (uint64_t)post->reduce << 32 | (uint64_t)post->dtype << 40 |
               (uint64_t)post->sharing << 48 | flags << 56;
    words[2] = post->reduce != TND_GATHER ? post->count : 0;
    words[3] = post->whole;
}

/*  Twice, with odd numbers that have no pattern. */
tnd_postings_shape_t tnd_postings_shape(const tnd_postings_t *self)
{
    uint64_t one = self->count, other = ~one, words[SHAPE_WORDS];
    for (uint32_t p = 0; p < self->count; p++) {
        write_shape(&self->items[p], words);
        one ^= words[0] * 0x9e3779b97f4a7c15 + words[1] * 0xbf58476d1ce4e5b9 +
               words[2] * 0x94d049bb133111eb + words[3] * 0xd6e8feb86659fd93;
        other ^= words[0] * 0x8ebc6af09c88c6e3 + words[1] * 0x589965cc75374cc3 +
                 words[2] * 0x1d8e4e27c47d124f + words[3] * 0xeb44accab455d165;
        one *= 0xa0761d6478bd642f;
        other *= 0xe7037ed1a0b428db;
        one ^= one >> 32;
        other ^= other >> 32;
    }
    return (tnd_postings_shape_t){{one, other}};
}

const char *tnd_postings_text(const tnd_postings_t *self, uint32_t number,
                              char text[TND_POSTING_TEXT])
{
    if (number >= self->count)
        return strcpy(text, "none");
    const tnd_posting_t *posting = &self->items[number];
    char operation[TND_OPERATION_TEXT];
    size_t count = posting->whole > 0 ? posting->whole : posting->count;
    snprintf(text, TND_POSTING_TEXT, "%zu element%s of %s (%s)%s", count, count == 1 ? "" : "s",
             tnd_dtype_name(posting->dtype),
             tnd_operation_text(posting->reduce, posting->root, posting->sharing, operation),
             posting->on_device ? " on its device" : "");
    return text;
}

const char *tnd_postings_refusal(uint64_t step, uint32_t one, const tnd_postings_t *own,
                                 uint32_t other, const tnd_postings_t *others, uint32_t number,
                                 char text[TND_POSTINGS_REFUSAL])
{
    char posted[TND_POSTING_TEXT], by_other[TND_POSTING_TEXT];
    snprintf(text, TND_POSTINGS_REFUSAL,
             "in step %" PRIu64 " replicas %" PRIu32 " and %" PRIu32
             " posted different reductions: all replicas post the same ones in the same order; "
             "number %" PRIu32 " is %s of replica %" PRIu32 ", %s of replica %" PRIu32,
             step, one, other, number, tnd_postings_text(own, number, posted), one,
             tnd_postings_text(others, number, by_other), other);
    return text;
}
