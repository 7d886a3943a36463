/*  runtime/text/arena.h - memory that is taken piece by piece and given back all at once.
 *
 *  A graph, its values, its options and its plan live exactly as long as each other; one owner
 *  frees them with one call.  Host memory exhaustion aborts here, in one place, with a text.
 *
 *  Threads: the one that made it.
 */
#ifndef TND_RUNTIME_TEXT_ARENA_H
#define TND_RUNTIME_TEXT_ARENA_H

#include <stdarg.h>
#include <stddef.h>

typedef struct tnd_arena tnd_arena_t;

tnd_arena_t *tnd_arena_new(void);

/*  Frees everything that was taken from it and sets *self_p to NULL.  NULL is allowed. */
void tnd_arena_destroy(tnd_arena_t **self_p);

/*  Zeroed memory, aligned for any type, valid until the arena is destroyed.  Never NULL, also for
 *  size 0.
 */
void *tnd_arena_take(tnd_arena_t *self, size_t size);

/*  An array of `count` zeroed items; aborts if the product overflows. */
void *tnd_arena_array(tnd_arena_t *self, size_t count, size_t item_size);

/*  A copy of `size` bytes of text, ended by a NUL. */
char *tnd_arena_text(tnd_arena_t *self, const char *text, size_t size);

/*  A formatted text. */
char *tnd_arena_format(tnd_arena_t *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *tnd_arena_vformat(tnd_arena_t *self, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

#endif
