/*  transport/memory.h - memory of connections, which nobody can go on without. */
#ifndef TND_TRANSPORT_MEMORY_H
#define TND_TRANSPORT_MEMORY_H

#include <stdio.h>
#include <stdlib.h>

/*  As realloc; never NULL. */
static inline void *tnd_memory_grow(void *memory, size_t count, size_t size)
{
    memory = realloc(memory, count * size);
    if (memory == NULL) {
        fprintf(stderr, "tundish: no memory for the connections of an actor\n");
        abort();
    }
    return memory;
}

#endif
