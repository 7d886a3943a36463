/*  tools/cli/versions.h - which tundish this is, and what it stands on.
 *
 *  Threads: any.
 */
#ifndef TUNDISH_TOOLS_VERSIONS_H
#define TUNDISH_TOOLS_VERSIONS_H

#include <stdbool.h>
#include <stdio.h>

/*  "tundish 0.1.0", then a line a library. */
void tnd_versions_print(FILE *out);
/*  What it stands on, in one line without its end. */
void tnd_versions_print_libraries(FILE *out);
/*  Whether a library here is older than that which the program was built with. */
bool tnd_versions_old(void);
/*  The same as a JSON object. */
void tnd_versions_print_json(FILE *out);

#endif
