/*  tools/cli/command.c - how subcommands report errors. */
#include "tools/cli/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char last[400];

static void complain(const char *command, const char *format, va_list list)
{
    va_list again;
    va_copy(again, list);
    vsnprintf(last, sizeof last, format, again);
    va_end(again);
    last[strcspn(last, "\n")] = '\0';
    fprintf(stderr, "tundish%s%s: ", *command != '\0' ? " " : "", command);
    vfprintf(stderr, format, list);
}

const char *tnd_last_complaint(void)
{
    return last;
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
