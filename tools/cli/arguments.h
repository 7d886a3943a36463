/*  tools/cli/arguments.h - parses a command line by the options of its command.
 *
 *  Options and files may have any order; `--name value` and `--name=value` are the same; `--` ends
 *  the options.  Every option is described once, in a table that this parser and the help read.
 *
 *  Threads: the main one. */
#ifndef TND_TOOLS_CLI_ARGUMENTS_H
#define TND_TOOLS_CLI_ARGUMENTS_H

#include "tools/cli/command.h"

typedef enum {
    TND_ARGUMENT_FLAG,
    TND_ARGUMENT_TEXT,
    TND_ARGUMENT_NUMBER, /* at least 1 */
    TND_ARGUMENT_COUNT,  /* at least 0 */
    TND_ARGUMENT_SETTING,
    TND_ARGUMENT_PLACE /* optional text, by default "latest"; a folder or manifest that follows
                          is its value */
} tnd_argument_type_t;

typedef struct {
    const char *name;  /* "--set" */
    const char *value; /* of its value, "KEY=VALUE"; NULL: it has none */
    const char *help;  /* a sentence */
    tnd_argument_type_t type;
    size_t offset; /* of its field in a request */
} tnd_argument_t;

/*  The option called `name`, which must exist. */
const tnd_argument_t *tnd_argument_find(const char *name);
/*  The index-th option; NULL after the last. */
const tnd_argument_t *tnd_argument_at(size_t index);
/*  The commands that accept it, "run, up", truncated if there are too many. */
void tnd_argument_owners(const tnd_argument_t *argument, char *text, size_t room);
/*  "-o" for "--output"; NULL: no letter. */
const char *tnd_argument_brief(const char *name);

/*  Parses the `count` words after the command's name.  Returns true if `*request` is filled.
 *  False: help or an error was printed, and *code_p is the exit code.  Call tnd_arguments_free in
 *  both cases. */
bool tnd_arguments_read(const tnd_command_t *command, char *const *words, size_t count,
                        tnd_request_t *request, int *code_p);

void tnd_arguments_free(tnd_request_t *request);

/*  Prints the text of `--help`. */
void tnd_arguments_help(const tnd_command_t *command);

#endif
