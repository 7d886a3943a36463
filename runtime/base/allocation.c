/*  runtime/base/allocation.c - memory that the program cannot work without. */
#include "runtime/base/allocation.h"

#include <pthread.h>
#include <stdarg.h>
#include <string.h>

enum { ROOM_MIN = 16 };

/*  The thread has the name of its actor. */
static _Noreturn void fail(const char *what)
{
    char name[16] = "";
    (void)pthread_getname_np(pthread_self(), name, sizeof name);
    fprintf(stderr, "tundish: thread %s cannot allocate %s: memory is exhausted\n", name, what);
    abort();
}

static _Noreturn void fail_items(size_t count, size_t size)
{
    char what[64];
    if (count == 1)
        snprintf(what, sizeof what, "%zu bytes", size);
    else
        snprintf(what, sizeof what, "%zu x %zu bytes", count, size);
    fail(what);
}

/*  At least 1, as an allocator may return NULL for 0. */
static size_t product(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        fail_items(count, size);
    return bytes > 0 ? bytes : 1;
}

void *tnd_allocate(size_t count, size_t size)
{
    return tnd_resize(NULL, count, size);
}

void *tnd_allocate_zeroed(size_t count, size_t size)
{
    void *items = calloc(1, product(count, size));
    if (items == NULL)
        fail_items(count, size);
    return items;
}

void *tnd_allocate_aligned(size_t alignment, size_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, alignment, product(1, bytes)) != 0)
        fail_items(1, bytes);
    return memory;
}

void *tnd_resize(void *items, size_t count, size_t size)
{
    items = realloc(items, product(count, size));
    if (items == NULL)
        fail_items(count, size);
    return items;
}

void *tnd_grow(void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return items;
    *room = count < ROOM_MIN ? ROOM_MIN : 2 * count;
    return tnd_resize(items, *room, size);
}

char *tnd_copy_string(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(tnd_allocate(1, size), text, size);
}

char *tnd_format_string(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    size_t size = (size_t)vsnprintf(NULL, 0, format, values) + 1;
    va_end(values);
    char *text = tnd_allocate(1, size);
    va_start(values, format);
    vsnprintf(text, size, format, values);
    va_end(values);
    return text;
}

FILE *tnd_memory_stream(char **text_p, size_t *size_p)
{
    return tnd_require_memory(open_memstream(text_p, size_p));
}

void *tnd_require_memory(void *memory)
{
    if (memory == NULL)
        fail("what a library needs");
    return memory;
}
