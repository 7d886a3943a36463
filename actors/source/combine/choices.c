/*  actors/source/combine/choices.c - which of several sources each row of a combination is of. */
#include "actors/source/combine/choices.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/allocation.h"

enum { CHUNK = 512 };

void tnd_choices_init(tnd_choices_t *self, uint32_t sources)
{
    assert(sources <= TND_CHOICES_SOURCES_MAX);
    *self = (tnd_choices_t){.sources = sources};
}

void tnd_choices_add(tnd_choices_t *self, uint32_t source)
{
    assert(source < self->sources);
    if (self->count % CHUNK == 0) {
        size_t row = self->sources * sizeof *self->before;
        self->before = tnd_grow(self->before, self->count / CHUNK, &self->before_room, row);
        memcpy(self->before + self->count / CHUNK * self->sources, self->rows, row);
    }
    self->chosen = tnd_grow(self->chosen, self->count, &self->room, 1);
    self->chosen[self->count++] = (uint8_t)source;
    self->rows[source]++;
}

void tnd_choices_find(const tnd_choices_t *self, uint64_t index, uint32_t *source_p,
                      uint64_t *row_p)
{
    size_t chunk = index / CHUNK;
    uint8_t source = self->chosen[index];
    uint64_t row = self->before[chunk * self->sources + source];
    for (size_t i = chunk * CHUNK; i < index; i++)
        row += self->chosen[i] == source;
    *source_p = source;
    *row_p = row;
}

size_t tnd_choices_bytes(const tnd_choices_t *self)
{
    return self->room + self->before_room * self->sources * sizeof *self->before;
}

void tnd_choices_free(tnd_choices_t *self)
{
    free(self->chosen);
    free(self->before);
}
