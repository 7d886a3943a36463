/*  tools/cli/versions.h - the versions of the program and of its libraries.
 *
 *  Threads: any. */
#ifndef TND_TOOLS_CLI_VERSIONS_H
#define TND_TOOLS_CLI_VERSIONS_H

#include <stdbool.h>
#include <stdio.h>

/*  "tundish 0.1.0", then a line per library. */
void tnd_versions_print(FILE *out);
/*  The libraries in one line, without a newline. */
void tnd_versions_print_libraries(FILE *out);
/*  Whether an installed library is older than the one that the program was built with. */
bool tnd_versions_old(void);
/*  The versions of the program and of its libraries, as a JSON object. */
void tnd_versions_print_json(FILE *out);

#endif
