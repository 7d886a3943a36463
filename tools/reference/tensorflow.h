/*  tools/reference/tensorflow.h - what public names of TensorFlow are here, by tensorflow.txt.
 *
 *  A name is found as a whole, `tf.data.Dataset.shuffle`, or by its end, `Dataset.shuffle`, in any case:
 *  programs call a dataset `dataset`.  Threads: any; the text is const. */
#ifndef TND_TOOLS_REFERENCE_TENSORFLOW_H
#define TND_TOOLS_REFERENCE_TENSORFLOW_H

#include <stdbool.h>

#include "runtime/text/arena.h"
#include "runtime/text/diagnostic.h"

/*  Prints the row of a name, or of `tf`, `tf.data` and other beginnings the names below them, as text
 *  or as an object of JSON.  False: the name does not exist, and nothing was printed. */
bool tnd_tensorflow_print(const char *name, bool json);

/*  Prints where the method of a dataset that has this name is described, if there is one. */
void tnd_tensorflow_mention(const char *name);

/*  Offers the ends of all names that have as many parts as the word; they are in `arena`. */
void tnd_tensorflow_offer(tnd_arena_t *arena, tnd_nearest_t *nearest);

#endif
