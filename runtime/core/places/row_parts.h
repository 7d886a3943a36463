/*  runtime/core/places/row_parts.h - which part each stored row is of, as a text.
 *
 *  A character has six bits, above '0': the parts of six rows or fewer, the first in the lowest bits.
 *  So it can be stored and sent beside the values of `auto` options, in words of so many characters.
 *
 *  Ownership: the text remains the caller's.
 *  Threads: read-only; any. */
#ifndef TND_RUNTIME_CORE_PLACES_ROW_PARTS_H
#define TND_RUNTIME_CORE_PLACES_ROW_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/core/places/place_map.h"

/*  Rows that can be divided, at most: a text of 43 MiB with two parts, of 256 MiB with more than
 *  eight. */
#define TND_ROW_PARTS_MAX (UINT64_C(1) << 28)

struct tnd_row_parts {
    const char *text;
    uint64_t rows;
    uint32_t parts; /* 2 to TND_PLACES_PARTS_MAX */
};

/*  Bytes of the text of so many rows, with the zero at its end. */
size_t tnd_row_parts_bytes(uint64_t rows, uint32_t parts);
/*  Writes the text: part_of[row] is below `parts`. */
void tnd_row_parts_write(const uint32_t *part_of, uint64_t rows, uint32_t parts, char *text);
/*  Whether `text` is one of so many rows; counts[part]: the rows of each. */
bool tnd_row_parts_check(const tnd_row_parts_t *self, uint64_t counts[TND_PLACES_PARTS_MAX]);

/*  How many of the rows [from, to) are of the parts whose bits `chosen` has. */
uint64_t tnd_row_parts_count(const tnd_row_parts_t *self, uint32_t chosen, uint64_t from,
                             uint64_t to);

/*  Finds the rows of the chosen parts by their number in them. */
typedef struct {
    const tnd_row_parts_t *parts;
    uint32_t chosen;     /* a bit of each part */
    uint8_t held[64];    /* by the six bits of a character: rows of these parts in it */
    uint64_t *before;    /* by block of characters: rows of these parts before it */
    uint64_t at, number; /* a character, and the rows of these parts before it */
} tnd_row_finder_t;

/*  Bytes of `before`, for so many rows. */
size_t tnd_row_finder_bytes(uint64_t rows, uint32_t parts);
void tnd_row_finder_init(tnd_row_finder_t *self, const tnd_row_parts_t *parts, uint32_t chosen,
                         uint64_t *before);
/*  The row that is number `number` of the parts, which have more; one after the other is fastest. */
uint64_t tnd_row_finder_row(tnd_row_finder_t *self, uint64_t number);

#endif
