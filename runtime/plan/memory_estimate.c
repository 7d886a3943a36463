/*  runtime/plan/memory_estimate.c - an upper bound of memory, as a list of terms. */
#include "runtime/plan/memory_estimate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/allocation.h"

static void write_term(tnd_memory_term_t *term, const char *who, uint64_t bytes, const char *format,
                       va_list list)
{
    vsnprintf(term->what, sizeof term->what, format, list);
    term->who = who;
    term->bytes = bytes;
}

static void add(tnd_memory_estimate_t *self, const char *who, const char *option, uint64_t bytes,
                const char *format, va_list list)
{
    if (bytes == 0)
        return;
    self->items = tnd_grow(self->items, self->count, &self->room, sizeof *self->items);
    write_term(&self->items[self->count], who, bytes, format, list);
    self->items[self->count++].option = option;
    if (__builtin_add_overflow(self->bytes, bytes, &self->bytes))
        self->bytes = UINT64_MAX;
}

void tnd_memory_estimate_add(tnd_memory_estimate_t *self, const char *who, uint64_t bytes,
                             const char *format, ...)
{
    va_list list;
    va_start(list, format);
    add(self, who, NULL, bytes, format, list);
    va_end(list);
}

void tnd_memory_estimate_add_allowed(tnd_memory_estimate_t *self, const char *who,
                                     const char *option, uint64_t bytes, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    add(self, who, option, bytes, format, list);
    va_end(list);
}

void tnd_memory_estimate_add_device(tnd_memory_estimate_t *self, const char *device, uint64_t bytes,
                                    const char *format, ...)
{
    va_list list;
    self->devices =
        tnd_grow(self->devices, self->device_count, &self->device_room, sizeof *self->devices);
    va_start(list, format);
    write_term(&self->devices[self->device_count++], device, bytes, format, list);
    va_end(list);
}

void tnd_memory_estimate_free(tnd_memory_estimate_t *self)
{
    free(self->items);
    free(self->devices);
    *self = (tnd_memory_estimate_t){0};
}
