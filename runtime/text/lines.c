/*  runtime/text/lines.c - finds lines once and counts characters. */
#include "runtime/text/lines.h"

#include <string.h>

void tnd_lines_open(tnd_lines_t *self, tnd_arena_t *arena, tnd_diagnostics_t *diagnostics,
                    const tnd_origin_t *origin, size_t skip)
{
    *self = (tnd_lines_t){.arena = arena, .diagnostics = diagnostics, .origin = origin};
    /* The byte order mark, which some editors write. */
    if (skip == 0 && origin->size >= 3 && memcmp(origin->text, "\xEF\xBB\xBF", 3) == 0)
        skip = 3;
    else
        for (size_t i = 0; i < skip; i++)
            self->skipped += ((unsigned char)origin->text[i] & 0xC0) != 0x80;
    self->skip = skip;
    size_t count = 1;
    for (size_t i = 0; i < origin->size; i++)
        count += origin->text[i] == '\n';
    self->lines = tnd_arena_array(arena, count, sizeof(const char *));
    self->count = count;
    self->lines[0] = origin->text + (self->skipped == 0 ? skip : 0);
    size_t line = 1;
    for (size_t i = 0; i < origin->size; i++)
        if (origin->text[i] == '\n')
            self->lines[line++] = origin->text + i + 1;
}

tnd_span_t tnd_lines_span(const tnd_lines_t *self, size_t line)
{
    const char *end = self->origin->text + self->origin->size;
    if (line >= self->count)
        return (tnd_span_t){end, end};
    const char *start = self->lines[line];
    const char *newline = start < end ? memchr(start, '\n', (size_t)(end - start)) : NULL;
    if (newline != NULL)
        end = newline;
    while (end > start && end[-1] == '\r')
        end--;
    return (tnd_span_t){start, end};
}

static size_t column_of(const tnd_lines_t *self, yaml_mark_t at)
{
    return at.column + (at.line == 0 ? self->skipped : 0);
}

const char *tnd_lines_byte(const tnd_lines_t *self, yaml_mark_t at)
{
    tnd_span_t line = tnd_lines_span(self, at.line);
    size_t column = column_of(self, at);
    for (; line.start < line.end; line.start++) {
        if (((unsigned char)*line.start & 0xC0) == 0x80)
            continue;
        if (column-- == 0)
            break;
    }
    return line.start;
}

tnd_mark_t tnd_lines_mark(const tnd_lines_t *self, yaml_mark_t start, yaml_mark_t end)
{
    size_t width = 1;
    if (end.line == start.line && end.column > start.column)
        width = end.column - start.column;
    else if (end.line > start.line && end.column > 0)
        width = UINT32_MAX;
    return (tnd_mark_t){.origin = self->origin,
                        .line = (uint32_t)start.line + 1,
                        .column = (uint32_t)column_of(self, start) + 1,
                        .width = (uint32_t)width};
}

tnd_mark_t tnd_lines_mark_span(const tnd_lines_t *self, size_t line, tnd_span_t span)
{
    tnd_mark_t mark = {.origin = self->origin, .line = (uint32_t)line + 1, .column = 1};
    for (const char *at = tnd_lines_span(self, line).start; at < span.end; at++)
        if (((unsigned char)*at & 0xC0) != 0x80)
            *(at < span.start ? &mark.column : &mark.width) += 1;
    return mark;
}

void tnd_lines_help(const tnd_lines_t *self, size_t line, tnd_span_t span, const char *replacement)
{
    tnd_span_t whole = tnd_lines_span(self, line);
    while (whole.start < span.start && (*whole.start == ' ' || *whole.start == '\t'))
        whole.start++;
    tnd_diagnostics_help(self->diagnostics, "write `%.*s%s%.*s`", (int)(span.start - whole.start),
                         whole.start, replacement, (int)(whole.end - span.end), span.end);
}

const char *tnd_span_quoted(tnd_arena_t *arena, tnd_span_t span)
{
    return tnd_arena_format(arena, "\"%.*s\"", (int)(span.end - span.start), span.start);
}

bool tnd_span_is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

tnd_span_t tnd_span_word(tnd_span_t line, const char *start)
{
    const char *at = start;
    int depth = 0;
    for (; at < line.end && !tnd_span_is_blank(*at); at++) {
        if (*at == '[' || *at == '{')
            depth++;
        else if (*at == ']' || *at == '}') {
            if (depth-- == 0)
                break;
        } else if (*at == ',' && (at + 1 == line.end || tnd_span_is_blank(at[1]) || depth == 0)) {
            break;
        }
    }
    return (tnd_span_t){start, at};
}
