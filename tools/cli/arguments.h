/*  tools/cli/arguments.h - reads a command line by what a command takes.
 *
 *  Options and files may stand in any order; `--name value` and `--name=value` are the same; `--`
 *  ends the options.  Every option is described once, in the table that this and the help read.
 *
 *  Threads: the main one.
 */
#ifndef TUNDISH_TOOLS_ARGUMENTS_H
#define TUNDISH_TOOLS_ARGUMENTS_H

#include "tools/cli/command.h"

typedef enum {
    TND_ARGUMENT_FLAG,
    TND_ARGUMENT_TEXT,
    TND_ARGUMENT_NUMBER, /* from 1 */
    TND_ARGUMENT_SETTING,
    TND_ARGUMENT_PLACE /* a text that may be left out, and then is "latest": the word that follows
                          is taken if it is a folder, or a file called manifest */
} tnd_argument_type_t;

typedef struct {
    const char *name;  /* "--set" */
    const char *value; /* what follows, "KEY=VALUE"; NULL: nothing */
    const char *help;  /* a sentence */
    tnd_argument_type_t type;
    size_t offset; /* of its field in a request */
} tnd_argument_t;

/*  The option called `name`, which must be in the table. */
const tnd_argument_t *tnd_argument_find(const char *name);
/*  The index-th of all; NULL past the last. */
const tnd_argument_t *tnd_argument_at(size_t index);
/*  Whether a command takes it. */
bool tnd_argument_taken(const tnd_command_t *command, const tnd_argument_t *argument);
/*  "run, up": the commands that take it, cut at the end if there are too many. */
void tnd_argument_owners(const tnd_argument_t *argument, char *text, size_t room);
/*  "-o" of "--output"; NULL: it has no letter. */
const char *tnd_argument_brief(const char *name);

/*  Reads the `count` words after the command's name.  True: `*request` is filled.  False: there is
 *  nothing more to do, and *code_p is the exit code: help was asked for and printed, or something
 *  is wrong and was said.  Either way tnd_arguments_free ends the request.
 */
bool tnd_arguments_read(const tnd_command_t *command, char *const *words, size_t count,
                        tnd_request_t *request, int *code_p);

void tnd_arguments_free(tnd_request_t *request);

/*  Prints what `--help` says. */
void tnd_arguments_help(const tnd_command_t *command);

#endif
