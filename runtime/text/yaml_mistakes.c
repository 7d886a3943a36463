/*  runtime/text/yaml_mistakes.c - finds mistakes in a line and shows the corrected line. */
#include "runtime/text/yaml_mistakes.h"

#include <ctype.h>
#include <string.h>

/*  Whether brackets are inside a word and not around it: `[::1]:5555`, `train-{0..9}.rec`. */
static bool brackets_inside(tnd_span_t word)
{
    int depth = 0;
    bool any = false;
    for (const char *at = word.start; at < word.end; at++) {
        if (*at == '[' || *at == '{') {
            any = any || at > word.start;
            depth++;
        } else if (*at == ']' || *at == '}') {
            depth--;
            any = any || at + 1 < word.end;
        }
    }
    return any && depth == 0;
}

bool tnd_yaml_mistake_is_address(tnd_span_t word)
{
    size_t size = (size_t)(word.end - word.start);
    return size > 2 && memmem(word.start, size, "::", 2) != NULL &&
           strspn(word.start, "[]:.0123456789abcdefABCDEF") >= size;
}

bool tnd_yaml_mistake_unquoted(tnd_span_t line, tnd_span_t *word_p)
{
    for (const char *at = line.start; at < line.end;) {
        if (tnd_span_is_blank(*at) || *at == ',' || *at == '}' || *at == ']') {
            at++;
            continue;
        }
        if (*at == '#')
            return false;
        if (*at == '"' || *at == '\'') {
            const char *close = memchr(at + 1, *at, (size_t)(line.end - at - 1));
            at = close != NULL ? close + 1 : line.end;
            continue;
        }
        tnd_span_t word = tnd_span_word(line, at);
        if (brackets_inside(word) || tnd_yaml_mistake_is_address(word)) {
            *word_p = word;
            return true;
        }
        at = *at == '[' || *at == '{' || word.end == at ? at + 1 : word.end;
    }
    return false;
}

bool tnd_yaml_mistake_missing_space(tnd_span_t line, tnd_span_t *word_p, const char **colon_p)
{
    const char *at = line.start;
    while (at < line.end && (tnd_span_is_blank(*at) || *at == '-'))
        at++;
    tnd_span_t word = tnd_span_word(line, at);
    const char *colon = memchr(word.start, ':', (size_t)(word.end - word.start));
    if (colon == NULL || colon == word.start || colon + 1 >= word.end)
        return false;
    *word_p = word;
    *colon_p = colon;
    return true;
}

void tnd_yaml_mistake_report_space(const tnd_lines_t *lines, size_t line, tnd_span_t word,
                                   const char *colon)
{
    int size = (int)(word.end - word.start);
    tnd_diagnostics_add(lines->diagnostics, TND_T003_MISSING_SPACE,
                        tnd_lines_mark_span(lines, line, word),
                        "`%.*s` is one long key without a value", size, word.start);
    tnd_lines_help(lines, line, word,
                   tnd_arena_format(lines->arena, "%.*s: %.*s", (int)(colon - word.start),
                                    word.start, (int)(word.end - colon - 1), colon + 1));
}

bool tnd_yaml_mistake_report_alias(const tnd_lines_t *lines, yaml_mark_t at)
{
    tnd_span_t word = tnd_span_word(tnd_lines_span(lines, at.line), tnd_lines_byte(lines, at));
    tnd_diagnostics_add(
        lines->diagnostics, TND_T005_ALIAS, tnd_lines_mark_span(lines, at.line, word),
        "`%.*s` without quotes is a YAML %s, which this language does not have",
        (int)(word.end - word.start), word.start, *word.start == '&' ? "anchor" : "alias");
    if (*word.start == '&') {
        tnd_diagnostics_help(lines->diagnostics,
                             "leave it out, and write the value wherever it is needed");
        return true;
    }
    bool is_name = word.end - word.start > 1;
    for (const char *byte = word.start + 1; byte < word.end; byte++)
        is_name = is_name && (isalnum((unsigned char)*byte) || *byte == '_' || *byte == '-');
    if (!is_name)
        tnd_lines_help(lines, at.line, word, tnd_span_quoted(lines->arena, word));
    tnd_diagnostics_help(lines->diagnostics,
                         is_name ? "write the value itself, wherever it is needed"
                                 : "or write the value itself, if another one is meant");
    return !is_name;
}

static const tnd_lookalike_t lookalikes[] = {
    {"\xC2\xA0", "a no-break space (U+00A0)", " ", false},
    {"\xE3\x80\x80", "a wide space (U+3000)", " ", true},
    {"\xE2\x80\x8B", "a space of no width (U+200B)", "", false},
    {"\xEF\xBB\xBF", "a byte order mark (U+FEFF)", "", false},
    {"\xEF\xBC\x9A", "a wide colon (U+FF1A)", ": ", true},
    {"\xEF\xBC\x8C", "a wide comma (U+FF0C)", ", ", true},
    {"\xE2\x80\x9C", "a printed quote (U+201C)", "\"", true},
    {"\xE2\x80\x9D", "a printed quote (U+201D)", "\"", true},
    {"\xE2\x80\x9E", "a printed quote (U+201E)", "\"", true},
    {"\xE2\x80\x98", "a printed quote (U+2018)", "'", true},
    {"\xE2\x80\x99", "a printed quote (U+2019)", "'", true},
};

const tnd_lookalike_t *tnd_yaml_mistake_lookalike(tnd_span_t in, tnd_span_t *found_p)
{
    const tnd_lookalike_t *first = NULL;
    for (size_t i = 0; i < sizeof lookalikes / sizeof lookalikes[0]; i++) {
        size_t size = strlen(lookalikes[i].bytes);
        const char *at = in.start < in.end ? memmem(in.start, (size_t)(in.end - in.start),
                                                    lookalikes[i].bytes, size)
                                           : NULL;
        if (at == NULL || (first != NULL && at >= found_p->start))
            continue;
        first = &lookalikes[i];
        *found_p = (tnd_span_t){at, at + size};
    }
    return first;
}

/*  The line with all look-alikes replaced. */
static const char *plain_line(const tnd_lines_t *lines, tnd_span_t line)
{
    const char *text = "";
    tnd_span_t found;
    const tnd_lookalike_t *like;
    while ((like = tnd_yaml_mistake_lookalike(line, &found)) != NULL) {
        text = tnd_arena_format(lines->arena, "%s%.*s%s", text, (int)(found.start - line.start),
                                line.start, like->instead);
        line.start = found.end;
    }
    return tnd_arena_format(lines->arena, "%s%.*s", text, (int)(line.end - line.start), line.start);
}

bool tnd_yaml_mistake_report_lookalike(const tnd_lines_t *lines, size_t line_number)
{
    tnd_span_t line = tnd_lines_span(lines, line_number), found;
    const char *comment =
        line.start < line.end ? memmem(line.start, (size_t)(line.end - line.start), " #", 2) : NULL;
    const tnd_lookalike_t *like = tnd_yaml_mistake_lookalike(
        (tnd_span_t){line.start, comment != NULL ? comment : line.end}, &found);
    if (like == NULL)
        return false;
    tnd_diagnostics_add(lines->diagnostics, TND_T001_SYNTAX,
                        tnd_lines_mark_span(lines, line_number, found),
                        "%s is used here, which YAML reads as a letter", like->name);
    const char *text = plain_line(lines, line);
    tnd_diagnostics_help(lines->diagnostics, "write `%s`", text + strspn(text, " "));
    return true;
}
