/*  tools/process/output_lines.c - the lines that a process writes to a pipe. */
#include "tools/process/output_lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void pass(const char *text, size_t size, tnd_output_line_t take, void *context)
{
    char line[TND_OUTPUT_LINE + 1];
    memcpy(line, text, size);
    line[size] = '\0';
    take(context, line, size);
}

bool tnd_output_lines_read(tnd_output_lines_t *self, tnd_output_line_t take, void *context)
{
    ssize_t got = read(self->file, self->text + self->used, sizeof self->text - self->used);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return false;
    self->used += got > 0 ? (size_t)got : 0;
    size_t begin = 0;
    for (size_t i = 0; i < self->used; i++)
        if (self->text[i] == '\n') {
            pass(self->text + begin, i - begin, take, context);
            begin = i + 1;
        }
    self->used -= begin;
    memmove(self->text, self->text + begin, self->used);
    if (self->used == sizeof self->text || (got <= 0 && self->used > 0)) {
        pass(self->text, self->used, take, context);
        self->used = 0;
    }
    if (got > 0)
        return true;
    close(self->file);
    self->file = -1;
    return false;
}

void tnd_output_lines_finish(tnd_output_lines_t *self, tnd_output_line_t take, void *context)
{
    while (self->file >= 0 && tnd_output_lines_read(self, take, context))
        continue;
    if (self->file >= 0)
        close(self->file);
    self->file = -1;
}

void tnd_output_lines_print(FILE *to, bool colour, uint32_t index, const char *name, size_t width,
                            const char *line, size_t size)
{
    static const int colours[] = {36, 33, 35, 32, 34, 31};
    colour = colour && isatty(fileno(to)) == 1;
    if (colour)
        fprintf(to, "\033[%dm", colours[index % (sizeof colours / sizeof colours[0])]);
    fprintf(to, "%-*s |", (int)width, name);
    fputs(colour ? "\033[0m " : " ", to);
    fwrite(line, 1, size, to);
    fputc('\n', to);
    fflush(to);
}
