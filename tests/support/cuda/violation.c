/*  tests/support/cuda/violation.c - the report, and the end of a program that broke a rule. */
#include "tests/support/cuda/violation.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cuda/settings.h"

/*  Each line is one write: processes may share the file. */
static void append(const char *line)
{
    const char *path = hostile_settings()->report;
    int file = path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (file < 0)
        return;
    if (write(file, line, strlen(line)) < 0)
        perror(path);
    close(file);
}

void hostile_note(const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    strcat(line, "\n");
    append(line);
}

void hostile_violation(const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "libcuda.so.1 of the tests: violation: %s\n", text);
    hostile_note("violation %s", text);
    abort();
}
