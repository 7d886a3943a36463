/*  runtime/text/yaml.c - converts libyaml events to values and mistakes to errors. */
#include "runtime/text/yaml.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/text/yaml_mistakes.h"
#include "runtime/text/yaml_syntax.h"

typedef struct {
    tnd_lines_t lines;
    size_t line_told; /* about characters that look like others */
    yaml_parser_t parser;
    yaml_event_t event;
    unsigned flow; /* number of open `{` and `[` */
    bool failed;
    bool spoilt; /* it is valid, but probably not what was meant */
} reader_t;

static tnd_mark_t event_mark(const reader_t *self)
{
    return tnd_lines_mark(&self->lines, self->event.start_mark, self->event.end_mark);
}

static bool next(reader_t *self)
{
    if (yaml_parser_parse(&self->parser, &self->event))
        return true;
    tnd_yaml_syntax_report(&self->lines, &self->parser, self->flow > 0);
    self->failed = true;
    return false;
}

static void check_decoration(reader_t *self, const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (anchor != NULL)
        (void)tnd_yaml_mistake_report_alias(&self->lines, self->event.start_mark);
    if (tag == NULL)
        return;
    tnd_span_t word = tnd_span_word(tnd_lines_span(&self->lines, self->event.start_mark.line),
                                    tnd_lines_byte(&self->lines, self->event.start_mark));
    tnd_diagnostics_add(self->lines.diagnostics, TND_T006_TAG,
                        tnd_lines_mark_span(&self->lines, self->event.start_mark.line, word),
                        "`%.*s` is a YAML tag, which this language does not have",
                        (int)(word.end - word.start), word.start);
    tnd_diagnostics_help(self->lines.diagnostics, "leave it out: types follow from the option");
}

/*  `path: /data/run #2/x` silently loses "#2/x".  An intended comment has a blank after its `#`,
 *  and inside { } it does not contain the closing bracket. */
static void check_comment(reader_t *self, const char *value_start)
{
    tnd_span_t line = tnd_lines_span(&self->lines, self->event.end_mark.line);
    const char *value_end = tnd_lines_byte(&self->lines, self->event.end_mark);
    const char *at = value_end;
    while (at < line.end && tnd_span_is_blank(*at))
        at++;
    if (at == value_end || at >= line.end || *at != '#' || at + 1 == line.end)
        return;
    bool swallows = self->flow > 0 && (memchr(at, '}', (size_t)(line.end - at)) != NULL ||
                                       memchr(at, ']', (size_t)(line.end - at)) != NULL);
    if ((tnd_span_is_blank(at[1]) || at[1] == '#') && !swallows)
        return;
    tnd_span_t comment = {at, line.end};
    tnd_diagnostics_add(self->lines.diagnostics, TND_T004_COMMENT,
                        tnd_lines_mark_span(&self->lines, self->event.end_mark.line, comment),
                        "` #` starts a comment: `%.*s` would be lost", (int)(line.end - at), at);
    bool one_line = self->event.start_mark.line == self->event.end_mark.line;
    if (value_end == value_start || !one_line)
        value_start = at;
    const char *end = at + 1;
    while (swallows && end < line.end && tnd_span_is_blank(*end))
        end++;
    while (end < line.end && !tnd_span_is_blank(*end) && *end != ',' && *end != '}' && *end != ']')
        end++;
    tnd_span_t value = {value_start, end};
    tnd_lines_help(&self->lines, self->event.end_mark.line, value,
                   tnd_span_quoted(self->lines.arena, value));
    if (!tnd_span_is_blank(at[1]))
        tnd_diagnostics_help(self->lines.diagnostics, "or begin the comment with `# `");
    /* The comment contains the closing bracket, so later errors would be misleading. */
    self->failed = self->failed || swallows;
}

/*  Text that should be in quotes or end at a blank.  Quotes and wide spaces in prose are valid. */
static void check_lookalike(reader_t *self, const char *text, size_t size)
{
    tnd_span_t found;
    const tnd_lookalike_t *like =
        tnd_yaml_mistake_lookalike((tnd_span_t){text, text + size}, &found);
    if (like == NULL || (found.start > text && like->prose) ||
        self->line_told == self->event.start_mark.line + 1)
        return;
    self->line_told = self->event.start_mark.line + 1;
    self->spoilt = tnd_yaml_mistake_report_lookalike(&self->lines, self->event.start_mark.line) ||
                   self->spoilt;
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
        tnd_diagnostics_add(self->lines.diagnostics, TND_T001_SYNTAX, mark, "a text holds a NUL");
    if (plain) {
        check_comment(self, tnd_lines_byte(&self->lines, event->start_mark));
        check_lookalike(self, text, size);
    }
    tnd_value_t *value = tnd_value_scalar(self->lines.arena, mark, text);
    value->quoted = !plain;
    if (plain && (*text == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0))
        value->type = TND_VALUE_NULL;
    return value;
}

static void report_full(reader_t *self, const char *what)
{
    tnd_diagnostics_add(self->lines.diagnostics, TND_T010_DEPTH, event_mark(self),
                        "%s with more than %d items", what, TND_YAML_ITEMS_MAX);
    self->failed = true;
}

static tnd_value_t *read_list(reader_t *self, unsigned depth)
{
    check_decoration(self, self->event.data.sequence_start.anchor,
                     self->event.data.sequence_start.tag);
    tnd_value_t *list = tnd_value_list(self->lines.arena, event_mark(self));
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
            tnd_value_append(self->lines.arena, list, item);
    }
    self->flow -= flow;
    return list;
}

/*  `{kind:reader}`: one key "kind:reader" without a value.  Reports it and returns the intended
 *  value, so that one mistake gives one error. */
static bool mend_missing_space(reader_t *self, const tnd_value_t *key, const tnd_value_t *value,
                               tnd_value_t *map)
{
    const char *colon = key->text != NULL && !key->quoted ? strchr(key->text, ':') : NULL;
    if (colon == NULL || colon == key->text || colon[1] == '\0' || value->type != TND_VALUE_NULL ||
        value->text[0] != '\0')
        return false;
    size_t line = key->mark.line - 1;
    tnd_span_t whole = tnd_lines_span(&self->lines, line);
    yaml_mark_t at = {.line = line, .column = key->mark.column - 1};
    if (line == 0)
        at.column -= self->lines.skipped;
    const char *start = tnd_lines_byte(&self->lines, at);
    tnd_span_t word = {start, start + strlen(key->text)};
    if (word.end > whole.end || memcmp(start, key->text, strlen(key->text)) != 0)
        return false;
    tnd_yaml_mistake_report_space(&self->lines, line, word, start + (colon - key->text));
    tnd_value_put(self->lines.arena, map,
                  tnd_arena_text(self->lines.arena, key->text, (size_t)(colon - key->text)),
                  key->mark, tnd_value_scalar(self->lines.arena, key->mark, colon + 1));
    return true;
}

static tnd_value_t *read_map(reader_t *self, unsigned depth)
{
    check_decoration(self, self->event.data.mapping_start.anchor,
                     self->event.data.mapping_start.tag);
    tnd_value_t *map = tnd_value_map(self->lines.arena, event_mark(self));
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
            tnd_diagnostics_add(self->lines.diagnostics, TND_T001_SYNTAX, key->mark,
                                "a key is a word, not %s", tnd_value_type_name(key->type));
            continue;
        }
        if (mend_missing_space(self, key, value, map))
            continue;
        const tnd_value_entry_t *first = tnd_value_entry(map, key->text);
        if (first != NULL) {
            tnd_diagnostics_add(self->lines.diagnostics, TND_T007_DUPLICATE_KEY, key->mark,
                                "`%s` is written twice", key->text);
            tnd_diagnostics_also(self->lines.diagnostics, first->mark, "first written here");
            continue;
        }
        tnd_value_put(self->lines.arena, map, key->text, key->mark, value);
    }
    self->flow -= flow;
    return map;
}

/*  The value that starts with the current event; NULL after a failure. */
static tnd_value_t *read_value(reader_t *self, unsigned depth)
{
    if (depth > TND_YAML_DEPTH_MAX) {
        tnd_diagnostics_add(self->lines.diagnostics, TND_T010_DEPTH, event_mark(self),
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
        self->spoilt =
            !tnd_yaml_mistake_report_alias(&self->lines, self->event.start_mark) || self->spoilt;
        return tnd_value_scalar(self->lines.arena, event_mark(self),
                                tnd_arena_format(self->lines.arena, "*%s",
                                                 (const char *)self->event.data.alias.anchor));
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
            tnd_diagnostics_add(self->lines.diagnostics, TND_T008_SECOND_DOCUMENT, event_mark(self),
                                "a second document begins here");
            tnd_diagnostics_help(self->lines.diagnostics,
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
    reader_t self = {0};
    tnd_lines_open(&self.lines, arena, diagnostics, origin, skip);
    skip = self.lines.skip;
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
            arena, (tnd_mark_t){.origin = origin, .line = 1, .column = self.lines.skipped + 1}, "");
        root->type = TND_VALUE_NULL;
    }
    return root;
}

/*  A file in memory is shown by its own name; `text` has room for it. */
static const char *name_of(const char *file, char *text, size_t room)
{
    static const char head[] = "/memfd:", end[] = " (deleted)";
    ssize_t size = strncmp(file, "/proc/self/fd/", strlen("/proc/self/fd/")) == 0
                       ? readlink(file, text, room - 1)
                       : -1;
    text[size > 0 ? size : 0] = '\0';
    if (strncmp(text, head, strlen(head)) != 0)
        return file;
    size_t length = strlen(text);
    if (length > strlen(end) && strcmp(text + length - strlen(end), end) == 0)
        text[length - strlen(end)] = '\0';
    return text + strlen(head);
}

tnd_origin_t *tnd_yaml_read(tnd_arena_t *arena, tnd_diagnostics_t *diagnostics, const char *file)
{
    tnd_origin_t *origin = tnd_arena_take(arena, sizeof *origin);
    char memory[512];
    const char *name = name_of(file, memory, sizeof memory);
    origin->name = tnd_arena_text(arena, name, strlen(name));
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
