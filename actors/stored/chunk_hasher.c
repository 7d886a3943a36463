/*  actors/stored/chunk_hasher.c - hashes of the chunks of a file while it is written. */
#include "actors/stored/chunk_hasher.h"

#include <stdlib.h>

#define XXH_STATIC_LINKING_ONLY /* the size of a state */
#include <xxhash.h>

#include "runtime/base/allocation.h"

struct tnd_chunk_hasher {
    XXH3_state_t state;
    size_t filled; /* bytes of the last chunk */
    uint64_t *items;
    size_t count, room;
};

tnd_chunk_hasher_t *tnd_chunk_hasher_new(void)
{
    /* The state has an alignment of its own. */
    tnd_chunk_hasher_t *self = tnd_allocate_aligned(64, sizeof *self);
    *self = (tnd_chunk_hasher_t){0};
    (void)XXH3_64bits_reset(&self->state);
    return self;
}

void tnd_chunk_hasher_destroy(tnd_chunk_hasher_t **self_p)
{
    if (*self_p != NULL)
        free((*self_p)->items);
    free(*self_p);
    *self_p = NULL;
}

static void end_chunk(tnd_chunk_hasher_t *self)
{
    self->items = tnd_grow(self->items, self->count, &self->room, sizeof *self->items);
    self->items[self->count++] = XXH3_64bits_digest(&self->state);
    self->filled = 0;
    (void)XXH3_64bits_reset(&self->state);
}

void tnd_chunk_hasher_add(tnd_chunk_hasher_t *self, const void *data, size_t size)
{
    for (size_t done = 0, some; done < size; done += some) {
        size_t room = TND_CHUNK_BYTES - self->filled;
        some = size - done < room ? size - done : room;
        (void)XXH3_64bits_update(&self->state, (const uint8_t *)data + done, some);
        self->filled += some;
        if (self->filled == TND_CHUNK_BYTES)
            end_chunk(self);
    }
}

const uint64_t *tnd_chunk_hasher_end(tnd_chunk_hasher_t *self, size_t *count_p)
{
    if (self->filled > 0)
        end_chunk(self);
    *count_p = self->count;
    return self->items;
}
