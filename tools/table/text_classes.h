/*  tools/table/text_classes.h - the different texts of a column, if they are few enough to be classes.
 *
 *  Threads: one at a time. */
#ifndef TND_TOOLS_TABLE_TEXT_CLASSES_H
#define TND_TOOLS_TABLE_TEXT_CLASSES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { TND_TEXT_CLASSES_MAX = 50, TND_CLASS_TEXT_MAX = 64 };

typedef struct {
    char items[TND_TEXT_CLASSES_MAX][TND_CLASS_TEXT_MAX];
    uint32_t count;
    bool many;    /* more texts than that, or longer ones */
    bool foreign; /* a text that is not UTF-8, which no topology can hold */
} tnd_text_classes_t;

/*  The text of rows that lack one, which is a class too. */
extern const char tnd_missing_class[];

/*  Adds a text of fewer than TND_CLASS_TEXT_MAX bytes, unless it is there. */
void tnd_text_classes_add(tnd_text_classes_t *self, const char *text);
/*  Takes a text out again, if it is there. */
void tnd_text_classes_remove(tnd_text_classes_t *self, const char *text);
/*  Whether the texts of `rows` rows are classes: each occurs twice on average. */
bool tnd_text_classes_few(const tnd_text_classes_t *self, uint64_t rows);
/*  Whether the texts are all whole numbers from *first_p, which is 0 or 1, to *last_p. */
bool tnd_text_classes_range(const tnd_text_classes_t *self, uint64_t *first_p, uint64_t *last_p);
/*  A comment for a column of texts that are not classes. */
const char *tnd_text_classes_note(const tnd_text_classes_t *self);
/*  Prints the operation that numbers the texts of a column from 0, in their order; call it once.
 *  `missing`: the column has rows of tnd_missing_class. */
void tnd_text_classes_print(tnd_text_classes_t *self, const char *column, bool missing, FILE *out);

#endif
