/*  runtime/text/arena.c - a list of chunks, each filled from its start. */
#include "runtime/text/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"
#include "runtime/base/bounds.h"

enum { CHUNK_BYTES = 16 * 1024 };

typedef struct chunk {
    struct chunk *next;
    size_t used;
    size_t size;
    alignas(max_align_t) unsigned char bytes[];
} chunk_t;

struct tnd_arena {
    chunk_t *chunks;
};

tnd_arena_t *tnd_arena_new(void)
{
    return tnd_allocate_zeroed(1, sizeof(tnd_arena_t));
}

void tnd_arena_destroy(tnd_arena_t **self_p)
{
    tnd_arena_t *self = *self_p;
    if (self == NULL)
        return;
    for (chunk_t *chunk = self->chunks; chunk != NULL;) {
        chunk_t *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    free(self);
    *self_p = NULL;
}

void *tnd_arena_take(tnd_arena_t *self, size_t size)
{
    size = size < SIZE_MAX / 2 ? tnd_align(size) : SIZE_MAX / 2;
    chunk_t *chunk = self->chunks;
    if (chunk == NULL || chunk->size - chunk->used < size) {
        size_t room = size > CHUNK_BYTES ? size : CHUNK_BYTES;
        chunk = tnd_allocate_zeroed(1, sizeof *chunk + room);
        chunk->size = room;
        chunk->next = self->chunks;
        self->chunks = chunk;
    }
    void *bytes = chunk->bytes + chunk->used;
    chunk->used += size;
    return bytes;
}

void *tnd_arena_array(tnd_arena_t *self, size_t count, size_t item_size)
{
    size_t size = 0;
    if (__builtin_mul_overflow(count, item_size, &size))
        size = SIZE_MAX;
    return tnd_arena_take(self, size);
}

char *tnd_arena_text(tnd_arena_t *self, const char *text, size_t size)
{
    char *copy = tnd_arena_take(self, size + 1);
    memcpy(copy, text, size);
    return copy;
}

char *tnd_arena_vformat(tnd_arena_t *self, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    size_t size = length < 0 ? 0 : (size_t)length;
    char *text = tnd_arena_take(self, size + 1);
    vsnprintf(text, size + 1, format, arguments);
    return text;
}

char *tnd_arena_format(tnd_arena_t *self, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = tnd_arena_vformat(self, format, arguments);
    va_end(arguments);
    return text;
}
