/*  tools/new/left_out.c - files and folders that detection does not use, and why. */
#include "tools/new/left_out.h"

#include <string.h>

#include "runtime/text/json_string.h"
#include "runtime/text/printable.h"

enum { SHOWN = 3, JSON_SHOWN = 100 };

void tnd_left_out_add(tnd_left_out_list_t *self, tnd_arena_t *arena, const tnd_left_out_t *item)
{
    if ((self->count & (self->count - 1)) == 0) { /* it is full: double it */
        tnd_left_out_t *items = tnd_arena_array(arena, 2 * self->count + 1, sizeof *items);
        if (self->count > 0)
            memcpy(items, self->items, self->count * sizeof *items);
        self->items = items;
    }
    self->items[self->count++] = *item;
}

void tnd_left_out_remove(tnd_left_out_list_t *self, size_t index)
{
    self->count--;
    memmove(self->items + index, self->items + index + 1,
            (self->count - index) * sizeof *self->items);
}

size_t tnd_left_out_fed(const tnd_left_out_list_t *self)
{
    size_t fed = 0;
    for (size_t i = 0; i < self->count; i++)
        fed += self->items[i].fed;
    return fed;
}

static bool is_alike(const tnd_left_out_t *a, const tnd_left_out_t *b)
{
    return a->fed == b->fed && strcmp(a->what, b->what) == 0;
}

/*  Prints the paths that have the reason of the item at `first`, unless an earlier one has it. */
static void print_reason(const tnd_left_out_list_t *self, size_t first, FILE *out)
{
    size_t count = 0;
    for (size_t i = 0; i < first; i++)
        if (is_alike(&self->items[i], &self->items[first]))
            return;
    for (size_t i = first; i < self->count; i++)
        if (is_alike(&self->items[i], &self->items[first]) && count++ < SHOWN) {
            fputs(count > 1 ? ", " : "  ", out);
            tnd_printable_print(self->items[i].path, out);
        }
    if (count > SHOWN)
        fprintf(out, " and %zu more", count - SHOWN);
    fputs(": ", out);
    tnd_printable_print(self->items[first].what, out);
    putc('\n', out);
}

static void print_some(const tnd_left_out_list_t *self, bool fed, FILE *out)
{
    for (size_t i = 0; i < self->count; i++)
        if (self->items[i].fed == fed)
            print_reason(self, i, out);
}

void tnd_left_out_print(const tnd_left_out_list_t *self, const char *prefix, FILE *out)
{
    size_t fed = tnd_left_out_fed(self), others = self->count - fed;
    if (fed > 0) {
        fprintf(
            out, "%s%zu file%s cannot be decoded; `on_error: skip` leaves %s out and counts %s:\n",
            prefix, fed, fed == 1 ? "" : "s", fed == 1 ? "it" : "them", fed == 1 ? "it" : "them");
        print_some(self, true, out);
    }
    if (others > 0) {
        fprintf(out, "%s%zu %s not used:\n", prefix, others, others == 1 ? "name is" : "names are");
        print_some(self, false, out);
    }
}

void tnd_left_out_print_json(const tnd_left_out_list_t *self, FILE *out)
{
    fputc('[', out);
    for (size_t i = 0; i < self->count && i < JSON_SHOWN; i++) {
        fputs(i > 0 ? ",{\"path\":" : "{\"path\":", out);
        tnd_json_string_print(self->items[i].path, out);
        fputs(",\"what\":", out);
        tnd_json_string_print(self->items[i].what, out);
        fprintf(out, ",\"bad_row\":%s}", self->items[i].fed ? "true" : "false");
    }
    fputc(']', out);
}
