/*  runtime/core/places/row_parts.c - which part each stored row is of, as a text. */
#include "runtime/core/places/row_parts.h"

#include <string.h>

#include "runtime/base/bounds.h"

/*  Characters of a word, and of a block; words have whole blocks. */
enum { WORD = 768, BLOCK = 64, SIX_BITS = 63 };

static uint32_t bits_of(uint32_t parts)
{
    return parts <= 2 ? 1 : parts <= 4 ? 2 : parts <= 8 ? 3 : 4;
}

/*  Rows of a character. */
static uint32_t each_of(uint32_t parts)
{
    return 6 / bits_of(parts);
}

static uint64_t characters_of(uint64_t rows, uint32_t parts)
{
    return (rows + each_of(parts) - 1) / each_of(parts);
}

/*  Where character `at` is: each word but the last ends with a space. */
static uint64_t place_of(uint64_t at)
{
    return at + at / WORD;
}

size_t tnd_row_parts_bytes(uint64_t rows, uint32_t parts)
{
    uint64_t characters = characters_of(rows, parts);
    return characters > 0 ? place_of(characters - 1) + 2 : 1;
}

void tnd_row_parts_write(const uint32_t *part_of, uint64_t rows, uint32_t parts, char *text)
{
    uint32_t bits = bits_of(parts), each = each_of(parts);
    for (uint64_t row = 0, at = 0; row < rows; row += each, at++) {
        uint32_t six = 0;
        for (uint32_t i = 0; i < each && row + i < rows; i++)
            six |= part_of[row + i] << (i * bits);
        if (at > 0 && at % WORD == 0)
            text[place_of(at) - 1] = ' ';
        text[place_of(at)] = (char)('0' + six);
    }
    text[tnd_row_parts_bytes(rows, parts) - 1] = '\0';
}

static uint32_t part_in(uint32_t six, uint32_t slot, uint32_t bits)
{
    return six >> (slot * bits) & ((1U << bits) - 1);
}

bool tnd_row_parts_check(const tnd_row_parts_t *self, uint64_t counts[TND_PLACES_PARTS_MAX])
{
    uint32_t bits = bits_of(self->parts), each = each_of(self->parts);
    memset(counts, 0, TND_PLACES_PARTS_MAX * sizeof counts[0]);
    if (self->rows > TND_ROW_PARTS_MAX ||
        strlen(self->text) != tnd_row_parts_bytes(self->rows, self->parts) - 1)
        return false;
    for (uint64_t row = 0, at = 0; row < self->rows; row += each, at++) {
        uint32_t six = (uint32_t)(unsigned char)self->text[place_of(at)] - '0';
        if (six > SIX_BITS || (at > 0 && at % WORD == 0 && self->text[place_of(at) - 1] != ' '))
            return false;
        for (uint32_t i = 0; i < each; i++) {
            uint32_t part = part_in(six, i, bits);
            if (row + i < self->rows ? part >= self->parts : part > 0)
                return false;
            counts[part] += row + i < self->rows;
        }
    }
    return true;
}

uint64_t tnd_row_parts_count(const tnd_row_parts_t *self, uint32_t chosen, uint64_t from,
                             uint64_t to)
{
    uint32_t bits = bits_of(self->parts), each = each_of(self->parts);
    uint64_t count = 0;
    for (uint64_t row = from; row < to; row++) {
        uint32_t six = (uint32_t)(self->text[place_of(row / each)] - '0');
        count += chosen >> part_in(six, (uint32_t)(row % each), bits) & 1;
    }
    return count;
}

size_t tnd_row_finder_bytes(uint64_t rows, uint32_t parts)
{
    return (characters_of(rows, parts) / BLOCK + 2) * sizeof(uint64_t);
}

/*  Rows of the chosen parts in character `at`. */
static uint32_t held_in(const tnd_row_finder_t *self, uint64_t at)
{
    return self->held[(uint32_t)(self->parts->text[place_of(at)] - '0') & SIX_BITS];
}

/*  What follows the last row counts as of part 0 and is never asked for. */
void tnd_row_finder_init(tnd_row_finder_t *self, const tnd_row_parts_t *parts, uint32_t chosen,
                         uint64_t *before)
{
    uint32_t bits = bits_of(parts->parts), each = each_of(parts->parts);
    uint64_t characters = characters_of(parts->rows, parts->parts), found = 0;
    *self = (tnd_row_finder_t){.parts = parts, .chosen = chosen, .before = before};
    for (uint32_t six = 0; six <= SIX_BITS; six++)
        for (uint32_t i = 0; i < each; i++)
            self->held[six] = (uint8_t)(self->held[six] + (chosen >> part_in(six, i, bits) & 1));
    for (uint64_t at = 0; at < characters; at++) {
        if (at % BLOCK == 0)
            before[at / BLOCK] = found;
        found += held_in(self, at);
    }
    before[(characters + BLOCK - 1) / BLOCK] = found;
}

/*  Goes to the block that has row `number` of the chosen parts. */
static void go_to_block(tnd_row_finder_t *self, uint64_t number)
{
    uint64_t blocks = (characters_of(self->parts->rows, self->parts->parts) + BLOCK - 1) / BLOCK;
    uint64_t after;
    TND_LOWER_BOUND(after, 1, blocks, self->before[after] <= number);
    self->at = (after - 1) * BLOCK;
    self->number = self->before[after - 1];
}

uint64_t tnd_row_finder_row(tnd_row_finder_t *self, uint64_t number)
{
    uint32_t bits = bits_of(self->parts->parts), each = each_of(self->parts->parts);
    if (number < self->number || number >= self->before[self->at / BLOCK + 1])
        go_to_block(self, number);
    for (uint32_t held; number - self->number >= (held = held_in(self, self->at)); self->at++)
        self->number += held;
    uint32_t six = (uint32_t)(self->parts->text[place_of(self->at)] - '0'), slot = 0;
    for (uint64_t left = number - self->number;; slot++)
        if ((self->chosen >> part_in(six, slot, bits) & 1) != 0 && left-- == 0)
            break;
    return self->at * each + slot;
}
