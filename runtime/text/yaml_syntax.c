/*  runtime/text/yaml_syntax.c - explains syntax errors of libyaml by the text of the line. */
#include "runtime/text/yaml_syntax.h"

#include <string.h>

#include "runtime/text/yaml_mistakes.h"

typedef struct {
    const tnd_lines_t *lines;
    const yaml_parser_t *parser;
    bool flow;
} error_t;

/*  Reports a byte that is not text, with its place. */
static void report_byte(const error_t *self)
{
    const char *start = self->lines->origin->text;
    const char *at = start + self->parser->problem_offset + self->lines->skip;
    const char *end = start + self->lines->origin->size;
    tnd_mark_t mark = {.origin = self->lines->origin, .line = 1, .column = 1, .width = 1};
    for (const char *byte = start; byte < at && byte < end; byte++) {
        if (((unsigned char)*byte & 0xC0) != 0x80)
            mark.column++;
        if (*byte == '\n') {
            mark.line++;
            mark.column = 1;
        }
    }
    const unsigned char *head = (const unsigned char *)start;
    bool wide = self->lines->origin->size > 1 &&
                ((head[0] == 0xFF && head[1] == 0xFE) || (head[0] == 0xFE && head[1] == 0xFF));
    if (wide)
        tnd_diagnostics_add(self->lines->diagnostics, TND_T001_SYNTAX, mark, "this is UTF-16");
    else
        tnd_diagnostics_add(self->lines->diagnostics, TND_T001_SYNTAX, mark, "this is not text: %s",
                            self->parser->problem);
    tnd_diagnostics_help(self->lines->diagnostics,
                         wide ? "save it as UTF-8" : "a topology is a text file in UTF-8");
}

/*  The place of an unclosed bracket or quote, which libyaml noticed later or at the end. */
static bool report_unclosed(const error_t *self, yaml_mark_t at)
{
    const yaml_parser_t *parser = self->parser;
    const char *context = parser->context;
    yaml_mark_t open = parser->context_mark;
    if (context == NULL || open.line >= self->lines->count)
        return false;
    tnd_span_t line = tnd_lines_span(self->lines, open.line);
    const char *byte = tnd_lines_byte(self->lines, open);
    bool quote = strstr(context, "quoted scalar") != NULL;
    bool flow = strstr(context, "flow mapping") != NULL || strstr(context, "flow sequence") != NULL;
    bool at_end = parser->problem_mark.index + self->lines->skip >= self->lines->origin->size;
    if (byte >= line.end || (!quote && (!flow || (open.line == at.line && !at_end))))
        return false;
    tnd_span_t one = {byte, byte + 1};
    tnd_diagnostics_add(self->lines->diagnostics, TND_T001_SYNTAX,
                        tnd_lines_mark_span(self->lines, open.line, one),
                        "this `%c` is never closed", *byte);
    char closing[2] = {*byte == '{' ? '}' : *byte == '[' ? ']' : *byte, '\0'};
    if (flow && (line.end[-1] == ',' || line.end[-1] == '{' || line.end[-1] == '['))
        tnd_diagnostics_help(self->lines->diagnostics, "add the `%s` where it ends", closing);
    else
        tnd_lines_help(self->lines, open.line, (tnd_span_t){line.end, line.end}, closing);
    return true;
}

/*  Whether a line has as many closing brackets of a type as opening ones. */
static bool balances(tnd_span_t line, char closing)
{
    int depth = 0;
    for (; line.start < line.end; line.start++)
        depth += *line.start == (closing == '}' ? '{' : '[') ? 1 : *line.start == closing ? -1 : 0;
    return depth == 0;
}

/*  Mistakes inside { } and [ ] on one line. */
static bool report_flow(const error_t *self, yaml_mark_t at)
{
    tnd_span_t line = tnd_lines_span(self->lines, at.line);
    const char *byte = tnd_lines_byte(self->lines, at);
    tnd_diagnostics_t *diagnostics = self->lines->diagnostics;
    const char *problem = self->parser->problem != NULL ? self->parser->problem : "";
    if (byte >= line.end)
        return false;
    tnd_span_t one = {byte, byte + 1};
    if (strstr(problem, "expected node content") != NULL && *byte == ',') {
        tnd_diagnostics_add(diagnostics, TND_T001_SYNTAX,
                            tnd_lines_mark_span(self->lines, at.line, one),
                            "there is nothing before this comma");
        tnd_lines_help(self->lines, at.line, one, "");
        return true;
    }
    if (strstr(problem, "expected key") != NULL && (*byte == '}' || *byte == ']')) {
        tnd_diagnostics_add(diagnostics, TND_T001_SYNTAX,
                            tnd_lines_mark_span(self->lines, at.line, one),
                            "this `%c` closes nothing", *byte);
        tnd_lines_help(self->lines, at.line, one, "");
        return true;
    }
    if (strstr(problem, "expected ',' or") == NULL)
        return false;
    const char *wanted = strstr(problem, "']'") != NULL ? "]" : "}";
    if (*byte == '}' || *byte == ']') {
        tnd_diagnostics_add(diagnostics, TND_T001_SYNTAX,
                            tnd_lines_mark_span(self->lines, at.line, one),
                            "`%s` is expected here, not `%c`", wanted, *byte);
        /* If the others balance, this one is right and the expected one is missing before it. */
        tnd_lines_help(self->lines, at.line, balances(line, *byte) ? (tnd_span_t){byte, byte} : one,
                       wanted);
        return true;
    }
    if (*byte != ':')
        return false;
    /* `size: 32 replicas: 4`: the word before the colon is a key without a comma before it. */
    const char *word = byte, *gap;
    while (word > line.start && !tnd_span_is_blank(word[-1]) && strchr("{[,", word[-1]) == NULL)
        word--;
    for (gap = word; gap > line.start && tnd_span_is_blank(gap[-1]); gap--)
        continue;
    if (gap == word || gap == line.start || word == byte)
        return false;
    tnd_span_t key = {word, byte}, between = {gap[-1] == ';' ? gap - 1 : gap, word};
    tnd_diagnostics_add(diagnostics, TND_T001_SYNTAX,
                        tnd_lines_mark_span(self->lines, at.line, key),
                        "a comma is missing before `%.*s`", (int)(byte - word), word);
    tnd_lines_help(self->lines, at.line, between, ", ");
    return true;
}

/*  A line that is indented differently from its neighbours. */
static bool report_indentation(const error_t *self, yaml_mark_t at)
{
    const yaml_parser_t *parser = self->parser;
    const char *problem = parser->problem != NULL ? parser->problem : "";
    if (parser->context == NULL || strstr(parser->context, "block") == NULL ||
        strstr(problem, "did not find expected") == NULL || self->flow)
        return false;
    tnd_span_t line = tnd_lines_span(self->lines, at.line);
    size_t indent = 0;
    while (line.start + indent < line.end && line.start[indent] == ' ')
        indent++;
    if (at.column != indent)
        return false;
    tnd_diagnostics_add(self->lines->diagnostics, TND_T001_SYNTAX,
                        tnd_lines_mark(self->lines, at, at),
                        "this line is indented by %zu, which fits no line above it", indent);
    if (parser->context_mark.line != at.line && parser->context_mark.column > 0)
        tnd_diagnostics_also(
            self->lines->diagnostics,
            tnd_lines_mark(self->lines, parser->context_mark, parser->context_mark),
            "the lines around it begin here, indented by %zu", parser->context_mark.column);
    tnd_diagnostics_help(self->lines->diagnostics,
                         "keys that belong together begin in the same column");
    return true;
}

/*  `seed 7`: a line without a colon. */
static bool report_no_colon(const error_t *self)
{
    const yaml_parser_t *parser = self->parser;
    const char *problem = parser->problem != NULL ? parser->problem : "";
    tnd_span_t word;
    const char *colon = NULL;
    size_t number = parser->context_mark.line;
    if (strstr(problem, "could not find expected ':'") == NULL || parser->context == NULL ||
        number >= self->lines->count)
        return false;
    tnd_span_t line = tnd_lines_span(self->lines, number);
    if (tnd_yaml_mistake_missing_space(line, &word, &colon)) {
        tnd_yaml_mistake_report_space(self->lines, number, word, colon);
        return true;
    }
    while (line.start < line.end && tnd_span_is_blank(*line.start))
        line.start++;
    const char *blank = line.start;
    while (blank < line.end && !tnd_span_is_blank(*blank) && *blank != '=')
        blank++;
    const char *after = blank;
    while (after < line.end && (tnd_span_is_blank(*after) || *after == '='))
        after++;
    tnd_diagnostics_add(
        self->lines->diagnostics, TND_T001_SYNTAX, tnd_lines_mark_span(self->lines, number, line),
        "a key and a `:` are expected here, not `%.*s`", (int)(line.end - line.start), line.start);
    if (after < line.end)
        tnd_lines_help(self->lines, number, (tnd_span_t){blank, after}, ": ");
    return true;
}

/*  Backslashes inside double quotes. */
static bool report_escape(const error_t *self, yaml_mark_t at)
{
    const char *problem = self->parser->problem != NULL ? self->parser->problem : "";
    if (strstr(problem, "escape") == NULL)
        return false;
    tnd_span_t line = tnd_lines_span(self->lines, at.line);
    const char *open = tnd_lines_byte(self->lines, at), *close = open;
    tnd_diagnostics_add(self->lines->diagnostics, TND_T001_SYNTAX,
                        tnd_lines_mark(self->lines, at, at),
                        "a `\\` in double quotes begins an escape, and this is not one");
    while (open > line.start && *open != '"')
        open--;
    while (close < line.end && *close != '"')
        close++;
    tnd_span_t text = {open + 1, close};
    if (open < close && close < line.end &&
        memchr(text.start, '\'', (size_t)(text.end - text.start)) == NULL)
        tnd_lines_help(self->lines, at.line, (tnd_span_t){open, close + 1},
                       tnd_arena_format(self->lines->arena, "'%.*s'", (int)(text.end - text.start),
                                        text.start));
    return true;
}

void tnd_yaml_syntax_report(const tnd_lines_t *lines, const yaml_parser_t *parser, bool flow)
{
    const error_t *self = &(error_t){lines, parser, flow};
    tnd_diagnostics_t *diagnostics = self->lines->diagnostics;
    if (parser->error == YAML_READER_ERROR) {
        report_byte(self);
        return;
    }
    yaml_mark_t at = parser->problem_mark;
    if (at.line >= self->lines->count)
        at.line = self->lines->count - 1;
    tnd_span_t line = tnd_lines_span(self->lines, at.line);
    const char *byte = tnd_lines_byte(self->lines, at);
    tnd_mark_t mark = tnd_lines_mark(self->lines, at, at);
    const char *context = parser->context != NULL ? parser->context : "";
    const char *problem = parser->problem != NULL ? parser->problem : "not understood";
    bool has_context = parser->context != NULL && parser->context_mark.line < self->lines->count;
    tnd_span_t word;

    if (strstr(context, "an alias") != NULL || strstr(context, "an anchor") != NULL) {
        (void)tnd_yaml_mistake_report_alias(self->lines, parser->context_mark);
        return;
    }
    if (tnd_yaml_mistake_report_lookalike(self->lines, at.line) ||
        (has_context && tnd_yaml_mistake_report_lookalike(self->lines, parser->context_mark.line)))
        return;
    if (at.line > 0 && byte >= line.end &&
        tnd_yaml_mistake_report_lookalike(self->lines, at.line - 1))
        return;
    if (tnd_yaml_mistake_unquoted(line, &word)) {
        tnd_diagnostics_add(diagnostics, TND_T009_UNQUOTED,
                            tnd_lines_mark_span(self->lines, at.line, word),
                            tnd_yaml_mistake_is_address(word) && *word.start != '['
                                ? "the colons of `%.*s` are not read as part of it"
                                : "brackets inside `%.*s` are read as a list or a map",
                            (int)(word.end - word.start), word.start);
        tnd_lines_help(self->lines, at.line, word, tnd_span_quoted(self->lines->arena, word));
        return;
    }
    if (strstr(problem, "cannot start any token") != NULL) {
        if (byte < line.end && *byte == '\t') {
            tnd_diagnostics_add(diagnostics, TND_T001_SYNTAX, mark, "a tab cannot indent a line");
            tnd_diagnostics_help(diagnostics, "use spaces");
            return;
        }
        word = tnd_span_word(line, byte);
        tnd_diagnostics_add(diagnostics, TND_T001_SYNTAX,
                            tnd_lines_mark_span(self->lines, at.line, word),
                            "a value without quotes cannot begin with `%.1s`", byte);
        tnd_lines_help(self->lines, at.line, word, tnd_span_quoted(self->lines->arena, word));
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
        tnd_diagnostics_help(diagnostics, "write a space and the value after it");
        return;
    }
    /* libyaml expects the end of the innermost collection, and names its start. */
    const char *expected = strstr(problem, "did not find expected ");
    if (expected != NULL)
        tnd_diagnostics_add(diagnostics, TND_T001_SYNTAX, mark, "expected %s here",
                            expected + strlen("did not find expected "));
    else
        tnd_diagnostics_add(diagnostics, TND_T001_SYNTAX, mark, "%s", problem);
    if (has_context && parser->context_mark.line != at.line)
        tnd_diagnostics_also(
            diagnostics, tnd_lines_mark(self->lines, parser->context_mark, parser->context_mark),
            "%s here", context);
}
