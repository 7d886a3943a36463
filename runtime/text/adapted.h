/*  runtime/text/adapted.h - the values that operations take from the training rows, for options that
 *  are `auto`.
 *
 *  An item has those of one operation, in the rows of the files of one lane; it is of lane 0 if all
 *  lanes share the files.  Hosts without the files get them before the facts of the stream.
 *
 *  Ownership: that of its maker; copies of a stream borrow it.
 *  Threads: one at a time while it is made, then any. */
#ifndef TND_RUNTIME_TEXT_ADAPTED_H
#define TND_RUNTIME_TEXT_ADAPTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct {
    uint64_t key; /* of the operation: a hash of its name and options */
    uint32_t lane;
    char *text; /* words of printable ASCII, with a space between them; of an operation alone */
    size_t size, room; /* bytes of `text`, and those it has memory for */
} tnd_adapted_item_t;

typedef struct tnd_adapted tnd_adapted_t;

/*  Adds words to an item.  *self_p: NULL is an empty list. */
void tnd_adapted_add(tnd_adapted_t **self_p, uint64_t key, uint32_t lane, const char *words);
/*  Adds the items of another list that this one lacks; NULL has none. */
void tnd_adapted_merge(tnd_adapted_t **self_p, const tnd_adapted_t *other);
/*  Sets *self_p to NULL; NULL is allowed. */
void tnd_adapted_free(tnd_adapted_t **self_p);

/*  The items of an operation, by lane. */
const tnd_adapted_item_t *tnd_adapted_find(const tnd_adapted_t *self, uint64_t key,
                                           size_t *count_p);
/*  Whether no item that both have differs. */
bool tnd_adapted_agree(const tnd_adapted_t *self, const tnd_adapted_t *other);

/*  A word has at most so many bytes. */
enum { TND_ADAPTED_WORD_MAX = 900 };

/*  Writes lines "adapted KEY LANE WORDS" that are short enough for a reader of payloads / adds the words of
 *  one; false: it is another line, or has a word that is empty or too long. */
void tnd_adapted_write(const tnd_adapted_t *self, FILE *out);
bool tnd_adapted_read(tnd_adapted_t **self_p, const char *line);

#endif
