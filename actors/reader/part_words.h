/*  actors/reader/part_words.h - the parts of all rows by the values of a column, as words.
 *
 *  They are found, stored and sent as the values of `auto` options are: "by ROWS PARTS VALUES", the values
 *  of each part, and the text of row_parts.h; "stratified ROWS PARTS VALUES", for each value "=NAME" and its
 *  rows in each part, and that text.
 *
 *  Ownership: the words remain the caller's.
 *  Threads: any. */
#ifndef TND_ACTORS_READER_PART_WORDS_H
#define TND_ACTORS_READER_PART_WORDS_H

#include <stdio.h>

#include "actors/plan/kind_options.h"
#include "runtime/core/places/row_parts.h"
#include "runtime/data/stream.h"

/*  Values that `stratified` takes, and bytes of the name of one, at most. */
enum { TND_PART_CLASSES_MAX = 65536, TND_PART_NAME_MAX = 256 };

typedef struct {
    bool stratified;
    uint32_t values;
    tnd_row_parts_t rows;
    uint64_t counts[TND_PLACES_PARTS_MAX]; /* rows of each part */
    const char *words;                     /* of the values */
} tnd_part_words_t;

/*  Whether `text` is such. */
bool tnd_part_words_read(tnd_part_words_t *self, const char *text);
/*  The parts of an order by a list, if that is known. */
bool tnd_part_words_find(tnd_part_words_t *self, const tnd_stream_t *stream, uint64_t list);

/*  Writes the word of the name of a value. */
void tnd_part_words_name(const void *name, size_t size, FILE *out);
/*  A line of each value with its rows in each part, for people, after `indent`; at most `most` lines. */
void tnd_part_words_show(const tnd_part_words_t *self, const char *indent, uint32_t most,
                         FILE *out);

/*  The name of the list of a part; 0: it is by the number of the row. */
uint64_t tnd_part_words_key(const tnd_order_part_t *part);

#endif
