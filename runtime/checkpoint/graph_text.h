/*  runtime/checkpoint/graph_text.h - graphs as manifests have them: what two of them differ in.
 *
 *  A graph is the text of tnd_topology_print, a line per actor and link, then a line per plugin and module:
 *
 *      read: reader {source: {npy: {"x": ["x.npy"]}}, epochs: 2}
 *      read -> batch
 *      plugin step mlp 0123456789abcdef
 *      python my_transforms:tokenize 0123456789abcdef
 *
 *  Threads: any. */
#ifndef TND_RUNTIME_CHECKPOINT_GRAPH_TEXT_H
#define TND_RUNTIME_CHECKPOINT_GRAPH_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*  Describes the first entry that differs: "batch: `size: 16` was `size: 32`". */
void tnd_graph_text_difference(const char *was, const char *is, char *text, size_t room);

/*  The value of an option of an actor, up to the comma or brace after it; NULL: it has none. */
const char *tnd_graph_text_option(const char *graph, const char *actor, const char *option,
                                  size_t *size_p);

/*  Whether two graphs are equal but for the value of one option, and for plugins. */
bool tnd_graph_text_equal_but(const char *was, const char *is, const char *actor,
                              const char *option);

#endif
