/*  runtime/text/arena.h - memory that is allocated in pieces and freed at once.
 *
 *  A graph, its values, its options and its plan have the same lifetime; the owner frees them with
 *  one call.  The process aborts when memory is exhausted.
 *
 *  Threads: the one that created it. */
#ifndef TND_RUNTIME_TEXT_ARENA_H
#define TND_RUNTIME_TEXT_ARENA_H

#include <stdarg.h>
#include <stddef.h>

typedef struct tnd_arena tnd_arena_t;

tnd_arena_t *tnd_arena_new(void);

/*  Frees all memory of the arena and sets *self_p to NULL.  *self_p may be NULL. */
void tnd_arena_destroy(tnd_arena_t **self_p);

/*  Zeroed memory, aligned for any type, valid until the arena is destroyed.  Never NULL, also for
 *  size 0. */
void *tnd_arena_take(tnd_arena_t *self, size_t size);

/*  An array of `count` zeroed items; aborts if the product overflows. */
void *tnd_arena_array(tnd_arena_t *self, size_t count, size_t item_size);

/*  A NUL-terminated copy of `size` bytes of text. */
char *tnd_arena_text(tnd_arena_t *self, const char *text, size_t size);

/*  A formatted text. */
char *tnd_arena_format(tnd_arena_t *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *tnd_arena_vformat(tnd_arena_t *self, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

#endif
