/*  runtime/text/adapted.c - the values that operations take from the training rows. */
#include "runtime/text/adapted.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

struct tnd_adapted {
    tnd_adapted_item_t *items; /* by key, then by lane */
    size_t count, room;
};

/*  The place of an item, or where it would be. */
static size_t place_of(const tnd_adapted_t *self, uint64_t key, uint32_t lane)
{
    size_t at = 0;
    while (at < self->count && (self->items[at].key < key ||
                                (self->items[at].key == key && self->items[at].lane < lane)))
        at++;
    return at;
}

static bool is_at(const tnd_adapted_t *self, size_t at, uint64_t key, uint32_t lane)
{
    return at < self->count && self->items[at].key == key && self->items[at].lane == lane;
}

static void insert(tnd_adapted_t *self, size_t at, uint64_t key, uint32_t lane, const char *words)
{
    self->items = tnd_grow(self->items, self->count, &self->room, sizeof *self->items);
    memmove(self->items + at + 1, self->items + at, (self->count++ - at) * sizeof *self->items);
    size_t size = strlen(words);
    self->items[at] = (tnd_adapted_item_t){
        .key = key, .lane = lane, .text = tnd_copy_string(words), .size = size, .room = size + 1};
}

/*  An item may have many lines, so its memory grows by doubling. */
static void append(tnd_adapted_item_t *self, const char *words)
{
    size_t size = strlen(words), all = self->size + 1 + size;
    if (all >= self->room) {
        self->room = 2 * all + 1;
        self->text = tnd_resize(self->text, self->room, 1);
    }
    self->text[self->size] = ' ';
    memcpy(self->text + self->size + 1, words, size + 1);
    self->size = all;
}

void tnd_adapted_add(tnd_adapted_t **self_p, uint64_t key, uint32_t lane, const char *words)
{
    if (*self_p == NULL)
        *self_p = tnd_allocate_zeroed(1, sizeof **self_p);
    tnd_adapted_t *self = *self_p;
    size_t at = place_of(self, key, lane);
    if (is_at(self, at, key, lane))
        append(&self->items[at], words);
    else
        insert(self, at, key, lane, words);
}

void tnd_adapted_merge(tnd_adapted_t **self_p, const tnd_adapted_t *other)
{
    for (size_t i = 0; other != NULL && i < other->count; i++) {
        const tnd_adapted_item_t *item = &other->items[i];
        if (*self_p == NULL ||
            !is_at(*self_p, place_of(*self_p, item->key, item->lane), item->key, item->lane))
            tnd_adapted_add(self_p, item->key, item->lane, item->text);
    }
}

void tnd_adapted_free(tnd_adapted_t **self_p)
{
    tnd_adapted_t *self = *self_p;
    *self_p = NULL;
    for (size_t i = 0; self != NULL && i < self->count; i++)
        free(self->items[i].text);
    if (self != NULL)
        free(self->items);
    free(self);
}

const tnd_adapted_item_t *tnd_adapted_find(const tnd_adapted_t *self, uint64_t key, size_t *count_p)
{
    *count_p = 0;
    if (self == NULL)
        return NULL;
    size_t at = place_of(self, key, 0);
    while (at + *count_p < self->count && self->items[at + *count_p].key == key)
        ++*count_p;
    return *count_p > 0 ? &self->items[at] : NULL;
}

bool tnd_adapted_agree(const tnd_adapted_t *self, const tnd_adapted_t *other)
{
    for (size_t i = 0; self != NULL && other != NULL && i < other->count; i++) {
        const tnd_adapted_item_t *item = &other->items[i];
        size_t at = place_of(self, item->key, item->lane);
        if (is_at(self, at, item->key, item->lane) && strcmp(self->items[at].text, item->text) != 0)
            return false;
    }
    return true;
}

void tnd_adapted_write(const tnd_adapted_t *self, FILE *out)
{
    for (size_t i = 0; self != NULL && i < self->count; i++) {
        const char *at = self->items[i].text;
        while (*at != '\0') {
            size_t size = 0; /* of whole words */
            for (size_t more = strcspn(at, " ");
                 more > 0 && (size == 0 || size + more <= TND_ADAPTED_WORD_MAX);
                 more = at[size] == ' ' ? 1 + strcspn(at + size + 1, " ") : 0)
                size += more;
            fprintf(out, "adapted %" PRIx64 " %" PRIu32 " %.*s\n", self->items[i].key,
                    self->items[i].lane, (int)size, at);
            at += size + (at[size] == ' ');
        }
    }
}

static bool are_words(const char *text)
{
    size_t size;
    for (; (size = strcspn(text, " ")) > 0 && size <= TND_ADAPTED_WORD_MAX; text += size + 1)
        if (text[size] == '\0')
            return true;
    return false;
}

bool tnd_adapted_read(tnd_adapted_t **self_p, const char *line)
{
    uint64_t key;
    uint32_t lane;
    int used = 0;
    if (sscanf(line, "adapted %" SCNx64 " %" SCNu32 " %n", &key, &lane, &used) != 2 || used == 0 ||
        !are_words(line + used))
        return false;
    tnd_adapted_add(self_p, key, lane, line + used);
    return true;
}
