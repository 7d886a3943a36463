/*  tools/reference/words.h - answers words that are no names here: gpu, tokenizer, drop_last.
 *
 *  A line of words.def has words that mean the same, a sentence, and where to read on.  Threads: any. */
#ifndef TND_TOOLS_REFERENCE_WORDS_H
#define TND_TOOLS_REFERENCE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *words;  /* separated by spaces */
    const char *answer; /* what to do, or what is not offered and what to do instead */
    const char *see;    /* names for `tundish help`, separated by spaces */
} tnd_word_t;

/*  The entry that has `word`, in any case and with `-`, `_` or spaces; NULL: there is none. */
const tnd_word_t *tnd_word_find(const char *word);
/*  Prints an entry as text, in lines of at most 88 characters, or as an object of JSON. */
void tnd_word_print(const tnd_word_t *entry, const char *word, bool json);

#endif
