/*  tools/top/screen.c - a rectangle of characters, each with an ink. */
#include "tools/top/screen.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/allocation.h"

void tnd_screen_clear(tnd_screen_t *self, unsigned rows, unsigned columns)
{
    free(self->cells);
    self->rows = rows;
    self->columns = columns;
    self->cells = tnd_allocate_zeroed((size_t)rows * columns + 1, sizeof *self->cells);
}

void tnd_screen_free(tnd_screen_t *self)
{
    free(self->cells);
    *self = (tnd_screen_t){0};
}

/*  Reads a code point and moves `*at` past it. */
static uint32_t next_character(const char **at)
{
    const unsigned char *byte = (const unsigned char *)*at;
    unsigned more = byte[0] < 0x80 ? 0 : byte[0] >= 0xf0 ? 3 : byte[0] >= 0xe0 ? 2 : 1;
    uint32_t character = byte[0];
    if (more > 0)
        character = byte[0] & (0x3fu >> more);
    for (unsigned i = 1; i <= more; i++) {
        if ((byte[i] & 0xc0) != 0x80) {
            *at += i;
            return '?';
        }
        character = character << 6 | (byte[i] & 0x3fu);
    }
    *at += more + 1;
    /* Control characters, combining marks and wide scripts take no column or two. */
    bool single =
        (character >= ' ' && character < 0x7f) || (character >= 0xa0 && character < 0x300) ||
        (character >= 0x370 && character < 0x483) || (character >= 0x2010 && character < 0x2600);
    return single ? character : '?';
}

static unsigned put_text(tnd_screen_t *self, unsigned row, unsigned column, unsigned end,
                         tnd_ink_t ink, const char *text)
{
    while (*text != '\0' && column < end) {
        uint32_t character = next_character(&text);
        if (row < self->rows && column < self->columns)
            self->cells[(size_t)row * self->columns + column] =
                (tnd_cell_t){.character = character, .ink = (uint8_t)ink};
        column++;
    }
    return column;
}

unsigned tnd_screen_put(tnd_screen_t *self, unsigned row, unsigned column, tnd_ink_t ink,
                        const char *format, ...)
{
    char text[2048];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return put_text(self, row, column, self->columns, ink, text);
}

static unsigned width_of(const char *text)
{
    unsigned width = 0;
    while (*text != '\0') {
        (void)next_character(&text);
        width++;
    }
    return width;
}

void tnd_screen_field(tnd_screen_t *self, unsigned row, unsigned column, unsigned width, bool right,
                      tnd_ink_t ink, const char *text)
{
    unsigned taken = width_of(text);
    unsigned begin = right && taken < width ? column + width - taken : column;
    put_text(self, row, begin, column + width, ink, text);
}

char *tnd_screen_text(const tnd_screen_t *self, unsigned row)
{
    unsigned end = self->columns;
    const tnd_cell_t *cells = self->cells + (size_t)row * self->columns;
    while (end > 0 && (cells[end - 1].character == 0 || cells[end - 1].character == ' '))
        end--;
    char *text = tnd_allocate_zeroed((size_t)end * 3 + 1, 1), *at = text;
    for (unsigned c = 0; c < end; c++) {
        uint32_t character = cells[c].character != 0 ? cells[c].character : ' ';
        if (character < 0x80) {
            *at++ = (char)character;
        } else if (character < 0x800) {
            *at++ = (char)(0xc0 | character >> 6);
            *at++ = (char)(0x80 | (character & 0x3f));
        } else {
            *at++ = (char)(0xe0 | character >> 12);
            *at++ = (char)(0x80 | (character >> 6 & 0x3f));
            *at++ = (char)(0x80 | (character & 0x3f));
        }
    }
    return text;
}
