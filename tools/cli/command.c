/*  tools/cli/command.c - the list of subcommands, and how they complain. */
#include "tools/cli/command.h"

#include <stdarg.h>
#include <stdio.h>
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

static void complain(const char *command, const char *format, va_list list)
{
    fprintf(stderr, "tundish%s%s: ", *command != '\0' ? " " : "", command);
    vfprintf(stderr, format, list);
}

int tnd_usage_error(const char *command, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    complain(command, format, list);
    va_end(list);
    fprintf(stderr, "; see tundish %s%s--help\n", command, *command != '\0' ? " " : "");
    return TND_EXIT_USAGE;
}

void tnd_complain(const char *command, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    complain(command, format, list);
    va_end(list);
    fputc('\n', stderr);
}

bool tnd_request_names(const tnd_request_t *self, const char *name)
{
    for (size_t i = 0; i < self->file_count; i++)
        if (strcmp(self->files[i], name) == 0)
            return true;
    return self->file_count == 0;
}
