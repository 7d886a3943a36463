/*  tools/reference/manual.h - the pages of the manual, from the tables that the command line and
 * topology files are read by.
 *
 *  In the macros of man(7), for groff and mandoc.  tundish(1) and a page for each command,
 *  tundish-topology(5) for the files.
 *
 *  Threads: the main one.
 */
#ifndef TUNDISH_TOOLS_MANUAL_H
#define TUNDISH_TOOLS_MANUAL_H

#include <stdio.h>

#include "tools/cli/command.h"

/*  tundish(1).  `general`: what the program is, a paragraph; `codes`: its exit codes. */
void tnd_manual_print(FILE *out, const char *general, const char *codes);
/*  tundish-COMMAND(1) */
void tnd_manual_print_command(FILE *out, const tnd_command_t *command);
/*  tundish-topology(5) */
void tnd_manual_print_topology(FILE *out);

#endif
