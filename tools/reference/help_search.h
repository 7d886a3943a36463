/*  tools/reference/help_search.h - where a word stands in all that can be written: keys of a
 * topology and options of commands, for those who know a word and not what it belongs to.
 *
 *  Threads: the main one.
 */
#ifndef TUNDISH_TOOLS_MENTION_H
#define TUNDISH_TOOLS_MENTION_H

#include <stdbool.h>

#include "runtime/text/diagnostic.h"

typedef enum {
    TND_HELP_SEARCH_NAME, /* what is called so: `shuffle` is reader.shuffle, `resume` --resume too
                           */
    TND_HELP_SEARCH_TEXT  /* what is not, but has it among its choices or in its sentence */
} tnd_help_search_t;

/*  Prints each of them with where it belongs and its sentence behind `title`, or as one object of
 *  JSON.  False: there is none, and nothing was printed.
 */
bool tnd_help_search_print(const char *word, tnd_help_search_t how, const char *title, bool json);

/*  Offers the names of all keys and options. */
void tnd_help_search_offer(tnd_nearest_t *nearest);

#endif
