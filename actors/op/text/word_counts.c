/*  actors/op/text/word_counts.c - different texts, and how often each occurs. */
#include "actors/op/text/word_counts.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "runtime/base/allocation.h"

/*  At most half of the slots are used. */
enum { SLOTS = 2 * TND_WORD_COUNTS_MAX };

typedef struct {
    char *text;
    uint64_t count;
} word_t;

struct tnd_word_counts {
    uint32_t slots[SLOTS]; /* the word there, plus 1; 0: none */
    word_t *words;
    size_t count, room;
    const char **texts; /* as they were sorted last */
};

tnd_word_counts_t *tnd_word_counts_new(void)
{
    return tnd_allocate_zeroed(1, sizeof(tnd_word_counts_t));
}

void tnd_word_counts_destroy(tnd_word_counts_t **self_p)
{
    tnd_word_counts_t *self = *self_p;
    *self_p = NULL;
    if (self == NULL)
        return;
    for (size_t i = 0; i < self->count; i++)
        free(self->words[i].text);
    free(self->words);
    free(self->texts);
    free(self);
}

/*  The slot of a text, or where it would be. */
static uint32_t *slot_of(tnd_word_counts_t *self, const char *text, size_t size)
{
    uint64_t at = XXH3_64bits(text, size) % SLOTS;
    for (; self->slots[at] != 0; at = (at + 1) % SLOTS) {
        const char *other = self->words[self->slots[at] - 1].text;
        if (strncmp(other, text, size) == 0 && other[size] == '\0')
            break;
    }
    return &self->slots[at];
}

tnd_status_t tnd_word_counts_add(tnd_word_counts_t *self, const void *text, size_t size,
                                 uint64_t count, tnd_error_t *error)
{
    if (size > TND_WORD_BYTES_MAX)
        return tnd_fail(error, "`auto` takes texts of at most %d bytes, and one has %zu",
                        TND_WORD_BYTES_MAX, size);
    if (size > 0 && memchr(text, '\0', size) != NULL)
        return tnd_fail(error, "`auto` takes texts without zero bytes");
    uint32_t *slot = slot_of(self, size > 0 ? text : "", size);
    if (*slot == 0) {
        if (self->count == TND_WORD_COUNTS_MAX)
            return tnd_fail(error, "`auto` takes at most %d different texts", TND_WORD_COUNTS_MAX);
        self->words = tnd_grow(self->words, self->count, &self->room, sizeof *self->words);
        char *copy = tnd_allocate_zeroed(size + 1, 1);
        if (size > 0)
            memcpy(copy, text, size);
        self->words[self->count++] = (word_t){.text = copy};
        *slot = (uint32_t)self->count;
    }
    self->words[*slot - 1].count += count;
    return TND_OK;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(((const word_t *)a)->text, ((const word_t *)b)->text);
}

static int by_rank(const void *a, const void *b)
{
    const word_t *one = a, *other = b;
    return one->count != other->count ? (one->count < other->count ? 1 : -1) : by_bytes(b, a);
}

/*  Moves the words, so the slots are made anew. */
static tnd_strings_t sort(tnd_word_counts_t *self, int (*compare)(const void *, const void *))
{
    if (self->count > 0)
        qsort(self->words, self->count, sizeof *self->words, compare);
    memset(self->slots, 0, sizeof self->slots);
    free(self->texts);
    self->texts = tnd_allocate(self->count + 1, sizeof *self->texts);
    for (size_t i = 0; i < self->count; i++) {
        self->texts[i] = self->words[i].text;
        *slot_of(self, self->texts[i], strlen(self->texts[i])) = (uint32_t)i + 1;
    }
    return (tnd_strings_t){self->texts, self->count};
}

tnd_strings_t tnd_word_counts_sorted(tnd_word_counts_t *self)
{
    return sort(self, by_bytes);
}

tnd_strings_t tnd_word_counts_ranked(tnd_word_counts_t *self)
{
    return sort(self, by_rank);
}

void tnd_word_counts_write(tnd_word_counts_t *self, FILE *out)
{
    (void)sort(self, by_bytes);
    for (size_t i = 0; i < self->count; i++) {
        fprintf(out, " %" PRIu64 "=", self->words[i].count);
        for (const char *at = self->words[i].text; *at != '\0'; at++)
            fprintf(out, *at > ' ' && *at < 127 && *at != '%' ? "%c" : "%%%02x",
                    (unsigned char)*at);
    }
}

/*  -1: it is none. */
static int hex_digit(char digit)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = memchr(digits, digit, sizeof digits - 1);
    return at != NULL ? (int)(at - digits) : -1;
}

tnd_status_t tnd_word_counts_read(tnd_word_counts_t *self, const char *word, size_t size,
                                  tnd_error_t *error)
{
    char text[TND_WORD_BYTES_MAX], *end;
    size_t used = 0;
    uint64_t count = strtoull(word, &end, 10);
    bool good = isdigit((unsigned char)*word) && *end == '=';
    for (const char *at = end + 1; good && at < word + size; at++) {
        unsigned byte = (unsigned char)*at;
        if (*at == '%') {
            int high = word + size - at > 2 ? hex_digit(at[1]) : -1;
            int low = high >= 0 ? hex_digit(at[2]) : -1;
            good = low >= 0;
            byte = good ? (unsigned)(16 * high + low) : 0;
            at += 2;
        }
        good = good && used < sizeof text;
        text[good ? used++ : 0] = (char)byte;
    }
    if (!good)
        return tnd_fail(error, "the stored values of `auto` are not texts: '%.*s'",
                        (int)(size < 40 ? size : 40), word);
    return tnd_word_counts_add(self, text, used, count, error);
}
