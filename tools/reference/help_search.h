/*  tools/reference/help_search.h - searches a word in pages, commands, parts, keys and options.
 *
 *  Threads: the main one. */
#ifndef TND_TOOLS_REFERENCE_HELP_SEARCH_H
#define TND_TOOLS_REFERENCE_HELP_SEARCH_H

#include <stdbool.h>

#include "runtime/text/diagnostic.h"

typedef enum {
    TND_HELP_SEARCH_NAME, /* keys and options with this name */
    TND_HELP_SEARCH_TEXT /* pages and all else that has the word in its text, sentence or choices */
} tnd_help_search_t;

/*  Prints each match with its owner and its sentence after `title`, or all as one object of JSON.
 *  False: nothing matches, and nothing was printed. */
bool tnd_help_search_print(const char *word, tnd_help_search_t how, const char *title, bool json);

/*  Offers the names of all keys and options. */
void tnd_help_search_offer(tnd_nearest_t *nearest);

#endif
