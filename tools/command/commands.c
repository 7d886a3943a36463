/*  tools/command/commands.c - the list of subcommands. */
#include "tools/cli/command.h"

#include <string.h>

#define COMMAND(name) extern const tnd_command_t tnd_command_##name;
#include "tools/command/commands.def"
#undef COMMAND

static const tnd_command_t *const commands[] = {
#define COMMAND(name) &tnd_command_##name,
#include "tools/command/commands.def"
#undef COMMAND
};

const tnd_command_t *const *tnd_commands(size_t *count_p)
{
    *count_p = sizeof commands / sizeof commands[0];
    return commands;
}

const tnd_command_t *tnd_command_find(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}
