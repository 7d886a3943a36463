/*  tools/cli/arguments.h - parses a command line by the options of its command.
 *
 *  Options and files may have any order; `--name value` and `--name=value` are the same; `--` ends
 *  the options.  A command describes its own options; those that several commands have are described
 *  once, in arguments.c.
 *
 *  Threads: the main one. */
#ifndef TND_TOOLS_CLI_ARGUMENTS_H
#define TND_TOOLS_CLI_ARGUMENTS_H

#include "tools/cli/command.h"

/*  The description of an option: its own, or that of the common one of its name. */
const tnd_argument_t *tnd_argument_described(const tnd_argument_t *argument);
/*  The described option of the index-th name, in the order of the commands; NULL after the last. */
const tnd_argument_t *tnd_argument_at(size_t index);
/*  The commands that accept an option of this name, "run, up", truncated if there are too many. */
void tnd_argument_owners(const tnd_argument_t *argument, char *text, size_t room);

/*  Parses the `count` words after the command's name.  Returns true if `*request` is filled.
 *  False: help or an error was printed, and *code_p is the exit code.  Call tnd_arguments_free in
 *  both cases. */
bool tnd_arguments_read(const tnd_command_t *command, char *const *words, size_t count,
                        tnd_request_t *request, int *code_p);

void tnd_arguments_free(const tnd_command_t *command, tnd_request_t *request);

/*  Prints the text of `--help`. */
void tnd_arguments_help(const tnd_command_t *command);

#endif
