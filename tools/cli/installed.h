/*  tools/cli/installed.h - the files that come with the program, wherever it was put.
 *
 *  Beside the examples: ../examples of the program in a tree that was built, share/tundish/examples
 *  of the prefix where it is installed.
 *
 *  Threads: any.
 */
#ifndef TUNDISH_TOOLS_INSTALLED_H
#define TUNDISH_TOOLS_INSTALLED_H

#include "runtime/text/arena.h"

/*  The absolute path of a file of the examples, "topology.schema.json", in `arena`; NULL: it is not
 *  there.
 */
const char *tnd_installed_find(tnd_arena_t *arena, const char *name);

#endif
