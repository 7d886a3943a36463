/*  tools/inspect/size_counts.c - how many records have which size. */
#include "tools/inspect/size_counts.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

enum { ROOM_LEAST = 64 };

/*  The place of a size, or a free one for it. */
static tnd_size_count_t *find(tnd_size_count_t *places, size_t room, uint64_t size)
{
    size_t at = (size_t)(size * 0x9E3779B97F4A7C15u >> 32) & (room - 1);
    while (places[at].count > 0 && places[at].size != size)
        at = (at + 1) & (room - 1);
    return &places[at];
}

static void grow(tnd_size_counts_t *self)
{
    size_t room = self->room > 0 ? 2 * self->room : ROOM_LEAST;
    tnd_size_count_t *places = tnd_allocate_zeroed(room, sizeof *places);
    for (size_t i = 0; i < self->room; i++)
        if (self->places[i].count > 0)
            *find(places, room, self->places[i].size) = self->places[i];
    free(self->places);
    self->places = places;
    self->room = room;
}

void tnd_size_counts_add(tnd_size_counts_t *self, uint64_t size)
{
    if (2 * self->used >= self->room)
        grow(self);
    tnd_size_count_t *place = find(self->places, self->room, size);
    self->used += place->count == 0;
    place->size = size;
    place->count++;
    self->min = self->count == 0 || size < self->min ? size : self->min;
    self->max = size > self->max ? size : self->max;
    self->count++;
    self->sum += size;
}

static int compare(const void *one, const void *other)
{
    uint64_t a = ((const tnd_size_count_t *)one)->size, b = ((const tnd_size_count_t *)other)->size;
    return a < b ? -1 : a > b;
}

uint64_t tnd_size_counts_quantile(const tnd_size_counts_t *self, unsigned percent)
{
    if (self->count == 0)
        return 0;
    tnd_size_count_t *sorted = tnd_allocate(self->used, sizeof *sorted);
    size_t used = 0, at = 0;
    for (size_t i = 0; i < self->room; i++)
        if (self->places[i].count > 0)
            sorted[used++] = self->places[i];
    qsort(sorted, used, sizeof *sorted, compare);
    uint64_t wanted = self->count / 100 * percent + (self->count % 100 * percent + 99) / 100;
    uint64_t seen = sorted[0].count;
    while (seen < wanted && at + 1 < used)
        seen += sorted[++at].count;
    uint64_t size = sorted[at].size;
    free(sorted);
    return size;
}

void tnd_size_counts_free(tnd_size_counts_t *self)
{
    free(self->places);
    *self = (tnd_size_counts_t){0};
}
