/*  tools/versions.h - which tundish this is, and what it stands on.
 *
 *  Threads: any.
 */
#ifndef TUNDISH_TOOLS_VERSIONS_H
#define TUNDISH_TOOLS_VERSIONS_H

#include <stdio.h>

/*  "tundish 0.1.0", then a line a library. */
void tnd_versions_print(FILE *out);
/*  The same as a JSON object. */
void tnd_versions_print_json(FILE *out);

#endif
