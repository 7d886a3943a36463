/*  runtime/base/allocation.h - memory that the program cannot work without.
 *
 *  The caller releases each result with free().  No result is NULL, also if 0 bytes are asked for.
 *  Code that can report a lack of memory as an error uses malloc().
 *
 *  Threads: any.
 *  Errors: if memory is exhausted or a size overflows, the process writes a line to stderr
 *  with the name of the thread and the bytes, and aborts. */
#ifndef TND_RUNTIME_BASE_ALLOCATION_H
#define TND_RUNTIME_BASE_ALLOCATION_H

#include <stdio.h>
#include <stdlib.h>

/*  `count` items of `size` bytes. */
void *tnd_allocate(size_t count, size_t size);
void *tnd_allocate_zeroed(size_t count, size_t size);

/*  `alignment` is a power of two and a multiple of sizeof(void *). */
void *tnd_allocate_aligned(size_t alignment, size_t bytes);

/*  Changes the number of items, as realloc(). */
void *tnd_resize(void *items, size_t count, size_t size);

/*  Makes room for one item more: doubles `*room` if `count` has reached it.  Returns the items. */
void *tnd_grow(void *items, size_t count, size_t *room, size_t size);

char *tnd_copy_string(const char *text);
char *tnd_format_string(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*  As open_memstream(). */
FILE *tnd_memory_stream(char **text_p, size_t *size_p);

/*  Returns `memory`, which a library allocated; aborts if it is NULL. */
void *tnd_require_memory(void *memory);

#endif
