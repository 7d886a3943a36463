/*  actors/op/text/word_counts.h - different texts, and how often each occurs.
 *
 *  Ownership: it has copies of the texts, which are valid until it is destroyed.
 *  Threads: one at a time. */
#ifndef TND_ACTORS_OP_TEXT_WORD_COUNTS_H
#define TND_ACTORS_OP_TEXT_WORD_COUNTS_H

#include <stdio.h>

#include "runtime/option/option.h"

/*  Different texts, and bytes of one, at most. */
enum { TND_WORD_COUNTS_MAX = 65536, TND_WORD_BYTES_MAX = 256 };

typedef struct tnd_word_counts tnd_word_counts_t;

tnd_word_counts_t *tnd_word_counts_new(void);
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_word_counts_destroy(tnd_word_counts_t **self_p);

/*  Errors: TND_FAILED if there are too many texts, or it is too long or has a zero byte. */
tnd_status_t tnd_word_counts_add(tnd_word_counts_t *self, const void *text, size_t size,
                                 uint64_t count, tnd_error_t *error) TND_CHECKED;

/*  Writes a word " COUNT=TEXT" for each, in the order of their bytes; those that are not printable ASCII as
 *  %HEX. */
void tnd_word_counts_write(tnd_word_counts_t *self, FILE *out);
/*  Adds the text of such a word, of `size` bytes.  Errors: TND_FAILED if it is not one. */
tnd_status_t tnd_word_counts_read(tnd_word_counts_t *self, const char *word, size_t size,
                                  tnd_error_t *error) TND_CHECKED;

/*  All texts, in the order of their bytes, or with the most frequent first, and of those as frequent the
 *  last by their bytes, as in Keras.  Valid until the next call. */
tnd_strings_t tnd_word_counts_sorted(tnd_word_counts_t *self);
tnd_strings_t tnd_word_counts_ranked(tnd_word_counts_t *self);

#endif
