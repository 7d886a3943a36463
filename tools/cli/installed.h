/*  tools/cli/installed.h - finds the files that are installed with the program.
 *
 *  In a build tree these are ../examples of the program, in an installation share/tundish/examples
 *  of its prefix.
 *
 *  Threads: any.
 */
#ifndef TUNDISH_TOOLS_INSTALLED_H
#define TUNDISH_TOOLS_INSTALLED_H

#include "runtime/text/arena.h"

/*  The absolute path of a file of the examples, such as "topology.schema.json", in `arena`; NULL if
 *  it does not exist.
 */
const char *tnd_installed_find(tnd_arena_t *arena, const char *name);

#endif
