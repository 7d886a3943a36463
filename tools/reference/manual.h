/*  tools/reference/manual.h - manual pages, from the option tables of commands and topologies.
 *
 *  They use the macros of man(7), for groff and mandoc: tundish(1), a page for each command,
 *  tundish-topology(5) for the files and tundish-topics(7).
 *
 *  Threads: the main one. */
#ifndef TND_TOOLS_REFERENCE_MANUAL_H
#define TND_TOOLS_REFERENCE_MANUAL_H

#include <stdio.h>

#include "tools/cli/command.h"

/*  tundish(1).  `general` is a paragraph about the program, `codes` lists its exit codes. */
void tnd_manual_print(FILE *out, const char *general, const char *codes);
/*  tundish-COMMAND(1) */
void tnd_manual_print_command(FILE *out, const tnd_command_t *command);
/*  tundish-topology(5) */
void tnd_manual_print_topology(FILE *out);
/*  tundish-topics(7): all topics of `tundish help`. */
void tnd_manual_print_topics(FILE *out);

#endif
