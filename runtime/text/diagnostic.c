/*  runtime/text/diagnostic.c - a list of diagnostics, printed with their lines. */
#include "runtime/text/diagnostic.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/text/json_string.h"

enum { KEPT_MAX = 100 };

typedef struct hint {
    struct hint *next;
    bool placed; /* a second place, else a line of help */
    tnd_mark_t mark;
    const char *text;
} hint_t;

typedef struct diagnostic {
    struct diagnostic *next;
    tnd_diagnostic_code_t code;
    tnd_mark_t mark;
    const char *text;
    hint_t *hints;
    size_t number;
} diagnostic_t;

struct tnd_diagnostics {
    tnd_arena_t *arena;
    diagnostic_t *first;
    diagnostic_t *last;
    bool last_kept;
    size_t kept;
    size_t counts[TND_SEVERITY_NOTE + 1];
};

typedef struct {
    const char *code;
    tnd_severity_t severity;
} code_t;

static const code_t codes[] = {
#define CODE(number, name, severity, meaning) {"T" #number, TND_SEVERITY_##severity},
#include "runtime/text/diagnostic.def"
#undef CODE
};

tnd_diagnostics_t *tnd_diagnostics_new(tnd_arena_t *arena)
{
    tnd_diagnostics_t *self = tnd_arena_take(arena, sizeof *self);
    self->arena = arena;
    return self;
}

tnd_diagnostics_t *tnd_diagnostics_copy(const tnd_diagnostics_t *from)
{
    tnd_diagnostics_t *self = tnd_arena_take(from->arena, sizeof *self);
    *self = *from;
    self->first = NULL;
    self->last = NULL;
    for (const diagnostic_t *at = from->first; at != NULL; at = at->next) {
        diagnostic_t *copy = tnd_arena_take(from->arena, sizeof *copy);
        *copy = *at;
        copy->next = NULL;
        *(self->last != NULL ? &self->last->next : &self->first) = copy;
        self->last = copy;
    }
    return self;
}

static bool is_known(const tnd_diagnostics_t *self, tnd_diagnostic_code_t code, tnd_mark_t mark,
                     const char *text)
{
    for (const diagnostic_t *at = self->first; at != NULL; at = at->next)
        if (at->code == code && at->mark.origin == mark.origin && at->mark.line == mark.line &&
            at->mark.column == mark.column && strcmp(at->text, text) == 0)
            return true;
    return false;
}

void tnd_diagnostics_add(tnd_diagnostics_t *self, tnd_diagnostic_code_t code, tnd_mark_t mark,
                         const char *format, ...)
{
    assert(code < TND_DIAGNOSTIC_CODES);
    va_list arguments;
    va_start(arguments, format);
    const char *text = tnd_arena_vformat(self->arena, format, arguments);
    va_end(arguments);
    self->last_kept = false;
    if (is_known(self, code, mark, text))
        return;
    self->counts[codes[code].severity]++;
    self->last_kept = self->kept < KEPT_MAX;
    if (!self->last_kept)
        return;
    diagnostic_t *diagnostic = tnd_arena_take(self->arena, sizeof *diagnostic);
    diagnostic->code = code;
    diagnostic->mark = mark;
    diagnostic->number = self->kept++;
    diagnostic->text = text;
    if (self->last != NULL)
        self->last->next = diagnostic;
    else
        self->first = diagnostic;
    self->last = diagnostic;
}

static void add_hint(tnd_diagnostics_t *self, hint_t hint)
{
    assert(self->last != NULL);
    hint_t **end = &self->last->hints;
    while (*end != NULL)
        end = &(*end)->next;
    *end = tnd_arena_take(self->arena, sizeof hint);
    **end = hint;
}

void tnd_diagnostics_help(tnd_diagnostics_t *self, const char *format, ...)
{
    if (!self->last_kept)
        return;
    va_list arguments;
    va_start(arguments, format);
    add_hint(self, (hint_t){.text = tnd_arena_vformat(self->arena, format, arguments)});
    va_end(arguments);
}

void tnd_diagnostics_also(tnd_diagnostics_t *self, tnd_mark_t mark, const char *format, ...)
{
    if (!self->last_kept)
        return;
    va_list arguments;
    va_start(arguments, format);
    const char *text = tnd_arena_vformat(self->arena, format, arguments);
    va_end(arguments);
    add_hint(self, (hint_t){.placed = true, .mark = mark, .text = text});
}

void tnd_diagnostics_add_all(tnd_diagnostics_t *self, const tnd_diagnostics_t *from)
{
    for (const diagnostic_t *at = from->first; at != NULL; at = at->next) {
        tnd_diagnostics_add(self, at->code, at->mark, "%s", at->text);
        for (const hint_t *hint = at->hints; hint != NULL; hint = hint->next)
            if (hint->placed)
                tnd_diagnostics_also(self, hint->mark, "%s", hint->text);
            else
                tnd_diagnostics_help(self, "%s", hint->text);
    }
}

size_t tnd_diagnostics_count(const tnd_diagnostics_t *self, tnd_severity_t severity)
{
    return self->counts[severity];
}

bool tnd_diagnostics_has(const tnd_diagnostics_t *self, tnd_diagnostic_code_t code)
{
    for (const diagnostic_t *at = self->first; at != NULL; at = at->next)
        if (at->code == code)
            return true;
    return false;
}

static const char *severity_name(tnd_severity_t severity)
{
    static const char *const names[] = {[TND_SEVERITY_ERROR] = "error",
                                        [TND_SEVERITY_WARNING] = "warning",
                                        [TND_SEVERITY_NOTE] = "note"};
    return names[severity];
}

/*  The first byte of a line, and its size without the newline; NULL after the end of the text. */
static const char *line_of(const tnd_origin_t *origin, uint32_t line, size_t *size_p)
{
    const char *at = origin->text;
    const char *end = origin->text + origin->size;
    for (uint32_t i = 1; i < line; i++) {
        const char *newline = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
        if (newline == NULL)
            return NULL;
        at = newline + 1;
    }
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    size_t size = (size_t)((newline != NULL ? newline : end) - at);
    if (line == 1 && size >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0) {
        at += 3; /* a byte order mark, which is invisible */
        size -= 3;
    }
    while (size > 0 && at[size - 1] == '\r')
        size--;
    *size_p = size;
    return at;
}

static bool starts_character(char byte)
{
    return ((unsigned char)byte & 0xC0) != 0x80;
}

static void print_place(tnd_mark_t mark, FILE *out)
{
    if (mark.origin == NULL)
        return;
    fprintf(out, "%s:", mark.origin->name);
    if (mark.line > 0)
        fprintf(out, "%u:%u:", mark.line, mark.column);
    fputc(' ', out);
}

/*  The part of a long line that is shown: first character and count. */
static void choose_window(uint32_t characters, uint32_t column, uint32_t *first_p,
                          uint32_t *count_p)
{
    enum { SHOWN_MAX = 200, BEFORE = 60 };
    *first_p = 0;
    *count_p = characters;
    if (characters <= SHOWN_MAX)
        return;
    if (column > SHOWN_MAX - BEFORE)
        *first_p = column - BEFORE;
    *count_p = SHOWN_MAX;
}

/*  Prints the line of a mark with carets below.  No control characters go to the terminal. */
static void print_line(tnd_mark_t mark, FILE *out)
{
    if (mark.origin == NULL || mark.line == 0)
        return;
    size_t size = 0;
    const char *line = line_of(mark.origin, mark.line, &size);
    if (line == NULL)
        return;
    uint32_t characters = 0, first, count;
    for (size_t i = 0; i < size; i++)
        characters += starts_character(line[i]);
    choose_window(characters, mark.column, &first, &count);
    const char *cut = first > 0 ? "..." : "";
    fprintf(out, "%5u | %s", mark.line, cut);
    uint32_t at = 0;
    for (size_t i = 0; i < size; i++) {
        at += starts_character(line[i]);
        if (at > first && at <= first + count)
            fputc(iscntrl((unsigned char)line[i]) && line[i] != '\t' ? '?' : line[i], out);
    }
    fprintf(out, "%s\n      | %*s", first + count < characters ? "..." : "", (int)strlen(cut), "");
    uint32_t column = 1;
    for (size_t i = 0; i < size && column < mark.column; i++)
        if (starts_character(line[i])) {
            if (column > first)
                fputc(line[i] == '\t' ? '\t' : ' ', out);
            column++;
        }
    for (; column < mark.column; column++)
        fputc(' ', out);
    uint32_t end = first + count < characters ? first + count : characters;
    uint32_t most = end >= mark.column ? end - mark.column + 1 : 1;
    uint32_t width = mark.width == 0 ? 1 : mark.width;
    for (uint32_t i = 0; i < (width < most ? width : most); i++)
        fputc('^', out);
    fputc('\n', out);
}

static int by_place(const void *left, const void *right)
{
    const diagnostic_t *a = *(const diagnostic_t *const *)left;
    const diagnostic_t *b = *(const diagnostic_t *const *)right;
    uint32_t a_order = a->mark.origin != NULL ? a->mark.origin->order : UINT32_MAX;
    uint32_t b_order = b->mark.origin != NULL ? b->mark.origin->order : UINT32_MAX;
    if (a_order != b_order)
        return a_order < b_order ? -1 : 1;
    if (a->mark.line != b->mark.line)
        return a->mark.line < b->mark.line ? -1 : 1;
    if (a->mark.column != b->mark.column)
        return a->mark.column < b->mark.column ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

/*  All stored diagnostics, sorted.  The array is stored in the arena of the list. */
static const diagnostic_t **sorted(const tnd_diagnostics_t *self)
{
    const diagnostic_t **array = tnd_arena_array(self->arena, self->kept + 1, sizeof *array);
    size_t count = 0;
    for (const diagnostic_t *at = self->first; at != NULL; at = at->next)
        array[count++] = at;
    qsort(array, count, sizeof *array, by_place);
    return array;
}

static void print_count(size_t count, const char *name, bool *first_p, FILE *out)
{
    if (count == 0)
        return;
    fprintf(out, "%s%zu %s%s", *first_p ? "" : ", ", count, name, count == 1 ? "" : "s");
    *first_p = false;
}

/*  The advice of a diagnostic, "; did you mean `reader`?". */
static const char *advice_of(const tnd_diagnostics_t *self, const diagnostic_t *diagnostic)
{
    const char *advice = "";
    for (const hint_t *hint = diagnostic->hints; hint != NULL; hint = hint->next)
        if (!hint->placed)
            advice = tnd_arena_format(self->arena, "%s; %s", advice, hint->text);
    return advice;
}

const char *tnd_diagnostics_sentence(const tnd_diagnostics_t *self)
{
    const diagnostic_t **all = sorted(self);
    size_t errors = self->counts[TND_SEVERITY_ERROR];
    for (size_t i = 0; i < self->kept; i++) {
        const diagnostic_t *first = all[i];
        const char *place = "", *more = "";
        if (codes[first->code].severity != TND_SEVERITY_ERROR)
            continue;
        if (first->mark.origin != NULL && first->mark.line > 0)
            place = tnd_arena_format(self->arena, "%s:%u:%u: ", first->mark.origin->name,
                                     first->mark.line, first->mark.column);
        else if (first->mark.origin != NULL)
            place = tnd_arena_format(self->arena, "%s: ", first->mark.origin->name);
        if (errors > 1)
            more = tnd_arena_format(self->arena, " (and %zu more error%s)", errors - 1,
                                    errors == 2 ? "" : "s");
        return tnd_arena_format(self->arena, "%serror[%s]: %s%s%s", place, codes[first->code].code,
                                first->text, advice_of(self, first), more);
    }
    return "";
}

void tnd_diagnostics_print(const tnd_diagnostics_t *self, FILE *out)
{
    if (self->kept == 0)
        return;
    const diagnostic_t **all = sorted(self);
    for (size_t i = 0; i < self->kept; i++) {
        print_place(all[i]->mark, out);
        fprintf(out, "%s[%s]: %s\n", severity_name(codes[all[i]->code].severity),
                codes[all[i]->code].code, all[i]->text);
        print_line(all[i]->mark, out);
        for (const hint_t *hint = all[i]->hints; hint != NULL; hint = hint->next) {
            if (hint->placed) {
                print_place(hint->mark, out);
                fprintf(out, "note: %s\n", hint->text);
                print_line(hint->mark, out);
            } else {
                fprintf(out, "      = help: %s\n", hint->text);
            }
        }
    }
    bool first = true;
    for (int severity = TND_SEVERITY_ERROR; severity <= TND_SEVERITY_NOTE; severity++)
        print_count(self->counts[severity], severity_name((tnd_severity_t)severity), &first, out);
    size_t total = 0;
    for (int severity = TND_SEVERITY_ERROR; severity <= TND_SEVERITY_NOTE; severity++)
        total += self->counts[severity];
    if (total > self->kept)
        fprintf(out, " (the first %zu are shown)", self->kept);
    fputc('\n', out);
}

static void print_json_place(tnd_mark_t mark, FILE *out)
{
    fputs("\"file\":", out);
    if (mark.origin != NULL)
        tnd_json_string_print(mark.origin->name, out);
    else
        fputs("null", out);
    fprintf(out, ",\"line\":%u,\"column\":%u", mark.line, mark.column);
}

static void print_json_hints(const diagnostic_t *diagnostic, bool placed, FILE *out)
{
    bool first = true;
    for (const hint_t *hint = diagnostic->hints; hint != NULL; hint = hint->next) {
        if (hint->placed != placed)
            continue;
        fputs(first ? "" : ",", out);
        first = false;
        if (placed) {
            fputc('{', out);
            print_json_place(hint->mark, out);
            fputs(",\"text\":", out);
        }
        tnd_json_string_print(hint->text, out);
        fputs(placed ? "}" : "", out);
    }
}

void tnd_diagnostics_print_json(const tnd_diagnostics_t *self, FILE *out)
{
    const diagnostic_t **all = sorted(self);
    fputc('[', out);
    for (size_t i = 0; i < self->kept; i++) {
        fputs(i > 0 ? ",\n {" : "{", out);
        print_json_place(all[i]->mark, out);
        fprintf(out, ",\"severity\":\"%s\",\"code\":\"%s\",\"text\":",
                severity_name(codes[all[i]->code].severity), codes[all[i]->code].code);
        tnd_json_string_print(all[i]->text, out);
        fputs(",\"help\":[", out);
        print_json_hints(all[i], false, out);
        fputs("],\"also\":[", out);
        print_json_hints(all[i], true, out);
        fputs("]}", out);
    }
    fputs("]\n", out);
}

/*  The edits between two words: letters inserted, deleted, replaced, or neighbours exchanged. */
static size_t edits(const char *a, const char *b)
{
    enum { LENGTH_MAX = 63 };
    size_t a_size = strlen(a);
    size_t b_size = strlen(b);
    if (a_size > LENGTH_MAX || b_size > LENGTH_MAX)
        return SIZE_MAX;
    size_t rows[LENGTH_MAX + 1][LENGTH_MAX + 1];
    for (size_t i = 0; i <= a_size; i++)
        rows[i][0] = i;
    for (size_t j = 0; j <= b_size; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_size; i++)
        for (size_t j = 1; j <= b_size; j++) {
            size_t best = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (rows[i - 1][j] + 1 < best)
                best = rows[i - 1][j] + 1;
            if (rows[i][j - 1] + 1 < best)
                best = rows[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                rows[i - 2][j - 2] + 1 < best)
                best = rows[i - 2][j - 2] + 1;
            rows[i][j] = best;
        }
    return rows[a_size][b_size];
}

/*  Whether `part` is one of the words that `text` is made of: `size` of `batch_size`. */
static bool is_component(const char *text, const char *part)
{
    size_t size = strlen(part);
    if (size < 4)
        return false;
    for (const char *at = strcasestr(text, part); at != NULL; at = strcasestr(at + 1, part))
        if ((at == text || at[-1] == '_' || at[-1] == '-') &&
            (at[size] == '\0' || at[size] == '_' || at[size] == '-'))
            return true;
    return false;
}

void tnd_nearest_offer(tnd_nearest_t *self, const char *candidate)
{
    size_t most = strlen(self->word) / 3;
    size_t distance = edits(self->word, candidate);
    most = most > 1 ? most : 1;
    /* A word that differs in case only, or that contains the other, is near enough. */
    if (distance > most &&
        (strcasecmp(self->word, candidate) == 0 || is_component(self->word, candidate)))
        distance = most;
    else if (distance >= strlen(self->word))
        return; /* one edit turns a one-letter word into any other */
    if (distance > most || (self->best != NULL && distance >= self->distance))
        return;
    self->best = candidate;
    self->distance = distance;
}
