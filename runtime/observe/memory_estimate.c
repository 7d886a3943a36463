/*  runtime/observe/memory_estimate.c - the most memory that something takes, term by term.  */
#include "runtime/observe/memory_estimate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void tnd_memory_estimate_add(tnd_memory_estimate_t *self, const char *who, uint64_t bytes,
                             const char *format, ...)
{
    if (bytes == 0)
        return;
    if (self->count == self->room) {
        self->room = 2 * self->room + 8;
        self->items = realloc(self->items, self->room * sizeof *self->items);
        if (self->items == NULL)
            abort();
    }
    tnd_memory_term_t *need = &self->items[self->count++];
    va_list list;
    va_start(list, format);
    vsnprintf(need->what, sizeof need->what, format, list);
    va_end(list);
    need->who = who;
    need->bytes = bytes;
    if (__builtin_add_overflow(self->bytes, bytes, &self->bytes))
        self->bytes = UINT64_MAX;
}

void tnd_memory_estimate_free(tnd_memory_estimate_t *self)
{
    free(self->items);
    *self = (tnd_memory_estimate_t){0};
}
