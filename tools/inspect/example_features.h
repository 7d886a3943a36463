/*  tools/inspect/example_features.h - the operation that makes columns of tf.Example messages.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_INSPECT_EXAMPLE_FEATURES_H
#define TND_TOOLS_INSPECT_EXAMPLE_FEATURES_H

#include <stdio.h>

#include "tools/inspect/example_keys.h"

/*  "parse_example: {column: record, features: {label: i64}}" for messages like those seen, or
 *  parse_sequence_example.  A key that all messages have with the same number of values becomes a
 *  column of that shape, another a ragged one.  NULL if no key can become a column, or if other
 *  records are among the messages.  The caller frees it. */
char *tnd_example_features(const tnd_example_keys_t *keys, const char *column);

/*  Writes the operations, indented as in a new topology, that decode the columns that are JPEG and PNG
 *  files in all messages, of a chain that trains or one that validates. */
void tnd_example_features_pictures(const tnd_example_keys_t *keys, bool validates, FILE *out);

/*  "`a` has several types; `b` has no values": the keys that are not in the operation, and why.  NULL:
 *  all are.  The caller frees it. */
char *tnd_example_features_left_out(const tnd_example_keys_t *keys);

#endif
