/*  runtime/observe/memory_estimate.c - an upper bound of memory, as a list of terms. */
#include "runtime/observe/memory_estimate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/allocation.h"

void tnd_memory_estimate_add(tnd_memory_estimate_t *self, const char *who, uint64_t bytes,
                             const char *format, ...)
{
    if (bytes == 0)
        return;
    self->items = tnd_grow(self->items, self->count, &self->room, sizeof *self->items);
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
