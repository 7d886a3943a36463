/*  actors/op/text/class_list.c - texts that are the numbers 0, 1, 2 ... */
#include "actors/op/text/class_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

static int compare(const void *a, const void *b)
{
    const tnd_class_t *one = a, *other = b;
    if (one->size != other->size)
        return one->size < other->size ? -1 : 1;
    return one->size == 0 ? 0 : memcmp(one->text, other->text, one->size);
}

tnd_status_t tnd_class_list_init(tnd_class_list_t *self, const tnd_strings_t *texts,
                                 tnd_error_t *error)
{
    *self = (tnd_class_list_t){.items = tnd_allocate(texts->count + 1, sizeof *self->items),
                               .count = texts->count};
    for (size_t i = 0; i < texts->count; i++) {
        size_t size = strlen(texts->items[i]);
        self->items[i] = (tnd_class_t){.text = texts->items[i], .size = size, .number = i};
        self->longest = size > self->longest ? size : self->longest;
    }
    qsort(self->items, self->count, sizeof *self->items, compare);
    for (size_t i = 1; i < self->count; i++)
        if (compare(&self->items[i - 1], &self->items[i]) == 0)
            return tnd_fail(error, "`classes` has `%s` twice", self->items[i].text);
    return TND_OK;
}

void tnd_class_list_free(tnd_class_list_t *self)
{
    free(self->items);
    *self = (tnd_class_list_t){0};
}

const tnd_class_t *tnd_class_list_find(const tnd_class_list_t *self, const void *text, size_t size)
{
    const tnd_class_t wanted = {.text = text, .size = size};
    return bsearch(&wanted, self->items, self->count, sizeof *self->items, compare);
}

const char *tnd_class_list_text(const tnd_class_list_t *self, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint64_t number = 0; number < self->count; number++)
        for (size_t i = 0; i < self->count; i++) {
            if (self->items[i].number != number)
                continue;
            if (used + self->items[i].size + sizeof ",  ..." > room) {
                snprintf(text + used, room - used, "%s...", used > 0 ? ", " : "");
                return text;
            }
            used += (size_t)snprintf(text + used, room - used, "%s%s", used > 0 ? ", " : "",
                                     self->items[i].text);
        }
    return text;
}
