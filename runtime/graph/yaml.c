/*  runtime/graph/yaml.c - libyaml events to values, traps to errors. */
#include "runtime/graph/yaml.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <yaml.h>

typedef struct {
    tnd_arena_t *arena;
    tnd_diagnostics_t *diagnostics;
    const tnd_origin_t *origin;
    size_t skip;      /* bytes of the text that libyaml does not see */
    uint32_t skipped; /* characters of the first line among them */
    size_t line_told; /* about characters that are not what they seem */
    const char **lines;
    size_t line_count;
    yaml_parser_t parser;
    yaml_event_t event;
    unsigned flow; /* `{` and `[` that are open */
    bool failed;
    bool spoilt; /* it could be read, but says less than was meant */
} reader_t;

/*  A stretch of one line, as bytes. */
typedef struct {
    const char *start;
    const char *end;
} span_t;

static void index_lines(reader_t *self)
{
    size_t count = 1;
    for (size_t i = 0; i < self->origin->size; i++)
        count += self->origin->text[i] == '\n';
    self->lines = tnd_arena_array(self->arena, count, sizeof(const char *));
    self->line_count = count;
    self->lines[0] = self->origin->text;
    size_t line = 1;
    for (size_t i = 0; i < self->origin->size; i++)
        if (self->origin->text[i] == '\n')
            self->lines[line++] = self->origin->text + i + 1;
}

static span_t line_span(const reader_t *self, size_t line)
{
    const char *end = self->origin->text + self->origin->size;
    if (line >= self->line_count)
        return (span_t){end, end};
    const char *start = self->lines[line];
    const char *newline = start < end ? memchr(start, '\n', (size_t)(end - start)) : NULL;
    if (newline != NULL)
        end = newline;
    while (end > start && end[-1] == '\r')
        end--;
    return (span_t){start, end};
}

static size_t column_of(const reader_t *self, yaml_mark_t at)
{
    return at.column + (at.line == 0 ? self->skipped : 0);
}

/*  The byte at a mark, found by counting the characters of its line. */
static const char *byte_at(const reader_t *self, yaml_mark_t at)
{
    span_t line = line_span(self, at.line);
    size_t column = column_of(self, at);
    for (; line.start < line.end; line.start++) {
        if (((unsigned char)*line.start & 0xC0) == 0x80)
            continue;
        if (column-- == 0)
            break;
    }
    return line.start;
}

static tnd_mark_t mark_of(const reader_t *self, yaml_mark_t start, yaml_mark_t end)
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

static tnd_mark_t event_mark(const reader_t *self)
{
    return mark_of(self, self->event.start_mark, self->event.end_mark);
}

static tnd_mark_t span_mark(const reader_t *self, size_t line, span_t span)
{
    tnd_mark_t mark = {.origin = self->origin, .line = (uint32_t)line + 1, .column = 1};
    for (const char *at = line_span(self, line).start; at < span.end; at++)
        if (((unsigned char)*at & 0xC0) != 0x80)
            *(at < span.start ? &mark.column : &mark.width) += 1;
    return mark;
}

/*  Shows the line with `span` replaced, which is how it should have been written. */
static void help_line(reader_t *self, size_t line, span_t span, const char *replacement)
{
    span_t whole = line_span(self, line);
    while (whole.start < span.start && (*whole.start == ' ' || *whole.start == '\t'))
        whole.start++;
    tnd_diagnostics_help(self->diagnostics, "write `%.*s%s%.*s`", (int)(span.start - whole.start),
                         whole.start, replacement, (int)(whole.end - span.end), span.end);
}

static const char *quoted(reader_t *self, span_t span)
{
    return tnd_arena_format(self->arena, "\"%.*s\"", (int)(span.end - span.start), span.start);
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

/*  A word as a person sees it: up to a blank, a comma before a blank, or a bracket that the word
 *  itself did not open.
 */
static span_t word_at(span_t line, const char *start)
{
    const char *at = start;
    int depth = 0;
    for (; at < line.end && !is_blank(*at); at++) {
        if (*at == '[' || *at == '{')
            depth++;
        else if (*at == ']' || *at == '}') {
            if (depth-- == 0)
                break;
        } else if (*at == ',' && (at + 1 == line.end || is_blank(at[1]) || depth == 0)) {
            break;
        }
    }
    return (span_t){start, at};
}

/*  Whether brackets stand inside a word and not around it: `[::1]:5555`, `train-{0..9}.rec`. */
static bool brackets_inside(span_t word)
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

/*  `[::1]`, `::1`: the colons of an address. */
static bool is_address(span_t word)
{
    size_t size = (size_t)(word.end - word.start);
    return size > 2 && memmem(word.start, size, "::", 2) != NULL &&
           strspn(word.start, "[]:.0123456789abcdefABCDEF") >= size;
}

/*  The first word of the line that needs quotes, as in `{address: [::1]:5555}`. */
static bool find_unquoted(span_t line, span_t *word_p)
{
    for (const char *at = line.start; at < line.end;) {
        if (is_blank(*at) || *at == ',' || *at == '}' || *at == ']') {
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
        span_t word = word_at(line, at);
        if (brackets_inside(word) || is_address(word)) {
            *word_p = word;
            return true;
        }
        at = *at == '[' || *at == '{' || word.end == at ? at + 1 : word.end;
    }
    return false;
}

/*  `kind:reader` in a line: a colon between two letters where a blank is missing. */
static bool find_missing_space(span_t line, span_t *word_p, const char **colon_p)
{
    const char *at = line.start;
    while (at < line.end && (is_blank(*at) || *at == '-'))
        at++;
    span_t word = word_at(line, at);
    const char *colon = memchr(word.start, ':', (size_t)(word.end - word.start));
    if (colon == NULL || colon == word.start || colon + 1 >= word.end)
        return false;
    *word_p = word;
    *colon_p = colon;
    return true;
}

static void report_missing_space(reader_t *self, size_t line, span_t word, const char *colon)
{
    int size = (int)(word.end - word.start);
    tnd_diagnostics_add(self->diagnostics, TND_T003_MISSING_SPACE, span_mark(self, line, word),
                        "`%.*s` is one long key without a value", size, word.start);
    help_line(self, line, word,
              tnd_arena_format(self->arena, "%.*s: %.*s", (int)(colon - word.start), word.start,
                               (int)(word.end - colon - 1), colon + 1));
}

static void report_alias(reader_t *self, yaml_mark_t at)
{
    span_t word = word_at(line_span(self, at.line), byte_at(self, at));
    tnd_diagnostics_add(self->diagnostics, TND_T005_ALIAS, span_mark(self, at.line, word),
                        "`%.*s` without quotes is a YAML %s, which this language does not have",
                        (int)(word.end - word.start), word.start,
                        *word.start == '&' ? "anchor" : "alias");
    if (*word.start == '&') {
        tnd_diagnostics_help(self->diagnostics,
                             "leave it out, and write the value wherever it is needed");
        return;
    }
    bool is_name = word.end - word.start > 1;
    for (const char *byte = word.start + 1; byte < word.end; byte++)
        is_name = is_name && (isalnum((unsigned char)*byte) || *byte == '_' || *byte == '-');
    self->spoilt = self->spoilt || is_name; /* nobody knows the value */
    if (!is_name)
        help_line(self, at.line, word, quoted(self, word));
    tnd_diagnostics_help(self->diagnostics,
                         is_name ? "write the value itself, wherever it is needed"
                                 : "or write the value itself, if another one is meant");
}

/*  A byte that is no text, with its place. */
static void report_byte(reader_t *self)
{
    const char *start = self->origin->text;
    const char *at = start + self->parser.problem_offset + self->skip;
    const char *end = start + self->origin->size;
    tnd_mark_t mark = {.origin = self->origin, .line = 1, .column = 1, .width = 1};
    for (const char *byte = start; byte < at && byte < end; byte++) {
        if (((unsigned char)*byte & 0xC0) != 0x80)
            mark.column++;
        if (*byte == '\n') {
            mark.line++;
            mark.column = 1;
        }
    }
    const unsigned char *head = (const unsigned char *)start;
    bool wide = self->origin->size > 1 &&
                ((head[0] == 0xFF && head[1] == 0xFE) || (head[0] == 0xFE && head[1] == 0xFF));
    if (wide)
        tnd_diagnostics_add(self->diagnostics, TND_T001_SYNTAX, mark, "this is UTF-16");
    else
        tnd_diagnostics_add(self->diagnostics, TND_T001_SYNTAX, mark, "this is no text: %s",
                            self->parser.problem);
    tnd_diagnostics_help(self->diagnostics,
                         wide ? "save it as UTF-8" : "a topology is a text file in UTF-8");
}

/*  Characters that look like a blank or a quote and are none. */
typedef struct {
    const char *bytes, *name, *instead;
    bool prose; /* people print it in texts on purpose */
} lookalike_t;

static const lookalike_t lookalikes[] = {
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

/*  The first of them in a stretch of text. */
static const lookalike_t *find_lookalike(span_t in, span_t *found_p)
{
    const lookalike_t *first = NULL;
    for (size_t i = 0; i < sizeof lookalikes / sizeof lookalikes[0]; i++) {
        size_t size = strlen(lookalikes[i].bytes);
        const char *at = in.start < in.end ? memmem(in.start, (size_t)(in.end - in.start),
                                                    lookalikes[i].bytes, size)
                                           : NULL;
        if (at == NULL || (first != NULL && at >= found_p->start))
            continue;
        first = &lookalikes[i];
        *found_p = (span_t){at, at + size};
    }
    return first;
}

/*  The line with all of them replaced. */
static const char *plain_line(reader_t *self, span_t line)
{
    const char *text = "";
    span_t found;
    const lookalike_t *like;
    while ((like = find_lookalike(line, &found)) != NULL) {
        text = tnd_arena_format(self->arena, "%s%.*s%s", text, (int)(found.start - line.start),
                                line.start, like->instead);
        line.start = found.end;
    }
    return tnd_arena_format(self->arena, "%s%.*s", text, (int)(line.end - line.start), line.start);
}

static bool report_lookalike(reader_t *self, size_t line_number)
{
    span_t line = line_span(self, line_number), found;
    const char *comment =
        line.start < line.end ? memmem(line.start, (size_t)(line.end - line.start), " #", 2) : NULL;
    const lookalike_t *like =
        find_lookalike((span_t){line.start, comment != NULL ? comment : line.end}, &found);
    if (like == NULL)
        return false;
    tnd_diagnostics_add(self->diagnostics, TND_T001_SYNTAX, span_mark(self, line_number, found),
                        "%s stands here, which YAML takes for a letter", like->name);
    const char *text = plain_line(self, line);
    tnd_diagnostics_help(self->diagnostics, "write `%s`", text + strspn(text, " "));
    return true;
}

/*  Where a bracket or a quote stands that is never closed: libyaml noticed it on a later line, or
 *  at the end.
 */
static bool report_unclosed(reader_t *self, yaml_mark_t at)
{
    const yaml_parser_t *parser = &self->parser;
    const char *context = parser->context;
    yaml_mark_t open = parser->context_mark;
    if (context == NULL || open.line >= self->line_count)
        return false;
    span_t line = line_span(self, open.line);
    const char *byte = byte_at(self, open);
    bool quote = strstr(context, "quoted scalar") != NULL;
    bool flow = strstr(context, "flow mapping") != NULL || strstr(context, "flow sequence") != NULL;
    bool at_end = parser->problem_mark.index + self->skip >= self->origin->size;
    if (byte >= line.end || (!quote && (!flow || (open.line == at.line && !at_end))))
        return false;
    span_t one = {byte, byte + 1};
    tnd_diagnostics_add(self->diagnostics, TND_T001_SYNTAX, span_mark(self, open.line, one),
                        "this `%c` is never closed", *byte);
    char closing[2] = {*byte == '{' ? '}' : *byte == '[' ? ']' : *byte, '\0'};
    if (flow && (line.end[-1] == ',' || line.end[-1] == '{' || line.end[-1] == '['))
        tnd_diagnostics_help(self->diagnostics, "add the `%s` where it ends", closing);
    else
        help_line(self, open.line, (span_t){line.end, line.end}, closing);
    return true;
}

/*  Whether a line has as many closing brackets of a type as opening ones. */
static bool balances(span_t line, char closing)
{
    int depth = 0;
    for (; line.start < line.end; line.start++)
        depth += *line.start == (closing == '}' ? '{' : '[') ? 1 : *line.start == closing ? -1 : 0;
    return depth == 0;
}

/*  What goes wrong inside { } and [ ] on one line. */
static bool report_flow(reader_t *self, yaml_mark_t at)
{
    span_t line = line_span(self, at.line);
    const char *byte = byte_at(self, at);
    tnd_diagnostics_t *diagnostics = self->diagnostics;
    const char *problem = self->parser.problem != NULL ? self->parser.problem : "";
    if (byte >= line.end)
        return false;
    span_t one = {byte, byte + 1};
    if (strstr(problem, "expected node content") != NULL && *byte == ',') {
        tnd_diagnostics_add(diagnostics, TND_T001_SYNTAX, span_mark(self, at.line, one),
                            "nothing stands before this comma");
        help_line(self, at.line, one, "");
        return true;
    }
    if (strstr(problem, "expected key") != NULL && (*byte == '}' || *byte == ']')) {
        tnd_diagnostics_add(diagnostics, TND_T001_SYNTAX, span_mark(self, at.line, one),
                            "this `%c` closes nothing", *byte);
        help_line(self, at.line, one, "");
        return true;
    }
    if (strstr(problem, "expected ',' or") == NULL)
        return false;
    const char *wanted = strstr(problem, "']'") != NULL ? "]" : "}";
    if (*byte == '}' || *byte == ']') {
        tnd_diagnostics_add(diagnostics, TND_T001_SYNTAX, span_mark(self, at.line, one),
                            "`%s` is expected here, not `%c`", wanted, *byte);
        /* Where the others balance, this one is right and the wanted one missing before it. */
        help_line(self, at.line, balances(line, *byte) ? (span_t){byte, byte} : one, wanted);
        return true;
    }
    if (*byte != ':')
        return false;
    /* `size: 32 replicas: 4`: the word before the colon is a key, and no comma stands before it. */
    const char *word = byte, *gap;
    while (word > line.start && !is_blank(word[-1]) && strchr("{[,", word[-1]) == NULL)
        word--;
    for (gap = word; gap > line.start && is_blank(gap[-1]); gap--)
        continue;
    if (gap == word || gap == line.start || word == byte)
        return false;
    span_t key = {word, byte}, between = {gap[-1] == ';' ? gap - 1 : gap, word};
    tnd_diagnostics_add(diagnostics, TND_T001_SYNTAX, span_mark(self, at.line, key),
                        "a comma is missing before `%.*s`", (int)(byte - word), word);
    help_line(self, at.line, between, ", ");
    return true;
}

/*  A line that begins further left or right than the keys that it belongs to. */
static bool report_indentation(reader_t *self, yaml_mark_t at)
{
    const yaml_parser_t *parser = &self->parser;
    const char *problem = parser->problem != NULL ? parser->problem : "";
    if (parser->context == NULL || strstr(parser->context, "block") == NULL ||
        strstr(problem, "did not find expected") == NULL || self->flow > 0)
        return false;
    span_t line = line_span(self, at.line);
    size_t indent = 0;
    while (line.start + indent < line.end && line.start[indent] == ' ')
        indent++;
    if (at.column != indent)
        return false;
    tnd_diagnostics_add(self->diagnostics, TND_T001_SYNTAX, mark_of(self, at, at),
                        "this line is indented by %zu, which fits no line above it", indent);
    if (parser->context_mark.line != at.line && parser->context_mark.column > 0)
        tnd_diagnostics_also(self->diagnostics,
                             mark_of(self, parser->context_mark, parser->context_mark),
                             "the lines that it stands among begin here, indented by %zu",
                             parser->context_mark.column);
    tnd_diagnostics_help(self->diagnostics, "keys that belong together begin in the same column");
    return true;
}

/*  `seed 7`: a line without a colon. */
static bool report_no_colon(reader_t *self)
{
    const yaml_parser_t *parser = &self->parser;
    const char *problem = parser->problem != NULL ? parser->problem : "";
    span_t word;
    const char *colon = NULL;
    size_t number = parser->context_mark.line;
    if (strstr(problem, "could not find expected ':'") == NULL || parser->context == NULL ||
        number >= self->line_count)
        return false;
    span_t line = line_span(self, number);
    if (find_missing_space(line, &word, &colon)) {
        report_missing_space(self, number, word, colon);
        return true;
    }
    while (line.start < line.end && is_blank(*line.start))
        line.start++;
    const char *blank = line.start;
    while (blank < line.end && !is_blank(*blank) && *blank != '=')
        blank++;
    const char *after = blank;
    while (after < line.end && (is_blank(*after) || *after == '='))
        after++;
    tnd_diagnostics_add(self->diagnostics, TND_T001_SYNTAX, span_mark(self, number, line),
                        "a key and a `:` are expected here, not `%.*s`",
                        (int)(line.end - line.start), line.start);
    if (after < line.end)
        help_line(self, number, (span_t){blank, after}, ": ");
    return true;
}

/*  Backslashes inside double quotes. */
static bool report_escape(reader_t *self, yaml_mark_t at)
{
    const char *problem = self->parser.problem != NULL ? self->parser.problem : "";
    if (strstr(problem, "escape") == NULL)
        return false;
    span_t line = line_span(self, at.line);
    const char *open = byte_at(self, at), *close = open;
    tnd_diagnostics_add(self->diagnostics, TND_T001_SYNTAX, mark_of(self, at, at),
                        "a `\\` in double quotes begins an escape, and this is none");
    while (open > line.start && *open != '"')
        open--;
    while (close < line.end && *close != '"')
        close++;
    span_t text = {open + 1, close};
    if (open < close && close < line.end &&
        memchr(text.start, '\'', (size_t)(text.end - text.start)) == NULL)
        help_line(
            self, at.line, (span_t){open, close + 1},
            tnd_arena_format(self->arena, "'%.*s'", (int)(text.end - text.start), text.start));
    return true;
}

/*  Says what libyaml found, in words about the text instead of its grammar. */
static void report_syntax(reader_t *self)
{
    const yaml_parser_t *parser = &self->parser;
    tnd_diagnostics_t *diagnostics = self->diagnostics;
    if (parser->error == YAML_READER_ERROR) {
        report_byte(self);
        return;
    }
    yaml_mark_t at = parser->problem_mark;
    if (at.line >= self->line_count)
        at.line = self->line_count - 1;
    span_t line = line_span(self, at.line);
    const char *byte = byte_at(self, at);
    tnd_mark_t mark = mark_of(self, at, at);
    const char *context = parser->context != NULL ? parser->context : "";
    const char *problem = parser->problem != NULL ? parser->problem : "not understood";
    bool has_context = parser->context != NULL && parser->context_mark.line < self->line_count;
    span_t word;

    if (strstr(context, "an alias") != NULL || strstr(context, "an anchor") != NULL) {
        report_alias(self, parser->context_mark);
        return;
    }
    if (report_lookalike(self, at.line) ||
        (has_context && report_lookalike(self, parser->context_mark.line)))
        return;
    if (at.line > 0 && byte >= line.end && report_lookalike(self, at.line - 1))
        return;
    if (find_unquoted(line, &word)) {
        tnd_diagnostics_add(diagnostics, TND_T009_UNQUOTED, span_mark(self, at.line, word),
                            is_address(word) && *word.start != '['
                                ? "the colons of `%.*s` are not read as part of it"
                                : "brackets inside `%.*s` are read as a list or a map",
                            (int)(word.end - word.start), word.start);
        help_line(self, at.line, word, quoted(self, word));
        return;
    }
    if (strstr(problem, "cannot start any token") != NULL) {
        if (byte < line.end && *byte == '\t') {
            tnd_diagnostics_add(diagnostics, TND_T001_SYNTAX, mark, "a tab cannot indent a line");
            tnd_diagnostics_help(diagnostics, "use spaces");
            return;
        }
        word = word_at(line, byte);
        tnd_diagnostics_add(diagnostics, TND_T001_SYNTAX, span_mark(self, at.line, word),
                            "a value without quotes cannot begin with `%.1s`", byte);
        help_line(self, at.line, word, quoted(self, word));
        return;
    }
    if (report_no_colon(self) || report_escape(self, at) || report_unclosed(self, at) ||
        report_flow(self, at) || report_indentation(self, at))
        return;
    if (strstr(problem, "mapping values are not allowed") != NULL) {
        tnd_diagnostics_add(diagnostics, TND_T001_SYNTAX, mark, "a second `: ` in one line");
        tnd_diagnostics_help(diagnostics,
                             "quote the value, or give each key a line with equal indentation");
        return;
    }
    if (strstr(problem, "unexpected ':'") != NULL) {
        tnd_diagnostics_add(diagnostics, TND_T001_SYNTAX, mark, "nothing follows this `:`");
        tnd_diagnostics_help(diagnostics, "write a space and the value behind it");
        return;
    }
    /* libyaml expects what closes the innermost thing, and names where that began. */
    const char *expected = strstr(problem, "did not find expected ");
    if (expected != NULL)
        tnd_diagnostics_add(diagnostics, TND_T001_SYNTAX, mark, "expected %s here",
                            expected + strlen("did not find expected "));
    else
        tnd_diagnostics_add(diagnostics, TND_T001_SYNTAX, mark, "%s", problem);
    if (has_context && parser->context_mark.line != at.line)
        tnd_diagnostics_also(diagnostics, mark_of(self, parser->context_mark, parser->context_mark),
                             "%s here", context);
}

static bool next(reader_t *self)
{
    if (yaml_parser_parse(&self->parser, &self->event))
        return true;
    report_syntax(self);
    self->failed = true;
    return false;
}

static void check_decoration(reader_t *self, const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (anchor != NULL)
        report_alias(self, self->event.start_mark);
    if (tag == NULL)
        return;
    span_t word = word_at(line_span(self, self->event.start_mark.line),
                          byte_at(self, self->event.start_mark));
    tnd_diagnostics_add(self->diagnostics, TND_T006_TAG,
                        span_mark(self, self->event.start_mark.line, word),
                        "`%.*s` is a YAML tag, which this language does not have",
                        (int)(word.end - word.start), word.start);
    tnd_diagnostics_help(self->diagnostics, "leave it out: types follow from the option");
}

/*  `path: /data/run #2/x` loses "#2/x" without a word.  A comment that a person means has a blank
 *  after its `#`, and inside { } it does not swallow a closing bracket.
 */
static void check_comment(reader_t *self, const char *value_start)
{
    span_t line = line_span(self, self->event.end_mark.line);
    const char *value_end = byte_at(self, self->event.end_mark);
    const char *at = value_end;
    while (at < line.end && is_blank(*at))
        at++;
    if (at == value_end || at >= line.end || *at != '#' || at + 1 == line.end)
        return;
    bool swallows = self->flow > 0 && (memchr(at, '}', (size_t)(line.end - at)) != NULL ||
                                       memchr(at, ']', (size_t)(line.end - at)) != NULL);
    if ((is_blank(at[1]) || at[1] == '#') && !swallows)
        return;
    span_t comment = {at, line.end};
    tnd_diagnostics_add(self->diagnostics, TND_T004_COMMENT,
                        span_mark(self, self->event.end_mark.line, comment),
                        "` #` starts a comment: `%.*s` would be lost", (int)(line.end - at), at);
    bool one_line = self->event.start_mark.line == self->event.end_mark.line;
    if (value_end == value_start || !one_line)
        value_start = at;
    const char *end = at + 1;
    while (swallows && end < line.end && is_blank(*end))
        end++;
    while (end < line.end && !is_blank(*end) && *end != ',' && *end != '}' && *end != ']')
        end++;
    span_t value = {value_start, end};
    help_line(self, self->event.end_mark.line, value, quoted(self, value));
    if (!is_blank(at[1]))
        tnd_diagnostics_help(self->diagnostics, "or begin the comment with `# `");
    /* Without the bracket that the comment swallowed nothing that follows makes sense. */
    self->failed = self->failed || swallows;
}

/*  A text that was meant to be in quotes, or to end at a blank.  Inside a text people may well
 * print quotes and wide spaces.
 */
static void check_lookalike(reader_t *self, const char *text, size_t size)
{
    span_t found;
    const lookalike_t *like = find_lookalike((span_t){text, text + size}, &found);
    if (like == NULL || (found.start > text && like->prose) ||
        self->line_told == self->event.start_mark.line + 1)
        return;
    self->line_told = self->event.start_mark.line + 1;
    self->spoilt = report_lookalike(self, self->event.start_mark.line) || self->spoilt;
}

static tnd_value_t *read_value(reader_t *self, unsigned depth);

static tnd_value_t *read_scalar(reader_t *self)
{
    const yaml_event_t *event = &self->event;
    const char *text = (const char *)event->data.scalar.value;
    size_t size = event->data.scalar.length;
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    tnd_mark_t mark = event_mark(self);
    check_decoration(self, event->data.scalar.anchor, event->data.scalar.tag);
    if (memchr(text, '\0', size) != NULL)
        tnd_diagnostics_add(self->diagnostics, TND_T001_SYNTAX, mark, "a text holds a NUL");
    if (plain) {
        check_comment(self, byte_at(self, event->start_mark));
        check_lookalike(self, text, size);
    }
    tnd_value_t *value = tnd_value_scalar(self->arena, mark, text);
    value->quoted = !plain;
    if (plain && (*text == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0))
        value->type = TND_VALUE_NULL;
    return value;
}

static void report_full(reader_t *self, const char *what)
{
    tnd_diagnostics_add(self->diagnostics, TND_T010_DEPTH, event_mark(self),
                        "%s with more than %d items", what, TND_YAML_ITEMS_MAX);
    self->failed = true;
}

static tnd_value_t *read_list(reader_t *self, unsigned depth)
{
    check_decoration(self, self->event.data.sequence_start.anchor,
                     self->event.data.sequence_start.tag);
    tnd_value_t *list = tnd_value_list(self->arena, event_mark(self));
    bool flow = self->event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
    self->flow += flow;
    while (!self->failed) {
        yaml_event_delete(&self->event);
        if (!next(self) || self->event.type == YAML_SEQUENCE_END_EVENT)
            break;
        if (list->count == TND_YAML_ITEMS_MAX) {
            report_full(self, "a list");
            break;
        }
        tnd_value_t *item = read_value(self, depth + 1);
        if (item != NULL)
            tnd_value_append(self->arena, list, item);
    }
    self->flow -= flow;
    return list;
}

/*  `{kind:reader}`: one key "kind:reader" without a value.  Reports it and gives what was meant, so
 *  that one slip is one error.
 */
static bool mend_missing_space(reader_t *self, const tnd_value_t *key, const tnd_value_t *value,
                               tnd_value_t *map)
{
    const char *colon = key->text != NULL && !key->quoted ? strchr(key->text, ':') : NULL;
    if (colon == NULL || colon == key->text || colon[1] == '\0' || value->type != TND_VALUE_NULL ||
        value->text[0] != '\0')
        return false;
    size_t line = key->mark.line - 1;
    span_t whole = line_span(self, line);
    yaml_mark_t at = {.line = line, .column = key->mark.column - 1};
    if (line == 0)
        at.column -= self->skipped;
    const char *start = byte_at(self, at);
    span_t word = {start, start + strlen(key->text)};
    if (word.end > whole.end || memcmp(start, key->text, strlen(key->text)) != 0)
        return false;
    report_missing_space(self, line, word, start + (colon - key->text));
    tnd_value_put(self->arena, map,
                  tnd_arena_text(self->arena, key->text, (size_t)(colon - key->text)), key->mark,
                  tnd_value_scalar(self->arena, key->mark, colon + 1));
    return true;
}

static tnd_value_t *read_map(reader_t *self, unsigned depth)
{
    check_decoration(self, self->event.data.mapping_start.anchor,
                     self->event.data.mapping_start.tag);
    tnd_value_t *map = tnd_value_map(self->arena, event_mark(self));
    bool flow = self->event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
    self->flow += flow;
    while (!self->failed) {
        yaml_event_delete(&self->event);
        if (!next(self) || self->event.type == YAML_MAPPING_END_EVENT)
            break;
        if (map->count == TND_YAML_ITEMS_MAX) {
            report_full(self, "a map");
            break;
        }
        tnd_value_t *key = read_value(self, depth + 1);
        if (self->failed)
            break;
        yaml_event_delete(&self->event);
        if (!next(self))
            break;
        tnd_value_t *value = read_value(self, depth + 1);
        if (self->failed)
            break;
        if (key->text == NULL || key->text[0] == '\0') {
            tnd_diagnostics_add(self->diagnostics, TND_T001_SYNTAX, key->mark,
                                "a key is a word, not %s", tnd_value_type_name(key->type));
            continue;
        }
        if (mend_missing_space(self, key, value, map))
            continue;
        const tnd_value_entry_t *first = tnd_value_entry(map, key->text);
        if (first != NULL) {
            tnd_diagnostics_add(self->diagnostics, TND_T007_DUPLICATE_KEY, key->mark,
                                "`%s` is written twice", key->text);
            tnd_diagnostics_also(self->diagnostics, first->mark, "first written here");
            continue;
        }
        tnd_value_put(self->arena, map, key->text, key->mark, value);
    }
    self->flow -= flow;
    return map;
}

/*  The value that begins with the current event.  NULL only after a failure. */
static tnd_value_t *read_value(reader_t *self, unsigned depth)
{
    if (depth > TND_YAML_DEPTH_MAX) {
        tnd_diagnostics_add(self->diagnostics, TND_T010_DEPTH, event_mark(self),
                            "more than %d maps and lists inside each other", TND_YAML_DEPTH_MAX);
        self->failed = true;
        return NULL;
    }
    switch (self->event.type) {
    case YAML_SCALAR_EVENT:
        return read_scalar(self);
    case YAML_SEQUENCE_START_EVENT:
        return read_list(self, depth);
    case YAML_MAPPING_START_EVENT:
        return read_map(self, depth);
    case YAML_ALIAS_EVENT:
        report_alias(self, self->event.start_mark);
        return tnd_value_scalar(
            self->arena, event_mark(self),
            tnd_arena_format(self->arena, "*%s", (const char *)self->event.data.alias.anchor));
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        break;
    }
    assert(!"libyaml gives a value here");
    return NULL;
}

static tnd_value_t *read_document(reader_t *self)
{
    tnd_value_t *root = NULL;
    while (!self->failed && next(self)) {
        yaml_event_type_t type = self->event.type;
        if (type == YAML_DOCUMENT_START_EVENT && root != NULL) {
            tnd_diagnostics_add(self->diagnostics, TND_T008_SECOND_DOCUMENT, event_mark(self),
                                "a second document begins here");
            tnd_diagnostics_help(self->diagnostics,
                                 "give it a file of its own, or leave out the `---`");
            self->failed = true;
        }
        if (type == YAML_SCALAR_EVENT || type == YAML_SEQUENCE_START_EVENT ||
            type == YAML_MAPPING_START_EVENT || type == YAML_ALIAS_EVENT)
            root = read_value(self, 0);
        yaml_event_delete(&self->event);
        if (type == YAML_STREAM_END_EVENT)
            break;
    }
    return root;
}

tnd_value_t *tnd_yaml_parse(tnd_arena_t *arena, tnd_diagnostics_t *diagnostics,
                            const tnd_origin_t *origin, size_t skip)
{
    assert(skip <= origin->size);
    reader_t self = {.arena = arena, .diagnostics = diagnostics, .origin = origin};
    /* Some editors begin a file with this; no person sees it. */
    if (skip == 0 && origin->size >= 3 && memcmp(origin->text, "\xEF\xBB\xBF", 3) == 0)
        skip = 3;
    else
        for (size_t i = 0; i < skip; i++)
            self.skipped += ((unsigned char)origin->text[i] & 0xC0) != 0x80;
    self.skip = skip;
    index_lines(&self);
    if (skip > 0 && self.skipped == 0)
        self.lines[0] += skip;
    if (!yaml_parser_initialize(&self.parser)) {
        tnd_diagnostics_add(diagnostics, TND_T002_UNREADABLE, (tnd_mark_t){.origin = origin},
                            "no memory to read it");
        return NULL;
    }
    yaml_parser_set_encoding(&self.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&self.parser, (const unsigned char *)origin->text + skip,
                                 origin->size - skip);
    tnd_value_t *root = read_document(&self);
    yaml_parser_delete(&self.parser);
    if (self.failed || self.spoilt)
        return NULL;
    if (root == NULL) {
        root = tnd_value_scalar(
            arena, (tnd_mark_t){.origin = origin, .line = 1, .column = self.skipped + 1}, "");
        root->type = TND_VALUE_NULL;
    }
    return root;
}

tnd_origin_t *tnd_yaml_read(tnd_arena_t *arena, tnd_diagnostics_t *diagnostics, const char *file)
{
    tnd_origin_t *origin = tnd_arena_take(arena, sizeof *origin);
    origin->name = tnd_arena_text(arena, file, strlen(file));
    tnd_mark_t mark = {.origin = origin};
    FILE *in = fopen(file, "rb");
    if (in == NULL) {
        tnd_diagnostics_add(diagnostics, TND_T002_UNREADABLE, mark, "cannot be opened: %s",
                            strerror(errno));
        return NULL;
    }
    struct stat is;
    bool plain = fstat(fileno(in), &is) == 0 && S_ISREG(is.st_mode) && is.st_size > 0;
    size_t room = TND_YAML_SIZE_MAX + 1;
    if (plain && is.st_size < TND_YAML_SIZE_MAX)
        room = (size_t)is.st_size + 1;
    char *text = tnd_arena_take(arena, room);
    size_t size = fread(text, 1, room, in);
    bool broken = ferror(in);
    int reason = errno;
    fclose(in);
    if (broken) {
        tnd_diagnostics_add(diagnostics, TND_T002_UNREADABLE, mark, "cannot be read: %s",
                            strerror(reason));
        return NULL;
    }
    if (size > TND_YAML_SIZE_MAX) {
        tnd_diagnostics_add(diagnostics, TND_T002_UNREADABLE, mark,
                            "is larger than %d bytes; is it a topology?", TND_YAML_SIZE_MAX);
        return NULL;
    }
    origin->text = text;
    origin->size = size;
    return origin;
}
